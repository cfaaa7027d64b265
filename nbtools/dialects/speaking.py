"""A session's tools as one agent sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, cast

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.parameters import did_you_mean, schema_of
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation
from nbtools.core.toolset import RenamedTool, ToolRegistry
from nbtools.core.vocabulary import VOCABULARY
from nbtools.dialects.dialect import Dialect, Spelling
from nbtools.dialects.servers import ServerNames


class SpokenTool:
    """A canonical tool under an agent's name, with that agent's description and parameters; all else is the tool's own."""

    def __init__(self, tool: AnyToolBuilder, spelling: Spelling, dialect: Dialect) -> None:
        self._tool = tool
        self._spelling = spelling
        self._dialect = dialect
        self.name = self.display_name = spelling.name
        self.description = spelling.description or tool.description

    @cached_property
    def schema(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": schema_of(self._spelling.params)}

    def build(self, params: Mapping[str, Any]) -> AnyToolInvocation:
        return self._tool.build(self._dialect.read(self.name, params).arguments)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._tool, attribute)


class SpokenTools:
    """The registry in one dialect: an agent's names for what it spells, and the tools that are no part of the vocabulary as they are.

    Every canonical name is found too, but only those an agent's model would know are listed.
    """

    def __init__(self, registry: ToolRegistry, dialect: Dialect) -> None:
        self._registry = registry
        self._dialect = dialect
        self._kept: dict[str, tuple[AnyToolBuilder, AnyToolBuilder]] = {}
        self._of_servers = ServerNames(registry, dialect.server_names)
        self._spelled = frozenset(one.tool for one in dialect.spellings if not one.former)

    def names(self) -> tuple[str, ...]:
        if not self._dialect.spellings:
            return self._registry.names()
        spoken = dict.fromkeys(one.name for one in self._dialect.spellings if not one.former and one.tool in self._registry)
        others = (name for name in self._registry.names() if name not in VOCABULARY and name not in self._spelled)
        return (*spoken, *map(self._of_servers.spoken, others))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __iter__(self) -> Iterator[AnyToolBuilder]:
        return (self.get(name) for name in self.names())

    def __len__(self) -> int:
        return len(self.names())

    def find(self, name: str) -> AnyToolBuilder | None:
        """The tool of that name, an agent's or canonical, former names included."""
        spellings = self._dialect.by_name.get(name)
        called = spellings[0].tool if spellings else self.canonical(name)
        tool = self._registry.find(called)
        if tool is None or (not spellings and called == name):
            return tool
        kept = self._kept.get(name)
        if kept is None or kept[0] is not tool:
            spoken = SpokenTool(tool, spellings[0], self._dialect) if spellings else RenamedTool(tool, name)
            kept = self._kept[name] = (tool, cast("AnyToolBuilder", spoken))
        return kept[1]

    def canonical(self, name: str) -> str:
        """The name inside of what the dialect calls so and does not spell: tools of MCP servers, those of nobody's as they are."""
        return name if name in self._registry else self._of_servers.canonical(name)

    def get(self, name: str) -> AnyToolBuilder:
        """Raises ``ToolFailure`` (``tool_not_registered``) that names the nearest."""
        tool = self.find(name)
        if tool is None:
            raise ToolFailure(ErrorCode.TOOL_NOT_REGISTERED, f"There is no tool {name!r}.{did_you_mean(name, self.names())}")
        return tool

    def register(self, tool: AnyToolBuilder) -> None:
        """Adds a tool; one of the same name gives way.  Raises ``TypeError`` for what is no tool."""
        self._registry.register(tool)

    def unregister(self, name: str) -> AnyToolBuilder:
        """Takes a tool out, by canonical name, and returns it.  Raises ``ToolFailure`` when it is not there."""
        return self._registry.unregister(name)
