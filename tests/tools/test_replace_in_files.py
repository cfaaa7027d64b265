"""Replacing in many files through the tool."""

import asyncio
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileDiff, FileDiffs
from nbtools.core.tool import Kind
from nbtools.tools.replace_in_files import FileCount, ReplaceInFilesTool
from nbtools.workspace.search.regex_replace import group_reference_error
from nbtools.workspace.search.ripgrep import find_rg
from nbtools.workspace.workspace import Workspace
from tests.examples import examples


def names(folder):
    return [path.name for path in folder.iterdir()]


@pytest.fixture
def tool(tmp_path):
    return ReplaceInFilesTool(Workspace(tmp_path))


async def replace(tool, pattern, replacement, **more):
    return await tool.validate_build_and_execute({"pattern": pattern, "replacement": replacement, **more})


async def test_a_preview_changes_nothing_and_asks_nobody(tool, tmp_path):
    (tmp_path / "a").write_text("foo foo\n")
    (tmp_path / "b").write_text("foo\nbar\n")
    result = await replace(tool, "foo", "baz")
    assert (tmp_path / "a").read_text() == "foo foo\n"
    assert (result.data.files, result.data.places, result.data.applied) == (
        (FileCount("a", 2), FileCount("b", 1)),
        3,
        False,
    )
    assert isinstance(result.return_display, FileDiffs)
    assert result.summary == "3 places in 2 files, +2 −2, not applied"
    assert "+baz baz" in result.llm_content
    kinds = [tool.build({"pattern": "a", "replacement": "b", "apply": apply}).kind for apply in (False, True)]
    assert kinds == [Kind.SEARCH, None]


async def test_applied(tool, tmp_path):
    (tmp_path / "a").write_text("foo foo\n")
    (tmp_path / "b").write_text("foo\nbar\n")
    (tmp_path / "c").write_text("bar\n")
    invocation = tool.build({"pattern": "foo", "replacement": "baz", "apply": True})
    details = await invocation.should_confirm_execute()
    assert details.title == "Replace 3 places in 2 files?"
    assert (details.file_name, [diff.file_name for diff in details.others]) == ("a", ["b"])
    result = await invocation.execute()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a": "baz baz\n",
        "b": "baz\nbar\n",
        "c": "bar\n",
    }
    assert result.data.applied
    assert not tool.workspace.read_tracker.has_changed(tmp_path / "a", b"baz baz\n")


@pytest.mark.parametrize(
    ("pattern", "replacement", "options", "before", "after"),
    [
        (r"(\w+) (\w+)", "$2 $1", {}, b"one two\n", b"two one\n"),
        (r"(?P<x>o)ne", "${x}x$$", {}, b"one\n", b"ox$\n"),
        (r"(o)ne", "${1}s", {}, b"one\n", b"os\n"),
        (r"$0", "[$0]", {"fixed": True}, b"a $0 b\n", b"a [$0] b\n"),
        ("one", "two", {"word": True}, b"one ones\n", b"two ones\n"),
        ("ONE", "two", {"ignore_case": True}, b"one\n", b"two\n"),
        ("a\nb", "c", {"multiline": True}, b"a\nb\n", b"c\n"),
        ("$", ";", {}, b"a\r\nb\r\n", b"a;\r\nb;\r\n"),
        ("^", "# ", {}, b"a\nb", b"# a\n# b"),
        (r"\s+$", "", {}, b"a  \r\nb\t\n", b"a\r\nb\n"),
        ("a", "x\ny", {}, b"a\r\nb\r\na", b"x\r\ny\r\nb\r\nx\r\ny"),
        ("a", "b", {}, b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
        ("\u00e9", "e", {}, "caf\u00e9 a\r\n".encode("utf-16"), "cafe a\r\n".encode("utf-16")),
        ("a", "b", {}, b"a \xe9 a\n", b"b \xe9 b\n"),
    ],
)
async def test_the_replacement_is_inserted_as_documented(
    tool, tmp_path, pattern, replacement, options, before, after
):
    (tmp_path / "f").write_bytes(before)
    result = await replace(tool, pattern, replacement, apply=True, **options)
    assert result.ok, result.error
    assert (tmp_path / "f").read_bytes() == after
    assert isinstance(result.return_display, FileDiff)


lines = st.lists(st.text(alphabet="ab \u00e4\t", max_size=6), min_size=1, max_size=5)


@settings(max_examples=examples(25), deadline=None)
@given(
    lines=lines,
    pattern=st.sampled_from(["a", "(a)(b)?", r"\bb", "[^a]+$", "a|ab", "^", r"\s*$", r"(?i)A.", "a*"]),
    new=st.sampled_from(["", "x", "<$0>", "$1"]),
)
def test_it_is_what_ripgrep_makes(lines, pattern, new, tmp_path_factory):
    if group_reference_error(pattern, new):
        return
    folder = tmp_path_factory.mktemp("rg")
    text = "\n".join(lines) + "\n"
    (folder / "f").write_text(text)
    ended = subprocess.run(
        [find_rg(), "--no-config", "--passthru", "-N", "--replace", new, pattern, "f"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    result = asyncio.run(replace(ReplaceInFilesTool(Workspace(folder)), pattern, new, apply=True))
    after = (folder / "f").read_bytes().decode()
    if (
        ended.stdout.decode("utf-8", "ignore").encode() == ended.stdout
    ):  # ripgrep cuts characters in two where a match is empty
        assert after == (ended.stdout.decode() if result.ok else text)
    assert result.ok or result.error.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND


async def test_omitted_files_are_counted(tool, tmp_path):
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("a.py", "b.py", "x.log", ".hidden"):
        (tmp_path / name).write_text("foo\n")
    (tmp_path / "binary").write_bytes(b"foo\0foo")
    result = await replace(tool, "foo", "bar")
    assert [file.path for file in result.data.files] == ["a.py", "b.py"]
    assert "[1 binary file with matches omitted]" in result.llm_content
    assert "[2 files with matches omitted: ignored by git, or hidden]" in result.llm_content
    applied = await replace(tool, "foo", "bar", apply=True, glob="a.*")
    assert [file.path for file in applied.data.files] == ["a.py"]
    assert (tmp_path / "b.py").read_text() == (tmp_path / "x.log").read_text() == "foo\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"pattern": "nope"}, "edit_no_occurrence_found", "Nothing to replace"),
        ({"pattern": "(foo"}, "invalid_tool_params", "unclosed group"),
        ({"pattern": ""}, "invalid_tool_params", "pattern is empty"),
        ({"pattern": "(f)oo", "replacement": "$1s"}, "invalid_tool_params", "Write ${1}s for group 1"),
        ({"pattern": "foo", "replacement": "$name"}, "invalid_tool_params", "does not refer to a group"),
        ({"limit": 1}, "edit_preparation_failure", "2 files would change, more than the limit of 1"),
        ({"path": "nix"}, "search_path_not_found", "nix"),
        ({"path": ".."}, "path_not_in_workspace", "outside"),
        ({"type": "pi"}, "invalid_tool_params", "unknown file type 'pi'"),
    ],
)
async def test_refused(tool, tmp_path, arguments, code, words):
    for name in "ab":
        (tmp_path / name).write_text("foo\n")
    result = await replace(tool, **{"pattern": "foo", "replacement": "bar", "apply": True, **arguments})
    assert result.error is not None, result
    assert result.error.code == code
    assert words in result.error.message
    assert (tmp_path / "a").read_text() == "foo\n"


@pytest.mark.parametrize(
    ("pattern", "replacement", "wrong"),
    [
        ("(a)(?:b)", "$2", True),
        (r"\(a\)", "$1", True),
        ("[(]a", "$1", True),
        ("(?<x>a)", "$x$1", False),
        ("(?P<x>a)", "${y}", True),
        ("(a)", "$0$1", False),
        ("a", "$ 5$", False),
        ("a", "$$5", False),
        ("a", "$5", True),
        ("((a)b)", "$2", False),
    ],
)
def test_references(pattern, replacement, wrong):
    assert bool(group_reference_error(pattern, replacement)) == wrong


async def test_files_that_changed_since_the_question_are_a_conflict(tool, tmp_path):
    (tmp_path / "a").write_text("foo\n")
    invocation = tool.build({"pattern": "foo", "replacement": "bar", "apply": True})
    await invocation.should_confirm_execute()
    (tmp_path / "b").write_text("foo\n")
    with pytest.raises(ToolFailure) as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.CONFLICT
    assert (tmp_path / "a").read_text() == "foo\n"


async def test_one_file_that_cannot_be_changed_keeps_all_as_they_were(tmp_path, tool):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("foo\n")
    tool.workspace.read_tracker.required = True
    for name in ("a", "b"):
        tool.workspace.read_tracker.record(tmp_path / name, b"foo\n")
    result = await replace(tool, "foo", "bar", apply=True)
    assert result.error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    assert "c has not been read" in result.error.message
    assert (tmp_path / "a").read_text() == "foo\n"


async def test_the_preview_of_many_files_is_bounded(tool, tmp_path):
    for number in range(120):
        (tmp_path / f"{number:03}").write_text("foo\n" * 40)
    told = []
    result = await tool.build({"pattern": "foo", "replacement": "bar", "apply": True}).execute(told.append)
    assert len(result.return_display.files) == 50
    assert len(result.data.files) == 120
    assert len(result.llm_content) < 12_000
    assert "[the diffs of 70 more files are omitted]" in result.llm_content
    assert "and 20 more files" in result.llm_content
    assert all(path.read_text() == "bar\n" * 40 for path in tmp_path.iterdir())


async def test_cancelled_nothing_is_changed(tool, tmp_path):
    for number in range(200):
        (tmp_path / str(number)).write_text("foo\n")
    work = asyncio.ensure_future(replace(tool, "foo", "bar", apply=True))
    while not any(name.startswith(".nbtools") for name in names(tmp_path)):
        assert not work.done()
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert {path.read_text() for path in tmp_path.iterdir()} == {"foo\n"}
    assert len(names(tmp_path)) == 200


async def test_a_file_with_two_names_is_changed_once(tool, tmp_path):
    (tmp_path / "a").write_text("foo\n")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    result = await replace(tool, "foo", "bar", apply=True)
    assert result.ok, result.error
    assert (result.data.files, result.data.places) == ((FileCount("a", 1),), 1)
    assert (tmp_path / "b").read_text() == "bar\n"
    assert (tmp_path / "a").samefile(tmp_path / "b")


async def test_unreadable_characters_are_reported(tool, tmp_path):
    (tmp_path / "a").write_bytes(b"\xff\xfe" + "\ud800foo\n".encode("utf-16-le", "surrogatepass"))
    result = await replace(tool, "foo", "bar", apply=True)
    assert result.error.code == "conflict"
    assert result.error.message.startswith(
        "a has changed since the search, or has undecodable characters. Nothing was replaced."
    )


@pytest.mark.parametrize(("replacement", "advice"), [(r"<\1>", "$1"), (r"a\nb", "the character itself")])
async def test_an_escape_that_is_inserted_literally_is_pointed_out(tool, tmp_path, replacement, advice):
    (tmp_path / "a").write_text("foo\n")
    call = tool.build({"pattern": "(foo)", "replacement": replacement, "apply": True})
    asked, result = await call.should_confirm_execute(), await call.execute()
    assert (tmp_path / "a").read_text() == f"{replacement}\n"
    assert advice in asked.note
    assert advice in result.llm_content
    literal = await replace(tool, "foo", replacement, fixed=True)
    assert advice not in literal.llm_content
