"""The names of servers' tools, for agents and in rules, with real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nbtools import Policy, Session
from nbtools.core.decision import Action
from nbtools.core.errors import ToolFailure
from nbtools.core.tool_names import MAX_LENGTH, belongs_to_server, mcp_rule, mcp_tool_name, mcp_tool_names
from nbtools.dialects import dialect
from nbtools.dialects.gemini.replies import untrusted
from nbtools.dialects.mcp_names import canonical_rule_name, gemini_names
from nbtools.mcp.config.entries import parse_server
from tests.mcp.watching import program

LONG = "a_very_long_name_of_a_tool_that_nobody_could_ever_remember"
GEMINI = dialect("gemini")
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    """Two servers whose names and tools' names run into each other."""
    async with Session(tmp_path_factory.mktemp("work"), policy=Policy(mode="yolo")) as session:
        session.mcp.add([parse_server(name, program("names_server.py", name), {}) for name in ("a", "a_b")])
        await session.mcp.connect()
        yield session


async def test_gemini_has_names_of_its_own_for_them(session: Session) -> None:
    tools = session.tools_in(GEMINI)
    names = set(tools.names())
    assert {"mcp_a_find", "mcp_a_b_find", "mcp_a_b_c"} <= names
    assert not [name for name in names if name.startswith("mcp__a__find")]
    found = tools["mcp_a_b_find"]
    assert (found.name, found.schema["name"]) == ("mcp_a_b_find", "mcp_a_b_find")
    assert (await session.call("mcp_a_b_find", {"what": "x"}, dialect=GEMINI)).llm_content == untrusted(
        "a_b find x"
    )
    assert (await session.call("mcp__a_b__find", {"what": "x"}, dialect=GEMINI)).llm_content == untrusted(
        "a_b find x"
    )


async def test_the_older_name_is_understood_and_never_shown(session: Session) -> None:
    assert (await session.call("a__find", {"what": "x"}, dialect=GEMINI)).llm_content == untrusted("a find x")
    assert "a__find" not in session.tools_in(GEMINI).names()
    assert (await session.call("a__find", {"what": "x"})).error is not None


async def test_the_second_of_two_equal_names_is_canonical(session: Session) -> None:
    """``b_c`` of ``a`` and ``c`` of ``a_b``."""
    names = session.tools_in(GEMINI).names()
    assert ("mcp_a_b_c" in names, "mcp__a_b__c" in names, "mcp__a__b_c" in names) == (True, True, False)
    assert (await session.call("mcp_a_b_c", {"what": "x"}, dialect=GEMINI)).llm_content == untrusted(
        "a b_c x"
    )
    assert (await session.call("mcp__a_b__c", {"what": "x"}, dialect=GEMINI)).llm_content == untrusted(
        "a_b c x"
    )


async def test_a_name_that_is_cut_still_leads_to_its_tool(session: Session) -> None:
    cut = gemini_names("a", LONG)[0]
    assert (len(cut), cut[30:33]) == (63, "...")
    assert cut in session.tools_in(GEMINI).names()
    assert (await session.call(cut, {"what": "x"}, dialect=GEMINI)).llm_content == untrusted(f"a {LONG} x")
    canonical = mcp_tool_name("a", LONG)
    assert len(canonical) <= MAX_LENGTH
    assert (await session.call(canonical, {"what": "x"})).llm_content == f"a {LONG} x"


@pytest.mark.parametrize(
    "rule",
    [
        "mcp__a_b",
        "mcp__a_b__*",
        "mcp_a_b_*",
        "mcp_a_b_find",
        "a_b__find",
        "mcp__a_b__find",
        "mcp__*",
        "mcp_*",
    ],
)
async def test_a_rule_in_any_spelling_forbids(session: Session, rule: str) -> None:
    session.policy = Policy(mode="yolo", deny=[rule])
    try:
        assert session.decide("mcp__a_b__find", {"what": "x"}).action is Action.DENY
        assert session.decide("mcp__a__other", {"what": "x"}).action is (
            Action.DENY if rule in ("mcp__*", "mcp_*") else Action.ALLOW
        )
    finally:
        session.policy = Policy(mode="yolo")


async def test_a_rule_that_was_there_before_the_server_holds_when_it_comes(tmp_path: Path) -> None:
    cut = gemini_names("a_b", LONG)[0]
    async with Session(tmp_path, policy=Policy(mode="yolo", deny=[cut, "mcp_a_b_find"])) as session:
        session.mcp.add([parse_server("a_b", program("names_server.py", "a_b"), {})])
        await session.mcp.connect()
        assert session.decide(mcp_tool_name("a_b", LONG), {"what": "x"}).action is Action.DENY
        assert session.decide("mcp__a_b__find", {"what": "x"}).action is Action.DENY
        assert session.decide("mcp__a_b__other", {"what": "x"}).action is Action.ALLOW


async def test_servers_that_rules_could_not_tell_apart_are_refused(session: Session) -> None:
    with pytest.raises(ToolFailure, match="'a_b' already"):
        session.mcp.add([parse_server("a.b", program("names_server.py"), {})])


async def test_names_do_not_depend_on_the_order_in_which_tools_are_listed() -> None:
    tools = ["a.b", "a_b", "a b", "x"]
    named = mcp_tool_names("docs", tools)
    assert named == mcp_tool_names("docs", reversed(tools))
    assert named["a_b"] == "mcp__docs__a_b"
    assert len(set(named.values())) == len(tools)


async def test_a_long_servers_name_stays_whole_in_its_tools_names() -> None:
    server = "s" * 100
    name = mcp_tool_name(server, "t" * 300)
    assert len(name) == MAX_LENGTH
    assert name.startswith(mcp_rule(server).removesuffix("*"))
    assert mcp_rule(server) != mcp_rule(f"{server}s")
    assert belongs_to_server(name, server)
    assert belongs_to_server(gemini_names(server, "t")[0], server)


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ("mcp_docs_find", "mcp__docs__find"),
        ("mcp_docs_*", "mcp__docs__*"),
        ("mcp__docs", "mcp__docs__*"),
        ("read", "read"),
        ("my__own", "my__own"),
    ],
)
async def test_a_rule_has_its_meaning_before_the_server_is_connected(rule: str, meant: str) -> None:
    assert canonical_rule_name(rule) == meant
