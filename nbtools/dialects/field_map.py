"""Declares how an agent's parameters of a tool translate to the canonical ones and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from nbtools.core.schema.documented_model import accepted_names

if TYPE_CHECKING:
    from nbtools.dialects.dialect_model import Arguments

T = TypeVar("T")
REQUIRED = PydanticUndefined
"""The default of a canonical parameter that has none."""


class InexpressibleError(ValueError):
    """The agent's parameters cannot express a canonical value."""


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class AgentField:
    """The agent's counterpart of a canonical parameter.

    ``name`` is a field of the parameter model.  ``to_canonical`` converts its value unless that is None;
    ``from_canonical`` converts back, and raises ``InexpressibleError``.  For both, None means that the
    parameter is left out.  ``always``: the agent's default is written, too.  ``is_named``: messages about the
    canonical parameter can name this one instead; not if it means the opposite.
    """

    name: str
    to_canonical: Callable[[Any], Any] = _unchanged
    from_canonical: Callable[[Any], Any] = _unchanged
    always: bool = False
    is_named: bool = True


@dataclass(frozen=True, slots=True)
class Fixed:
    """The value that a canonical parameter has in every call of the agent."""

    value: Any


def negated(name: str) -> AgentField:
    return AgentField(name, lambda value: not value, lambda value: not value, is_named=False)


def optional(name: str) -> AgentField:
    """Maps an empty text to the canonical default."""
    return AgentField(name, lambda value: value or None)


def choice(
    name: str, canonical: Mapping[Any, Hashable], *, always: bool = False, is_named: bool = True
) -> AgentField:
    """Maps the agent's values to ``canonical`` ones."""
    agent = {value: key for key, value in canonical.items()}

    def from_canonical(value: Hashable) -> Any:
        return expressible(agent.get(value), value in agent)

    return AgentField(name, canonical.__getitem__, from_canonical, always, is_named)


def milliseconds(name: str, most: float = float("inf")) -> AgentField:
    """Maps milliseconds to canonical seconds."""
    return AgentField(name, lambda value: value / 1000, lambda value: to_milliseconds(value, most))


def to_milliseconds(seconds: float, most: float = float("inf")) -> int:
    """Raises ``InexpressibleError`` for parts of milliseconds and for more than ``most``."""
    value = round(seconds * 1000)
    return expressible(value, value <= most and value / 1000 == seconds)


def expressible(value: T, condition: object) -> T:
    """Returns ``value``.  Raises ``InexpressibleError`` unless ``condition`` is true."""
    if not condition:
        raise InexpressibleError
    return value


def _is_same(one: Any, other: Any) -> bool:
    """Compares canonical values; a list from JSON may be a tuple here."""
    return one == other or (isinstance(one, list) and tuple(one) == other)


def defaults_of(params: type[BaseModel]) -> Mapping[str, Any]:
    return {name: field.default for name, field in params.model_fields.items()}


Entry: TypeAlias = AgentField | Fixed | str
"""A string is a field with the same value."""


class FieldMap:
    """Maps each canonical parameter of a tool to a field of the agent's parameters or to a fixed value.

    ``tool`` has the canonical parameters with their defaults.  ``lacks``: those without a counterpart, so
    that only calls with their defaults can be expressed.  ``by_code``: those that the class's own
    ``to_canonical`` and ``from_canonical`` convert.  Agent's parameters are written in the map's order.
    """

    def __init__(
        self,
        tool: type[BaseModel] | Mapping[str, Any],
        /,
        *,
        lacks: Collection[str] = (),
        by_code: Collection[str] = (),
        **entries: Entry,
    ) -> None:
        self.defaults = tool if isinstance(tool, Mapping) else defaults_of(tool)
        self.lacks = lacks
        self.by_code = by_code
        self.entries = {
            name: AgentField(entry) if isinstance(entry, str) else entry for name, entry in entries.items()
        }

    def check(self, params: type[BaseModel], *, complete: bool) -> None:
        """Raises ``TypeError`` if the map names fields or canonical parameters that do not exist;
        with ``complete``, also if it omits a canonical parameter.
        """
        fields = {entry.name for entry in self.entries.values() if isinstance(entry, AgentField)}
        mapped = {*self.entries, *self.lacks, *self.by_code}
        missing = self.defaults.keys() - mapped if complete else frozenset()
        wrong = sorted((fields - params.model_fields.keys()) | (mapped - self.defaults.keys()) | missing)
        if wrong:
            raise TypeError(f"{params.__name__}: the map of fields is wrong about {', '.join(wrong)}")

    def names(self, params: type[BaseModel]) -> dict[str, str]:
        """Returns the agent's names of canonical parameters."""
        return {
            name: accepted_names(entry.name, params.model_fields[entry.name])[0]
            for name, entry in self.entries.items()
            if isinstance(entry, AgentField) and entry.is_named
        }

    def with_defaults(self, arguments: Arguments) -> dict[str, Any] | None:
        """Fills in the defaults of canonical arguments; None if a parameter is unknown or lacks a value."""
        values = {**self.defaults, **{key: value for key, value in arguments.items() if value is not None}}
        return None if values.keys() - self.defaults.keys() or REQUIRED in values.values() else values

    def to_canonical(self, params: BaseModel) -> dict[str, Any]:
        canonical = {}
        for name, entry in self.entries.items():
            if isinstance(entry, Fixed):
                value = entry.value
            else:
                given = getattr(params, entry.name)
                value = None if given is None else entry.to_canonical(given)
            if value is not None:
                canonical[name] = value
        return canonical

    def from_canonical(self, params: type[BaseModel], arguments: Arguments) -> dict[str, Any] | None:
        """Converts canonical arguments to ``params``; None where they cannot be expressed."""
        values = self.with_defaults(arguments)
        if values is None or any(not _is_same(values[name], self.defaults[name]) for name in self.lacks):
            return None
        spoken = {}
        for name, entry in self.entries.items():
            value = values[name]
            if isinstance(entry, Fixed):
                if not _is_same(value, entry.value):
                    return None
                continue
            field = params.model_fields[entry.name]
            try:
                written = None if value is None else entry.from_canonical(value)
            except InexpressibleError:
                return None
            if written is None and field.is_required():
                return None
            # An optional field without a value means the canonical default.
            is_default = written == field.default or (field.default is None and value == self.defaults[name])
            if written is not None and (entry.always or not is_default):
                spoken[accepted_names(entry.name, field)[0]] = written
        return spoken
