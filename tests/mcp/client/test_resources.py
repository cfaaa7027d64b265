"""Resources and prompts of a server that runs, in every dialect."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nbtools import Policy, Session
from nbtools.core.errors import ToolFailure
from nbtools.core.result import Markdown, Several
from nbtools.dialects import dialect
from nbtools.mcp.config.entries import parse_server
from tests.mcp.watching import program

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    async with Session(tmp_path_factory.mktemp("work")) as session:
        session.mcp.add([parse_server("asking", program("asking_server.py"), {})])
        await session.mcp.connect()
        yield session


async def test_they_are_listed_with_their_templates(session: Session) -> None:
    result = await session.call("list_mcp_resources")
    assert result.llm_content == (
        "asking · memo://first · first · text/markdown · The first memo\nasking · row://{table}/{number} (a template) · row · text/csv"
    )
    assert [one["server"] for one in result.data] == ["asking", "asking"]
    unknown = await session.call("list_mcp_resources", {"server": "askin"})
    assert unknown.error is not None
    assert (unknown.error.code, "Did you mean asking?" in unknown.error.message) == (
        "mcp_resource_not_found",
        True,
    )


async def test_one_is_read_for_the_model_and_shown_to_the_person(session: Session) -> None:
    result = await session.call("read_mcp_resource", {"uri": "memo://first"})
    assert result.llm_content == "memo://first\n# First"
    assert result.return_display == Several(("memo://first · text/markdown", Markdown("# First")))
    table = (
        await session.call("read_mcp_resource", {"uri": "row://fruit/7", "server": "asking"})
    ).return_display
    assert table == Several(
        ("row://fruit/7 · text/csv", Markdown("| table | number |\n| --- | --- |\n| fruit | 7 |"))
    )
    missing = await session.call("read_mcp_resource", {"uri": "memo://none"})
    assert missing.error is not None


async def test_dialects_call_them_as_their_agents_do(session: Session) -> None:
    gemini, claude = dialect("gemini"), dialect("claude")
    assert {"list_mcp_resources", "read_mcp_resource"} <= set(session.tools_in(gemini).names())
    names = session.tools_in(claude).names()
    assert {"ListMcpResourcesTool", "ReadMcpResourceTool"} <= set(names)
    assert not {"list_mcp_resources", "read_mcp_resource"} & set(names)
    listed = await session.call("list_mcp_resources", {"serverName": "asking"}, dialect=gemini)
    assert "memo://first" in str(listed.llm_content)
    read = await session.call(
        "ReadMcpResourceTool", {"server": "asking", "uri": "memo://first"}, dialect=claude
    )
    assert json.loads(str(read.llm_content)) == {
        "contents": [{"uri": "memo://first", "mimeType": "text/markdown", "text": "# First"}]
    }
    every = json.loads(str((await session.call("ListMcpResourcesTool", dialect=claude)).llm_content))
    assert [one.get("uri") or one["uriTemplate"] for one in every] == [
        "memo://first",
        "row://{table}/{number}",
    ]


async def test_a_rule_names_the_server(session: Session) -> None:
    session.policy = Policy(deny=["read_mcp_resource(asking)"])
    try:
        for arguments in ({"uri": "memo://first"}, {"uri": "memo://first", "server": "asking"}):
            result = await session.call("read_mcp_resource", arguments)
            assert result.error is not None
            assert result.error.code == "policy_violation"
    finally:
        session.policy = Policy()


async def test_the_tools_are_there_while_a_server_has_resources(tmp_path: Path) -> None:
    async with Session(tmp_path) as session:
        assert "read_mcp_resource" not in session.tools
        session.mcp.add([parse_server("asking", program("asking_server.py"), {})])
        await session.mcp.connect()
        assert "read_mcp_resource" in session.tools
        await session.mcp.remove("asking")
        assert "read_mcp_resource" not in session.tools


async def test_prompts_are_listed_with_their_arguments_and_filled_in(session: Session) -> None:
    (prompt,) = await session.mcp.prompts()
    assert (prompt.server, prompt.name, prompt.description) == ("asking", "review", "Reviews a file.")
    assert [(one.name, one.required) for one in prompt.arguments] == [("path", True), ("tone", False)]
    filled = await session.mcp.prompt("asking", "review", {"path": "a.py", "tone": "short"})
    assert filled.content == "Review a.py in a short way."


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("reviw", {}, "asking has no prompt 'reviw'. Did you mean review?"),
        ("review", {}, "The prompt review needs path."),
        ("review", {"path": "a", "ton": "b"}, "The prompt review has no argument 'ton'. Did you mean tone"),
    ],
)
async def test_a_prompt_that_cannot_be_filled_in_says_why(
    session: Session, name: str, arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(ToolFailure) as refused:
        await session.mcp.prompt("asking", name, arguments)
    assert message in refused.value.message
