"""Edits whose old text is not in the file, corrected by the session's model:
told to everybody, never in silence.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from nbtools import Policy, Session, Settings
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.patch_model import Replacement
from nbtools.testing import CANCEL, ONCE, ScriptedConfirmer
from nbtools.workspace.text.correction import MAX_FILE_LENGTH, correct_edit
from nbtools.workspace.workspace import Workspace
from tests.tools.test_revise import Scripted

FILE = "def total(items):\n    return sum(item.price for item in items)\n"
THERE = "    return sum(item.price for item in items)"
GIVEN = {"path": "f.py", "old": "return add_up(items)", "new": "    return 0"}
ANSWER = f"<<<<<<< OLD\n{THERE}\n>>>>>>> OLD\n"
NOTE = "The text to replace was not found; the model scripted-1 corrected it to the text that is in the file."
ON = Settings(correct_edits=True)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.py"
    path.write_text(FILE)
    return path


async def edit(file, model, arguments=GIVEN, **options):
    async with Session(file.parent, **{"policy": Policy(mode="yolo"), "settings": ON, **options}) as session:
        session.model = model
        return await session.call("edit", arguments)


async def test_a_correction(file):
    model = Scripted(ANSWER)
    result = await edit(file, model)
    assert file.read_text() == "def total(items):\n    return 0\n"
    assert result.llm_content.endswith(f"{NOTE} The text that was replaced:\n{THERE}")
    assert result.summary.endswith("corrected by scripted-1")
    (wanted,) = model.wanted
    task = wanted.turns[0].content
    assert "the old text is not in it" in task
    assert GIVEN["old"] in task
    assert FILE in task
    assert wanted.max_tokens is not None


async def test_the_question_says_so(file):
    confirmer = ScriptedConfirmer(replace(CANCEL, reason="not that one"), ONCE)
    async with Session(file.parent, settings=ON, confirmer=confirmer) as session:
        session.model = Scripted(ANSWER, ANSWER)
        refused = await session.call("edit", GIVEN)
        assert file.read_text() == FILE
        assert "not that one" in refused.llm_content
        assert (await session.call("edit", GIVEN)).notes[0].startswith(NOTE)
    assert confirmer.asked[0].details.note == NOTE
    assert "+    return 0" in confirmer.asked[0].details.file_diff


@pytest.mark.parametrize(
    ("dialect", "name", "arguments"),
    [
        (
            "gemini",
            "replace",
            {
                "file_path": "f.py",
                "old_string": GIVEN["old"],
                "new_string": "    return 0",
                "instruction": "x",
            },
        ),
        ("claude", "Edit", {"file_path": "f.py", "old_string": GIVEN["old"], "new_string": "    return 0"}),
    ],
)
async def test_every_dialect_tells(file, dialect, name, arguments):
    settings = Settings(correct_edits=True, read_first=False)
    async with Session(
        file.parent, policy=Policy(mode="yolo"), settings=settings, dialect=dialect
    ) as session:
        session.model = Scripted(ANSWER)
        result = await session.call(name, arguments)
    assert NOTE in result.llm_content
    assert "return 0" in file.read_text()


@pytest.mark.parametrize(
    "answer",
    ["NONE", "", "<<<<<<< OLD\n    return nothing\n>>>>>>> OLD", "<<<<<<< OLD\nitem\n>>>>>>> OLD", THERE],
)
async def test_text_that_does_not_occur_once_is_not_a_correction(file, answer):
    result = await edit(file, Scripted(answer))
    assert result.error.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    assert result.error.message.endswith(
        "The model scripted-1 was asked for the intended text and did not find it."
    )
    assert file.read_text() == FILE


async def test_a_change_that_is_made_already(file):
    result = await edit(file, Scripted("DONE: it returns the sum."))
    assert result.error.code is ErrorCode.EDIT_NO_CHANGE_LLM_JUDGEMENT
    assert (
        "The model scripted-1 says that the file already contains the change: it returns the sum."
        in result.error.message
    )


async def test_no_model(file):
    result = await edit(file, None)
    assert result.error.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    assert (
        "The setting correct_edits is on, but no model is set. Set one: agent.model" in result.error.message
    )


@pytest.mark.parametrize(
    ("options", "name", "arguments"),
    [
        ({"settings": Settings()}, "f.py", GIVEN),
        ({}, "f.py", {**GIVEN, "old": "item"}),
        (
            {},
            "f.py",
            {"path": "f.py", "edits": [{"old": "nowhere at all", "new": "x"}, {"old": "sum", "new": "max"}]},
        ),
        ({}, "f.json", {**GIVEN, "path": "f.json"}),
        ({"policy": Policy(mode="yolo", deny=["read(f.py)"])}, "f.py", GIVEN),
    ],
    ids=["off", "several places", "several edits", "JSON", "not to be read"],
)
async def test_no_model_is_called(file, options, name, arguments):
    file.with_name(name).write_text(FILE)
    model = Scripted()
    result = await edit(file, model, arguments, **options)
    assert not result.ok
    assert model.wanted == []
    assert file.with_name(name).read_text() == FILE


async def test_the_model_reads_only_the_near_part_of_a_long_file(file):
    lines = [f"value_{number} = {number}\n" for number in range(20_000)]
    lines[10_000] = FILE
    file.write_text("".join(lines))
    model = Scripted(ANSWER)
    result = await edit(
        file,
        model,
        {
            **GIVEN,
            "old": "def total(items):\n    return sum_of(item.cost for item in items)",
            "match": "exact",
        },
    )
    assert result.ok
    task = model.wanted[0].turns[0].content
    assert len(task) < MAX_FILE_LENGTH + 2_000
    assert FILE in task


async def test_a_model_that_does_not_answer_is_not_waited_for(file):
    class Silent(Scripted):
        async def write(self, wanted):
            await asyncio.Event().wait()

    workspace = Workspace(file.parent, ON)
    workspace.model = Silent()
    failure = ToolFailure(ErrorCode.EDIT_NO_OCCURRENCE_FOUND, "It is not there.")
    with pytest.raises(
        ToolFailure,
        match=r"It is not there\. It was not corrected: The model scripted did not answer within 0\.01 seconds\.",
    ):
        await correct_edit(
            workspace, file.resolve(), FILE.encode(), Replacement("x", "y"), failure, seconds=0.01
        )
    await workspace.close()
