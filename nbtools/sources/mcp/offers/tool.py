"""A server's tool among the session's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nbtools.core.confirmation import ToolMcpConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.server_names import rule_of
from nbtools.core.tool import Asks, BaseToolInvocation, Kind, UpdateOutput
from nbtools.sources.mcp.offers.claims import claims_of, in_words
from nbtools.sources.mcp.offers.content import result_of
from nbtools.sources.mcp.offers.promised import in_other_form
from nbtools.sources.mcp.wire.connection import Connection

if TYPE_CHECKING:
    from mcp.types import Tool

_SHORT = 100
_ANY: dict[str, Any] = {"type": "object", "properties": {}}


class McpTool(BaseDeclarativeTool[Mapping[str, Any]]):
    """``declared`` is what the server says of it, ``connection`` the way to it.

    What it says of itself (that it only reads, that it destroys) is shown and not believed: only of a trusted server it is taken for the
    tool's kind, and lets rules allow it that go by ``annotations``.

    ``before`` is the same tool as it was when it was last called, if the server has said otherwise of it since: whoever allowed that one
    has not allowed this, and is asked once more.
    """

    kind = Kind.OTHER
    can_update_output = True

    def __init__(self, name: str, declared: Tool, connection: Connection, before: Tool | None = None) -> None:
        server = connection.server
        self.before = before
        self.was_called = False
        self.name = name
        self.declared = declared
        self.connection = connection
        self.display_name = f"{_title(declared)} ({server.name})"
        self.description = declared.description or _title(declared)
        self.parameters = declared.input_schema or _ANY
        self.annotations = claims_of(declared)
        self.believed = server.trust
        if server.trust and self.annotations["readOnlyHint"]:
            self.kind = Kind.READ

    @property
    def of_server(self) -> tuple[str, str]:
        """The server's name, and the tool's as the server says it: agents make names of their own of the two."""
        return self.connection.server.name, self.declared.name

    def create_invocation(self, params: Mapping[str, Any]) -> McpInvocation:
        return McpInvocation(self, params)


class McpInvocation(BaseToolInvocation[Mapping[str, Any]]):
    __slots__ = ("tool",)

    def __init__(self, tool: McpTool, params: Mapping[str, Any]) -> None:
        super().__init__(params)
        self.tool = tool

    @property
    def asks(self) -> Asks:
        return False if self.tool.believed else "always" if self.tool.before is not None else None

    def get_description(self) -> str:
        values = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in self.params.items())
        return values if len(values) <= _SHORT else f"{values[: _SHORT - 1]}…"

    async def should_confirm_execute(self) -> ToolMcpConfirmationDetails:
        tool, server = self.tool.declared, self.tool.connection.server.name
        title = f"Let {server} run {_title(tool)}?"
        claims = " ".join(filter(None, (_changed(self.tool), in_words(server, tool))))
        return ToolMcpConfirmationDetails(title, server, tool.name, _title(tool), dict(self.params), rule=rule_of(server), claims=claims)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        tool = self.tool
        tool.before, tool.was_called = None, True
        server, name = tool.of_server
        told: list[str] = []

        def heard(done: float, total: float | None, message: str | None) -> None:
            if update_output is not None:
                told[:] = [*told[-_LINES:], _step(done, total, message)]
                update_output("\n".join(told))

        try:
            answer = await tool.connection.call(name, dict(self.params), heard)
        except ToolFailure as failure:
            raise in_other_form(server, name, failure) or failure from failure.__cause__
        return result_of(server, name, answer)


_LINES = 19
_TOLD = 400


def _step(done: float, total: float | None, message: str | None) -> str:
    share = f"{done:g} of {total:g}" if total else f"{done:g}"
    return f"{share} · {message}" if message else share


def _changed(tool: McpTool) -> str:
    if tool.before is None:
        return ""
    was, now = (" ".join((one.description or "").split())[:_TOLD] for one in (tool.before, tool.declared))
    what = (
        f"It said: {was or 'nothing'} — It says now: {now or 'nothing'} —" if was != now else "Its parameters, or its claims, are others."
    )
    return f"⚠ The server has changed what it says of this tool since its last call. {what}"


def _title(tool: Tool) -> str:
    """In one line: it is the server's word, and stands in our sentences."""
    said = tool.title or (tool.annotations.title if tool.annotations and tool.annotations.title else tool.name)
    return " ".join(said.split())[:_SHORT] or tool.name
