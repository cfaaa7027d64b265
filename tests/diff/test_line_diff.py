"""Diffs can be applied: by us, by patch, by git."""

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbtools.core.result import DiffStat
from nbtools.diff.line_diff import (
    LineDiff,
    changed_spans,
    diff_stat,
    file_diff,
    file_diff_with_hunks,
    hunks,
    opcodes,
    unified,
)
from nbtools.diff.text_lines import split_lines
from tests.examples import examples

TEXT = st.lists(
    st.sampled_from(["a", "b", "", "  x", "c\r", "-", "+", "@@", "\\", "--- a"]), max_size=20
).map("\n".join) | st.text(alphabet="ab\n\r \t", max_size=60)


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_opcodes_make_the_new_of_the_old(old, new):
    made, i, j = [], 0, 0
    for op in opcodes(old, new):
        assert (op.i1, op.j1) == (i, j)
        assert op.tag != "equal" or old[op.i1 : op.i2] == new[op.j1 : op.j2]
        made += old[op.i1 : op.i2] if op.tag == "equal" else new[op.j1 : op.j2]
        i, j = op.i2, op.j2
    assert made == new
    assert (i, j) == (len(old), len(new))


@given(TEXT, TEXT, st.integers(0, 4))
def test_hunks_make_the_new_of_the_old(old, new, context):
    lines, made, done = split_lines(old), [], 0
    for hunk in hunks(old, new, context):
        start = hunk.old_start - (hunk.old_lines > 0)
        made += lines[done:start]
        made += [f"{line[1:]}\n" for line in hunk.lines if line[0] in " +"]
        signs = "".join(line[0] for line in hunk.lines)
        assert len(signs) - signs.count("+") - signs.count("\\") == hunk.old_lines
        assert len(signs) - signs.count("-") - signs.count("\\") == hunk.new_lines
        done = start + hunk.old_lines
    made += lines[done:]
    assert "".join(made).rstrip("\n") == new.rstrip("\n")


@settings(max_examples=examples(40), deadline=None)
@given(TEXT, TEXT, st.sampled_from(["f.txt", "deep/my file.txt", "ä.txt", 'q"uote\\.txt']))
@example("", "a", "f.txt")
@example("a\n", "", "f.txt")
@example("a\r\nb\r\n", "a\r\nc\r\n", "f.txt")
@pytest.mark.parametrize(
    "program", [["patch", "-p1", "-s", "--binary"], ["git", "apply", "--whitespace=nowarn"]]
)
def test_other_programs_take_the_diff(tmp_path_factory, program, old, new, name):
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    folder = tmp_path_factory.mktemp("patched")
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(old.encode())
    run(program, folder, unified(name, old, new))
    assert (file.read_bytes() if file.exists() else b"") == new.encode()


@pytest.mark.parametrize("program", [["patch", "-p1", "-s"], ["git", "apply"]])
def test_other_programs_create_the_file(tmp_path, program):
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    run(program, tmp_path, unified("new.txt", None, "a\nb"))
    assert (tmp_path / "new.txt").read_text() == "a\nb"


def run(program: list[str], folder: Path, text: str) -> None:
    if text:
        done = subprocess.run(program, cwd=folder, input=text.encode(), capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout, done.stderr, text)


def test_unified_reads_as_usual():
    assert unified("f", "a\nb\nc\n", "a\nx\nc", context=1) == (
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n+x\n+c\n\\ No newline at end of file\n"
    )
    assert unified("f", "same", "same") == ""


def test_the_persons_change_is_separated_from_the_models():
    assert diff_stat("a\nb\n", "a\nxyz\n") == DiffStat(1, 1, 3, 1)
    assert diff_stat("a\nb\n", "a\nxyz\nmine\n", proposal="a\nxyz\n") == DiffStat(1, 1, 3, 1, 1, 0, 4, 0)


def test_undecodable_bytes_are_shown_replaced():
    diff = file_diff("d/f", "a\udcff\n", "b\udcff\n")
    assert diff.original_content == "a\ufffd\n"
    assert diff.new_content == "b\ufffd\n"
    assert diff.file_diff.isprintable() is False
    diff.file_diff.encode()


def test_changed_spans_are_words():
    old, new = "return total + size", "return count + size * 2"
    ours, theirs = changed_spans(old, new)
    assert [old[a:b] for a, b in ours] == ["total"]
    assert [new[a:b].strip() for a, b in theirs] == ["count", "* 2"]


@given(st.text(alphabet="ab (),.\t", max_size=40), st.text(alphabet="ab (),.\t", max_size=40))
def test_changed_spans_lie_in_order_and_leave_the_same_outside(old, new):
    ours, theirs = changed_spans(old, new)
    for line, ranges in ((old, ours), (new, theirs)):
        places = [place for span in ranges for place in span]
        assert places == sorted(places)
        assert all(0 <= a < b <= len(line) for a, b in ranges)
    if ours or theirs:
        assert "".join(outside(old, ours).split()) == "".join(outside(new, theirs).split())


def outside(line, ranges):
    return "".join(c for k, c in enumerate(line) if not any(a <= k < b for a, b in ranges))


def test_lines_with_little_in_common_have_no_spans():
    assert changed_spans("import os", "def main(): pass") == ((), ())
    assert changed_spans("same", "same") == ((), ())


PIECES = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\u00e4"]), max_size=40)


@given(
    PIECES,
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 3), st.sampled_from(["", "x", "y\n", "\nz\n"])),
        max_size=5,
    ),
)
def test_only_the_changed_parts_need_to_be_compared(pieces, edits):
    """Hunks made from the changed parts turn one text into the other, as those of the whole texts do."""
    old = "".join(pieces)
    new, changes, position = "", [], 0
    for start, length, text in sorted(edits):
        end = start + length
        if start >= position and end <= len(old) and (not changes or start > position):
            new += old[position:start] + text
            changes.append((start, end, len(text) - length))
            position = end
    new += old[position:]
    for diff, parts in (
        file_diff_with_hunks("f", old, new, changes=changes),
        file_diff_with_hunks("f", old, new),
    ):
        assert patched(old, parts) == split_lines(new)
        added, removed, *_ = LineDiff(old, new).counts()
        assert diff.diff_stat.model_added_lines - diff.diff_stat.model_removed_lines == added - removed
    assert parts == hunks(old, new)


def patched(old, parts):
    """The lines that the hunks make of the old text's."""
    rows, made, at = split_lines(old), [], 0
    for hunk in parts:
        start = hunk.old_start - (hunk.old_lines > 0)
        made += rows[at:start]
        assert len(made) == hunk.new_start - (hunk.new_lines > 0)
        for line, following in itertools.pairwise([*hunk.lines, ""]):
            text = line[1:] + ("" if following.startswith("\\") else "\n")
            if line[0] in " -":
                assert rows[start] == text
                start += 1
            if line[0] in " +":
                made.append(text)
        at = start
    return made + rows[at:]
