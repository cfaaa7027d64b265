"""Defines dialects: one agent's names, parameters and result texts for the canonical tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.message import with_arguments
from nbtools.core.result import ToolResult, failed, with_words

if TYPE_CHECKING:
    from nbtools.dialects.params import DialectParams

Arguments: TypeAlias = Mapping[str, Any]


ServerToolNames: TypeAlias = Callable[[str, str], tuple[str, ...]]
"""Takes an MCP server and its tool name; returns the agent's name and then former ones.
Empty: the canonical name is used.
"""


def canonical_names(_: str, __: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class ToolMapping:
    """Maps one of an agent's tools to a canonical tool.

    ``tool`` is the canonical name, ``description`` is for the agent's model.  ``former`` names and parameter
    sets are still accepted, but not declared to a model.  A ``special`` tool does only a part of what the
    canonical one does; no message recommends it.
    """

    name: str
    tool: str
    params: type[DialectParams]
    description: str = ""
    former: bool = False
    special: bool = False


@dataclass(frozen=True, slots=True)
class UnsupportedTool:
    """A tool of the agent without a counterpart in nbtools, and the reason."""

    name: str
    reason: str


def workspace_root() -> str:
    """The folder where commands start when none is carried over, relative to the workspace."""
    return "."


class CallContext(NamedTuple):
    """The facts about the session that parameters need; see ``Dialect.read``."""

    root: str = ""
    folder: Callable[[], str] = workspace_root


class CanonicalCall(NamedTuple):  # a tuple, because every call creates one
    """A call converted to the canonical tool and arguments,
    and the function that converts its result back.
    """

    tool: str
    arguments: Arguments
    convert_result: Callable[[ToolResult], ToolResult]


def _with_canonical_names(result: ToolResult) -> ToolResult:
    return with_words(result, str)


def _convert(params: DialectParams, vocabulary: CallVocabulary, result: ToolResult) -> ToolResult:
    return params.convert_result(with_words(result, lambda message: message.worded(vocabulary)))


def _refuse(_: str, error: ToolError) -> ToolResult:
    return failed(error)


@dataclass(frozen=True)
class Dialect:
    """Converts calls to canonical ones and results to an agent's wording.
    A name without mapping is taken as canonical.

    Several mappings may share a name: the first whose parameters accept the arguments applies.  Where none
    does, and the name is both a former one and that of the canonical tool, the canonical parameters apply to
    a call that has a parameter which the agent lacks.  Otherwise, if the agent ignores unknown parameters,
    the mapping applies that ignores the fewest.  ``reads_first``: whether a file must be read before it is
    changed, unless a session sets that otherwise.  ``read_tokens``: the most tokens of text that reading a
    file returns; None for no such limit.  ``reads_whole_lines``: whether reading returns long lines whole.
    ``ignore_files``: the agent's own ignore files at the root of a workspace, and ``reads_ignored``, whether
    a git-ignored file can be read by its name, unless a session sets them otherwise.  ``reads_recordings``:
    whether the agent reads audio and video files.  ``carries_folder``: whether the working directory carries
    over between commands, so that it is no parameter of the agent's tool.  ``server_names``: the agent's
    names of MCP tools.  ``differences``: what deliberately differs from the agent's behaviour, a sentence
    each with the reason; listed in docs/dialects.md.  ``refuse`` words the result of a request that is no
    call: invalid arguments or an unknown name.  ``refusal_ends_batch``: after a person has denied a call, the
    calls of the same message that have not begun are cancelled.  ``wait_parameter``: a parameter of every
    declared tool, whose value true makes the call wait for the earlier ones of its message.  ``untrusted``
    marks text of others for the model: what MCP servers return, and the output of cancelled calls.
    """

    name: str
    mappings: tuple[ToolMapping, ...] = ()
    unsupported: tuple[UnsupportedTool, ...] = ()
    reads_first: bool = False
    ignore_files: tuple[str, ...] = ()
    reads_ignored: bool = True
    reads_recordings: bool = False
    read_tokens: int | None = None
    reads_whole_lines: bool = False
    carries_folder: bool = False
    refuse: Callable[[str, ToolError], ToolResult] = _refuse
    server_names: ServerToolNames = canonical_names
    differences: tuple[str, ...] = ()
    untrusted: Callable[[str], str] = str
    refusal_ends_batch: bool = False
    wait_parameter: str = ""

    @cached_property
    def by_name(self) -> dict[str, tuple[ToolMapping, ...]]:
        names = dict.fromkeys(spelling.name for spelling in self.mappings)
        return {
            name: tuple(spelling for spelling in self.mappings if spelling.name == name) for name in names
        }

    def read(
        self, name: str, arguments: Arguments, root: str = "", folder: Callable[[], str] = workspace_root
    ) -> CanonicalCall:
        """Converts a call to the canonical tool and arguments.

        ``root`` is the workspace's absolute path, for results that contain it.  ``folder`` returns the
        folder, relative to the root, where commands start in a dialect whose working directory carries over
        between calls; it is called only for such a command.  Raises ``ToolFailure``
        (``invalid_tool_params``).
        """
        spellings = self.by_name.get(name)
        if spellings is None:
            return self.own_call(name, arguments)
        problems: list[str] = []
        context = CallContext(root, folder)
        call = self._first_accepting(spellings, name, [arguments] * len(spellings), context, problems)
        if call is not None:
            return call
        # A former name that is also the canonical one, such as grep: the parameters tell which is
        # meant.
        former = all(spelling.former and spelling.tool == name for spelling in spellings)
        if former and not any(spelling.params.knows(arguments) for spelling in spellings):
            return CanonicalCall(name, arguments, _with_canonical_names)
        lenient = [spelling for spelling in spellings if spelling.params.ignores_unknown]
        known = [spelling.params.known_only(arguments) for spelling in lenient]
        order = sorted(range(len(lenient)), key=lambda index: -len(known[index]))
        call = self._first_accepting(
            [lenient[index] for index in order], name, [known[index] for index in order], context, []
        )
        if call is None:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, problems[0])
        return call

    def _first_accepting(
        self,
        spellings: Sequence[ToolMapping],
        name: str,
        arguments: Sequence[Arguments],
        context: CallContext,
        problems: list[str],
    ) -> CanonicalCall | None:
        """Returns the call of the first mapping that accepts its arguments;
        adds to ``problems`` why those before do not.
        """
        for spelling, given in zip(spellings, arguments, strict=True):
            try:
                params = spelling.params.model_validate(dict(given), context=context)
            except ValidationError as error:
                problems.append(spelling.params.explain_errors(name, error))
            else:
                canonical = params.to_canonical()
                vocabulary = CallVocabulary(self, spelling, params, canonical)
                return CanonicalCall(spelling.tool, canonical, partial(_convert, params, vocabulary))
        return None

    def own_call(self, name: str, arguments: Arguments) -> CanonicalCall:
        """Returns the call of a tool without mapping."""
        return CanonicalCall(name, self.own_arguments(arguments), _with_canonical_names)

    def own_arguments(self, arguments: Arguments) -> Arguments:
        """Returns the arguments of a tool without mapping, without the parameter that the dialect adds."""
        if self.wait_parameter:
            return {key: value for key, value in arguments.items() if key != self.wait_parameter}
        return arguments

    def waits(self, arguments: Arguments) -> bool:
        """Whether the call asks to wait for the earlier ones of its message."""
        return bool(self.wait_parameter) and arguments.get(self.wait_parameter) is True

    def speak(self, tool: str, arguments: Arguments) -> tuple[str, Arguments] | None:
        """Converts a canonical call to the agent's tool and parameters; None where it has none.
        Without mappings: the call itself.
        """
        if not self.mappings:
            return tool, arguments
        for spelling in self.mappings:
            parameters = (
                spelling.params.from_canonical(arguments)
                if spelling.tool == tool and not spelling.former
                else None
            )
            if parameters is not None:
                return spelling.name, parameters
        return None

    def names_of(self, tool: str) -> tuple[str, ...]:
        """Returns the agent's current names of the canonical tool ``tool``."""
        return tuple(
            dict.fromkeys(
                spelling.name for spelling in self.mappings if spelling.tool == tool and not spelling.former
            )
        )


NBTOOLS = Dialect("nbtools", reads_recordings=True)
"""The canonical names and parameters."""


def without_none(**arguments: Any) -> dict[str, Any]:
    """Returns the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


@dataclass(frozen=True, slots=True)
class CallVocabulary:
    """A dialect's words in messages about a call that was made with ``params`` and converted to canonical
    ``arguments``.
    """

    dialect: Dialect
    mapping: ToolMapping
    params: DialectParams
    arguments: Arguments

    def tool(self, name: str) -> str | None:
        if name == self.mapping.tool and not self.mapping.special:
            return self.mapping.name
        current = (
            mapping
            for mapping in self.dialect.mappings
            if mapping.tool == name and not mapping.former and not mapping.special
        )
        return next((mapping.name for mapping in current), None)

    def called(self) -> str:
        return self.mapping.name

    def parameter(self, steps: tuple[str | int, ...]) -> str | None:
        return self.params.name_of(steps)

    def change(self, arguments: Mapping[str, Any]) -> str | None:
        """Compares this agent's parameters for the call before and after the change."""
        before = self.params.from_canonical(self.arguments)
        after = self.params.from_canonical({**self.arguments, **arguments})
        if before is None or after is None or before == after:
            return None
        removed = dict.fromkeys(name for name in before if name not in after)
        return with_arguments(
            {**{name: value for name, value in after.items() if before.get(name) != value}, **removed}
        )
