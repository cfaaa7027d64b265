"""The ``@tool`` decorator: makes a typed, documented function a tool.

>>> @tool(kind="read")
... def area(width: float, height: float = 1.0) -> float:
...     '''The area of a rectangle.
...
...     Args:
...         width: in metres
...         height: in metres
...     '''
...     return width * height

Descriptions come from the docstring, in Google, NumPy or Sphinx style.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal, TypeAlias, TypeVar, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from nbtools.core.confirmation import ToolCallConfirmationDetails, ToolInfoConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.extension_points import NEW_TOOL, notify
from nbtools.core.message import counted
from nbtools.core.result import ToolResult
from nbtools.core.tool import Asks, BaseToolInvocation, Kind, ToolInvocation, ToolLocation, UpdateOutput
from nbtools.plugins.shown_values import number_text, shown_value


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring's text before any section, and the description of each parameter."""

    text: str
    parameters: dict[str, str]


_GOOGLE = re.compile(r"^(args|arguments|parameters|params)\s*:\s*$", re.IGNORECASE)
_SECTION = re.compile(
    r"^(returns?|raises|yields?|examples?|notes?|see also|args|arguments|parameters|params)\s*:?\s*$",
    re.IGNORECASE,
)
_SPHINX = re.compile(r"^:param\s+(?:[^:]*\s)?(?P<name>\w+)\s*:\s*(?P<text>.*)$")
_ENTRY = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ENTRY = re.compile(r"^(?P<name>\w+)\s*(?::.*)?$")


def read_docstring(function: Callable[..., Any]) -> Docstring:
    lines = (inspect.getdoc(function) or "").splitlines()
    return Docstring(_text(lines), dict(_parameters(lines)))


def _text(lines: list[str]) -> str:
    text: list[str] = []
    for number, line in enumerate(lines):
        underlined = number + 1 < len(lines) and set(lines[number + 1].strip()) == {"-"}
        if (
            _SPHINX.match(line)
            or line.startswith(":return")
            or (_SECTION.match(line) and (line.rstrip().endswith(":") or underlined))
        ):
            break
        text.append(line)
    return "\n".join(text).strip()


def _parameters(lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines):
        sphinx = _SPHINX.match(line)
        if sphinx:
            further = takewhile(lambda line: line[:1].isspace(), lines[number + 1 :])
            yield sphinx["name"], " ".join((sphinx["text"], *map(str.strip, further))).strip()
        elif _GOOGLE.match(line):
            yield from _entries(lines[number + 1 :], _ENTRY)
        elif (
            line.strip().lower() == "parameters"
            and number + 1 < len(lines)
            and set(lines[number + 1].strip()) == {"-"}
        ):
            yield from _numpy_entries(lines[number + 2 :])


def _entries(lines: list[str], pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yields indented ``name: text`` entries, joined with their deeper continuation lines,
    until the indentation ends.
    """
    depth, name, parts = -1, "", [""]
    for line in lines:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            break
        depth = indent if depth < 0 else depth
        found = pattern.match(line.strip()) if indent == depth else None
        if found:
            if name:
                yield name, " ".join(parts).strip()
            name, parts = found["name"], [found["text"]]
        else:
            parts.append(line.strip())
    if name:
        yield name, " ".join(parts).strip()


def _numpy_entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    name, parts = "", [""]
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and lines[number + 1].strip() and set(lines[number + 1].strip()) == {"-"}:
            break
        found = _NUMPY_ENTRY.match(line) if line[:1].strip() else None
        if found:
            if name:
                yield name, " ".join(parts).strip()
            name, parts = found["name"], []
        elif line.strip():
            parts.append(line.strip())
    if name:
        yield name, " ".join(parts).strip()


F = TypeVar("F", bound=Callable[..., Any])
Locations = Callable[..., list[str]]
Confirm: TypeAlias = Asks | Callable[..., str | ToolCallConfirmationDetails | bool | None]
"""Whether calls need approval, or the function that returns the question about a call with these
arguments.
"""


class FunctionTool(BaseDeclarativeTool[BaseModel]):
    """A tool made of a function.  Calling the tool object calls ``function`` directly,
    without policy or approval.
    """

    parameters: type[BaseModel]

    def __init__(
        self, function: Callable[..., Any], kind: Kind, confirm: Confirm, locations: Locations | None
    ) -> None:
        doc = read_docstring(function)
        self.function = function
        self.name = self.display_name = function.__name__
        self.description = doc.text or function.__name__.replace("_", " ")
        self.kind = kind
        self.asks = True if callable(confirm) else confirm
        self.question = confirm if callable(confirm) else None
        self.can_update_output = inspect.isasyncgenfunction(function)
        self.is_coroutine_function = inspect.iscoroutinefunction(function)
        self.locations = locations
        self.parameters = _model_of(function, doc)
        self._validate = self.parameters.__pydantic_validator__.validate_python
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def build(self, params: Mapping[str, Any]) -> ToolInvocation[BaseModel]:
        try:
            return FunctionInvocation(self, self._validate(params))
        except ValidationError:
            return super().build(params)  # raises the failure

    def create_invocation(self, params: BaseModel) -> FunctionInvocation:
        return FunctionInvocation(self, params)


class FunctionInvocation(BaseToolInvocation[BaseModel]):
    __slots__ = ("_question", "_tool")

    def __init__(self, tool: FunctionTool, params: BaseModel) -> None:
        self.params = params
        self._tool = tool
        self._question = None if tool.question is None else tool.question(**params.__dict__)

    @property
    def asks(self) -> Asks:
        """Whether the call needs approval: not where its ``confirm`` function returns None or False."""
        return None if self._tool.question is None else bool(self._question)

    async def should_confirm_execute(self) -> ToolCallConfirmationDetails | Literal[False]:
        question = self._question
        if isinstance(question, str) and question:
            return ToolInfoConfirmationDetails(f"Run {self._tool.name}?", question)
        return False if question is None or isinstance(question, bool | str) else question

    @property
    def arguments(self) -> dict[str, Any]:
        return self.params.__dict__

    def get_description(self) -> str:
        return ", ".join(f"{name}={_short(value)}" for name, value in self.arguments.items())

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        listed = self._tool.locations(**self.arguments) if self._tool.locations else []
        return tuple(ToolLocation(path) for path in listed)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        """Calls the function; a plain one in a worker thread,
        where cancelling ends the wait but not the function.
        """
        tool, arguments = self._tool, self.params.__dict__
        if tool.is_coroutine_function:
            return _as_result(await tool.function(**arguments))
        if tool.can_update_output:
            return _as_result(await _collect(tool.function(**arguments), update_output))
        return _as_result(await asyncio.to_thread(tool.function, **arguments))


async def _collect(pieces: AsyncIterator[Any], update_output: UpdateOutput | None) -> str:
    text = ""
    async for piece in pieces:
        text += str(piece)
        if update_output is not None:
            update_output(text)
    return text


def _as_result(value: Any) -> ToolResult:
    """Converts a return value: a ``ToolResult`` unchanged, a string as text, None as "Done.",
    all else as JSON and in ``data``.
    """
    if isinstance(value, str):
        return ToolResult(value, value, None, _summary(value), value)
    if isinstance(value, ToolResult):
        return value
    if value is None:
        return ToolResult("Done.", "", None, "done")
    shown = shown_value(value)
    if shown is not None:
        return shown
    text = _to_text(value)
    return ToolResult(
        text,
        _readable(text),
        None,
        counted(len(value), "item") if isinstance(value, _COLLECTIONS) else _summary(text),
        value,
    )


def _kind(name: Kind | str) -> Kind:
    if name not in list(Kind):
        raise ValueError(f"There is no kind {name!r}. Use {', '.join(Kind)}.")
    return Kind(name)


_COLLECTIONS = (dict, list, tuple, set)
_SUMMARY = 60
"""The most characters of a value in one line."""


def _summary(text: str) -> str:
    """Returns a short text itself, or the size of a long one."""
    text = text.strip()
    if "\n" in text:
        return counted(text.count("\n") + 1, "line")
    return text if len(text) <= _SUMMARY else _short(text)


def _to_text(value: Any) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json(indent=2)
    try:
        return _JSON.encode(value) if isinstance(value, _COLLECTIONS) else _SCALAR_JSON.encode(value)
    except (TypeError, ValueError):
        return repr(value)


def _readable(text: str) -> str:
    """Returns JSON with each float as a person writes it; any other text unchanged."""
    if "." not in text or text[:1] not in ("[", "{"):
        return text
    try:
        return _JSON.encode(
            json.loads(
                text, parse_float=lambda digits: float(number_text(float(digits))), object_pairs_hook=_unique
            )
        )
    except (ValueError, RecursionError):
        return text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises ``ValueError`` for keys that are the same in JSON, such as ``1`` and ``"1"``:
    one would not be shown.
    """
    if len(dict(pairs)) < len(pairs):
        raise ValueError("two keys are the same")
    return dict(pairs)


_JSON = json.JSONEncoder(indent=2, ensure_ascii=False)
_SCALAR_JSON = json.JSONEncoder(ensure_ascii=False)
"""Without ``indent``, Python's encoder is written in C."""


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SUMMARY else text[: _SUMMARY - 1] + "…"


def _model_of(function: Callable[..., Any], doc: Docstring) -> type[BaseModel]:
    """Returns a pydantic model of the function's parameters.
    Raises ``TypeError`` for a parameter without type or not passed by name.
    """
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(
                f"{function.__name__}: a tool's parameters are passed by name, which {parameter} does not"
                " allow."
            )
        if name not in hints:
            raise TypeError(
                f"{function.__name__}: give the parameter {name} a type, for example {name}: str."
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (hints[name], Field(default, description=doc.parameters.get(name)))
    return create_model(
        function.__name__,
        __config__=ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True),
        **fields,
    )


@overload
def tool(function: F, /) -> FunctionTool: ...
@overload
def tool(
    *, kind: Kind | str = Kind.OTHER, confirm: Confirm = None, locations: Locations | None = None
) -> Callable[[F], FunctionTool]: ...


def tool(
    function: F | None = None,
    /,
    *,
    kind: Kind | str = Kind.OTHER,
    confirm: Confirm = None,
    locations: Locations | None = None,
) -> FunctionTool | Callable[[F], FunctionTool]:
    """Makes a typed, documented function a tool:
    a plain one, a coroutine function, or an async generator for streaming.

    Name, description and schema come from the signature and the docstring.  ``kind`` says what the tool does,
    which decides whether a mode requires approval.  ``confirm`` overrides that: True, False, ``"always"``, or
    a function that gets the same arguments and returns the question about this call, as a text or as
    confirmation details, or None where the call needs no approval.  ``locations`` is called with the same
    arguments and returns the paths that the call uses, for rules to match.  Raise ``ToolFailure`` for what
    the caller can correct.  Register the tool with ``session.tools.register``; in a notebook that has loaded
    nbtools it registers itself.
    """

    def decorate(function: F) -> FunctionTool:
        if inspect.iscoroutinefunction(confirm) or not (
            callable(confirm) or confirm in (None, True, False, "always")
        ):
            raise TypeError(
                f"{function.__name__}: confirm is True, False, 'always' or a plain function that returns the"
                " question."
            )
        created = FunctionTool(function, _kind(kind), confirm, locations)
        notify(NEW_TOOL, created)
        return created

    return decorate if function is None else decorate(function)
