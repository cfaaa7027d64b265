"""``@tool``: a typed, documented function becomes a tool.

>>> @tool(kind="read")
... def area(width: float, height: float = 1.0) -> float:
...     '''The area of a rectangle.
...
...     Args:
...         width: in metres
...         height: in metres
...     '''
...     return width * height
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, create_model

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.result import ToolResult
from nbtools.core.tool import BaseToolInvocation, Kind, ToolLocation, UpdateOutput
from nbtools.sources.docstrings import Docstring, read_docstring

F = TypeVar("F", bound=Callable[..., Any])
Locations = Callable[..., list[str]]


class FunctionTool(BaseDeclarativeTool[BaseModel]):
    """A function with a tool's manners.  ``function`` is the original; calling the tool calls it directly, unguarded."""

    parameters: type[BaseModel]

    def __init__(self, function: Callable[..., Any], kind: Kind, confirm: bool | None, locations: Locations | None) -> None:
        doc = read_docstring(function)
        self.function = function
        self.name = self.display_name = function.__name__
        self.description = doc.text or function.__name__.replace("_", " ")
        self.kind = kind
        self.asks = confirm
        self.can_update_output = inspect.isasyncgenfunction(function)
        self.locations = locations
        self.parameters = _model_of(function, doc)
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def create_invocation(self, params: BaseModel) -> FunctionInvocation:
        return FunctionInvocation(self, params)


class FunctionInvocation(BaseToolInvocation[BaseModel]):
    __slots__ = ("_tool",)

    def __init__(self, tool: FunctionTool, params: BaseModel) -> None:
        super().__init__(params)
        self._tool = tool

    @property
    def arguments(self) -> dict[str, Any]:
        return {name: getattr(self.params, name) for name in type(self.params).model_fields}

    def get_description(self) -> str:
        return ", ".join(f"{name}={_short(value)}" for name, value in self.arguments.items())

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        listed = self._tool.locations(**self.arguments) if self._tool.locations else []
        return tuple(ToolLocation(path) for path in listed)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        return _as_result(await self._value(update_output))

    async def _value(self, update_output: UpdateOutput | None) -> Any:
        """A plain function runs in a worker thread, so that the others go on; cancelling stops the wait for it, not the function."""
        function, arguments = self._tool.function, self.arguments
        if inspect.isasyncgenfunction(function):
            return await _collect(function(**arguments), update_output)
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        return await asyncio.to_thread(function, **arguments)


async def _collect(pieces: AsyncIterator[Any], update_output: UpdateOutput | None) -> str:
    text = ""
    async for piece in pieces:
        text += str(piece)
        if update_output is not None:
            update_output(text)
    return text


def _as_result(value: Any) -> ToolResult:
    """A ``ToolResult`` as it is, text as text, nothing as done, everything else as JSON for a model and as itself in ``data``."""
    if isinstance(value, ToolResult):
        return value
    if value is None:
        return ToolResult("Done.", "", summary="done")
    text = value if isinstance(value, str) else _to_text(value)
    return ToolResult(text, text, summary=_summary(value, text), data=value)


def _summary(value: Any, text: str) -> str:
    """A short value itself, the size of a long one."""
    if isinstance(value, dict | list | tuple | set):
        return _counted(len(value), "item")
    lines = text.strip().count("\n") + 1
    return _short(text.strip()) if lines == 1 else _counted(lines, "line")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _to_text(value: Any) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json(indent=2)
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _model_of(function: Callable[..., Any], doc: Docstring) -> type[BaseModel]:
    """A model with the function's own parameters.  Raises ``TypeError`` where a parameter has no type: nothing could be checked."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: a tool's parameters are passed by name; {parameter} cannot be.")
        if name not in hints:
            raise TypeError(f"{function.__name__}: give the parameter {name} a type, for example {name}: str.")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (hints[name], Field(default, description=doc.parameters.get(name)))
    return create_model(function.__name__, __config__=ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True), **fields)


@overload
def tool(function: F, /) -> FunctionTool: ...
@overload
def tool(
    *, kind: Kind | str = Kind.OTHER, confirm: bool | None = None, locations: Locations | None = None
) -> Callable[[F], FunctionTool]: ...


def tool(
    function: F | None = None,
    /,
    *,
    kind: Kind | str = Kind.OTHER,
    confirm: bool | None = None,
    locations: Locations | None = None,
) -> FunctionTool | Callable[[F], FunctionTool]:
    """Makes a tool of a typed, documented function: plain, coroutine, or async generator for streaming.

    Name, description and schema come from the signature and the docstring.  ``kind`` says what it does to the world and so whether
    it is asked; ``confirm`` says so outright; ``locations`` is called with the same arguments and returns the paths it touches, which
    rules can match.  Register it with ``session.tools.register``; in a notebook that has loaded nbtools it registers itself.
    """

    def make(function: F) -> FunctionTool:
        made = FunctionTool(function, Kind(kind), confirm, locations)
        for listener in _LISTENERS:
            listener(made)
        return made

    return make if function is None else make(function)


_LISTENERS: list[Callable[[FunctionTool], None]] = []


def on_new_tool(listener: Callable[[FunctionTool], None]) -> Callable[[], None]:
    """Tells ``listener`` of every function that becomes a tool from now on, until the returned function is called."""
    _LISTENERS.append(listener)
    return lambda: _LISTENERS.remove(listener)
