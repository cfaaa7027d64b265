"""A session's tools under the names and parameters of one dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, cast

from nbtools.core.errors import ErrorCode, SessionError, ToolFailure
from nbtools.core.message import did_you_mean
from nbtools.core.schema.parameters import schema_of
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, Example, examples_of
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.core.toolset import RenamedTool, ToolRegistry, check_declaration
from nbtools.dialects.dialect_model import CanonicalCall, Dialect, ToolMapping, workspace_root
from nbtools.dialects.mcp_names import ServerNames


class DialectTool:
    """A canonical tool with an agent's name, description and parameters;
    everything else is delegated to the tool.
    """

    def __init__(
        self, tool: AnyToolBuilder, spelling: ToolMapping, dialect: Dialect, registry: ToolRegistry
    ) -> None:
        self._tool = tool
        self._registry = registry
        self._spelling = spelling
        self._dialect = dialect
        self.name = self.display_name = spelling.name
        self.description = spelling.description or tool.description

    @cached_property
    def schema(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "parameters": schema_of(self._spelling.params),
        }

    @property
    def examples(self) -> tuple[Example, ...]:
        """The tool's examples in this dialect's parameters, as far as these can express them."""
        spoken = [
            (one.about, self._spelling.params.from_canonical(one.arguments))
            for one in examples_of(self._tool)
        ]
        return tuple(Example(about, arguments) for about, arguments in spoken if arguments is not None)

    def build(self, params: Mapping[str, Any]) -> AnyToolInvocation:
        """Builds an invocation of the canonical tool that the parameters mean:
        another mapping of the name may apply.
        """
        call = self._dialect.read(self.name, params)
        return self._registry.get(call.tool).build(call.arguments)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._tool, attribute)


class WaitingTool(RenamedTool):
    """A tool without mapping, such as one of an MCP server,
    with the parameter to wait that the dialect adds to every tool.
    """

    def __init__(self, tool: AnyToolBuilder, name: str, dialect: Dialect) -> None:
        super().__init__(tool, name)
        self._dialect = dialect

    @property
    def schema(self) -> dict[str, Any]:
        declared = super().schema
        parameters, properties = declared["parameters"], declared["parameters"].get("properties", {})
        if parameters.get("type") != "object" or not isinstance(properties, Mapping):
            return declared
        wait = {
            "type": "boolean",
            "description": "Whether to wait for the earlier calls of the same message.",
        }
        return {
            **declared,
            "parameters": {**parameters, "properties": {**properties, self._dialect.wait_parameter: wait}},
        }

    def build(self, params: Mapping[str, Any]) -> AnyToolInvocation:
        return self._tool.build(self._dialect.own_arguments(params))


class DialectTools(Mapping[str, AnyToolBuilder]):
    """A registry's tools in one dialect:
    mapped tools under the agent's names, all others, such as MCP tools, under their own.

    Former and canonical names are found too, but only the agent's names are listed.
    """

    def __init__(self, registry: ToolRegistry, dialect: Dialect) -> None:
        self._registry = registry
        self._dialect = dialect
        self._cache: dict[str, tuple[AnyToolBuilder, AnyToolBuilder]] = {}
        self._server_names = ServerNames(registry, dialect.server_names)
        self._mapped = frozenset(spelling.tool for spelling in dialect.mappings if not spelling.former)

    @property
    def dialect(self) -> Dialect:
        return self._dialect

    def names(self) -> tuple[str, ...]:
        if not self._dialect.mappings:
            return self._registry.names()
        current = (spelling for spelling in self._dialect.mappings if not spelling.former)
        mapped = dict.fromkeys(spelling.name for spelling in current if spelling.tool in self._registry)
        others = (
            name
            for name in self._registry.names()
            if name not in CANONICAL_NAMES and name not in self._mapped
        )
        return tuple(dict.fromkeys((*mapped, *map(self._server_names.agent_name, others))))

    def __getitem__(self, name: str) -> AnyToolBuilder:
        tool = self._find(name)
        if tool is None:
            raise KeyError(name)
        return tool

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def _find(self, name: str) -> AnyToolBuilder | None:
        spellings = self.mappings_of(name) or (
            () if name in self._registry else self._dialect.by_name.get(name, ())
        )
        canonical_name = spellings[0].tool if spellings else self.canonical_name(name)
        tool = self._registry.find(canonical_name)
        waits = bool(self._dialect.wait_parameter) and name not in CANONICAL_NAMES
        if tool is None or (not spellings and canonical_name == name and not waits):
            return tool
        cached = self._cache.get(name)
        # Another tool may have been registered under the name since.
        if cached is None or cached[0] is not tool:
            renamed = (
                DialectTool(tool, spellings[0], self._dialect, self._registry)
                if spellings
                else self._unmapped(tool, name)
            )
            cached = self._cache[name] = (tool, cast("AnyToolBuilder", renamed))
        return cached[1]

    def _unmapped(self, tool: AnyToolBuilder, name: str) -> RenamedTool:
        if self._dialect.wait_parameter:
            return WaitingTool(tool, name, self._dialect)
        return RenamedTool(tool, name)

    def canonical_name(self, name: str) -> str:
        """Returns the canonical name of an MCP tool that the dialect calls ``name``;
        other names unchanged.
        """
        return name if name in self._registry else self._server_names.canonical_name(name)

    def require(self, name: str) -> AnyToolBuilder:
        """Returns the tool of that name.
        Raises ``ToolFailure`` (``tool_not_registered``) that suggests a similar name.
        """
        tool = self._find(name)
        if tool is None:
            raise ToolFailure(
                ErrorCode.TOOL_NOT_REGISTERED, f"There is no tool {name!r}.{did_you_mean(name, self.names())}"
            )
        return tool

    def register(self, tool: AnyToolBuilder, *, replace: bool = False) -> None:
        """Adds a tool; with ``replace``, in place of one of the same name.

        Raises ``TypeError`` and ``ValueError`` as ``ToolRegistry.register`` does,
        also where the dialect gives the name to another tool.
        """
        check_declaration(tool)
        if self._is_shadowed(tool.name):
            raise ValueError(f"{self._clash(tool.name)} Give this one another name.")
        self._registry.register(tool, replace=replace)

    def ensure_no_clash(self) -> None:
        """Raises ``SessionError`` where a registered tool has a name that the dialect gives to
        another one.
        """
        clashes = [name for name in self._registry.names() if self._is_shadowed(name)]
        if clashes:
            raise SessionError(
                f"{self._clash(clashes[0])} Give your tool another name, or use another dialect."
            )

    def _clash(self, name: str) -> str:
        return (
            f"In the dialect {self._dialect.name}, {name} is the name of"
            f" {self._dialect.by_name[name][0].tool}."
        )

    def _is_shadowed(self, name: str) -> bool:
        """Whether the dialect gives the name to another tool than the registered one of that name."""
        return name not in CANONICAL_NAMES and self.mappings_of(name) != ()

    def mappings_of(self, name: str) -> tuple[ToolMapping, ...]:
        """Returns the dialect's mappings of a name, as far as their tools are registered."""
        return tuple(one for one in self._dialect.by_name.get(name, ()) if one.tool in self._registry)

    def read(
        self,
        name: str,
        arguments: Mapping[str, Any],
        root: str = "",
        folder: Callable[[], str] = workspace_root,
    ) -> CanonicalCall:
        """Converts a call as ``Dialect.read`` does.
        A registered tool whose name no mapping takes is called as itself.
        """
        if not self._dialect.mappings or (name in self._registry and not self.mappings_of(name)):
            return self._dialect.own_call(name, arguments)
        return self._dialect.read(name, arguments, root, folder)

    def unregister(self, name: str) -> AnyToolBuilder:
        """Removes a tool by its canonical name and returns it.  Raises ``ToolFailure`` when there is none."""
        return self._registry.unregister(name)
