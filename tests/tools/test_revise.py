"""Changes that a model writes from a description."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nbtools import Policy, Session, Settings, model_named
from nbtools.core.errors import ErrorCode
from nbtools.core.language_model import GeneratedText, TextRequest
from nbtools.testing import CANCEL, ONCE, ScriptedConfirmer
from nbtools.tools.revise import ReviseData, ReviseTool
from nbtools.workspace.workspace import Workspace

FILE = "one = 1\ntwo = 2\n"
GOOD = "Here:\n\n<<<<<<< ORIGINAL\ntwo = 2\n=======\ntwo = 3\n>>>>>>> UPDATED\n"
MISSING = GOOD.replace("two = 2", "two  is 2, I think")
YOLO = Policy(mode="yolo")


class Scripted:
    """A model that says what it is given to say."""

    name = "scripted"

    def __init__(self, *texts: str | GeneratedText) -> None:
        self._texts = list(texts)
        self.wanted: list[TextRequest] = []

    async def write(self, wanted: TextRequest) -> GeneratedText:
        self.wanted.append(wanted)
        text = self._texts.pop(0)
        return text if isinstance(text, GeneratedText) else GeneratedText(text, "scripted-1")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.py"
    path.write_text(FILE)
    return path


async def revised(file, model, **options):
    async with Session(file.parent, **{"policy": YOLO, **options}) as session:
        session.model = model
        return await session.call("revise", {"path": "f.py", "description": "Make two three."})


async def test_a_change(file):
    model = Scripted(GOOD)
    result = await revised(file, model)
    assert file.read_text() == "one = 1\ntwo = 3\n"
    assert result.llm_content.startswith("Edited f.py.")
    assert result.llm_content.endswith("\n\nThe model scripted-1 wrote this change.")
    assert isinstance(result.data, ReviseData)
    assert (result.data.model, result.data.tries) == ("scripted-1", 1)
    assert result.data.blocks == "<<<<<<< ORIGINAL\ntwo = 2\n=======\ntwo = 3\n>>>>>>> UPDATED"
    (wanted,) = model.wanted
    assert "Make two three." in wanted.turns[0].content
    assert FILE in wanted.turns[0].content
    assert "ORIGINAL" in wanted.instructions


async def test_the_approval_request_shows_the_diff_and_its_author(file):
    confirmer = ScriptedConfirmer(replace(CANCEL, reason="three is too much"), ONCE)
    async with Session(file.parent, confirmer=confirmer) as session:
        session.model = Scripted(GOOD, MISSING, GOOD)
        refused = await session.call("revise", {"path": "f.py", "description": "Make two three."})
        assert "three is too much" in refused.llm_content
        assert file.read_text() == FILE
        taken = await session.call("revise", {"path": "f.py", "description": "Make two three."})
        await session.undo()
    assert taken.ok
    first, second = (asked.details for asked in confirmer.asked)
    assert "+two = 3" in first.file_diff
    assert first.note == "The model scripted-1 wrote this change."
    assert second.note == "The model scripted-1 wrote this change (attempt 2)."
    assert file.read_text() == FILE


@pytest.mark.parametrize(
    ("bad", "explanation"),
    [
        (MISSING, "the old text is not in it"),
        ("I would rather not.", "contains no patch"),
        ("<<<<<<< ORIGINAL\ntwo = 2\n=======\n", "the block is not finished"),
        (GOOD.replace("two = 2", "= "), "block 1"),
        (GOOD.replace("two = 3", "two = 2"), "changes nothing"),
    ],
)
async def test_an_unusable_answer_is_returned_to_the_model(file, bad, explanation):
    model = Scripted(bad, GOOD)
    result = await revised(file, model)
    assert result.ok
    assert file.read_text() == "one = 1\ntwo = 3\n"
    _, answered, again = model.wanted[1].turns
    assert answered.content == bad
    assert explanation in again.content


async def test_three_tries_and_no_more(file):
    model = Scripted(MISSING, MISSING, MISSING)
    result = await revised(file, model)
    assert result.error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    assert (
        "The model scripted-1 wrote no usable change to f.py in 3 attempts. Last error:"
        in result.error.message
    )
    assert file.read_text() == FILE


async def test_an_answer_that_was_cut_is_no_change(file):
    result = await revised(file, Scripted(GeneratedText(GOOD, "scripted-1", is_truncated=True)))
    assert "truncated" in result.error.message
    assert file.read_text() == FILE


async def test_no_other_file_is_touched(file):
    other = file.with_name("other.py")
    other.write_text(FILE)
    assert (await revised(file, Scripted(f"other.py\n{GOOD}"))).ok
    assert (file.read_text(), other.read_text()) == ("one = 1\ntwo = 3\n", FILE)


async def test_a_deny_rule_holds_before_anything_is_written(file):
    model = Scripted()
    for deny in ("revise", "read(f.py)"):
        result = await revised(file, model, policy=Policy(mode="yolo", deny=[deny]))
        assert result.error.code is ErrorCode.POLICY_VIOLATION
    assert model.wanted == []


@pytest.mark.parametrize("redact", [True, False])
async def test_secrets_are_not_sent_to_the_model(file, redact):
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    file.write_text(f'{FILE}token = "{token}"\n')
    model = Scripted(GOOD)
    assert (await revised(file, model, settings=Settings(redact=redact))).ok
    assert (token in model.wanted[0].turns[0].content) is not redact
    assert token in file.read_text()


async def test_no_model(file):
    result = await revised(file, None)
    assert result.error.message.startswith(
        "revise needs a model to write it, and none is set. Set one: agent.model = "
    )


@pytest.mark.parametrize(
    ("path", "content", "words"), [("g.py", None, "There is no file g.py"), ("f.py", b"\0\1\2", "binary")]
)
async def test_the_model_is_not_called_in_vain(file, path, content, words):
    model = Scripted()
    if content:
        file.write_bytes(content)
    async with Session(file.parent, policy=YOLO) as session:
        session.model = model
        result = await session.call("revise", {"path": path, "description": "x"})
    assert words in result.error.message
    assert model.wanted == []


async def test_a_model_that_never_answers(file):
    class Silent(Scripted):
        async def write(self, wanted):
            await asyncio.Event().wait()

    workspace = Workspace(file.parent)
    workspace.model = Silent()
    result = await ReviseTool(workspace, seconds=0.01).validate_build_and_execute(
        {"path": "f.py", "description": "x"}
    )
    assert result.error.code is ErrorCode.TIMEOUT
    await workspace.close()


async def test_in_voids_words_by_a_model_of_pydantic_ai(file):
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked = [
            part.content
            for message in messages
            if isinstance(message, ModelRequest)
            for part in message.parts
        ]
        assert isinstance(messages[-1].parts[0], UserPromptPart)
        return ModelResponse([TextPart(GOOD if "is not in it" in str(asked[-1]) else MISSING)])

    async with Session(file.parent, policy=YOLO, dialect="void") as session:
        session.model = model_named(FunctionModel(answer, model_name="blocks-1"))
        result = await session.call(
            "create_search_replace_blocks", {"uri": str(file), "description": "Make two three."}
        )
        assert "create_search_replace_blocks" in session.tools.names()
    assert file.read_text() == "one = 1\ntwo = 3\n"
    assert result.llm_content == (
        f"Change successfully made to {file} by these blocks:\n<<<<<<< ORIGINAL\ntwo = 2\n=======\ntwo = 3\n>>>>>>> UPDATED\n\n"
        "The model blocks-1 wrote this change (attempt 2)."
    )
