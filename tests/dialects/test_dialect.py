"""A dialect reads calls and words replies; the vocabulary inside is itself one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Session, tool
from nbtools.core.errors import ToolFailure
from nbtools.core.result import ToolResult
from nbtools.dialects import NBTOOLS, Dialect, ToolMapping
from nbtools.dialects.params import DialectParams


class Look(DialectParams):
    file_path: str
    first: int = 0

    def to_canonical(self) -> Mapping[str, Any]:
        return {"path": self.file_path, "start": self.first + 1}

    @classmethod
    def from_canonical(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return (
            None
            if "end" in arguments
            else {"file_path": arguments["path"], "first": arguments.get("start", 1) - 1}
        )

    def convert_result(self, result: ToolResult) -> ToolResult:
        return dataclasses.replace(result, llm_content=f"{self.file_path} was looked at")


class OldLook(DialectParams):
    file: str

    def to_canonical(self) -> Mapping[str, Any]:
        return {"path": self.file}


OTHER = Dialect(
    "other", (ToolMapping("Look", "read", Look), ToolMapping("Look", "read", OldLook, former=True))
)


def test_the_identity_changes_nothing() -> None:
    arguments = {"path": "a"}
    said = NBTOOLS.read("read", arguments)
    assert (said.tool, said.arguments) == ("read", arguments)
    result = ToolResult("x", "x")
    assert said.convert_result(result) is result
    assert NBTOOLS.speak("read", arguments) == ("read", arguments)


def test_a_spelling_is_read_and_written() -> None:
    said = OTHER.read("Look", {"file_path": "a", "first": 2})
    assert (said.tool, said.arguments) == ("read", {"path": "a", "start": 3})
    assert said.convert_result(ToolResult("x", "x")).llm_content == "a was looked at"
    assert OTHER.read("read", {"path": "a"}).arguments == {"path": "a"}
    with pytest.raises(ToolFailure, match="file_path is required"):
        OTHER.read("Look", {"fiel_path": "a"})


def test_former_parameters_are_read_and_never_spoken() -> None:
    assert OTHER.read("Look", {"file": "a"}).arguments == {"path": "a"}
    assert OTHER.speak("read", {"path": "a", "start": 3}) == ("Look", {"file_path": "a", "first": 2})
    assert OTHER.speak("read", {"path": "a", "end": 3}) is None
    assert OTHER.speak("grep", {}) is None


async def test_a_session_lists_an_agents_tools_and_ones_own(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    async with Session(tmp_path) as session:
        session.dialect = OTHER
        session.tools.register(tool(kind="read")(double))
        assert session.tools.names() == ("Look", "double")
        assert "grep" in session.tools
        assert session.declarations("anthropic")[0]["input_schema"]["required"] == ["file_path"]
        assert (await session.call("Look", {"file_path": "a"})).llm_content == "a was looked at"
        assert (await session.call("read", {"path": "a"})).llm_content == "one\ntwo\n"
        assert (await session.call("Lok", {})).error.code == "tool_not_registered"
        session.dialect = "nbtools"
        assert "Look" not in session.tools


def double(number: int) -> int:
    """Twice as much."""
    return 2 * number


async def test_a_rule_may_name_a_tool_as_the_agent_does(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=Policy(deny=["Look(secret)"])) as session:
        (tmp_path / "secret").write_text("x")
        session.dialect = OTHER
        session.policy = Policy(deny=["Look(secret)"])
        assert session.decide("read", {"path": "secret"}).action == "deny"
        assert session.decide("Look", {"file_path": "other"}).action == "allow"


@pytest.mark.parametrize(
    ("agent", "name", "arguments", "meant"),
    [
        ("codex", "exec_command", {"cmd": "ls"}, "shell"),
        (
            "codex",
            "exec_command",
            {"cmd": "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nE"},
            "patch",
        ),
        (
            "codex",
            "shell",
            {"command": ["apply_patch", "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"]},
            "patch",
        ),
    ],
)
def test_a_name_with_several_mappings_builds_the_tool_that_is_meant(
    tmp_path: Path, agent: str, name: str, arguments: Mapping[str, Any], meant: str
) -> None:
    session = Session(tmp_path, dialect=agent)
    built = session.tools[name].build(arguments)
    session.dialect = "nbtools"
    assert type(built) is type(
        session.tools[meant].build({"command": "ls"} if meant == "shell" else {"patch": _PATCH})
    )


_PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
