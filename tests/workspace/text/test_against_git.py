"""Diffs of random texts, applied here and by git."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.diff.line_diff import LineDiff
from nbtools.diff.patch_model import Create, Update
from nbtools.workspace.text.patch_edits import hunk_edits
from nbtools.workspace.text.patch_plan import read_patch
from nbtools.workspace.text.replace import apply_edits
from tests.examples import examples

line = st.text(alphabet="ab -+@\\\u00e4\r", max_size=3)
text = st.builds(
    lambda lines, end: "\n".join(lines) + end, st.lists(line, max_size=12), st.sampled_from(["", "\n"])
)


def apply(before, hunks):
    return apply_edits(before, hunk_edits(before, hunks, "exact", "f").edits, "f")


@settings(max_examples=examples(400), deadline=None)
@given(before=text, after=text, context=st.integers(0, 4))
def test_a_diff_applied_returns_the_text(before, after, context):
    if not context:  # nothing then shows which ends the lines have that only come: they are as the file's
        before, after = before.replace("\r", ""), after.replace("\r", "")
    diff = LineDiff(before, after).unified("f", context)
    if not diff:
        return
    (file,) = read_patch(diff).files
    assert isinstance(file, Update)
    assert apply(before, file.parts) == after


@settings(max_examples=examples(100), deadline=None)
@given(after=text.filter(bool))
def test_a_new_file(after):
    assert read_patch(LineDiff(None, after).unified("new file")).files == (Create("new file", after),)


def git(folder, *arguments, stdin=None):
    return subprocess.run(["git", *arguments], cwd=folder, input=stdin, capture_output=True, check=False)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("git")
    git(folder, "init", "-q")
    git(folder, "config", "core.autocrlf", "false")
    return folder


@settings(max_examples=examples(40), deadline=None)
@given(before=text.filter(bool), after=text.filter(bool), context=st.integers(1, 4))
def test_git_makes_the_same_of_it(before, after, context, repository):
    (repository / "f").write_bytes(before.encode())
    diff = LineDiff(before, after).unified("f", context)
    if not diff:
        return
    (file,) = read_patch(diff).files
    ended = git(repository, "apply", "--whitespace=nowarn", "-", stdin=diff.encode())
    assert ended.returncode == 0, ended.stderr
    assert (repository / "f").read_bytes().decode() == apply(before, file.parts)


@settings(max_examples=examples(40), deadline=None)
@given(before=text.filter(bool), after=text.filter(bool), context=st.integers(0, 3))
def test_diffs_written_by_git_are_parsed(before, after, context, repository):
    (repository / "old").write_bytes(before.encode())
    (repository / "new").write_bytes(after.encode())
    diff = git(repository, "diff", "--no-index", f"-U{context}", "--", "old", "new").stdout.decode()
    if not diff:
        return
    (file,) = read_patch(diff).files
    assert (file.path, file.to) == ("old", "new")
    assert apply(before, file.parts) == after


@settings(max_examples=examples(200), deadline=None)
@given(before=text, after=text, above=st.lists(st.sampled_from(["one", "two"]), max_size=9))
def test_lines_added_above_do_no_harm_where_the_place_is_plain(before, after, above):
    diff = LineDiff(f"first\n{before}", f"first\n{after}").unified("f", 99)
    if not diff:
        return
    moved = "".join(f"{line}\n" for line in above)
    (file,) = read_patch(diff).files
    found = hunk_edits(f"{moved}first\n{before}", file.parts, "exact", "f")
    assert apply_edits(f"{moved}first\n{before}", found.edits, "f") == f"{moved}first\n{after}"
    assert bool(found.notes) == bool(above)
