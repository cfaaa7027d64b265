"""Writing files through the tool."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import DiffStat, FileDiff
from nbtools.core.tool import ModifiableTool, PathTarget
from nbtools.tools.write import WriteTool
from nbtools.workspace.files.encoding import decode
from nbtools.workspace.read_tracking import ReadExtent
from nbtools.workspace.workspace import Workspace
from tests.examples import examples


@pytest.fixture
def tool(tmp_path):
    return WriteTool(Workspace(tmp_path))


async def write(tool, path, content, **more):
    return await tool.validate_build_and_execute({"path": path, "content": content, **more})


async def test_a_new_file_and_its_folders(tool, tmp_path):
    result = await write(tool, "a/b/f.py", "x\r\ny")
    assert (tmp_path / "a/b/f.py").read_bytes() == b"x\r\ny"
    assert result.llm_content == "Created a/b/f.py. Created the folders a, a/b."
    assert result.summary == "+2 −0"
    assert isinstance(result.return_display, FileDiff)
    assert result.return_display.original_content is None
    assert (result.data.created, result.data.folders) == (True, ("a", "a/b"))


async def test_a_file_that_exists_keeps_how_it_is_spelled(tool, tmp_path):
    (tmp_path / "f").write_bytes("ä\r\nb\r\n".encode("utf-16"))
    (tmp_path / "f").chmod(0o750)
    result = await write(tool, "f", "ä\nc\n")
    assert (tmp_path / "f").read_bytes() == "ä\r\nc\r\n".encode("utf-16")
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o750
    assert result.llm_content.startswith("Overwrote f.\n@@ -1,2 +1,2 @@\n ä")
    assert result.summary == "+1 −1"


async def test_content_with_crlf_is_written_as_it_is(tool, tmp_path):
    (tmp_path / "f").write_bytes(b"a\nb\n")
    await write(tool, "f", "a\r\nb\n")
    assert (tmp_path / "f").read_bytes() == b"a\r\nb\n"


async def test_the_same_content_is_a_success_that_touches_nothing(tool, tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\r\n")
    before = (tmp_path / "f").stat().st_mtime_ns
    result = await write(tool, "f", "a\n")
    assert (result.ok, result.summary) == (True, "nothing changed")
    assert "nothing was changed" in result.llm_content
    assert (tmp_path / "f").stat().st_mtime_ns == before
    assert (await write(tool, "f", "\ufeffa\n")).summary == "nothing changed"


@settings(max_examples=examples(100), deadline=None)
@given(
    lines=st.lists(
        st.tuples(st.sampled_from([b"a", b"b", b"caf\xe9", b""]), st.sampled_from([b"\n", b"\r\n"])),
        max_size=8,
    ),
    place=st.integers(0, 8),
)
def test_lines_that_stay_the_same_stay_byte_for_byte(lines, place, tmp_path_factory):
    folder = tmp_path_factory.mktemp("write")
    old = b"".join(line + end for line, end in lines)
    (folder / "f").write_bytes(old)
    text = decode(old)
    shown = [line.decode("utf-8", "replace") + "\n" for line, _ in lines]
    shown.insert(place, "new\n")
    change = WriteTool(Workspace(folder)).build({"path": "f", "content": "".join(shown)}).plan()
    new = change.after.splitlines(keepends=True)
    place = min(place, len(lines))
    assert text is not None
    assert new[place].strip() == b"new"
    assert b"".join(new[:place] + new[place + 1 :]) == old


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("folder", ErrorCode.TARGET_IS_DIRECTORY, "is a folder"),
        ("binary", ErrorCode.READ_CONTENT_FAILURE, "gzip"),
        ("out/x", ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
        ("binary/x", ErrorCode.PATH_IS_NOT_A_DIRECTORY, "is a file"),
        ("a/" + "n" * 256, ErrorCode.INVALID_TOOL_PARAMS, "too long"),
    ],
)
async def test_a_file_that_cannot_be_written_is_an_error(tool, tmp_path, path, code, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\x1f\x8b\0\0")
    (tmp_path / "out").symlink_to("/tmp")
    result = await write(tool, path, "x")
    assert result.error.code is code
    assert words in result.error.message
    assert sorted(p.name for p in tmp_path.iterdir()) == ["binary", "folder", "out"]


async def test_a_link_stays_a_link(tool, tmp_path):
    (tmp_path / "real").write_text("old\n")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("new")
    await write(tool, "link", "new\n")
    await write(tool, "dangling", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new\n"
    assert (tmp_path / "new").read_text() == "x"


def test_rules_know_a_file_by_its_link_too(tool, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert tool.build({"path": "link/f", "content": ""}).target() == PathTarget(("real/f", "link/f"))
    assert tool.build({"path": "real/../real/f", "content": ""}).target() == PathTarget(("real/f",))


async def test_the_question_shows_the_change(tool, tmp_path):
    (tmp_path / "f").write_text("a\n")
    details = await tool.build({"path": "f", "content": "b\n"}).should_confirm_execute()
    assert (details.title, details.file_name, details.original_content, details.new_content) == (
        "Overwrite f?",
        "f",
        "a\n",
        "b\n",
    )
    assert details.file_diff == "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
    assert details.diff_stat == DiffStat(1, 1, 1, 1)
    assert (await tool.build({"path": "new", "content": ""}).should_confirm_execute()).title == "Create new?"
    assert (tmp_path / "f").read_text() == "a\n"


@pytest.mark.parametrize("concurrent", ["change", "delete", "create", "turn"])
async def test_a_file_that_changed_since_it_was_shown_is_not_overwritten(tool, tmp_path, concurrent):
    (tmp_path / "f").write_text("a\n")
    (tmp_path / "link").symlink_to("f")
    path = {"create": "new", "turn": "link"}.get(concurrent, "f")
    invocation = tool.build({"path": path, "content": "mine\n"})
    await invocation.should_confirm_execute()
    if concurrent == "delete":
        (tmp_path / "f").unlink()
    elif concurrent == "turn":
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("other")
    else:
        (tmp_path / path).write_text("theirs\n")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    with pytest.raises(ToolFailure) as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.CONFLICT
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


async def test_nothing_shown_means_nothing_written(tool, tmp_path):
    """A write that would change nothing, approved as such, does not overwrite what came since."""
    (tmp_path / "f").write_text("same\n")
    invocation = tool.build({"path": "f", "content": "same\n"})
    await invocation.should_confirm_execute()
    (tmp_path / "f").write_text("theirs\n")
    await invocation.execute()
    assert (tmp_path / "f").read_text() == "theirs\n"


async def test_the_persons_version_is_written(tool, tmp_path):
    (tmp_path / "f").write_bytes(b"a\r\nb\r\n")
    assert isinstance(tool, ModifiableTool)
    first = tool.build({"path": "f", "content": "a\nmodel\n"})
    details = await first.should_confirm_execute()
    context = tool.get_modify_context()
    params = context.create_updated_params(details.original_content, "a\nmodel\nmine\n", first.params)
    second = context.remember_proposal(tool.build(params), details.new_content)
    shown = await second.should_confirm_execute()
    assert shown.is_modifying
    result = await second.execute()
    assert (tmp_path / "f").read_bytes() == b"a\r\nmodel\r\nmine\r\n"
    assert result.return_display.diff_stat == shown.diff_stat == DiffStat(1, 1, 5, 1, 1, 0, 4, 0)
    assert "The person changed the proposed text" in result.llm_content


async def test_new_takes_nothing_s_place(tool, tmp_path):
    (tmp_path / "f").write_text("a\n")
    (tmp_path / "binary").write_bytes(b"\0")
    for name in ("f", "binary"):
        assert (
            await write(tool, name, "b", new=True)
        ).error.code is ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE
    assert (await write(tool, "g", "b", new=True)).ok
    assert (tmp_path / "f").read_text() == "a\n"


async def test_folders(tool, tmp_path):
    result = await write(tool, "a/b/", "")
    assert (tmp_path / "a" / "b").is_dir()
    assert (result.llm_content, result.data.created, result.data.folders) == (
        "Created the folder a/b/.",
        True,
        ("a", "a/b"),
    )
    again = await write(tool, "a/b/", "")
    assert (again.ok, again.data.created, again.summary) == (True, False, "nothing changed")
    assert (await write(tool, "a/b/", "", new=True)).error.code is ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE
    assert (await write(tool, "a/c/", "text")).error.code is ErrorCode.INVALID_TOOL_PARAMS
    (tmp_path / "f").write_text("a\n")
    assert (await write(tool, "f/", "")).error.code is ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE
    assert (await write(tool, "../x/", "")).error.code is ErrorCode.PATH_NOT_IN_WORKSPACE
    invocation = tool.build({"path": "c/", "content": ""})
    assert (await invocation.should_confirm_execute()).title == "Create the folder c/?"
    assert invocation.target() == PathTarget(("c",))


@pytest.mark.parametrize(
    "line", ["// rest of code ...", "# ... existing code ...", "<!-- ... rest of file ... -->", "% ..."]
)
async def test_a_placeholder_takes_no_text_s_place(tool, tmp_path, line):
    (tmp_path / "f").write_text("a\nb\n")
    result = await write(tool, "f", f"a\n  {line}\n")
    assert result.ok is (line == "% ...")
    if not result.ok:
        assert result.error.code is ErrorCode.INVALID_TOOL_PARAMS
        assert (tmp_path / "f").read_text() == "a\nb\n"
        (tmp_path / "f").write_text(f"a\n{line}\n")
        assert (await write(tool, "f", f"b\n{line}\n")).ok


async def test_a_file_must_have_been_read_before_an_edit(tool, tmp_path):
    (tmp_path / "f").write_text("a\n")
    path, seen = tmp_path.resolve() / "f", tool.workspace.read_tracker
    seen.required = True
    assert (await write(tool, "new", "x")).ok
    assert (await write(tool, "new", "y")).ok
    assert (await write(tool, "f", "b\n")).error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    seen.record(path, b"a\n", ReadExtent.RANGE)
    assert (await write(tool, "f", "b\n")).error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    seen.record(path, b"a\n", ReadExtent.WHOLE)
    (tmp_path / "f").write_text("theirs\n")
    assert (await write(tool, "f", "b\n")).error.code is ErrorCode.CONFLICT
    seen.record(path, b"theirs\n", ReadExtent.WHOLE)
    assert (await write(tool, "f", "b\n")).ok
    seen.required = False
    (tmp_path / "f").write_text("again\n")
    assert (await write(tool, "f", "c\n")).error.code is ErrorCode.CONFLICT
    assert path.read_text() == "again\n"
    asked = tool.build({"path": "f", "content": "c\n"})
    assert "overwrites those changes" in (await asked.should_confirm_execute()).note
    assert "those changes are overwritten" in (await asked.execute()).llm_content
