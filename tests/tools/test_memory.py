"""Remembering beyond a session."""

import pytest

from nbtools import Policy, Session
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileDiff
from nbtools.core.tool import Kind, ModifiableTool, PathTarget
from nbtools.testing import ONCE, ScriptedConfirmer, modify
from nbtools.tools.memory import MemoryData, MemoryTool
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def tool(tmp_path, project):
    return MemoryTool(Workspace(project), user=tmp_path / "config/nbtools/memory.md")


async def memory(tool, **params):
    return await tool.validate_build_and_execute(params)


async def test_the_first_fact_makes_the_file(tool, project):
    result = await memory(tool, text="Tests run with\n  make test")
    assert (project / ".nbtools/memory.md").read_text() == "## Remembered\n\n- Tests run with make test\n"
    assert result.llm_content == ".nbtools/memory.md now has the line: Tests run with make test"
    assert result.data == MemoryData("project", ".nbtools/memory.md", "Tests run with make test")
    assert isinstance(result.return_display, FileDiff)


async def test_the_file_keeps_the_persons_own_text(tool, project):
    (project / ".nbtools").mkdir()
    (project / ".nbtools/memory.md").write_bytes(b"\xef\xbb\xbf# Mine\r\n\r\n## Remembered\r\n- a\r\n")
    await memory(tool, text="b")
    assert (
        project / ".nbtools/memory.md"
    ).read_bytes() == b"\xef\xbb\xbf# Mine\r\n\r\n## Remembered\r\n- a\r\n- b\r\n"
    again = await memory(tool, text="b")
    assert (again.ok, again.summary) == (True, "already stored")


async def test_the_users_is_outside_of_the_workspace(tool, tmp_path, project):
    result = await memory(tool, text="likes short answers", scope="user")
    file = tmp_path / "config/nbtools/memory.md"
    assert file.read_text() == "## Remembered\n\n- likes short answers\n"
    assert result.data.path == str(file)
    assert list(project.iterdir()) == []
    assert tool.build({"text": "x", "scope": "user"}).target() == PathTarget((str(file),))


async def test_a_linked_configuration_is_followed(tool, tmp_path):
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/memory.md").write_text("## Remembered\n- a\n")
    (tmp_path / "config/nbtools").mkdir(parents=True)
    (tmp_path / "config/nbtools/memory.md").symlink_to(tmp_path / "dotfiles/memory.md")
    await memory(tool, text="b", scope="user")
    assert (tmp_path / "dotfiles/memory.md").read_text() == "## Remembered\n- a\n- b\n"
    assert (tmp_path / "config/nbtools/memory.md").is_symlink()


async def test_without_text_it_is_shown(tool, project):
    assert (await memory(tool)).llm_content == ".nbtools/memory.md has no facts yet."
    await memory(tool, text="a")
    shown = await memory(tool)
    assert shown.llm_content == ".nbtools/memory.md:\n## Remembered\n\n- a\n"
    assert shown.data.text == "## Remembered\n\n- a\n"
    assert tool.build({}).kind is Kind.READ
    assert tool.build({"text": "b"}).kind is None


@pytest.mark.parametrize("text", ["", " \n ", "-\n- "])
async def test_nothing_is_nothing_to_remember(tool, text):
    result = await memory(tool, text=text)
    assert result.error.code is ErrorCode.INVALID_TOOL_PARAMS
    assert "text is empty" in result.error.message


async def test_files_that_are_not_text_or_lead_outside_are_not_changed(tool, project):
    (project / ".nbtools").mkdir()
    (project / ".nbtools/memory.md").write_bytes(b"\0\1")
    assert (await memory(tool, text="a")).error.code is ErrorCode.READ_CONTENT_FAILURE
    assert (await memory(tool)).error.code is ErrorCode.READ_CONTENT_FAILURE
    (project / ".nbtools/memory.md").unlink()
    (project / ".nbtools/memory.md").symlink_to("/etc/passwd")
    assert (await memory(tool, text="a")).error.code is ErrorCode.PATH_NOT_IN_WORKSPACE


async def test_concurrent_additions_of_others_are_preserved(tool, project):
    (project / ".nbtools").mkdir()
    file = project / ".nbtools/memory.md"
    file.write_text("## Remembered\n- a\n")
    invocation = tool.build({"text": "c"})
    details = await invocation.should_confirm_execute()
    assert details.title == "Add to .nbtools/memory.md?"
    file.write_text("## Remembered\n- a\n- b\n")
    await invocation.execute()
    assert file.read_text() == "## Remembered\n- a\n- b\n- c\n"


async def test_asked_with_a_diff_and_the_person_may_change_the_line(tool, project):
    assert isinstance(tool, ModifiableTool)
    person = ScriptedConfirmer(modify("## Remembered\n\n- said better\n"), ONCE)
    async with Session(project, tools=[tool], confirmer=person) as session:
        result = await session.call("memory", {"text": "said badly"})
        assert (await session.call("memory", {})).ok
    assert (project / ".nbtools/memory.md").read_text() == "## Remembered\n\n- said better\n"
    assert "The person changed the proposed text" in result.llm_content
    first, second = (asked.details for asked in person.asked)
    assert (first.original_content, first.new_content) == (None, "## Remembered\n\n- said badly\n")
    assert (second.is_modifying, second.diff_stat.user_added_lines) == (True, 1)


async def test_in_plan_mode_it_can_be_read_and_not_changed(tool, project):
    async with Session(project, tools=[tool], policy=Policy("plan")) as session:
        assert (await session.call("memory", {})).ok
        assert (await session.call("memory", {"text": "a"})).error.code is ErrorCode.POLICY_VIOLATION
    with pytest.raises(ToolFailure):
        tool.build({"scope": "world"})


async def test_a_nul_does_not_damage_the_memory(tool, project):
    await memory(tool, text="a")
    result = await memory(tool, text="b\0c")
    assert result.error.code == "invalid_tool_params"
    assert (await memory(tool)).data.text == "## Remembered\n\n- a\n"
