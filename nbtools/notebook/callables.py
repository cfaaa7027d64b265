"""``tools``: every tool as a plain function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.parameters import did_you_mean
from nbtools.core.result import ToolResult
from nbtools.core.tool import AnyToolBuilder
from nbtools.notebook.flags import Grammar, Parameter, grammar_of
from nbtools.notebook.having import have, is_waited_for
from nbtools.notebook.help_pages import help_text, overview
from nbtools.notebook.visible import seen

if TYPE_CHECKING:
    from nbtools.blocking import BlockingSession
    from nbtools.notebook.bridge import BackgroundCall
    from nbtools.notebook.workbench import Workbench

_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


class Tools:
    """``tools.grep("TODO", path="src")`` calls a tool, shows its card and returns its result; a failure is raised as ``ToolFailure``.

    ``await tools.grep.start(…)`` leaves room for other work, ``tools.shell.background(…)`` does not wait at all, ``tools.quiet.grep(…)``
    shows a card only if it must ask.  ``tools.session`` is for code that works with the session, such as another framework's agent; a tool
    that is called ``session`` or ``quiet`` is ``tools["session"]``.
    """

    def __init__(self, bench: Workbench, remember: Callable[[object], None], *, silent: bool = False) -> None:
        self._bench = bench
        self._remember = remember
        self._silent = silent

    @property
    def quiet(self) -> Tools:
        """The same tools, without cards for what needs no answer."""
        return Tools(self._bench, self._remember, silent=True)

    @property
    def session(self) -> BlockingSession:
        """The notebook's session, for any thread: ``openai_tools(tools.session)``.  ``%tools workspace`` begins another one."""
        return self._bench.blocking

    def __getattr__(self, name: str) -> ToolFunction | LaterFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        tool = self._bench.session.tools.find(name)
        if tool is None and is_waited_for(self._bench.session, name):
            return LaterFunction(name, lambda: have(self._bench, name), lambda: self.__getattr__(name))
        if tool is None:
            raise AttributeError(f"There is no tool {name!r}.{did_you_mean(name, self._bench.session.tools.names())}")
        return ToolFunction(tool, self._bench, self._remember, self._silent)

    def __getitem__(self, name: str) -> ToolFunction | LaterFunction:
        return self.__getattr__(name)

    def __dir__(self) -> list[str]:
        return [*self._bench.session.tools.names(), "quiet", "session"]

    def __repr__(self) -> str:
        return f"<tools {', '.join(self._bench.session.tools.names())}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return overview(self._bench.session).bundle()


class ToolFunction:
    """A tool to call."""

    def __init__(self, tool: AnyToolBuilder, bench: Workbench, remember: Callable[[object], None], silent: bool) -> None:
        self._tool = tool
        self._bench = bench
        self._remember = remember
        self._silent = silent
        self._grammar = grammar_of(tool)
        self.__name__ = self.__qualname__ = tool.name

    @property
    def __signature__(self) -> inspect.Signature:
        return signature_of(self._grammar)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return help_text(self._tool, self._bench.session)

    def __call__(self, *values: Any, **named: Any) -> ToolResult:
        """Waits for the result.  Raises ``ToolFailure`` when the call does not work, and ``TypeError`` for too many values."""
        arguments = arguments_from(self._grammar, values, named)
        return self._returned(self._bench.bridge.run(self._tool.name, arguments, silent=self._silent))

    async def start(self, *values: Any, **named: Any) -> ToolResult:
        """The same to be awaited, alone or beside others (``asyncio.gather``)."""
        arguments = arguments_from(self._grammar, values, named)
        return self._returned(await self._bench.bridge.start(self._tool.name, arguments, silent=self._silent))

    def background(self, *values: Any, **named: Any) -> BackgroundCall:
        """Starts the call and returns a handle with ``.result()``, ``.done`` and ``.cancel()``; the card goes on while other cells run."""
        call = self._bench.bridge.background(self._tool.name, arguments_from(self._grammar, values, named))
        self._remember(call)
        return call

    def __repr__(self) -> str:
        return f"<tool {self._tool.name}{self.__signature__}>"

    def _returned(self, result: ToolResult) -> ToolResult:
        if result.error is not None:
            raise ToolFailure(result.error.code, seen(result.error.message, keep="\t\n"))
        if not self._silent:
            self._remember(result)
        return result


class LaterFunction:
    """A tool of an MCP server that is not connected: it is as soon as the tool is called."""

    def __init__(self, name: str, connect: Callable[[], None], found: Callable[[], Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self._connect = connect
        self._found = found

    def __call__(self, *values: Any, **named: Any) -> ToolResult:
        """See ``ToolFunction``."""
        return self._there()(*values, **named)

    async def start(self, *values: Any, **named: Any) -> ToolResult:
        """See ``ToolFunction``."""
        return await self._there().start(*values, **named)

    def background(self, *values: Any, **named: Any) -> BackgroundCall:
        """See ``ToolFunction``."""
        return self._there().background(*values, **named)

    def __repr__(self) -> str:
        return f"<tool {self.__name__} of an MCP server that is not connected yet>"

    def _there(self) -> ToolFunction:
        self._connect()
        found = self._found()
        if isinstance(found, ToolFunction):
            return found
        raise ToolFailure(ErrorCode.TOOL_NOT_REGISTERED, f"There is no tool {self.__name__!r}; %tool lists what there is.")


def arguments_from(grammar: Grammar, values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Values in declared order and by name, as one mapping.  What is missing or unknown, the tool itself says."""
    names = [parameter.name for parameter in _in_order(grammar)]
    if len(values) > len(names):
        raise TypeError(f"{grammar.tool} takes {len(names)} values ({', '.join(names)}), not {len(values)}.")
    given = dict(zip(names, values, strict=False))
    twice = [name for name in given if name in named]
    if twice:
        raise TypeError(f"{grammar.tool} got {', '.join(twice)} twice: by place and by name.")
    return {**given, **named}


def signature_of(grammar: Grammar) -> inspect.Signature:
    """The signature that the schema makes, in its order."""
    parameters, seen_default = [], False
    for parameter in _in_order(grammar):
        seen_default = seen_default or not parameter.required
        kind = inspect.Parameter.KEYWORD_ONLY if parameter.required and seen_default else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = inspect.Parameter.empty if parameter.required else parameter.default
        parameters.append(inspect.Parameter(parameter.name, kind, default=default, annotation=_annotation(parameter)))
    return inspect.Signature(sorted(parameters, key=lambda one: one.kind), return_annotation=ToolResult)


def _in_order(grammar: Grammar) -> tuple[Parameter, ...]:
    return tuple(parameter for parameter in grammar.parameters if parameter.name.isidentifier())


def _annotation(parameter: Parameter) -> Any:
    annotation: Any = None
    for name in parameter.types:
        annotation = _TYPES[name] if annotation is None else annotation | _TYPES[name]
    return annotation
