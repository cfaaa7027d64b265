"""The object ``tools``, which offers every tool as a Python function."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbtools.cards.hidden_characters import seen
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import did_you_mean
from nbtools.core.result import ToolResult
from nbtools.core.tool import AnyToolBuilder
from nbtools.notebook.lazy_mcp import connect_server_of, is_unconnected_tool
from nbtools.notebook.magics.flags import Grammar, Parameter, grammar_of
from nbtools.notebook.magics.help_pages import help_text, overview

if TYPE_CHECKING:
    from nbtools.notebook.call_bridge import BackgroundCall
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session.sync import BlockingSession

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
    """All tools as functions: ``tools.grep("TODO", path="src")`` shows a card and returns the result,
    or raises ``ToolFailure``.

    ``await tools.grep.start(…)`` runs a call beside other tasks, ``tools.shell.background(…)`` does not wait
    for it, and ``tools.quiet.grep(…)`` shows a card only if approval is required.  ``tools.session`` is the
    session, for example for another framework's agent; a tool named ``session`` or ``quiet`` is
    ``tools["session"]``.
    """

    def __init__(
        self, runtime: NotebookRuntime, remember: Callable[[object], None], *, silent: bool = False
    ) -> None:
        self._runtime = runtime
        self._remember = remember
        self._silent = silent

    @property
    def quiet(self) -> Tools:
        """These tools, but with a card only if approval is required."""
        return Tools(self._runtime, self._remember, silent=True)

    @property
    def session(self) -> BlockingSession:
        """The notebook's session, usable in any thread: ``openai_tools(tools.session)``.
        ``%tools workspace`` creates another one.
        """
        return self._runtime.blocking

    def __getattr__(self, name: str) -> ToolFunction | UnconnectedToolFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        tool = self._runtime.session.tools.get(name)
        if tool is None and is_unconnected_tool(self._runtime.session, name):
            return UnconnectedToolFunction(
                name, lambda: connect_server_of(self._runtime, name), lambda: self.__getattr__(name)
            )
        if tool is None:
            raise AttributeError(
                f"There is no tool {name!r}.{did_you_mean(name, self._runtime.session.tools.names())}"
            )
        return ToolFunction(tool, self._runtime, self._remember, self._silent)

    def __getitem__(self, name: str) -> ToolFunction | UnconnectedToolFunction:
        return self.__getattr__(name)

    def __dir__(self) -> list[str]:
        return [*self._runtime.session.tools.names(), "quiet", "session"]

    def __repr__(self) -> str:
        return f"<tools {', '.join(self._runtime.session.tools.names())}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return overview(self._runtime.session).bundle()


class ToolFunction:
    """A tool as a Python function."""

    def __init__(
        self, tool: AnyToolBuilder, runtime: NotebookRuntime, remember: Callable[[object], None], silent: bool
    ) -> None:
        self._tool = tool
        self._runtime = runtime
        self._remember = remember
        self._silent = silent
        self._grammar = grammar_of(tool)
        self.__name__ = self.__qualname__ = tool.name

    @property
    def __signature__(self) -> inspect.Signature:
        return signature_of(self._grammar)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return help_text(self._tool, self._runtime.session)

    def __call__(self, *values: Any, **named: Any) -> ToolResult:
        """Calls the tool and waits for the result.
        Raises ``ToolFailure`` when it fails, ``TypeError`` for too many arguments.
        """
        arguments = arguments_from(self._grammar, values, named)
        return self._return(self._runtime.bridge.run(self._tool.name, arguments, silent=self._silent))

    async def start(self, *values: Any, **named: Any) -> ToolResult:
        """Calls the tool and awaits the result, alone or with others (``asyncio.gather``).
        Raises like ``__call__``.
        """
        arguments = arguments_from(self._grammar, values, named)
        return self._return(await self._runtime.bridge.start(self._tool.name, arguments, silent=self._silent))

    def background(self, *values: Any, **named: Any) -> BackgroundCall:
        """Starts the call and returns a handle with ``.result()``, ``.done`` and ``.cancel()``;
        other cells can run meanwhile.
        """
        call = self._runtime.bridge.background(self._tool.name, arguments_from(self._grammar, values, named))
        self._remember(call)
        return call

    def __repr__(self) -> str:
        return f"<tool {self._tool.name}{self.__signature__}>"

    def _return(self, result: ToolResult) -> ToolResult:
        if result.error is not None:
            raise without_frames(ToolFailure(result.error.code, seen(result.error.message, keep="\t\n")))
        if not self._silent:
            self._remember(result)
        return result


class UnconnectedToolFunction:
    """A tool of an MCP server that is not connected yet; the first call connects it."""

    def __init__(self, name: str, connect: Callable[[], None], find: Callable[[], Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self._connect = connect
        self._find = find

    def __call__(self, *values: Any, **named: Any) -> ToolResult:
        """See ``ToolFunction``."""
        return self._function()(*values, **named)

    async def start(self, *values: Any, **named: Any) -> ToolResult:
        """See ``ToolFunction``."""
        return await self._function().start(*values, **named)

    def background(self, *values: Any, **named: Any) -> BackgroundCall:
        """See ``ToolFunction``."""
        return self._function().background(*values, **named)

    def __repr__(self) -> str:
        return f"<tool {self.__name__} of an MCP server that is not connected yet>"

    def _function(self) -> ToolFunction:
        self._connect()
        found = self._find()
        if isinstance(found, ToolFunction):
            return found
        raise without_frames(
            ToolFailure(
                ErrorCode.TOOL_NOT_REGISTERED, f"There is no tool {self.__name__!r}. %tool lists all tools."
            )
        )


def without_frames(failure: ToolFailure) -> ToolFailure:
    """Returns the failure so that IPython shows it as one line, with the line of the cell.
    Scripts show the usual traceback.

    The card above already shows what failed, and the frames of nbtools help nobody.
    """
    failure._render_traceback_ = lambda: [_one_line(failure)]  # type: ignore[attr-defined]
    return failure


def _one_line(failure: ToolFailure) -> str:
    lines = [
        line
        for frame, line in traceback.walk_tb(failure.__traceback__)
        if frame.f_globals.get("__name__") == "__main__"
    ]
    place = (
        f" (line {', called from line '.join(map(str, reversed(lines)))})" if lines and lines != [1] else ""
    )
    return f"{type(failure).__name__}: {failure.message}{place}"


def arguments_from(grammar: Grammar, values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Returns positional and keyword arguments as one mapping.
    Missing and unknown ones are left to the tool.
    """
    names = [parameter.name for parameter in _in_order(grammar)]
    if len(values) > len(names):
        raise TypeError(
            f"{grammar.tool} takes {len(names)} arguments ({', '.join(names)}), not {len(values)}."
        )
    positional = dict(zip(names, values, strict=False))
    duplicates = [name for name in positional if name in named]
    if duplicates:
        raise TypeError(f"{grammar.tool} got {', '.join(duplicates)} twice, by position and by name.")
    return {**positional, **named}


def signature_of(grammar: Grammar) -> inspect.Signature:
    """Returns the function signature for a schema, in its order."""
    parameters, seen_default = [], False
    for parameter in _in_order(grammar):
        seen_default = seen_default or not parameter.required
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if parameter.required and seen_default
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        default = inspect.Parameter.empty if parameter.required else parameter.default
        parameters.append(
            inspect.Parameter(parameter.name, kind, default=default, annotation=_annotation(parameter))
        )
    return inspect.Signature(sorted(parameters, key=lambda one: one.kind), return_annotation=ToolResult)


def _in_order(grammar: Grammar) -> tuple[Parameter, ...]:
    return tuple(parameter for parameter in grammar.parameters if parameter.name.isidentifier())


def _annotation(parameter: Parameter) -> Any:
    annotation: Any = None
    for name in parameter.types:
        annotation = _TYPES[name] if annotation is None else annotation | _TYPES[name]
    return annotation
