"""A dialect: a name and its spellings of the canonical tools."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import join, normpath
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.parameters import explain
from nbtools.core.result import ToolResult, failed

Arguments: TypeAlias = Mapping[str, Any]


def _without_docstring(schema: dict[str, Any]) -> None:
    """What is worth knowing of the class is for who reads the code; a model reads the spelling's description."""
    schema.pop("description", None)


Names: TypeAlias = Callable[[str, str], tuple[str, ...]]
"""Of a server and its own name of a tool: what an agent calls it, then what it called it before; none: by the canonical name."""


def canonical_names(_: str, __: str) -> tuple[str, ...]:
    return ()


class SpokenParams(BaseModel, ABC):
    """Parameters with one agent's own field names, units and descriptions, and the two ways across: in, and back with a reply."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, json_schema_extra=_without_docstring)

    _root: str = ""

    def model_post_init(self, context: Any) -> None:
        self._root = context if isinstance(context, str) else ""

    def absolute(self, path: str) -> str:
        """A path that is relative to the workspace, as agents that speak of whole paths say it."""
        return normpath(join(self._root, path))

    @abstractmethod
    def canonical(self) -> Arguments:
        """The same call in the canonical vocabulary.  Raises ``ToolFailure`` for what this agent itself refuses."""

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        """A canonical call in this agent's words: the reverse of ``canonical``.  None where they cannot say it."""
        return None

    def say(self, result: ToolResult) -> ToolResult:
        """The reply, errors included, as this agent words it."""
        return result

    @classmethod
    def complain(cls, name: str, error: ValidationError) -> str:
        """What is wrong with arguments of the wrong shape, as this agent words it."""
        return explain(name, cls, error)


@dataclass(frozen=True, slots=True)
class Spelling:
    """One tool as one agent speaks of it.

    ``tool`` is the canonical one meant, ``description`` what that agent's model reads of it.  ``former`` names and parameter sets are
    still read, but no model is told of them.
    """

    name: str
    tool: str
    params: type[SpokenParams]
    description: str = ""
    former: bool = False


@dataclass(frozen=True, slots=True)
class Unspoken:
    """A tool of the agent that has no counterpart here, and why."""

    name: str
    reason: str


class Said(NamedTuple):
    """A call that was read: the canonical tool and arguments, and how its reply is worded.  A tuple: every call makes one."""

    tool: str
    arguments: Arguments
    say: Callable[[ToolResult], ToolResult]


def _as_it_is(result: ToolResult) -> ToolResult:
    return result


def _refuse(_: str, error: ToolError) -> ToolResult:
    return failed(error)


@dataclass(frozen=True)
class Dialect:
    """Reads calls and words replies.  A name that it does not spell is taken as canonical, so the vocabulary inside is itself a dialect.

    Several spellings may have one name: the first whose parameters take the arguments is meant.  Where none does and the name is a former
    one that the canonical tool has, too, that is meant.
    ``reads_first``: whether a file must have been read before it is changed, unless a session says otherwise.
    ``server_names``: what it calls the tools of MCP servers.
    ``refuse`` words what never became a call: arguments of the wrong shape, a name that nobody knows.
    """

    name: str
    spellings: tuple[Spelling, ...] = ()
    unspoken: tuple[Unspoken, ...] = ()
    reads_first: bool = False
    refuse: Callable[[str, ToolError], ToolResult] = _refuse
    server_names: Names = canonical_names

    @cached_property
    def by_name(self) -> dict[str, tuple[Spelling, ...]]:
        names = dict.fromkeys(spelling.name for spelling in self.spellings)
        return {name: tuple(one for one in self.spellings if one.name == name) for name in names}

    def read(self, name: str, arguments: Arguments, root: str = "") -> Said:
        """The call meant; ``root`` is the workspace's absolute path, for replies that say it.

        Raises ``ToolFailure`` (``invalid_tool_params``).
        """
        spellings = self.by_name.get(name)
        if spellings is None:
            return Said(name, arguments, _as_it_is)
        problems: list[str] = []
        for spelling in spellings:
            try:
                params = spelling.params.model_validate(dict(arguments), context=root)
            except ValidationError as error:
                problems.append(spelling.params.complain(name, error))
            else:
                return Said(spelling.tool, params.canonical(), params.say)
        if all(spelling.former and spelling.tool == name for spelling in spellings):
            return Said(name, arguments, _as_it_is)
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, problems[0])

    def speak(self, tool: str, arguments: Arguments) -> tuple[str, Arguments] | None:
        """A canonical call in this agent's words; None where it has none for it.  The identity for a dialect without spellings."""
        if not self.spellings:
            return tool, arguments
        for spelling in self.spellings:
            said = spelling.params.spoken(arguments) if spelling.tool == tool and not spelling.former else None
            if said is not None:
                return spelling.name, said
        return None

    def names_of(self, tool: str) -> tuple[str, ...]:
        """The names that the agent's model may call ``tool`` by."""
        return tuple(dict.fromkeys(one.name for one in self.spellings if one.tool == tool and not one.former))


NBTOOLS = Dialect("nbtools")
"""The canonical vocabulary: the identity."""
