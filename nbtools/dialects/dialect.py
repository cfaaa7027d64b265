"""A dialect: a name and its spellings of the canonical tools."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from nbtools.core.errors import ErrorCode, SessionError, ToolFailure
from nbtools.core.parameters import explain
from nbtools.core.result import ToolResult


class SpokenParams(BaseModel, ABC):
    """Parameters with one agent's own field names, units and descriptions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def canonical(self) -> Mapping[str, Any]:
        """The same call in the canonical vocabulary."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One tool as one agent speaks of it: a name, the tool meant, its parameters, and how a reply is worded."""

    name: str
    tool: str
    params: type[SpokenParams]
    say: Callable[[ToolResult], ToolResult] = lambda result: result


@dataclass(frozen=True)
class Dialect:
    """Reads calls and words replies.  A name that it does not spell is taken as canonical, so the vocabulary inside is itself a dialect."""

    name: str
    spellings: tuple[Spelling, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, Spelling]:
        return {spelling.name: spelling for spelling in self.spellings}

    def read(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """The canonical name and arguments.  Raises ``ToolFailure`` (``invalid_tool_params``)."""
        spelling = self._by_name.get(name)
        if spelling is None:
            return name, arguments
        try:
            return spelling.tool, spelling.params.model_validate(dict(arguments)).canonical()
        except ValidationError as error:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, explain(name, spelling.params, error)) from None

    def say(self, name: str, result: ToolResult) -> ToolResult:
        """The reply as this agent words it."""
        spelling = self._by_name.get(name)
        return result if spelling is None else spelling.say(result)


NBTOOLS = Dialect("nbtools")
"""The canonical vocabulary: the identity."""

_DIALECTS = {NBTOOLS.name: NBTOOLS}


def dialect(name: str) -> Dialect:
    """The dialect of that name.  Raises ``SessionError`` that lists those there are."""
    found = _DIALECTS.get(name)
    if found is None:
        raise SessionError(f"There is no dialect {name!r}; there is {', '.join(_DIALECTS)}.")
    return found
