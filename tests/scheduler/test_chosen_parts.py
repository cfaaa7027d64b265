"""A person takes some of the files and hunks of a change:
exactly these are applied, and the model learns what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import ErrorCode, Session
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    FileChoice,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    ToolEditConfirmationDetails,
    takes_nothing,
)
from nbtools.core.result import ToolResult
from nbtools.diff.partial_change import take_hunks
from nbtools.testing import ONCE, temporary_workspace
from nbtools.wrappers import time_limited

OLD = "".join(f"line {number}\n" for number in range(40))
NEW = OLD.replace("line 3\n", "three\n").replace("line 36\n", "line 36\nmore\n")
MOVED = OLD.replace("line 20\n", "twenty\n")
FILES = {"a.txt": OLD, "old.txt": OLD, "gone.txt": "bye\n"}
PATCH = """\
*** Begin Patch
*** Update File: a.txt
@@
-line 3
+three
@@
 line 36
+more
*** Add File: new/b.txt
+hello
*** Delete File: gone.txt
*** Update File: old.txt
*** Move to: moved.txt
@@
-line 20
+twenty
*** End Patch
"""
ACTIONS = ("edit", "create", "delete", "move")
Choose = Callable[[ToolEditConfirmationDetails], tuple[FileChoice, ...]]


class Chooser:
    """Answers each question with the next choice, and records the questions."""

    def __init__(
        self,
        *choices: Choose | Answer,
        outcome: ToolConfirmationOutcome = ToolConfirmationOutcome.PROCEED_ONCE,
    ) -> None:
        self.choices = list(choices)
        self.outcome = outcome
        self.asked: list[ToolEditConfirmationDetails] = []

    async def ask(self, confirmation: Confirmation) -> Answer:
        details = confirmation.details
        assert isinstance(details, ToolEditConfirmationDetails)
        self.asked.append(details)
        choice = self.choices.pop(0)
        if isinstance(choice, Answer):
            return choice
        files = choice(details)
        outcome = (
            ToolConfirmationOutcome.MODIFY_WITH_EDITOR
            if any(isinstance(one, str) for one in files)
            else self.outcome
        )
        return Answer(outcome, ToolConfirmationPayload(files=files), by="the script")


def contents(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_bytes().decode() for path in root.rglob("*") if path.is_file()
    }


async def patched(
    files: Mapping[str, str], patch: str, person: Chooser, dialect: str = "nbtools"
) -> tuple[ToolResult, dict[str, str], tuple[str, ...]]:
    with temporary_workspace(files) as root:
        async with Session(root, confirmer=person, dialect=dialect) as session:
            name, argument = ("apply_patch", "input") if dialect == "codex" else ("patch", "patch")
            result = await session.call(name, {argument: patch})
            grants = session.grants
        return result, contents(root), tuple(map(str, grants))


async def test_the_question_names_the_parts_of_each_file() -> None:
    person = Chooser(ONCE)
    await patched(FILES, PATCH, person)
    parts = person.asked[0].parts
    assert [part.action for part in parts] == list(ACTIONS)
    assert [part.hunks for part in parts] == [2, 0, 0, 1]
    assert parts[3].former == "old.txt"


@pytest.mark.parametrize("dialect", ["nbtools", "codex"])
async def test_only_the_chosen_parts_are_applied_and_the_model_learns_which(dialect: str) -> None:
    result, after, _ = await patched(
        FILES, PATCH, Chooser(lambda _: ((False, True), False, True, True)), dialect
    )
    assert after == {"a.txt": take_hunks(OLD, NEW, [False, True]), "moved.txt": MOVED}
    assert "left out the new file new/b.txt" in str(result.llm_content)
    assert "took 1 of 2 changes in a.txt" in str(result.llm_content)


async def test_a_file_is_moved_without_its_changes() -> None:
    _, after, _ = await patched(FILES, PATCH, Chooser(lambda _: (False, False, False, (False,))))
    assert after == {"a.txt": OLD, "moved.txt": OLD, "gone.txt": "bye\n"}


@pytest.mark.parametrize("files", [(False, False, False, False), ((False, False), False, False, False)])
async def test_nothing_chosen_denies_the_call_and_writes_nothing(files: tuple[FileChoice, ...]) -> None:
    result, after, _ = await patched(FILES, PATCH, Chooser(lambda _: files))
    assert after == FILES
    assert result.error is not None
    assert result.error.code is ErrorCode.CONFIRMATION_DENIED


@pytest.mark.parametrize(
    "files",
    [(), (True,), ((True,), True, True, True), (True, (True,), True, True), (True, True, "text", True)],
)
async def test_choices_that_do_not_fit_run_nothing(files: tuple[FileChoice, ...]) -> None:
    result, after, _ = await patched(FILES, PATCH, Chooser(lambda _: files))
    assert after == FILES
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_TOOL_PARAMS


async def test_always_grants_nothing_where_something_is_left_out() -> None:
    person = Chooser(lambda _: (True, False, True, True), outcome=ToolConfirmationOutcome.PROCEED_ALWAYS)
    _, after, grants = await patched(FILES, PATCH, person)
    assert "new/b.txt" not in after
    assert grants == ()


async def test_a_changed_text_needs_a_new_approval_without_the_omitted_parts() -> None:
    person = Chooser(lambda _: (False, "mine\n", True, False), ONCE)
    result, after, _ = await patched(FILES, PATCH, person)
    assert after == {"a.txt": OLD, "old.txt": OLD, "new/b.txt": "mine\n"}
    again = person.asked[1]
    assert again.is_modifying
    assert [part.action for part in again.parts] == ["create", "delete"]
    assert again.new_content == "mine\n"
    assert "changed the text of new/b.txt" in str(result.llm_content)


async def test_a_file_that_changes_before_the_chosen_part_is_written_is_a_conflict() -> None:
    with temporary_workspace(FILES) as root:

        def choose(_: ToolEditConfirmationDetails) -> tuple[FileChoice, ...]:
            (root / "a.txt").write_text("the person's\n")
            return (True, False, True, True)

        async with Session(root, confirmer=Chooser(choose)) as session:
            result = await session.call("patch", {"patch": PATCH})
        assert result.error is not None
        assert result.error.code is ErrorCode.CONFLICT
        assert contents(root) == {**FILES, "a.txt": "the person's\n"}


async def test_a_change_that_needs_one_that_was_left_out_is_refused() -> None:
    patch = "*** Begin Patch\n*** Delete File: gone.txt\n*** Update File: a.txt\n*** Move to: gone.txt\n*** End Patch\n"
    result, after, _ = await patched(FILES, patch, Chooser(lambda _: (False, True)))
    assert after == FILES
    assert result.error is not None
    assert "left out" in result.error.message


async def test_line_ends_and_encoding_of_a_file_stay_in_a_typed_text() -> None:
    with temporary_workspace({"a.txt": "ä\r\nb\r\n".encode("utf-16"), "b.txt": "b\n"}) as root:
        blocks = "".join(
            f"{name}\n<<<<<<< SEARCH\nb\n=======\nB\n>>>>>>> REPLACE\n" for name in ("a.txt", "b.txt")
        )
        person = Chooser(lambda _: ("ä\nmine\n", False), ONCE)
        async with Session(root, confirmer=person) as session:
            await session.call("patch", {"patch": blocks})
        assert (root / "a.txt").read_bytes() == "ä\r\nmine\r\n".encode("utf-16")
        assert (root / "b.txt").read_text() == "b\n"


async def test_the_choice_reaches_a_wrapped_tool() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, confirmer=Chooser(lambda _: (True, False, False, False))) as session:
            limited = time_limited([session.tools.require("patch")], 60)
            session.tools.register(limited["patch"], replace=True)
            await session.call("patch", {"patch": PATCH})
        assert contents(root) == {**FILES, "a.txt": NEW}


async def test_undo_takes_back_the_chosen_part() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(
            root, confirmer=Chooser(lambda _: ((True, False), True, False, True), ONCE)
        ) as session:
            await session.call("patch", {"patch": PATCH})
            assert contents(root) != FILES
            await session.undo()
        assert contents(root) == FILES


async def test_some_files_and_hunks_of_a_replacement_are_taken() -> None:
    files = dict.fromkeys(("a.txt", "b.txt", "c.txt"), OLD)
    with temporary_workspace(files) as root:
        arguments = {"pattern": "line (3|36)$", "replacement": "L$1", "apply": True}
        async with Session(root, confirmer=Chooser(lambda _: (True, False, (False, True)))) as session:
            result = await session.call("replace_in_files", arguments)
        new = OLD.replace("line 3\n", "L3\n").replace("line 36\n", "L36\n")
        assert contents(root) == {"a.txt": new, "b.txt": OLD, "c.txt": OLD.replace("line 36\n", "L36\n")}
        assert result.data.places == 3
        assert "left out b.txt" in str(result.llm_content)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d\n"]), min_size=1, max_size=30).map("".join)


@given(st.lists(st.tuples(LINES, LINES, st.data()), min_size=1, max_size=3))
async def test_each_file_has_exactly_the_chosen_hunks(drawn: list[tuple[str, str, st.DataObject]]) -> None:
    pairs = {f"{number}.txt": (old, new) for number, (old, new, _) in enumerate(drawn) if old != new}
    if not pairs:
        return
    expected: dict[str, str] = {}

    def choose(details: ToolEditConfirmationDetails) -> tuple[FileChoice, ...]:
        chosen: list[FileChoice] = []
        for (name, (old, new)), part in zip(pairs.items(), details.parts, strict=True):
            hunks = tuple(drawn[0][2].draw(st.lists(st.booleans(), min_size=part.hunks, max_size=part.hunks)))
            choice = drawn[0][2].draw(st.sampled_from((True, False, hunks)))
            expected[name] = take_hunks(
                old, new, choice if isinstance(choice, tuple) else [choice] * part.hunks
            )
            assert takes_nothing(choice, part) is (expected[name] == old)
            chosen.append(choice)
        return tuple(chosen)

    with temporary_workspace({name: old for name, (old, _) in pairs.items()}) as root:
        patch = "".join(whole_file_hunk(name, old, new) for name, (old, new) in pairs.items())
        async with Session(root, confirmer=Chooser(choose)) as session:
            await session.call("patch", {"patch": patch, "match": "exact"})
        assert contents(root) == expected


def whole_file_hunk(name: str, old: str, new: str) -> str:
    """Returns a diff that replaces all lines."""
    before, after = old.count("\n"), new.count("\n")
    lines = [f"-{line}\n" for line in old.split("\n")[:-1]] + [f"+{line}\n" for line in new.split("\n")[:-1]]
    return f"--- a/{name}\n+++ b/{name}\n@@ -1,{before} +1,{after} @@\n{''.join(lines)}"
