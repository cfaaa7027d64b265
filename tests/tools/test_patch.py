"""Patches of three kinds through the tool."""

import asyncio
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileDiff, FileDiffs
from nbtools.core.tool import PathTarget
from nbtools.tools.edit import EditTool
from nbtools.tools.patch import PatchTool
from nbtools.workspace.workspace import Workspace
from tests.examples import examples

TWINS = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    x = 1\n    return x\n"


@pytest.fixture
def tool(tmp_path):
    (tmp_path / "twins.py").write_text(TWINS)
    (tmp_path / "abc").write_text("a\nb\nc\n")
    return PatchTool(Workspace(tmp_path))


async def patch(tool, text, **more):
    return await tool.validate_build_and_execute({"patch": text, **more})


def block(old, new, start="SEARCH", end="REPLACE"):
    return f"<<<<<<< {start}\n{old}=======\n{new}>>>>>>> {end}\n"


def envelope(body):
    return f"*** Begin Patch\n{body}*** End Patch\n"


BIG_B = ("b\n", "B\n")
DIFF = "--- a/abc\n+++ b/abc\n@@ -2 +2 @@\n-b\n+B\n"
APPLIED = {
    "a block": (block("b\n", "B\n"), "a\nB\nc\n"),
    "markers of void": (block("b\n", "B\n", "ORIGINAL", "UPDATED"), "a\nB\nc\n"),
    "CRLF in transport": (block("b\n", "B\n").replace("\n", "\r\n"), "a\nB\nc\n"),
    "blanks behind markers": (block("b\n", "B\n").replace("=======", "======= \t"), "a\nB\nc\n"),
    "no newline at the end": (block("b\n", "B\n").rstrip("\n"), "a\nB\nc\n"),
    "a deletion leaves no empty line": (block("b\n", ""), "a\nc\n"),
    "an empty line first": (block("a\nb\n", "\na\nb\n"), "\na\nb\nc\n"),
    "prose around": (f"Here it is:\n```\n{block(*BIG_B)}```\nDone.", "a\nB\nc\n"),
    "two blocks, the second begins in the line that ends the first": (
        block("a\n", "A\n").rstrip("\n") + block("c\n", "C\n"), "A\nb\nC\n",
    ),
    "the same in CRLF, with blanks": (
        (block("a\n", "A\n").rstrip("\n") + " \t" + block("c\n", "C\n")).replace("\n", " \r\n").replace("A ", "A").replace("C ", "C"),
        "A\nb\nC\n",
    ),
    "two blocks in any order": (block("c\n", "C\n") + block("a\n", "A\n"), "A\nb\nC\n"),
    "part of a line keeps the rest": (block("a\nb\n", "A\nb\n"), "A\nb\nc\n"),
    "a diff": ("--- a/abc\n+++ b/abc\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
    "a diff without prefixes": ("--- abc\n+++ abc\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
    "a diff with wrong counts": ("--- a/abc\n+++ b/abc\n@@ -1,9 +1,7 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
    "a diff with wrong line numbers": ("--- a/abc\n+++ b/abc\n@@ -71,2 +71,2 @@\n-b\n+B\n c\n", "a\nB\nc\n"),
    "a hunk without numbers": ("--- a/abc\n+++ b/abc\n@@ ... @@\n-b\n+B\n", "a\nB\nc\n"),
    "a bare hunk": ("@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc\n"),
    "a diff in CRLF": ("--- a/abc\r\n+++ b/abc\r\n@@ -2 +2 @@\r\n-b\r\n+B\r\n", "a\nB\nc\n"),
    "a deletion of a line that looks like a name": ("--- a/abc\n+++ b/abc\n@@ -1,3 +1,4 @@\n a\n b\n c\n+++ d\n", "a\nb\nc\n++ d\n"),
    "mode lines": ("diff --git a/abc b/abc\nold mode 100644\nnew mode 100755\n--- a/abc\n+++ b/abc\n@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc\n"),
    "a mail": (f"From 1\nSubject: x\n---\n abc | 2 +-\n\ndiff --git a/abc b/abc\nindex 1..2 100644\n{DIFF}-- \n2.3\n", "a\nB\nc\n"),
    "codex": (envelope("*** Update File: abc\n@@\n a\n-b\n+B\n"), "a\nB\nc\n"),
    "codex, padded markers": (envelope(" *** Update File: abc \n a\n-b\n+B\n\n").replace("*** End", "  *** End"), "a\nB\nc\n"),
    "codex, appended": (envelope("*** Update File: abc\n@@\n+d\n*** End of File\n"), "a\nb\nc\nd\n"),
    "codex, end of file": (envelope("*** Update File: abc\n@@\n-c\n+C\n*** End of File\n"), "a\nb\nC\n"),
    "codex, deleted and made anew": (envelope("*** Delete File: abc\n*** Add File: abc\n+B\n"), "B\n"),
}  # fmt: skip


@pytest.mark.parametrize("what", APPLIED)
async def test_applied(tool, tmp_path, what):
    text, after = APPLIED[what]
    result = await patch(tool, text, path="abc")
    assert result.ok, result.error
    assert (tmp_path / "abc").read_text() == after
    assert isinstance(result.return_display, FileDiff)
    assert result.data.files[0].path == "abc"


REFUSED = {
    "an unfinished block": ("<<<<<<< SEARCH\nb\n=======\nB\n", "invalid_tool_params", "not finished"),
    "half a block": ("<<<<<<< SEARCH\nb\n", "invalid_tool_params", "not finished"),
    "no divider": ("<<<<<<< SEARCH\nb\n>>>>>>> REPLACE\n", "invalid_tool_params", "no ======="),
    "two starts": ("<<<<<<< SEARCH\nb\n" + block("b\n", "B\n"), "invalid_tool_params", "line 3"),
    "two ends": (block("b\n", "B\n") + ">>>>>>> REPLACE\n", "invalid_tool_params", "ends no block"),
    "marker inside a line": ("x <<<<<<< SEARCH\nb\n=======\nB\n>>>>>>> REPLACE\n", "invalid_tool_params", "contains no patch"),
    "an end behind text": (block("a\n", "A") + block("c\n", "C\n"), "invalid_tool_params", "line 4"),
    "an end behind text, before a start": (
        block("a\n", "A").rstrip("\n") + block("c\n", "C\n"), "invalid_tool_params", "line 4",
    ),
    "text behind an end": (block("a\n", "A\n").rstrip("\n") + " then\n" + block("c\n", "C\n"), "invalid_tool_params", "line 5"),
    "text between an end and a start": (
        block("a\n", "A\n").rstrip("\n") + " then " + block("c\n", "C\n"), "invalid_tool_params", "line 5",
    ),
    "an end behind a divider": (block("a\n", "").replace("=\n>", "=>") + block("c\n", "C\n"), "invalid_tool_params", "line 3"),
    "an indented end": (block("a\n", "A\n  ") + block("c\n", "C\n"), "invalid_tool_params", "line 5"),
    "a start behind text": (block("a\n", "A\n") + "x" + block("c\n", "C\n"), "invalid_tool_params", "ends no block"),
    "an indented block after another": (
        block("a\n", "A\n") + "".join(f"  {line}\n" for line in block("c\n", "C\n").splitlines()), "invalid_tool_params", "line 6",
    ),
    "too many signs": (block("a\n", "A\n>") + block("c\n", "C\n"), "invalid_tool_params", "line 5"),
    "an empty old text": (block("", "x\n"), "invalid_tool_params", "old text is empty"),
    "a block that is not there": (block("bbbb\n", "B\n"), "edit_no_occurrence_found", "abc, block 1"),
    "blocks that overlap": (block("a\nb\n", "1\n") + block("b\nc\n", "2\n"), "edit_preparation_failure", "overlap at line 2"),
    "nothing changes": (block("b\n", "b\n"), "edit_no_change", "changes nothing"),
    "nothing": ("hello", "invalid_tool_params", "contains no patch"),
    "a line without a sign": ("--- a/abc\n+++ b/abc\n@@ -1,3 +1,3 @@\n a\n-b\n+B\nc\n", "invalid_tool_params", "line 7"),
    "binary": ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\n", "invalid_tool_params", "binary"),
    "other lines": ("--- a/abc\n+++ b/abc\n@@ -1,2 +1,2 @@\n x\n-b\n+B\n", "edit_no_occurrence_found", "abc, hunk 1"),
    "a missing file": ("--- a/nix\n+++ b/nix\n@@ -1 +1 @@\n-b\n+B\n", "file_not_found", "no file nix"),
    "outside": ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-b\n+B\n", "path_not_in_workspace", "outside"),
    "a block with a placeholder": (block("b\n", "# ... existing code ...\n"), "invalid_tool_params", "abc, block 1: the line"),
    "a diff with a placeholder": (
        "--- a/abc\n+++ b/abc\n@@ -2 +2 @@\n-b\n+// ... rest of the code ...\n", "invalid_tool_params", "abc, hunk 1: the line",
    ),
    "a new file with a placeholder": (envelope("*** Add File: new\n+# ... rest of code ...\n"), "invalid_tool_params", "new: the line"),
    "codex, context alone": (envelope("*** Update File: abc\n@@\n a\n@@\n b\n"), "invalid_tool_params", "no line begins with - or +"),
    "codex, an empty hunk": (envelope("*** Update File: abc\n@@ a\n"), "invalid_tool_params", "line"),
    "codex, context that is not there": (
        envelope("*** Update File: abc\n@@\n x y z\n@@\n-b\n+B\n"), "edit_no_occurrence_found", "abc, hunk 1",
    ),
    "codex, no end": ("*** Begin Patch\n*** Delete File: abc\n", "invalid_tool_params", "*** End Patch is missing"),
    "codex, nothing in it": (envelope(""), "invalid_tool_params", "no *** Add File"),
    "codex, a bad section": (envelope("*** Rename File: abc\n"), "invalid_tool_params", "belongs to no section"),
    "codex, add over a file": (envelope("*** Add File: abc\n+x\n"), "attempt_to_create_existing_file", "abc exists already"),
    "codex, move over a file": (
        envelope("*** Update File: abc\n*** Move to: twins.py\n@@\n-b\n+B\n"), "attempt_to_create_existing_file", "twins.py",
    ),
    "codex, twice there": (envelope("*** Update File: twins.py\n-    x = 1\n+\n"), "edit_expected_occurrence_mismatch", "lines 2, 7"),
    "codex, another header": (envelope("*** Update File: twins.py\n@@ def h():\n-    x = 1\n"), "edit_no_occurrence_found", "header"),
    "codex, the second file fails": (
        envelope("*** Add File: new\n+x\n*** Update File: abc\n@@\n-nope\n+B\n"), "edit_no_occurrence_found", "abc, hunk 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
async def test_refused_and_nothing_changed(tool, tmp_path, what):
    text, code, words = REFUSED[what]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = await patch(tool, text, path="abc")
    assert (result.error and result.error.code) == code, result.llm_content
    assert words in result.error.message
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


MARKERS = (
    "*** End Patch",
    "*** Begin Patch",
    "*** End of File",
    "*** Delete File: abc",
    "*** Add File: abc",
    "*** Move to: x",
)


@pytest.mark.parametrize("marker", MARKERS)
async def test_markers_in_lines_that_stay(tool, tmp_path, marker):
    (tmp_path / "doc").write_text(f"a\n{marker}\nb\n")
    for after in ("A", "a"):
        before = {"A": "a", "a": "A"}[after]
        lines = f"-{before}\n+{after}\n {marker}\n-b\n+b\n"
        result = await patch(
            tool, envelope(f"*** Update File: doc\n@@\n{lines}*** Update File: abc\n-{before}\n+{after}\n")
        )
        assert result.ok, result.error
        assert (tmp_path / "doc").read_text() == f"{after}\n{marker}\nb\n"
        assert (tmp_path / "abc").read_text() == f"{after}\nb\nc\n"


KINDS = {
    "blocks": "twins.py\n" + block("def f():\n", "def h():\n"),
    "a diff": DIFF,
    "an envelope": envelope("*** Add File: new\n+x\n"),
}


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(KINDS, 2)))
async def test_a_second_patch_of_another_kind_is_not_dropped(tool, tmp_path, one, other):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = await patch(tool, f"First:\n\n{KINDS[one]}\nThen:\n\n{KINDS[other]}")
    assert result.error.code == "invalid_tool_params"
    assert "a patch in another format" in result.error.message
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


LINKS = {
    "delete": envelope("*** Delete File: link\n"),
    "move": envelope("*** Update File: link\n*** Move to: new\n-a\n+A\n"),
    "git deletes": "diff --git a/link b/link\ndeleted file mode 120000\nindex 1..0\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-abc\n",
    "git makes": "diff --git a/link2 b/link2\nnew file mode 120000\n--- /dev/null\n+++ b/link2\n@@ -0,0 +1 @@\n+abc\n",
    "git turns": "diff --git a/link b/link\nindex 1..2 120000\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-abc\n+twins.py\n",
    "a submodule": "diff --git a/sub b/sub\nnew file mode 160000\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit 12\n",
}


@pytest.mark.parametrize("what", LINKS)
async def test_links_are_no_files(tool, tmp_path, what):
    (tmp_path / "link").symlink_to("abc")
    result = await patch(tool, LINKS[what])
    assert result.error.code == "invalid_tool_params"
    assert "link" in result.error.message
    assert "/dev/null" not in result.error.message
    assert (tmp_path / "abc").read_text() == "a\nb\nc\n"
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["abc", "link", "twins.py"]


async def test_a_recreated_file_keeps_its_mode_and_its_hard_links(tool, tmp_path):
    (tmp_path / "abc").chmod(0o755)
    (tmp_path / "other").hardlink_to(tmp_path / "abc")
    result = await patch(tool, envelope("*** Delete File: abc\n*** Add File: abc\n+B\n"))
    assert result.ok, result.error
    assert (tmp_path / "other").read_text() == "B\n"
    assert (tmp_path / "abc").stat().st_mode & 0o777 == 0o755


async def test_names_that_change_hands(tool, tmp_path):
    (tmp_path / "b").write_text("b\n")
    moves = "*** Update File: abc\n*** Move to: t\n*** Update File: b\n*** Move to: abc\n*** Update File: t\n*** Move to: b\n-a\n+A\n"
    result = await patch(tool, envelope(moves))
    assert result.ok, result.error
    assert [(tmp_path / name).read_text() for name in ("abc", "b")] == ["b\n", "A\nb\nc\n"]
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("second", ["*** Delete File: abc\n", "*** Update File: abc\n-b\n+B\n"])
async def test_a_file_deleted_by_an_earlier_part_is_not_found(tool, tmp_path, second):
    result = await patch(tool, envelope(f"*** Delete File: abc\n{second}"))
    assert result.error.code == "file_not_found"
    assert "an earlier part of the patch" in result.error.message
    assert (tmp_path / "abc").exists()


async def test_a_file_that_is_created_and_deleted_is_not_a_change(tool, tmp_path):
    result = await patch(tool, envelope("*** Add File: new\n+x\n*** Delete File: new\n"))
    assert result.error.code == "edit_no_change"
    assert not (tmp_path / "new").exists()


async def test_a_name_with_an_escape_that_is_none(tool, tmp_path):
    result = await patch(tool, '--- /dev/null\n+++ "b/\\777x"\n@@ -0,0 +1 @@\n+b\n')
    assert result.ok, result.error
    assert (tmp_path / "777x").read_text() == "b\n"


async def test_headers_narrow(tool, tmp_path):
    await patch(
        tool,
        envelope(
            "*** Update File: twins.py\n@@ def f():\n-    x = 1\n+    x = 2\n@@ def g():\n-    x = 1\n+    x = 3\n"
        ),
    )
    assert (tmp_path / "twins.py").read_text() == TWINS.replace("x = 1", "x = 2", 1).replace("x = 1", "x = 3")


async def test_stacked_headers_narrow(tool, tmp_path):
    text = "".join(f"class {name}:\n    def run(self):\n        pass\n\n" for name in "AB")
    (tmp_path / "two.py").write_text(text)
    result = await patch(
        tool,
        envelope("*** Update File: two.py\n@@ class B:\n@@ def run(self):\n-        pass\n+        go()\n"),
    )
    assert result.ok, result.error
    assert (tmp_path / "two.py").read_text() == text[: text.rindex("pass")] + "go()\n\n"


@pytest.mark.parametrize(
    ("there", "lines", "match", "says"),
    [
        ("a\n  b  \nc\n", "-  b\n", "blanks", "differs in whitespace"),
        ("a\n    b\nc\n", "-  b\n", "blanks", "differs in indentation"),
        ("a\n  b \u2013 \u201cx\u201d\nc\n", '-  b - "x"\n', "close", "dashes"),
    ],
)
async def test_loose_steps_are_reported_and_may_be_forbidden(tool, tmp_path, there, lines, match, says):
    (tmp_path / "f").write_text(there)
    text = envelope(f"*** Update File: f\n@@\n{lines}+  new\n")
    stricter = {"close": "blanks", "blanks": "exact"}[match]
    assert (await patch(tool, text, match=stricter)).error.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    result = await patch(tool, text, match=match)
    assert says in result.llm_content
    indent = "    " if says == "differs in indentation" else "  "
    trailing = "  " if says == "differs in whitespace" else ""
    assert (tmp_path / "f").read_text() == f"a\n{indent}new{trailing}\nc\n"


RUNGS = {
    "whitespace": (
        "    value = call(first,  second)",
        "    value = call(first, second)",
        "differs in whitespace",
    ),
    "indentation": (
        "    value = call(first, second)",
        "  value = call(first, second)",
        "differs in indentation",
    ),
    "look-alikes": (
        "    value = call(\u201cfirst\u201d, second)",
        '    value = call("first", second)',
        "look alike",
    ),
    "close": (
        "    value = call(first, secund)",
        "    value = call(first, second)",
        "the most similar text was replaced (96% similar)",
    ),
}


@pytest.mark.parametrize("what", RUNGS)
async def test_every_kind_of_change_climbs_the_same_ladder_and_reports_it_alike(tool, tmp_path, what):
    there, lines, says = RUNGS[what]
    unit = lines[: len(lines) - len(lines.lstrip())]
    new = f"{unit}if new:\n{unit * 2}pass\n"
    edit = EditTool(tool.workspace)
    calls = {
        "edit": lambda: edit.validate_build_and_execute({"path": "f", "old": f"{lines}\n", "new": new}),
        "block": lambda: patch(tool, block(f"{lines}\n", new), path="f"),
        "hunk": lambda: patch(
            tool, f"@@ ... @@\n-{lines}\n" + "".join(f"+{line}\n" for line in new.splitlines()), path="f"
        ),
        "hunk with a header": lambda: patch(
            tool,
            envelope(
                f"*** Update File: f\n@@ def f():\n-{lines}\n"
                + "".join(f"+{line}\n" for line in new.splitlines())
            ),
        ),
    }
    for name, call in calls.items():
        (tmp_path / "f").write_text(f"def f():\n{there}\n    return value\n")
        result = await call()
        assert result.ok, (name, result.error)
        assert "exactly as given: at line 2, " in result.llm_content
        assert says in result.llm_content
        assert (tmp_path / "f").read_text() == "def f():\n    if new:\n        pass\n    return value\n", name


async def test_a_hunk_that_is_applied_already_is_not_applied_to_similar_lines(tool, tmp_path):
    (tmp_path / "f").write_text("value = call(first, third)\n")
    result = await patch(
        tool, "@@ ... @@\n-value = call(first, thirt)\n+value = call(first, third)\n", path="f"
    )
    assert result.error.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    assert "already there, at line 1" in result.error.message


async def test_a_header_is_not_found_by_similarity(tool, tmp_path):
    (tmp_path / "f").write_text("def load_the_settings(path):\n    x = 1\n")
    result = await patch(
        tool, envelope("*** Update File: f\n@@ def load_the_setting(path):\n-    x = 1\n+    x = 2\n")
    )
    assert result.error.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    assert "most similar text differs: line 1" in result.error.message


async def test_drift_is_reported(tool, tmp_path):
    result = await patch(tool, "--- a/abc\n+++ b/abc\n@@ -1,2 +1,2 @@\n-b\n+B\n c\n")
    assert "abc, hunk 1 was found at line 2, 1 line below its line number." in result.llm_content


async def test_line_numbers_choose_between_twins(tool, tmp_path):
    result = await patch(tool, "--- a/twins.py\n+++ b/twins.py\n@@ -8,1 +8,1 @@\n-    x = 1\n+    x = 2\n")
    assert result.ok, result.error
    assert (tmp_path / "twins.py").read_text() == TWINS[: TWINS.rindex("1")] + "2\n    return x\n"
    (tmp_path / "twins.py").write_text(TWINS)
    unclear = await patch(tool, "--- a/twins.py\n+++ b/twins.py\n@@ -4,1 +4,1 @@\n-    x = 1\n+    x = 2\n")
    assert unclear.error.code is ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH


@pytest.mark.parametrize("file", ["Title\n=======\nText\n", "a\nTitle\n=======\nText\nz\n"])
async def test_a_divider_in_the_text_is_recognized_by_the_file(tool, tmp_path, file):
    (tmp_path / "f.md").write_text(file)
    result = await patch(tool, block("Title\n=======\nText\n", "Other\n=======\nText\n"), path="f.md")
    assert "several ======= lines" in result.llm_content
    assert (tmp_path / "f.md").read_text() == file.replace("Title", "Other")


async def test_several_files_at_once(tool, tmp_path):
    text = envelope(
        "*** Update File: abc\n*** Move to: sub/abc\n@@\n-b\n+B\n*** Add File: new/n\n+n\n*** Delete File: twins.py\n"
    )
    invocation = tool.build({"patch": text})
    assert invocation.target() == PathTarget(("abc", "sub/abc", "new/n", "twins.py"))
    details = await invocation.should_confirm_execute()
    assert details.title == "Move abc to sub/abc with changes, create new/n, delete twins.py?"
    assert [details.file_name, *(diff.file_name for diff in details.others)] == [
        "sub/abc",
        "new/n",
        "twins.py",
    ]
    result = await invocation.execute()
    assert isinstance(result.return_display, FileDiffs)
    assert (result.data.deleted, result.data.moved) == (("twins.py",), (("abc", "sub/abc"),))
    assert [(file.path, file.created, file.folders) for file in result.data.files] == [
        ("sub/abc", False, ("sub",)),
        ("new/n", True, ("new",)),
    ]
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "new/n",
        "sub/abc",
    ]
    assert (tmp_path / "sub/abc").read_text() == "a\nB\nc\n"


async def test_git_creates_renames_and_deletes(tool, tmp_path):
    text = (
        "diff --git a/abc b/d e\nsimilarity index 90%\nrename from abc\nrename to d e\n--- a/abc\n+++ b/d e\t\n@@ -2 +2 @@\n-b\n+B\n"
        "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n\\ No newline at end of file\n"
        "diff --git a/twins.py b/twins.py\ndeleted file mode 100644\n--- a/twins.py\n+++ /dev/null\n@@ -1,8 +0,0 @@\n"
        + "".join(f"-{line}\n" for line in TWINS.splitlines())
    )
    result = await patch(tool, text)
    assert result.ok, result.error
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"d e": "a\nB\nc\n", "n": "n"}
    assert "the file mode was not changed" in result.llm_content


async def test_a_deletion_of_something_else_is_refused(tool, tmp_path):
    result = await patch(tool, "--- a/abc\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    assert result.error.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    assert (tmp_path / "abc").exists()


async def test_later_parts_see_earlier_ones(tool, tmp_path):
    one = "--- a/abc\n+++ b/abc\n@@ -2 +2 @@\n-b\n+B\n"
    two = "--- a/abc\n+++ b/abc\n@@ -2 +2 @@\n-B\n+BB\n"
    result = await patch(tool, one + two)
    assert (tmp_path / "abc").read_text() == "a\nBB\nc\n"
    assert len(result.data.files) == 1


async def test_names_before_blocks(tool, tmp_path):
    text = f"**sub/new.py**\n```python\n{block('', 'x = 1' + chr(10))}```\n\nAnd then:\n\nabc\n{block('c' + chr(10), 'C' + chr(10))}"
    result = await patch(tool, text)
    assert result.ok, result.error
    assert ((tmp_path / "sub/new.py").read_text(), (tmp_path / "abc").read_text()) == ("x = 1\n", "a\nb\nC\n")


async def test_every_other_byte_stays(tool, tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfcaf\xe9\r\nb\r\nc\n")
    assert (await patch(tool, "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n caf\ufffd\n-b\n+B\n+x\n c\n")).ok
    assert (tmp_path / "f").read_bytes() == b"\xef\xbb\xbfcaf\xe9\r\nB\r\nx\r\nc\n"


async def test_changes_elsewhere_since_the_question_do_no_harm(tool, tmp_path):
    invocation = tool.build({"patch": block("b\n", "B\n"), "path": "abc"})
    await invocation.should_confirm_execute()
    (tmp_path / "abc").write_text("new\na\nb\nc\n")
    result = await invocation.execute()
    assert "changed after the diff was displayed" in result.llm_content
    assert (tmp_path / "abc").read_text() == "new\na\nB\nc\n"


async def test_changes_there_since_the_question_are_a_conflict(tool, tmp_path):
    invocation = tool.build({"patch": block("b\n", "B\n"), "path": "abc"})
    await invocation.should_confirm_execute()
    (tmp_path / "abc").write_text("a\n")
    with pytest.raises(ToolFailure) as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.CONFLICT


async def test_files_must_have_been_read_where_that_is_required(tool, tmp_path):
    seen = tool.workspace.read_tracker
    seen.required = True
    text = envelope("*** Update File: abc\n*** Move to: z\n@@\n-b\n+B\n")
    assert (await patch(tool, text)).error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    seen.record(tmp_path / "abc", b"a\nb\nc\n")
    assert (await patch(tool, text)).ok
    assert (await patch(tool, block("B\n", "BB\n"), path="z")).ok


words = st.lists(st.sampled_from(["one\n", "two\n", "three\n", "\n", "  four\n"]), min_size=1, max_size=30)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), lines=words)
def test_blocks_in_any_order_give_the_same_file(data, lines, tmp_path_factory):
    folder = tmp_path_factory.mktemp("order")
    text = "".join(f"{number} {line}" for number, line in enumerate(lines))
    (folder / "f").write_text(text)
    rows = text.splitlines(keepends=True)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(rows)), min_size=2, max_size=6)))
    pieces = [(a, b) for a, b in itertools.pairwise(cuts) if any(row.strip() for row in rows[a:b])]
    blocks = [block("".join(rows[a:b]), data.draw(words.map("".join))) for a, b in pieces]
    results = set()
    for order in (blocks, blocks[::-1], data.draw(st.permutations(blocks))):
        invocation = PatchTool(Workspace(folder)).build({"patch": "".join(order), "path": "f"})
        results.add(asyncio.run(invocation.should_confirm_execute()).new_content)
    assert len(results) == 1


async def test_every_reported_change_is_in_the_file_after_concurrent_patches(tmp_path):
    (tmp_path / "f").write_text("".join(f"line {number}.\n" for number in range(60)))
    tools = [PatchTool(Workspace(tmp_path)) for _ in range(2)]
    calls = [
        patch(tools[number % 2], block(f"line {number}.\n", f"done {number}.\n"), path="f")
        for number in range(60)
    ]
    results = await asyncio.gather(*calls)
    text = (tmp_path / "f").read_text()
    assert [f"done {number}.\n" in text for number in range(60)] == [result.ok for result in results]
    assert any(result.ok for result in results)
    assert {result.error.code for result in results if not result.ok} <= {"conflict"}
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


async def test_a_hunk_of_context_alone_narrows_the_next(tool, tmp_path):
    other = envelope("*** Update File: twins.py\n@@\n def g():\n@@\n-    x = 1\n+    x = 2\n")
    result = await patch(tool, other)
    assert result.error is None
    assert (tmp_path / "twins.py").read_text() == TWINS[: TWINS.rindex("x = 1")] + "x = 2" + TWINS[
        TWINS.rindex("x = 1") + 5 :
    ]


@pytest.mark.parametrize("style", ["codex", "diff"])
async def test_only_the_removed_lines_were_given_with_another_indentation(tool, tmp_path, style):
    """The case is recorded in a session of Codex:
    the context and the new lines are indented as the file is.
    """
    body = "-            return old(1)\n+    return new(1)\n }\n"
    (tmp_path / "a.go").write_text("func f() {\n    return old(1)\n}\n")
    text = (
        envelope(f"*** Update File: a.go\n@@\n{body}")
        if style == "codex"
        else f"--- a/a.go\n+++ b/a.go\n@@ -2,2 +2,2 @@\n{body}"
    )
    result = await patch(tool, text)
    assert result.error is None, result.error
    assert (tmp_path / "a.go").read_text() == "func f() {\n    return new(1)\n}\n"


async def test_no_context_shows_how_the_file_is_indented(tool, tmp_path):
    (tmp_path / "a.go").write_text("func f() {\n    return old(1)\n}\n")
    result = await patch(
        tool, envelope("*** Update File: a.go\n@@\n-            return old(1)\n+    return new(1)\n")
    )
    assert result.error.code == "edit_preparation_failure"
    assert (tmp_path / "a.go").read_text() == "func f() {\n    return old(1)\n}\n"


async def test_the_question_names_every_move_deletion_and_new_file(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("two\n")
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: c/a.txt\n@@\n-one\n+1\n*** Delete File: b.txt\n"
        "*** Add File: new.txt\n+x\n*** End Patch\n"
    )
    details = await PatchTool(Workspace(tmp_path)).build({"patch": patch}).should_confirm_execute()
    assert "Moves a.txt to c/a.txt" in details.note
    assert "Deletes b.txt" in details.note
    assert "Creates new.txt" in details.note
