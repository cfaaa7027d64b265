"""Resources of MCP servers, as Claude Code speaks of them: listed and read as JSON."""

from __future__ import annotations

import json

from nbtools.core.result import ToolResult
from nbtools.dialects.arguments import given, said
from nbtools.dialects.claude.replies import ClaudeParams, reply
from nbtools.dialects.dialect import Arguments, Spelling


class ListMcpResources(ClaudeParams):
    server: str | None = None
    """Only those of this server."""

    def canonical(self) -> Arguments:
        return {"server": self.server or ""}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"server": ""})
        return None if known is None else said(server=known["server"] or None)

    def reply(self, result: ToolResult) -> ToolResult:
        listed = list(result.data) if isinstance(result.data, tuple) else []
        return reply(result, json.dumps(listed, ensure_ascii=False), listed) if listed else result


class ReadMcpResource(ClaudeParams):
    server: str
    """Whose resource it is."""
    uri: str
    """The address of the resource."""

    def canonical(self) -> Arguments:
        return {"server": self.server, "uri": self.uri}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"uri": None, "server": None})
        return None if known is None or None in known.values() else known

    def reply(self, result: ToolResult) -> ToolResult:
        """Texts as JSON; with pictures and documents, those as they are."""
        return reply(result, json.dumps(result.data, ensure_ascii=False), result.data) if isinstance(result.llm_content, str) else result


RESOURCES = (
    Spelling("ListMcpResourcesTool", "list_mcp_resources", ListMcpResources, "Lists what the connected MCP servers have to read."),
    Spelling("ReadMcpResourceTool", "read_mcp_resource", ReadMcpResource, "Reads a resource of a connected MCP server."),
)
