"""Open questions: which messages of a front end answer them, and which are refused."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from nbtools import Policy, Session
from nbtools.cards.card import card_of
from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.notebook.approval.open_questions import OpenQuestions
from nbtools.notebook.approval.question import OpenQuestion
from nbtools.notebook.approval.question_messages import MAX_REASON

EDIT = ("edit", {"path": "src/cart.py", "old": "total = 0", "new": "total = 1"})
SHELL = ("shell", {"command": "git add -A && git commit -m x"})
ASK = (
    "ask",
    {
        "questions": [
            {"text": "Which?", "choices": [{"label": "a"}, {"label": "b"}]},
            {"text": "Why?", "optional": True},
        ]
    },
)


class Waiting:
    """A session whose calls wait for an answer in ``questions``."""

    def __init__(self, folder):
        self.questions = OpenQuestions()
        self.session = Session(folder, policy=Policy(mode="default"), confirmer=self)
        self._calls = {}
        self.session.observe(self)

    def notice(self, event):
        if isinstance(event, AwaitingApprovalCall):
            self._calls[event.request.id] = event

    async def ask(self, confirmation):
        answer = asyncio.get_running_loop().create_future()
        call = self._calls[confirmation.call_id]
        self.questions.add(OpenQuestion(call, card_of(call), "cell", answer.set_result))
        return await answer

    async def open(self, name, arguments):
        """Makes a call and returns its open question, and the task that ends with its result."""
        task = asyncio.ensure_future(self.session.call(name, arguments))
        while not self.questions.current():
            await asyncio.sleep(0)
            assert not task.done(), task.result()
        return self.questions.current()[-1], task

    async def next(self):
        """Returns the question that is asked after an answer."""
        async with asyncio.timeout(60):
            while not self.questions.current():
                await asyncio.sleep(0)
        return self.questions.current()[-1]


@pytest.fixture
async def waiting(project):
    waiting = Waiting(project)
    async with waiting.session:
        yield waiting


def refused(waiting, unanswered, **message):
    with pytest.raises(ToolFailure) as failure:
        waiting.questions.answer(unanswered.id, {"question": unanswered.id, **message})
    assert failure.value.code is ErrorCode.INVALID_TOOL_PARAMS
    assert waiting.questions.current() == (unanswered,)
    return failure.value.message


async def test_an_answer_is_given_once(waiting, project):
    question, task = await waiting.open(*EDIT)
    assert question.cell_id == "cell"
    assert waiting.questions.answer(question.id, {"question": question.id, "outcome": "once"})
    assert not waiting.questions.answer(question.id, {"question": question.id, "outcome": "deny"})
    assert not waiting.questions.answer("unknown", {"question": "unknown", "outcome": "once"})
    assert (await task).ok
    assert "total = 1" in (project / "src" / "cart.py").read_text()


async def test_the_buttons_of_an_edit_say_what_they_allow(waiting):
    question, task = await waiting.open(*EDIT)
    assert [choice.role for choice in question.choices] == ["once", "always", "folder", "modify", "deny"]
    assert [choice.rules for choice in question.choices][1:3] == [("edit",), ("edit(src/**)",)]
    assert question.data().card == question.card
    waiting.questions.answer(question.id, {"question": question.id, "outcome": "folder", "remember": False})
    await task
    assert waiting.session.grants == ("edit(src/**)",)


async def test_a_denial_carries_its_reason(waiting):
    question, task = await waiting.open(*SHELL)
    assert [choice.role for choice in question.choices] == ["once", "always", "modify", "deny"]
    waiting.questions.answer(
        question.id, {"question": question.id, "outcome": "deny", "reason": " not today "}
    )
    result = await task
    assert result.error.code is ErrorCode.CONFIRMATION_DENIED
    assert "not today" in result.error.message


HOSTILE = [
    {},
    {"outcome": "proceed_always"},
    {"outcome": "ONCE"},
    {"outcome": "once", "rules": ["shell"]},
    {"outcome": "once", "question": "another"},
    {"outcome": "once", "question": 3},
    {"outcome": "deny", "reason": "x" * (MAX_REASON + 1)},
    {"outcome": "deny", "reason": ["x"]},
    {"outcome": "once", "files": [{"taken": True}]},
    {"outcome": "once", "files": [{"taken": "yes"}]},
    {"outcome": "deny", "files": []},
    {"outcome": "modify", "text": "x", "file": 0},
    {"outcome": "once", "file": 0},
    {"outcome": "once", "text": "x"},
    {"outcome": "modify"},
    {"outcome": "modify", "text": 3},
    {"outcome": "once", "answers": ["x"]},
    {"outcome": "answers", "answers": []},
    {"outcome": "once", "remember": True},
    {"outcome": "always", "remember": 1},
    {"outcome": "server"},
]


@pytest.mark.parametrize("message", HOSTILE, ids=str)
async def test_an_answer_that_an_edit_does_not_offer_is_refused(waiting, project, message):
    question, task = await waiting.open(*EDIT)
    refused(waiting, question, **message)
    waiting.questions.answer(question.id, {"question": question.id, "outcome": "deny"})
    await task
    assert "total = 0" in (project / "src" / "cart.py").read_text()
    assert waiting.session.grants == ()


async def test_in_a_temporary_copy_nothing_is_remembered(waiting):
    waiting.session.saves_grants = False
    question, task = await waiting.open(*EDIT)
    assert question.data().can_save is False
    (always,) = (choice for choice in question.choices if choice.role == "always")
    assert always.tip == "No further approval for edit. It holds until this temporary copy is removed."
    refused(waiting, question, outcome="always", remember=True)
    waiting.questions.answer(question.id, {"question": question.id, "outcome": "always"})
    assert (await task).ok
    assert (waiting.session.grants, waiting.session.saved_grants) == (("edit",), ())


async def test_always_is_refused_where_it_is_not_offered(waiting):
    question, task = await waiting.open("shell", {"command": "rm -rf src && $(cat notes.txt)"})
    assert "always" not in {choice.role for choice in question.choices}
    refused(waiting, question, outcome="always")
    refused(waiting, question, outcome="folder")
    waiting.questions.answer(question.id, {"question": question.id, "outcome": "deny"})
    assert (await task).error.code is ErrorCode.CONFIRMATION_DENIED


async def test_arguments_that_are_no_call_leave_the_question_open(waiting, project):
    question, task = await waiting.open("delete", {"path": "notes.txt"})
    for text in ("{", "[1]", '{"path": 3}'):
        refused(waiting, question, outcome="modify", text=text)
    waiting.questions.answer(
        question.id, {"question": question.id, "outcome": "modify", "text": '{"path": "src/cart.py"}'}
    )
    while not waiting.questions.current():
        await asyncio.sleep(0)
    (again,) = waiting.questions.current()
    assert again.id != question.id
    waiting.questions.answer(again.id, {"question": again.id, "outcome": "once"})
    assert (await task).ok
    assert (project / "notes.txt").exists()
    assert not (project / "src" / "cart.py").exists()


async def test_a_form_takes_one_answer_a_question(waiting):
    question, task = await waiting.open(*ASK)
    assert [choice.role for choice in question.choices] == ["answers", "deny"]
    assert [field.text for field in question.data().fields] == ["Which?", "Why?"]
    for answers in ([], ["a"], ["a", "b", "c"], ["", "x"], [" ", ""]):
        refused(waiting, question, outcome="answers", answers=answers)
    refused(waiting, question, outcome="once")
    refused(waiting, question, outcome="modify", text="{}")
    waiting.questions.answer(
        question.id, {"question": question.id, "outcome": "answers", "answers": [" b ", ""]}
    )
    assert (await task).data.answers == ("b", "")


async def test_subscribers_are_notified_of_every_change(waiting):
    counts = []
    stop = waiting.questions.subscribe(lambda: counts.append(len(waiting.questions.current())))
    question, task = await waiting.open(*EDIT)
    refused(waiting, question, outcome="server")
    waiting.questions.answer(question.id, {"question": question.id, "outcome": "deny"})
    await task
    assert counts == [1, 0]
    stop()
    question, task = await waiting.open(*EDIT)
    waiting.questions.answer(question.id, {"question": question.id, "outcome": "deny"})
    await task
    assert counts == [1, 0]


LONG = "".join(f"line {number}\n" for number in range(40))
CHANGED = LONG.replace("line 3\n", "three\n").replace("line 20\n", "").replace("line 36\n", "line 36\nmore\n")


def taken(*files):
    """The part of a page's message about the files: the hunks of each, or whether it is taken."""
    return [{"taken": one} if isinstance(one, bool) else {"taken": any(one), "hunks": one} for one in files]


PATCH = """\
*** Begin Patch
*** Update File: long.txt
@@
-line 3
+three
@@
 line 36
+more
*** Add File: new.txt
+hello
*** Delete File: src/items.py
*** Update File: README.md
*** Move to: docs/README.md
*** End Patch
"""


async def test_files_and_hunks_of_a_patch_are_taken_and_the_rest_stays(waiting, project):
    path = project / "long.txt"
    path.write_text(LONG)
    (project / "src" / "items.py").write_text("items = []\n")
    (project / "README.md").write_text("# Cart\n")
    question, task = await waiting.open("patch", {"patch": PATCH})
    data = question.data()
    assert [(file.hunks, file.can_modify) for file in data.files] == [
        (2, True),
        (0, True),
        (0, False),
        (0, True),
    ]
    diffs = [block for block in data.card.blocks if block.type == "diff"]
    assert [(block.created, block.deleted, block.former) for block in diffs] == [
        (False, False, ""), (True, False, ""), (False, True, ""), (False, False, "README.md"),
    ]  # fmt: skip
    refused(waiting, question, outcome="once", files=taken([True, False], True, True))
    refused(waiting, question, outcome="once", files=taken([False, False], False, False, False))
    refused(waiting, question, outcome="always", files=taken([True, True], False, True, True))
    message = {"question": question.id, "outcome": "once", "files": taken([False, True], False, False, True)}
    assert waiting.questions.answer(question.id, message)
    result = await task
    assert path.read_text() == LONG.replace("line 36\n", "line 36\nmore\n")
    assert not (project / "new.txt").exists()
    assert (project / "src" / "items.py").exists()
    assert (project / "docs" / "README.md").exists()
    assert "left out the new file new.txt, left out the deletion of src/items.py" in str(result.llm_content)


async def test_the_text_of_one_file_of_a_patch_is_modified_and_asked_again(waiting, project):
    (project / "long.txt").write_text(LONG)
    (project / "src" / "items.py").write_text("items = []\n")
    (project / "README.md").write_text("# Cart\n")
    question, task = await waiting.open("patch", {"patch": PATCH})
    assert question.editable().proposed == PATCH
    assert question.editable(1).proposed == "hello\n"
    assert question.editable(1).path == "new.txt"
    for number in (2, 4):
        with pytest.raises(ToolFailure):
            question.editable(number)
    refused(
        waiting,
        question,
        outcome="modify",
        text="hello\n",
        file=1,
        files=taken([True, True], True, True, True),
    )
    refused(waiting, question, outcome="modify", text="x", file=2, files=None)
    message = {
        "outcome": "modify",
        "text": "mine\n",
        "file": 1,
        "files": taken([True, True], True, False, False),
    }
    assert waiting.questions.answer(question.id, {"question": question.id, **message})
    again = await waiting.next()
    assert [block.path for block in again.card.blocks if block.type == "diff"] == ["long.txt", "new.txt"]
    assert waiting.questions.answer(again.id, {"question": again.id, "outcome": "once"})
    await task
    assert (project / "new.txt").read_text() == "mine\n"
    assert (project / "src" / "items.py").exists()


async def test_some_hunks_of_an_edit_are_taken(waiting, project):
    path = project / "long.txt"
    path.write_text(LONG)
    question, task = await waiting.open("write", {"path": "long.txt", "content": CHANGED})
    assert [file.hunks for file in question.data().files] == [3]
    refused(waiting, question, outcome="once", files=taken([True, True]))
    refused(waiting, question, outcome="once", files=taken([False, False, False]))
    refused(waiting, question, outcome="always", files=taken([True, False, True]))
    assert path.read_text() == LONG
    assert waiting.questions.answer(
        question.id, {"question": question.id, "outcome": "once", "files": taken([True, False, True])}
    )
    result = await task
    assert result.ok
    assert path.read_text() == LONG.replace("line 3\n", "three\n").replace("line 36\n", "line 36\nmore\n")
    assert "line 20" in path.read_text()
    assert "user" in str(result.llm_content) or "person" in str(result.llm_content)


async def test_all_hunks_are_the_call_as_proposed(waiting, project):
    path = project / "long.txt"
    path.write_text(LONG)
    question, task = await waiting.open("write", {"path": "long.txt", "content": CHANGED})
    assert waiting.questions.answer(
        question.id, {"question": question.id, "outcome": "once", "files": taken([True] * 3)}
    )
    assert (await task).ok
    assert path.read_text() == CHANGED


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"path": "new.txt", "content": CHANGED}),  # a new file
        ("write", {"path": "long.txt", "content": LONG.replace("line 3\n", "three\n")}),  # one hunk
        ("write", {"path": "long.txt", "content": ""}),
        (
            "write",
            {
                "path": "long.txt",
                "content": "".join(f"other {number}\nline {number * 20}\n" for number in range(900)),
            },
        ),
        SHELL,
        ASK,
    ],
)
async def test_an_indivisible_change_has_no_hunks(waiting, project, name, arguments):
    (project / "long.txt").write_text(LONG)
    question, task = await waiting.open(name, arguments)
    assert question.files == ()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
