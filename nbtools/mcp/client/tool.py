"""MCP servers' tools as tools of a session: annotations, approval requests, results and registration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nbtools.core.confirmation import ToolMcpConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.schema.drafts import DECLARED, schema_problem, usable_schema
from nbtools.core.tool import Asks, BaseToolInvocation, Kind, UpdateOutput
from nbtools.core.tool_names import mcp_rule, mcp_tool_names
from nbtools.core.toolset import ToolRegistry
from nbtools.mcp.client.connection import Connection
from nbtools.mcp.client.content import result_of

if TYPE_CHECKING:
    from mcp.types import Tool


def annotations_of(tool: Tool) -> Mapping[str, bool]:
    """Returns the four hints by MCP name, with the specification's (pessimistic) defaults."""
    hints = tool.annotations
    read_only = bool(hints and hints.read_only_hint)
    destructive = hints.destructive_hint if hints else None
    open_world = hints.open_world_hint if hints else None
    return {
        "readOnlyHint": read_only,
        "destructiveHint": not read_only and destructive is not False,
        "idempotentHint": read_only or bool(hints and hints.idempotent_hint),
        "openWorldHint": open_world is not False,
    }


def annotations_text(server: str, tool: Tool) -> str:
    """Describes the tool's annotations for the approval request."""
    text = ", ".join(_stated(tool))
    if text:
        return f"According to {server}, it {text} (not verified)."
    return f"{server} does not declare what it does (no annotations)."


def _stated(tool: Tool) -> Iterator[str]:
    """Yields phrases for the hints that the server has set."""
    hints = tool.annotations
    if hints is None:
        return
    if hints.read_only_hint:
        yield "only reads"
    elif hints.destructive_hint is not None:
        yield (
            "may overwrite or delete" if hints.destructive_hint else "only adds, never overwrites or deletes"
        )
    if hints.idempotent_hint and not hints.read_only_hint:
        yield "has no further effect when repeated"
    if hints.open_world_hint is not None:
        yield "may access other systems" if hints.open_world_hint else "does not access other systems"


_LONGEST = 300


def output_schema_failure(server: str, tool: str, failure: ToolFailure) -> ToolFailure | None:
    """Explains the SDK's failure of output validation; None for any other failure."""
    raised = failure.__cause__
    if not isinstance(raised, RuntimeError) or not str(raised).startswith(_SDK_MESSAGES):
        return None
    reason = next(_problems(raised), "")
    text = (
        f"The result of {tool} does not match the output schema that {server} declares: {reason}. The call"
        " may have taken effect."
    )
    return ToolFailure(ErrorCode.MCP_TOOL_ERROR, text)


def _problems(raised: RuntimeError) -> Iterator[str]:
    problem = raised.__cause__
    message = getattr(problem, "message", None)
    if isinstance(message, str):
        where = ".".join(map(str, getattr(problem, "absolute_path", ())))
        yield f"{f'{where}: ' if where else ''}{_short(message)}"
    if str(raised).startswith("Invalid schema"):
        yield f"the schema is not a valid JSON Schema: {_short(str(raised))}"
    yield "it has no structured content"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


_SDK_MESSAGES = ("Invalid structured content", "Invalid schema for tool", "Tool ")


_MOST_CHARACTERS = 100
_LONGEST_SCHEMA = 4_000


class McpTool(BaseDeclarativeTool[Mapping[str, Any]]):
    """A tool of an MCP server; ``declared`` is the server's declaration.

    Its annotations are displayed but not trusted:
    only for a trusted server do they set the tool's kind and let rules on ``annotations`` allow it.

    ``before`` is the declaration at the last call if the server has changed it since: an earlier approval
    does not cover the changed tool, so it requires approval again.
    """

    kind = Kind.OTHER
    can_update_output = True

    def __init__(self, name: str, declared: Tool, connection: Connection, before: Tool | None = None) -> None:
        server = connection.server
        self.previous = before
        self.was_called = False
        self.name = name
        self.declared = declared
        self.connection = connection
        self.display_name = f"{_title(declared)} ({server.name})"
        self.description = declared.description or _title(declared)
        schema = declared.input_schema.get(DECLARED, declared.input_schema)
        self.parameters = usable_schema(schema)
        self.schema_problem = schema_problem(schema)
        if self.schema_problem:  # a model would be refused with it, and knows the parameters from its text
            self.description += (
                f"\n(Its parameters, as declared: {json.dumps(schema, default=str):.{_LONGEST_SCHEMA}})"
            )
        self.annotations = annotations_of(declared)
        self.believed = server.trust
        if server.trust and self.annotations["readOnlyHint"]:
            self.kind = Kind.READ

    @property
    def of_server(self) -> tuple[str, str]:
        """The server's name and its name for the tool, from which dialects build their own tool names."""
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
        if self.tool.believed:
            return False
        return "always" if self.tool.previous is not None else None

    def get_description(self) -> str:
        values = ", ".join(
            f"{name}={json.dumps(value, ensure_ascii=False, default=str)}"
            for name, value in self.params.items()
        )
        return values if len(values) <= _MOST_CHARACTERS else f"{values[: _MOST_CHARACTERS - 1]}…"

    async def should_confirm_execute(self) -> ToolMcpConfirmationDetails:
        tool, server = self.tool.declared, self.tool.connection.server.name
        title = f"Let {server} run {_title(tool)}?"
        problem = self.tool.schema_problem
        unchecked = (
            f"Its arguments are not checked: its schema cannot be used ({problem})." if problem else ""
        )
        claims = " ".join(
            filter(
                None,
                (_change_warning(self.tool), annotations_text(server, tool), unchecked),
            )
        )
        return ToolMcpConfirmationDetails(
            title, server, tool.name, _title(tool), dict(self.params), rule=mcp_rule(server), claims=claims
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        tool = self.tool
        tool.previous, tool.was_called = None, True
        server, name = tool.of_server
        lines: list[str] = []

        def on_progress(done: float, total: float | None, message: str | None) -> None:
            if update_output is not None:
                share = f"{done:g} of {total:g}" if total else f"{done:g}"
                lines[:] = [*lines[-_LINES:], (f"{share} · {message}" if message else share)]
                update_output("\n".join(lines))

        try:
            answer = await tool.connection.call(name, dict(self.params), on_progress)
        except ToolFailure as failure:
            raise output_schema_failure(server, name, failure) or failure from failure.__cause__
        return result_of(server, name, answer)


_LINES = 19
_MOST_DESCRIPTION = 400


def _change_warning(tool: McpTool) -> str:
    if tool.previous is None:
        return ""
    was, now = (
        " ".join((one.description or "").split())[:_MOST_DESCRIPTION]
        for one in (tool.previous, tool.declared)
    )
    difference = (
        f"Before: {was or 'nothing'} — Now: {now or 'nothing'} —"
        if was != now
        else "Its parameters or annotations differ."
    )
    return f"⚠ The server has changed this tool's declaration since its last call. {difference}"


def _title(tool: Tool) -> str:
    """Returns the title in one short line, because it is the server's text within our sentences."""
    title = tool.title or (
        tool.annotations.title if tool.annotations and tool.annotations.title else tool.name
    )
    return " ".join(title.split())[:_MOST_CHARACTERS] or tool.name


class ServerToolRegistry:
    """The servers' tools in ``registry``; updates add and remove only tools that changed."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._registered: dict[Connection, dict[str, McpTool]] = {}
        self._last_called: dict[Connection, dict[str, Tool]] = {}

    def update(self, connection: Connection) -> None:
        """Registers the current tools of a server; removes them if it is not connected."""
        declared = {tool.name: tool for tool in connection.tools} if connection.state == "connected" else {}
        registered = self._registered.pop(connection, {})
        for name, tool in tuple(registered.items()):
            if declared.get(name) != tool.declared:
                # Stored also while the tool is missing, in case it returns changed.
                if tool.was_called:
                    self._last_called.setdefault(tool.connection, {})[tool.declared.name] = tool.declared
                self._unregister(registered.pop(name))
        taken = set(self._registry.names())
        new_names = mcp_tool_names(
            connection.server.name, (name for name in declared if name not in registered), taken
        )
        for name, tool_name in new_names.items():
            before = self._last_called.get(connection, {}).get(name)
            registered[name] = McpTool(
                tool_name, declared[name], connection, before if before != declared[name] else None
            )
            registered[name].was_called = before == declared[name]
            self._registry.register(registered[name])
        if registered:
            self._registered[connection] = registered

    def _unregister(self, tool: McpTool) -> None:
        if self._registry.find(tool.name) is tool:
            self._registry.unregister(tool.name)
