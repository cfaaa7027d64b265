"""Collections of tools: the immutable ``Toolset``, and the session's mutable ``ToolRegistry``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import did_you_mean
from nbtools.core.tool import AnyToolBuilder, ModifiableTool, is_tool
from nbtools.core.tool_names import MAX_LENGTH, is_valid_name


class RenamedTool:
    """A tool under another name; everything else is delegated to the tool."""

    def __init__(self, tool: AnyToolBuilder, name: str) -> None:
        self._tool = tool
        self.name = name
        if isinstance(tool, ModifiableTool):
            # Set on the instance, where later Pythons look for protocol members.
            self.get_modify_context = tool.get_modify_context

    @property
    def schema(self) -> dict[str, Any]:
        return {**self._tool.schema, "name": self.name}

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("_tool", "get_modify_context"):
            raise AttributeError(attribute)
        return getattr(self._tool, attribute)


class Toolset(Mapping[str, AnyToolBuilder]):
    """Tools by name; every operation returns a new toolset.

    >>> both = mine | theirs.prefixed("lab_")      # the right side wins a name
    >>> readers = both.only("read", "grep")
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[AnyToolBuilder] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def __getitem__(self, name: str) -> AnyToolBuilder:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __or__(self, other: Mapping[str, AnyToolBuilder]) -> Toolset:
        return Toolset([*self.values(), *other.values()])

    def __repr__(self) -> str:
        return f"Toolset({', '.join(self)})"

    def only(self, *names: str) -> Toolset:
        """Returns the toolset of only these tools.  Raises ``KeyError`` for an unknown name."""
        return Toolset(self[name] for name in names)

    def without(self, *names: str) -> Toolset:
        return self.where(lambda tool: tool.name not in names)

    def where(self, keep: Callable[[AnyToolBuilder], bool]) -> Toolset:
        return Toolset(tool for tool in self.values() if keep(tool))

    def renamed(self, names: Mapping[str, str] | Callable[[str], str]) -> Toolset:
        """Returns the tools under new names, by a mapping for some of them or a function for all.

        Raises ``KeyError`` for an unknown name, ``ValueError`` where two tools would have the same name.
        """
        if not callable(names):
            for name in names:
                self[name]
        new = {name: names(name) if callable(names) else names.get(name, name) for name in self}
        duplicates = sorted({name for name in new.values() if list(new.values()).count(name) > 1})
        if duplicates:
            raise ValueError(f"two tools would have the same name: {', '.join(duplicates)}")
        return Toolset(
            tool if new[name] == name else cast("AnyToolBuilder", RenamedTool(tool, new[name]))
            for name, tool in self.items()
        )

    def prefixed(self, prefix: str) -> Toolset:
        return self.renamed(lambda name: prefix + name)


def check_declaration(tool: AnyToolBuilder) -> None:
    """Raises ``TypeError`` or ``ValueError`` for a tool that could not be declared to a model."""
    if not is_tool(tool):
        raise TypeError(
            f"{tool!r} is not a tool: it needs a name and a build(params) method. Decorate a function with"
            " @tool to make one."
        )
    if not is_valid_name(tool.name):
        raise ValueError(
            f"{tool.name!r} is not a name for a tool: use at most {MAX_LENGTH} letters, digits, _ . : and -."
        )
    declared = getattr(tool, "schema", None)
    parameters = declared.get("parameters") if isinstance(declared, Mapping) else None
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        raise ValueError(
            f"{tool.name}: its schema must have 'parameters', a JSON Schema of type object, such as "
            f"{{'type': 'object', 'properties': {{}}}}; it is {parameters!r:.100}."
        )


class ToolRegistry:
    """The tools of a session by canonical name, in the order of registration.
    Tools in ``later`` are created when first used.
    """

    def __init__(
        self,
        tools: Iterable[AnyToolBuilder] = (),
        later: Mapping[str, Callable[[], AnyToolBuilder]] | None = None,
    ) -> None:
        self._later = dict(later or {})
        self._tools: dict[str, AnyToolBuilder | None] = dict.fromkeys(self._later)
        self._watchers: list[Callable[[], None]] = []
        self.changes = 0
        """How often a tool was registered or unregistered."""
        for tool in tools:
            self.register(tool)

    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[AnyToolBuilder]:
        return iter(tuple(self.get(name) for name in self._tools))

    def __len__(self) -> int:
        return len(self._tools)

    def find(self, name: str) -> AnyToolBuilder | None:
        tool = self._tools.get(name)
        factory = self._later.get(name) if tool is None else None
        if factory is not None:
            # `later` keeps its entry, so an interrupt or a second thread at this point loses no tool.
            tool = self._tools[name] = factory()
        return tool

    def get(self, name: str) -> AnyToolBuilder:
        """Returns a tool.  Raises ``ToolFailure`` (``tool_not_registered``) that suggests similar names."""
        tool = self.find(name)
        if tool is None:
            message = f"There is no tool {name!r}.{did_you_mean(name, self._tools)}"
            raise ToolFailure(ErrorCode.TOOL_NOT_REGISTERED, message)
        return tool

    def register(self, tool: AnyToolBuilder, *, replace: bool = False) -> None:
        """Adds a tool; with ``replace``, in place of one of the same name.

        Raises ``TypeError`` for something that is not a tool, ``ValueError`` for a name that is taken or that
        models do not accept, and for a declaration without a schema of an object.
        """
        check_declaration(tool)
        if not replace and tool.name in self._tools:
            raise ValueError(
                f"There is a tool {tool.name} already. Give this one another name, or register it with"
                " replace=True to use it instead."
            )
        self._later.pop(tool.name, None)
        self._tools[tool.name] = tool
        self._notify()

    def unregister(self, name: str) -> AnyToolBuilder:
        """Removes and returns a tool.  Raises ``ToolFailure`` for an unknown name."""
        tool = self.get(name)
        self._later.pop(name, None)
        del self._tools[name]
        self._notify()
        return tool

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Calls ``watcher`` after each change, in its thread, until the returned function is called."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _notify(self) -> None:
        self.changes += 1
        for watcher in tuple(self._watchers):
            watcher()
