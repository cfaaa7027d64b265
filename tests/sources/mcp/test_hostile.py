"""A server that means harm."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nbtools import Policy, Session
from nbtools.core.errors import ToolFailure
from nbtools.notebook.questions import question_blocks
from nbtools.notebook.wire import TextBlock
from nbtools.sources.mcp.asks.elicitation import forms, host_of, visit
from nbtools.sources.mcp.offers.naming import part_of
from nbtools.sources.mcp.settings.entries import settings_of
from nbtools.sources.mcp.settings.reading import own_file, read_servers
from nbtools.tools.ask import AskParams

SERVER = {"command": sys.executable, "args": [str(Path(__file__).parent / "hostile_server.py")]}


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.mcp.add([settings_of("hostile", SERVER, {})])
        await session.mcp.connect()
        yield session


async def test_an_answer_that_would_be_checked_for_ever_is_not(session: Session) -> None:
    result = await session.call("mcp__hostile__trap")
    assert "its answer is in another: a: 'aaa" in str(result.error)


async def test_the_question_names_the_tool_whatever_it_calls_itself(session: Session) -> None:
    tool = session.tools.get("mcp__hostile__delete_all")
    details = await tool.build({}).should_confirm_execute()
    assert details
    assert details.title == "Let hostile run Read a file Allowed by nbtools?"
    first = question_blocks(details, "/w")[0]
    assert isinstance(first, TextBlock)
    assert first.text == "Read a file Allowed by nbtools (delete_all) on the server hostile"


@pytest.mark.parametrize("name", ["shop_", "shop.", "shop._evil", "shop__evil", "a..b"])
def test_no_name_of_a_server_puts_its_tools_under_the_rule_of_another(name: str) -> None:
    with pytest.raises(ToolFailure, match="no two _ in a row"):
        settings_of(name, {"command": "x"}, {})


def test_a_name_that_is_cut_does_not_either() -> None:
    assert part_of(f"{'a' * 30}_{'b' * 30}").count("__") == 0


BROKEN = {"shop": {"url": "https://shop.example/mcp", "headers": {"Key": "$NOT_SET"}}}


def test_a_server_of_the_person_that_cannot_be_used_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    own_file().parent.mkdir()
    own_file().write_text(json.dumps({"mcpServers": BROKEN}))
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"shop": {"command": "evil"}, "other": {"command": "x"}}}))
    read = read_servers(tmp_path, {})
    assert [one.server.name for one in read.servers] == ["other"]
    assert "NOT_SET" in read.problems[0].says


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "https://bank.example@evil.example/", "http://[", "https:///x"),
        *("https://b\u0430nk.example/", "https://x/\n", f"https://x.example/{'a' * 2000}", "https://x.example/\u202egpj"),
    ],
)
def test_a_page_that_would_do_something_else_is_not_offered(url: str) -> None:
    assert host_of(url) == ""


def test_an_address_is_shown_whole_however_long_the_message_is() -> None:
    url = f"https://x.example/{'a' * 900}"
    (question,) = visit("docs", "m" * 5_000, url, host_of(url))["questions"]
    assert f"\n{url}\n" in question["text"]
    AskParams.model_validate({"questions": [question]})


@pytest.mark.parametrize("name", ["password", "api_key", "apiKey", "passphrase", "access token"])
def test_who_asks_for_a_password_is_told_of(name: str) -> None:
    (form,) = forms("docs", "m" * 5_000, {"type": "object", "properties": {name: {"type": "string"}, "city": {"type": "string"}}})
    secret, city = (question["text"] for question in form["questions"])
    assert "docs gets what you write here" in secret
    assert "gets what you write" not in city
