"""Resources of MCP servers, as Gemini CLI speaks of them."""

from __future__ import annotations

from pydantic import Field

from nbtools.dialects.arguments import given, said
from nbtools.dialects.dialect import Arguments, Spelling
from nbtools.dialects.gemini.replies import GeminiParams


class ListMcpResources(GeminiParams):
    server: str | None = Field(None, alias="serverName")
    """Only those of this server."""

    def canonical(self) -> Arguments:
        return {"server": self.server or ""}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"server": ""})
        return None if known is None else said(serverName=known["server"] or None)


class ReadMcpResource(GeminiParams):
    uri: str
    """The address of the resource, as list_mcp_resources gives it."""

    def canonical(self) -> Arguments:
        return {"uri": self.uri}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"uri": None, "server": ""})
        return None if known is None or known["server"] or known["uri"] is None else {"uri": known["uri"]}


RESOURCES = (
    Spelling("list_mcp_resources", "list_mcp_resources", ListMcpResources, "Lists what the connected MCP servers have to read."),
    Spelling(
        "read_mcp_resource", "read_mcp_resource", ReadMcpResource, "Reads a resource of a connected MCP server, named by its address."
    ),
)
