"""Collections of tools: an immutable ``Toolset`` to compose, and the session's mutable ``ToolRegistry``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.parameters import did_you_mean
from nbtools.core.tool import AnyToolBuilder, ModifiableTool, is_tool


class RenamedTool:
    """A tool under another name; everything else, optional abilities included, is the tool's own."""

    def __init__(self, tool: AnyToolBuilder, name: str) -> None:
        self._tool = tool
        self.name = name
        if isinstance(tool, ModifiableTool):
            self.get_modify_context = tool.get_modify_context  # on the instance: later Pythons look for it nowhere else

    @property
    def schema(self) -> dict[str, Any]:
        return {**self._tool.schema, "name": self.name}

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("_tool", "get_modify_context"):
            raise AttributeError(attribute)
        return getattr(self._tool, attribute)


class Toolset(Mapping[str, AnyToolBuilder]):
    """Tools by name; every operation gives a new one.

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
        """Those named.  Raises ``KeyError`` for a name that is not there."""
        return Toolset(self[name] for name in names)

    def without(self, *names: str) -> Toolset:
        return self.where(lambda tool: tool.name not in names)

    def where(self, keep: Callable[[AnyToolBuilder], bool]) -> Toolset:
        return Toolset(tool for tool in self.values() if keep(tool))

    def renamed(self, names: Mapping[str, str] | Callable[[str], str]) -> Toolset:
        """Each under its new name: a mapping has the new names of some, a function gives that of every one.

        Raises ``KeyError`` for a name that is not there, ``ValueError`` where two tools would have one name.
        """
        if not callable(names):
            for name in names:
                self[name]
        new = {name: names(name) if callable(names) else names.get(name, name) for name in self}
        twice = sorted({name for name in new.values() if list(new.values()).count(name) > 1})
        if twice:
            raise ValueError(f"two tools would be called {', '.join(twice)}")
        return Toolset(tool if new[name] == name else cast("AnyToolBuilder", RenamedTool(tool, new[name])) for name, tool in self.items())

    def prefixed(self, prefix: str) -> Toolset:
        return self.renamed(lambda name: prefix + name)


class ToolRegistry:
    """The tools of one session, by canonical name, in the order they came.  Those in ``later`` are made when they are first asked for."""

    def __init__(self, tools: Iterable[AnyToolBuilder] = (), later: Mapping[str, Callable[[], AnyToolBuilder]] | None = None) -> None:
        self._later = dict(later or {})
        self._tools: dict[str, AnyToolBuilder | None] = dict.fromkeys(self._later)
        self._watchers: list[Callable[[], None]] = []
        self.changes = 0
        """How often a tool has come or gone."""
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
        make = self._later.get(name) if tool is None else None
        if make is not None:
            # Interrupted at any point, or asked for by two threads at once, the tool is still there for the next who asks.
            tool = self._tools[name] = make()
        return tool

    def get(self, name: str) -> AnyToolBuilder:
        """Raises ``ToolFailure`` (``tool_not_registered``) that names the nearest."""
        tool = self.find(name)
        if tool is None:
            raise ToolFailure(ErrorCode.TOOL_NOT_REGISTERED, f"There is no tool {name!r}.{did_you_mean(name, self._tools)}")
        return tool

    def register(self, tool: AnyToolBuilder) -> None:
        """Adds a tool; one of the same name gives way.  Raises ``TypeError`` for what is no tool."""
        if not is_tool(tool):
            raise TypeError(
                f"{tool!r} is not a tool: it needs a name and a build(params) method. Decorate a function with @tool to make one."
            )
        self._later.pop(tool.name, None)
        self._tools[tool.name] = tool
        self._tell()

    def unregister(self, name: str) -> AnyToolBuilder:
        """Takes a tool out and returns it.  Raises ``ToolFailure`` when it is not there."""
        tool = self.get(name)
        self._later.pop(name, None)
        del self._tools[name]
        self._tell()
        return tool

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Tells ``watcher`` each time that a tool has come or gone, in the thread that did it, until the returned function is called."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _tell(self) -> None:
        self.changes += 1
        for watcher in tuple(self._watchers):
            watcher()
