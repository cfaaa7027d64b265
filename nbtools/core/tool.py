"""The tool framework: a tool *builds* an invocation from parameters; only an invocation can run.

The names are those of Gemini CLI's tool framework in Python spelling.
Calls are cancelled by asyncio, so there is no signal parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from nbtools.core.confirmation import (
    FileChoice,
    ToolCallConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
)
from nbtools.core.result import ToolResult, ToolResultDisplay


class Kind(StrEnum):
    """The general effect of a tool.  Policy and scheduler depend on the kind, never on a tool's name."""

    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    SEARCH = "search"
    EXECUTE = "execute"
    THINK = "think"
    FETCH = "fetch"
    OTHER = "other"

    def __init__(self, name: str) -> None:
        self.changes_nothing = name in ("read", "search", "think", "fetch")
        """Whether calls of this kind make no changes; only such calls run at the same time."""


class Icon(StrEnum):
    FILE_SEARCH = "fileSearch"
    FOLDER = "folder"
    GLOBE = "globe"
    HAMMER = "hammer"
    LIGHT_BULB = "lightBulb"
    PENCIL = "pencil"
    REGEX = "regex"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class ToolLocation:
    """A location that a call acts on: an absolute path, and a 1-based line if known."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class PathTarget:
    """The paths that a call acts on, relative to the workspace; rules match them with gitignore patterns."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandTarget:
    """The command line that a call runs; rules match each simple command in it.
    ``directory`` is relative to the workspace.

    ``moving``: a running command may change to another directory before this one starts.
    """

    command: str
    directory: str = "."
    moving: bool = False


Target: TypeAlias = PathTarget | CommandTarget
"""What the part of a rule in parentheses is matched with."""

Asks: TypeAlias = bool | Literal["always"] | None
"""Whether a tool declares that its calls need approval; see ``ToolBuilder.asks``."""

UpdateOutput: TypeAlias = Callable[[ToolResultDisplay], None]
"""Receives the display of a call's progress; each one replaces the one before."""

P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)


@runtime_checkable
class ToolInvocation(Protocol[P_co]):
    """A validated call, ready to run."""

    @property
    def params(self) -> P_co: ...

    @property
    def kind(self) -> Kind | None:
        """The kind of this call if it differs from the tool's: a preview only reads. None: the tool's."""
        ...

    @property
    def asks(self) -> Asks:
        """Whether this call needs approval where no rule applies, if that differs from the tool.
        None: as the tool declares.
        """
        ...

    def get_description(self) -> str:
        """Returns what the call acts on, in one line: a path, a pattern, a command."""
        ...

    def tool_locations(self) -> tuple[ToolLocation, ...]: ...

    def target(self) -> Target: ...

    async def should_confirm_execute(self) -> ToolCallConfirmationDetails | Literal[False]:
        """Returns what to show when the call needs approval; False for the general form.

        Raises ``ToolFailure`` when it is already clear that the call would fail,
        so that nobody is asked in vain.
        """
        ...

    async def on_confirm(
        self, outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None = None
    ) -> None:
        """Receives the person's answer before the call runs."""
        ...

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        """Runs the call.  Raises ``ToolFailure`` for what the caller can fix;
        when cancelled, it leaves nothing running.
        """
        ...


class Example(NamedTuple):
    """An example of a call for help pages: what it does, and its arguments."""

    about: str
    arguments: Mapping[str, Any]


@runtime_checkable
class ToolBuilder(Protocol[P_co]):
    """Validates parameters and builds invocations."""

    @property
    def name(self) -> str: ...
    @property
    def display_name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def icon(self) -> Icon: ...
    @property
    def schema(self) -> dict[str, Any]:
        """The function declaration: ``name``, ``description``, ``parameters`` (JSON Schema)."""
        ...

    @property
    def is_output_markdown(self) -> bool: ...
    @property
    def can_update_output(self) -> bool: ...
    @property
    def asks(self) -> Asks:
        """Whether calls need approval where no rule applies:
        True they do, False they do not, None depends on the kind.

        ``always``: every call asks, whatever the mode and the rules allow.
        """
        ...

    @property
    def output_limit(self) -> int:
        """The most characters of a result for a model;
        a longer one is cut in the middle and stored whole in a file.
        """
        ...

    def build(self, params: Mapping[str, Any]) -> ToolInvocation[P_co]:
        """Builds an invocation.  Raises ``ToolFailure`` (``invalid_tool_params``,
        ``path_not_in_workspace``) with one line of message.
        """
        ...


class BaseToolInvocation(Generic[P]):
    """Base class of invocations with the defaults: no locations, no special confirmation."""

    __slots__ = ("params",)

    def __init__(self, params: P) -> None:
        self.params = params

    @property
    def kind(self) -> Kind | None:
        return None

    @property
    def asks(self) -> Asks:
        return None

    def get_description(self) -> str:
        return ""

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return ()

    def target(self) -> Target:
        return PathTarget(tuple(location.path for location in self.tool_locations()))

    async def should_confirm_execute(self) -> ToolCallConfirmationDetails | Literal[False]:
        return False

    async def on_confirm(
        self, outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None = None
    ) -> None:
        return None

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        raise NotImplementedError(f"{type(self).__name__} does not implement execute()")


class SelectableInvocation(Protocol):
    """An invocation whose confirmation has ``parts``: a person may choose among them."""

    def select(self, files: Sequence[FileChoice]) -> AnyToolInvocation:
        """Returns the invocation that applies only what was chosen of the change that was put to the person,
        or none of it.

        Raises ``ToolFailure`` (``invalid_tool_params``) for choices that do not fit the change.
        """
        ...


@runtime_checkable
class ModifiableTool(Protocol[P]):
    """A tool whose proposed text the person may modify before it is applied."""

    def get_modify_context(self) -> ModifyContext[P]: ...


class ModifyContext(Protocol[P]):
    def create_updated_params(
        self, original_content: str | None, new_content: str, params: P
    ) -> Mapping[str, Any]:
        """Returns the arguments that give the file ``new_content``; they are validated and decided again."""
        ...

    def remember_proposal(self, invocation: ToolInvocation[P], proposed_content: str) -> ToolInvocation[P]:
        """Returns the invocation with diff statistics that count differences from ``proposed_content`` as the
        person's part.
        """
        ...


def approval_preference(tool: ToolBuilder[P], invocation: ToolInvocation[P]) -> Asks:
    """Returns whether a call needs approval, by its invocation or tool; the tool's ``always`` wins."""
    return tool.asks if invocation.asks is None or tool.asks == "always" else invocation.asks


def runs_beside(tool: ToolBuilder[P]) -> bool:
    """Whether calls run at once, without waiting for others, as those must that read or end running commands.

    Such a tool has a true attribute ``runs_beside``.
    """
    return bool(getattr(tool, "runs_beside", False))


def names_only(tool: ToolBuilder[P]) -> bool:
    """Whether the tool shows only names and sizes of files. It then has a true attribute ``names_only``."""
    return bool(getattr(tool, "names_only", False))


def has_no_target(invocations: type) -> bool:
    """Whether calls of this class never have a target, whatever their arguments are."""
    base = BaseToolInvocation
    names = ("target", "tool_locations")
    return all(getattr(invocations, name, None) is getattr(base, name) for name in names)


def examples_of(tool: ToolBuilder[P]) -> tuple[Example, ...]:
    """Returns the examples that a tool declares, in ``examples`` or in its schema; often none."""
    declared = getattr(tool, "examples", ()) or (tool.schema.get("parameters") or {}).get("examples", ())
    known = [one for one in declared if isinstance(one, Example | Mapping)]
    return tuple(one if isinstance(one, Example) else Example("", one) for one in known)


def is_mcp_tool(tool: ToolBuilder[P]) -> bool:
    """Whether an MCP server provides the tool.
    Such a tool has the attribute ``of_server``: the server's name and its own name there.
    """
    return getattr(tool, "of_server", None) is not None


def is_tool(value: object) -> bool:
    """Whether ``value`` can be registered: it has a name and builds invocations."""
    return isinstance(getattr(value, "name", None), str) and callable(getattr(value, "build", None))


AnyToolInvocation: TypeAlias = ToolInvocation[Any]
AnyToolBuilder: TypeAlias = ToolBuilder[Any]
