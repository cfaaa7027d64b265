"""Moving and renaming through the tool."""

import os

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.tool import PathTarget
from nbtools.tools.move_delete import MoveData, MoveTool
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def tool(tmp_path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "f").write_text("f\n")
    (root / "g").write_text("g\n")
    (root / "sub" / "f").write_text("sub/f\n")
    (root / "dir").mkdir()
    (root / "dir" / "x").write_text("x\n")
    (root / "link").symlink_to("f")
    (root / "out").symlink_to("/")
    return MoveTool(Workspace(root))


def tree(tool):
    root = tool.workspace.root
    found = sorted(path for path in root.rglob("*") if "/out/" not in str(path))
    return {
        str(path.relative_to(root)): str(path.readlink())
        if path.is_symlink()
        else path.is_file() and path.read_text()
        for path in found
    }


@pytest.mark.parametrize(
    ("path", "to", "ended"),
    [
        ("f", "h", "h"),
        ("f", "new/deep/h", "new/deep/h"),
        ("f", "dir", "dir/f"),
        ("f", "dir/", "dir/f"),
        ("f", "new/", "new/f"),
        ("dir", "sub", "sub/dir"),
        ("dir/", "other", "other"),
        ("link", "dir", "dir/link"),
        ("out", "dir/o", "dir/o"),
        ("f", "F", "F"),
        ("sub/../f", "./h", "h"),
    ],
)
async def test_moved(tool, path, to, ended):
    before = tree(tool)
    invocation = tool.build({"path": path, "to": to})
    assert (await invocation.should_confirm_execute()).title == f"Move {os.path.normpath(path)} to {ended}?"
    result = await invocation.execute()
    source = os.path.normpath(path)
    after = tree(tool)
    assert after[ended] == before[source]
    assert source not in after
    assert result.data == MoveData(source, ended, path.startswith("dir"))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"path": "f", "to": "g"}, "attempt_to_create_existing_file", "g exists already"),
        ({"path": "f", "to": "sub"}, "attempt_to_create_existing_file", "sub/f exists already"),
        (
            {"path": "sub", "to": "f", "overwrite": True},
            "attempt_to_create_existing_file",
            "f exists already",
        ),
        ({"path": "f", "to": "f"}, "invalid_tool_params", "already has this path"),
        ({"path": "sub", "to": "sub"}, "invalid_tool_params", "already has this path"),
        ({"path": "sub", "to": "sub/deep/er"}, "invalid_tool_params", "into itself"),
        ({"path": ".", "to": "x"}, "invalid_tool_params", "workspace itself"),
        ({"path": "nix", "to": "x"}, "file_not_found", "no file or folder nix"),
        ({"path": "f", "to": "g/x"}, "path_is_not_a_directory", "is a file"),
        ({"path": "f", "to": "../x"}, "path_not_in_workspace", "outside"),
        ({"path": "f", "to": "out/x"}, "path_not_in_workspace", "outside"),
        ({"path": "f", "to": "x\0"}, "invalid_tool_params", "NUL"),
        ({"path": "f", "to": "x" * 300}, "invalid_tool_params", "too long"),
    ],
)
async def test_refused(tool, arguments, code, words):
    before = tree(tool)
    result = await tool.validate_build_and_execute(arguments)
    assert result.error is not None, result
    assert result.error.code == code
    assert words in result.error.message
    assert tree(tool) == before


async def test_over_a_file_when_asked_to(tool):
    details = await tool.build({"path": "f", "to": "g", "overwrite": True}).should_confirm_execute()
    assert "The existing file (2 bytes) is overwritten." in details.prompt
    result = await tool.validate_build_and_execute({"path": "f", "to": "g", "overwrite": True})
    assert "which was overwritten" in result.llm_content
    assert tree(tool)["g"] == "f\n"


async def test_two_names_of_one_file_become_one(tool):
    root = tool.workspace.root
    os.link(root / "f", root / "twin")
    assert (await tool.validate_build_and_execute({"path": "f", "to": "twin", "overwrite": True})).ok
    assert not (root / "f").exists()
    assert (root / "twin").read_text() == "f\n"


async def test_a_moved_file_counts_as_read_under_its_new_name(tool):
    seen, root = tool.workspace.read_tracker, tool.workspace.root
    seen.required = True
    seen.record(root / "dir" / "x", b"x\n")
    assert (await tool.validate_build_and_execute({"path": "dir", "to": "moved"})).ok
    seen.require_read(root / "moved" / "x", "moved/x", b"x\n", whole=True)


async def test_rules_see_both_ends(tool):
    assert tool.build({"path": "f", "to": "dir"}).target() == PathTarget(("f", "dir", "dir/f"))


async def test_a_target_created_since_the_question_is_preserved(tool):
    invocation = tool.build({"path": "f", "to": "h"})
    await invocation.should_confirm_execute()
    (tool.workspace.root / "h").write_text("mine\n")
    with pytest.raises(ToolFailure) as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE
    assert (tree(tool)["h"], tree(tool)["f"]) == ("mine\n", "f\n")


async def test_files_created_since_the_question_are_not_overwritten(tool):
    root = tool.workspace.root
    invocation = tool.build({"path": "f", "to": "g", "overwrite": True})
    assert "(2 bytes) is overwritten" in (await invocation.should_confirm_execute()).prompt
    (root / "g").write_text("precious\n")
    with pytest.raises(ToolFailure, match="has changed since the approval") as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.CONFLICT
    assert ((root / "f").read_text(), (root / "g").read_text()) == ("f\n", "precious\n")


async def test_a_folder_in_the_place_of_a_file_is_not_moved_unasked(tool):
    root = tool.workspace.root
    invocation = tool.build({"path": "f", "to": "h"})
    await invocation.should_confirm_execute()
    (root / "f").unlink()
    (root / "f").mkdir()
    with pytest.raises(ToolFailure, match="has changed since the approval"):
        await invocation.execute()
    assert (root / "f").is_dir()
