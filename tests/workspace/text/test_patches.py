"""Whatever a model writes is a patch or one clear line, and never half of one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ToolFailure
from nbtools.diff.patch_model import Create, Delete, Hunk, HunkLine, Update
from nbtools.workspace.text.patch_plan import plan_patch, read_patch
from nbtools.workspace.workspace import Workspace
from tests.examples import examples

LINES = [
    *("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "<<<<<<< ORIGINAL", ">>>>>>> UPDATED", "```"),
    *(
        "--- a/f",
        "+++ b/f",
        "--- /dev/null",
        "+++ /dev/null",
        "diff --git a/f b/f",
        "@@ -1,2 +1,2 @@",
        "@@ -2 +2 @@",
        "@@",
        "@@ a",
    ),
    *(
        "\\ No newline at end of file",
        "rename from f",
        "rename to g",
        "new file mode 100644",
        "deleted file mode 100644",
        "-- ",
    ),
    *(
        "*** Begin Patch",
        "*** End Patch",
        "*** Update File: f",
        "*** Add File: g",
        "*** Delete File: f",
        "*** Move to: h",
        "*** End of File",
    ),
    *(" a", "-a", "+a", "-b", "+B", " c", "a", "b", "", " ", "f"),
]


@settings(max_examples=examples(500), deadline=None)
@given(lines=st.lists(st.sampled_from(LINES), max_size=14), end=st.sampled_from(["", "\n", "\r\n"]))
def test_any_lines_are_a_plan_or_a_failure(lines, end, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    (folder / "f").write_text("a\nb\nc\n")
    text = (end or "\n").join(lines) + end
    said, steps = "", ()
    try:
        steps = plan_patch(Workspace(folder), read_patch(text, "f"), "close").steps
    except ToolFailure as failure:
        said = failure.message
    assert bool(steps) != bool(said)
    assert "\n" not in said
    assert (folder / "f").read_text() == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ('--- "a/b\\303\\244 \\"x\\""\n+++ "b/b\\303\\244 \\"x\\""\n@@ -1 +1 @@\n-a\n+b\n', ['b\u00e4 "x"']),
        ("--- a/f\t2026-01-01 00:00\n+++ b/f\t2026-01-01 00:00\n@@ -1 +1 @@\n-a\n+b\n", ["f"]),
        ("--- a/b/f\n+++ b/b/f\n@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", ["b/f", "g"]),
        ("diff --git i/f w/f\n--- i/f\n+++ w/f\n@@ -1 +1 @@\n-a\n+b\n", ["f"]),
        ("diff --git a/x y b/x y\nnew file mode 100644\nindex 0..0\n", ["x y"]),
        ("--- f\n+++ f\n@@ -1,2 +1,1 @@\n--- not a name\n a\n", ["f"]),
    ],
)
def test_names(text, files):
    assert [file.path for file in read_patch(text).files] == files


def test_a_git_patch_of_several_kinds():
    text = (
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"
        "diff --git a/y b/z\nsimilarity index 100%\nrename from y\nrename to z\n"
        "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n"
    )
    assert read_patch(text).files == (Delete("x", "a"), Update("y", (), "z"), Create("n", "a\n"))


def test_hunks_with_wrong_counts_end_where_the_next_begins():
    patch = read_patch("--- f\n+++ f\n@@ -1,7 +1,7 @@\n-a\n+A\n\n@@ -9,1 +9,9 @@\n-b\n+B\n")
    (file,) = patch.files
    first, second = file.parts
    assert isinstance(first, Hunk)
    assert first.lines == (HunkLine("-", "a\n"), HunkLine("+", "A\n"))
    assert second.lines == (HunkLine("-", "b\n"), HunkLine("+", "B\n"))
    assert len(patch.notes) == 2


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_a_marker_is_never_written_into_a_file(data, tmp_path_factory):
    """Two blocks of which a newline is lost or a character added, anywhere."""
    folder = tmp_path_factory.getbasetemp()
    (folder / "f").write_text("a\nb\nc\n")
    text = "<<<<<<< SEARCH\na\n=======\nA\n>>>>>>> REPLACE\n<<<<<<< SEARCH\nc\n=======\nC\n>>>>>>> REPLACE\n"
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(text) - 1))
        if data.draw(st.booleans()):
            place = text.index("\n", place)
            text = text[:place] + text[place + 1 :]
        else:
            text = text[:place] + data.draw(st.sampled_from([" ", "\t", "\r", "x", "\n"])) + text[place:]
        text += "\n" * (not text.endswith("\n"))
    try:
        files = plan_patch(Workspace(folder), read_patch(text, "f"), "exact").files
    except ToolFailure:
        return
    for file in files:
        assert b"<<<" not in file.after
        assert b">>>" not in file.after
