"""Gemini CLI's ``replace`` keeps a file's line endings and its end,
and its errors name what may have been meant.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ToolFailure
from nbtools.dialects import dialect
from nbtools.diff.patch_model import Replacement
from nbtools.workspace.text.file_edit import plan_edit
from tests.dialects.table import Case, play
from tests.examples import examples


def edit(title: str, before: bytes, old: str, new: str, after: bytes, code: str = "", **more: object) -> Case:
    arguments = {
        "file_path": "a.txt",
        "instruction": "Change it.",
        "old_string": old,
        "new_string": new,
        **more,
    }
    return Case(title, "replace", arguments, {"a.txt": before}, {"a.txt": after}, code=code)


CASES = [
    edit("no final newline is added", b"a\nb", "b", "c\n", b"a\nc"),
    edit("a final newline is not removed", b"a\nb\n", "b\n", "c", b"a\nc\n"),
    edit("a file with a final newline can be emptied but for it", b"x\n", "x\n", "", b"\n"),
    edit("a file without one can be emptied", b"x", "x", "", b""),
    edit("a newline more at the end stays", b"a\nb\n", "b", "c\n", b"a\nc\n\n"),
    edit("one newline is taken away where there was none", b"a", "a", "b\n\n", b"b\n"),
    edit("CRLF at the end", b"a\r\nb\r\n", "b\n", "c", b"a\r\nc\r\n"),
    edit("no CRLF at the end", b"a\r\nb", "b", "c\r\n", b"a\r\nc"),
    edit(
        "LF means CRLF in a file that has it", b"a\r\nb\r\nc\r\n", "a\nb", "1\n2\n3", b"1\r\n2\r\n3\r\nc\r\n"
    ),
    edit("CRLF means LF in a file that has LF", b"a\nb\nc\n", "a\r\nb", "1\r\n2\r\n3", b"1\n2\n3\nc\n"),
    edit("lines around keep their endings in a mixed file", b"a\r\nb\nc\r\n", "b", "x", b"a\r\nx\nc\r\n"),
    edit("all places", b"a\r\na\r\na", "a", "b\n", b"b\r\n\r\nb\r\n\r\nb", allow_multiple=True),
    edit(
        "after a loose match", b"if x:\n    y = 1", "if x:\n  y = 1", "if x:\n  y = 2\n", b"if x:\n    y = 2"
    ),
    edit("nothing but the newline at the end", b"a\nb", "b", "b\n", b"a\nb", "edit_no_change"),
    edit("nothing but line endings", b"a\nb\n", "a\nb", "a\r\nb", b"a\nb\n", "edit_no_change"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_file_keeps_its_line_endings_and_its_end(case: Case, tmp_path: Path) -> None:
    await play(case, "gemini", tmp_path)


TEXTS = st.text("ab \n", max_size=12)


@settings(max_examples=examples(200), deadline=None, database=None)
@given(before=TEXTS, old=TEXTS.filter(bool), new=TEXTS, crlf=st.booleans(), count=st.sampled_from([1, None]))
def test_the_line_ending_is_preserved_whatever_is_replaced(
    before: str, old: str, new: str, crlf: bool, count: int | None
) -> None:
    ending = "\r\n" if crlf and "\n" in before else "\n"
    content = before.replace("\n", ending).encode()
    try:
        as_given = plan_edit(Path("a"), "a", content, [Replacement(old, new, count)], match="close").after
        change = plan_edit(
            Path("a"), "a", content, [Replacement(old, new, count)], match="close", keep_end=True
        )
    except ToolFailure:
        return
    end = ending.encode()
    if content.endswith(b"\n"):
        assert change.after == as_given + (b"" if as_given.endswith(b"\n") else end)
    else:
        assert change.after == as_given.removesuffix(end)
    assert change.after.count(b"\n") == change.after.count(end)
    diff, _ = change.compared()
    assert [(diff.original_content or "").encode(), diff.new_content.encode()] == [content, change.after]
    assert change.after != content


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb"])
def test_a_call_means_the_same_with_either_line_ending(text: str) -> None:
    read = dialect("gemini").read(
        "replace", {"file_path": "a", "instruction": "", "old_string": text, "new_string": text + "!"}
    )
    assert (read.arguments["old"], read.arguments["new"]) == ("a\nb", "a\nb!")


async def test_a_file_that_is_not_there_is_answered_with_the_one_that_is(tmp_path: Path) -> None:
    arguments = {"file_path": "man.py", "instruction": "", "old_string": "a", "new_string": "b"}
    parts = ["File not found: {root}/man.py. Cannot apply edit.", "Did you mean main.py?"]
    await play(
        Case("", "replace", arguments, {"main.py": "a"}, code="file_not_found", parts=parts),
        "gemini",
        tmp_path,
    )
