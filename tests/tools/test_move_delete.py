"""Deleting through the tool."""

import pytest

from nbtools import Policy, Session
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.testing import CANCEL, ScriptedConfirmer
from nbtools.tools.move_delete import DeleteData, DeleteTool
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def tool(tmp_path):
    root = tmp_path / "root"
    (root / "dir" / "deep").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "f").write_text("f\n")
    (root / "dir" / "x").write_text("x\n")
    (root / "dir" / "deep" / "y").write_text("yy\n")
    (root / "dir" / "link").symlink_to("../f")
    (root / "link").symlink_to("dir")
    (root / "out").symlink_to("..")
    return DeleteTool(Workspace(root))


def names(tool):
    return sorted(path.name for path in tool.workspace.root.iterdir())


@pytest.mark.parametrize(
    ("arguments", "data"),
    [
        ({"path": "f"}, DeleteData("f", folder=False, files=1, bytes=2)),
        ({"path": "empty"}, DeleteData("empty", folder=True, files=0, bytes=0)),
        ({"path": "empty/"}, DeleteData("empty", folder=True, files=0, bytes=0)),
        ({"path": "dir", "recursive": True}, DeleteData("dir", folder=True, files=3, bytes=9)),
        ({"path": "link"}, DeleteData("link", folder=False, files=1, bytes=3)),
        ({"path": "out"}, DeleteData("out", folder=False, files=1, bytes=2)),
    ],
)
async def test_deleted(tool, arguments, data):
    before = names(tool)
    result = await tool.validate_build_and_execute(arguments)
    assert result.ok, result.error
    assert result.data == data
    assert names(tool) == [name for name in before if name != data.path]


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        (
            "dir",
            "target_is_directory",
            "dir is a folder with 3 files and 1 folder, 9 bytes. Nothing was deleted. The call with recursive=true",
        ),
        (".", "invalid_tool_params", "workspace itself"),
        ("dir/..", "invalid_tool_params", "workspace itself"),
        ("nix", "file_not_found", "no file or folder nix"),
        ("..", "path_not_in_workspace", "outside"),
        ("out/x", "path_not_in_workspace", "outside"),
    ],
)
async def test_refused(tool, path, code, words):
    before = names(tool)
    result = await tool.validate_build_and_execute({"path": path})
    assert result.error is not None, result
    assert result.error.code == code
    assert words in result.error.message
    assert names(tool) == before


async def test_the_question_says_what_would_go(tool):
    details = await tool.build({"path": "dir", "recursive": True}).should_confirm_execute()
    assert details.title == "Delete the folder dir with 3 files and 1 folder, 9 bytes?"
    assert details.prompt.splitlines() == ["deep/", "link  4 bytes", "x  2 bytes", "deep/y  3 bytes"]
    assert (
        "link to dir, which is not deleted"
        in (await tool.build({"path": "link"}).should_confirm_execute()).prompt
    )


async def test_a_folder_that_grew_since_the_question_stays(tool):
    invocation = tool.build({"path": "dir", "recursive": True})
    await invocation.should_confirm_execute()
    (tool.workspace.root / "dir" / "new").write_text("mine\n")
    with pytest.raises(ToolFailure) as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.CONFLICT
    assert (tool.workspace.root / "dir" / "new").exists()


async def test_deleted_files_are_forgotten(tool):
    seen, path = tool.workspace.read_tracker, tool.workspace.root / "dir" / "x"
    seen.record(path, b"x\n")
    await tool.validate_build_and_execute({"path": "dir", "recursive": True})
    assert not seen.has_changed(path, b"other")


async def test_the_question_about_a_file_shows_how_it_begins_unless_it_may_not_be_read(tmp_path):
    root = tmp_path
    (root / "plan.txt").write_text("first line\n" + "more\n" * 500)
    (root / "data.bin").write_bytes(bytes(range(256)))
    (root / "secrets").mkdir()
    (root / "secrets" / "key").write_text("hunter2\n")
    person = ScriptedConfirmer(CANCEL, CANCEL, CANCEL)
    async with Session(root, policy=Policy(deny=["read(secrets/**)"]), confirmer=person) as session:
        for path in ("plan.txt", "data.bin", "secrets/key"):
            await session.call("delete", {"path": path})
    prompts = [confirmation.details.prompt for confirmation in person.asked]
    assert "first line" in prompts[0]
    assert len(prompts[0].splitlines()) < 40
    assert len(prompts[1].splitlines()) == 1
    assert not any("hunter2" in prompt for prompt in prompts)
