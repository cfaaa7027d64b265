"""Commands that only print one file count as reading it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.core.errors import ErrorCode
from nbtools.tools.commands.viewed_file import ViewedFile, viewed_file

WHOLE = ["cat f", "cat 'f'", "cat -n f", " cat f ", "nl f", "nl -ba f", "cat -A f"]
PARTS = [
    *(
        "head f",
        "head -n 5 f",
        "head -5 f",
        "tail -n5 f",
        "head -c 10 f",
        "tail --lines=3 f",
        "sed -n 2p f",
        "sed -n '1,20p' f",
    ),
    *(
        "sed -n '3,$p' f",
        "grep a f",
        "grep -n 'a b' f",
        "grep -A 3 a f",
        "egrep -i a f",
        "fgrep -w a f",
        "rg a f",
        "rg -n -C2 a f",
    ),
]
OTHERS = [
    *(
        "cat",
        "cat f g",
        "cat f | head",
        "cat f > g",
        "cat < f",
        "cat f; ls",
        "cat f && ls",
        "cat f &",
        "cat $F",
        "cat *",
        "cat ~/f",
    ),
    *(
        "cat $(echo f)",
        "! cat f",
        "(cat f)",
        "X=1 cat f",
        "if true; then cat f; fi",
        "sudo cat f",
        "time cat f",
        "/tmp/cat f",
        "cat --help f",
    ),
    *(
        "cat -",
        "cat f -x",
        "tail -f f",
        "head -n f",
        "sed 's/a/b/' f",
        "sed -i 1d f",
        "sed -n 1p f g",
        "sed -n '1,5p;w x' f",
        "sed -n 1d f",
    ),
    *(
        "grep a",
        "grep -c a f",
        "grep -l a f",
        "grep -q a f",
        "grep -r a d",
        "grep a f g",
        "grep -f p f",
        "rg a",
        "less f",
        "wc f",
        "cat 'f",
        "",
    ),
]


@pytest.mark.parametrize("command", WHOLE)
def test_the_whole_file(command: str) -> None:
    assert viewed_file(command) == ViewedFile("f", whole=True)


@pytest.mark.parametrize("command", PARTS)
def test_a_part(command: str) -> None:
    assert viewed_file(command) == ViewedFile("f", whole=False)


@pytest.mark.parametrize("command", OTHERS)
def test_others_do_not_count(command: str) -> None:
    assert viewed_file(command) is None


EDIT = ("Edit", {"file_path": "f", "old_string": "a", "new_string": "b"})
WRITE = ("Write", {"file_path": "f", "content": "b\n"})


@pytest.mark.parametrize(
    ("command", "edits", "writes"),
    [
        ("cat f", True, True),
        ("cat ./f", True, True),
        ("head -n 1 f", True, False),
        ("grep a f", True, False),
        ("sed -n 1p f", True, False),
        ("grep nowhere f", False, False),
        ("cat f | cat", False, False),
        ("cat f g", False, False),
        ("cat d", False, False),
        ("true", False, False),
    ],
)
async def test_a_view_permits_what_a_read_permits(
    tmp_path: Path, command: str, edits: bool, writes: bool
) -> None:
    (tmp_path / "f").write_text("a\nz\n")
    (tmp_path / "d").mkdir()
    for call, allowed in ((EDIT, edits), (WRITE, writes)):
        async with Session(tmp_path, dialect="claude", policy=Policy(allow=["*"])) as session:
            await session.call("Bash", {"command": command})
            changed = await session.call(*call)
            assert changed.ok is allowed, changed
            if not allowed:
                assert changed.error.code is ErrorCode.EDIT_PREPARATION_FAILURE
        (tmp_path / "f").write_text("a\nz\n")


async def test_a_view_that_was_cut_permits_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n" + "line\n" * 20_000)
    async with Session(tmp_path, dialect="claude", policy=Policy(allow=["*"])) as session:
        assert (await session.call("Bash", {"command": "cat f"})).ok
        assert (await session.call(*EDIT)).error.code is ErrorCode.EDIT_PREPARATION_FAILURE


async def test_a_file_that_has_changed_since_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    async with Session(tmp_path, dialect="claude", policy=Policy(allow=["*"])) as session:
        assert (await session.call("Bash", {"command": "cat f"})).ok
        (tmp_path / "f").write_text("other\n")
        assert (await session.call(*WRITE)).error.code is ErrorCode.CONFLICT
