"""The framework: a tool *builds* an invocation from parameters; only an invocation can run.

The names are those of Gemini CLI's tool framework in Python spelling.  Aborting is asyncio cancellation: there is no signal parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from nbtools.core.confirmation import ToolCallConfirmationDetails, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.result import ToolResult, ToolResultDisplay


class Kind(StrEnum):
    """What a tool does to the world; policy and scheduler go by it, never by a tool's name."""

    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    SEARCH = "search"
    EXECUTE = "execute"
    THINK = "think"
    FETCH = "fetch"
    OTHER = "other"

    @property
    def changes_nothing(self) -> bool:
        """Whether calls of this kind leave everything as it is; only they run side by side."""
        return self in _HARMLESS


_HARMLESS = frozenset({Kind.READ, Kind.SEARCH, Kind.THINK, Kind.FETCH})


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
    """A place in the file system that a call touches: an absolute path, and a 1-based line where one is known."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class PathTarget:
    """A call acts on these paths, relative to the workspace; rules match them as gitignore patterns."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandTarget:
    """A call runs this command line; rules match each simple command in it.  ``directory`` is where, relative to the workspace.

    ``moving``: something that runs already may change to another directory before the command starts.
    """

    command: str
    directory: str = "."
    moving: bool = False


Target: TypeAlias = PathTarget | CommandTarget
"""What the part of a rule in parentheses is matched against."""

Asks: TypeAlias = bool | Literal["always"] | None
"""Whether a tool's author wants its calls asked."""

UpdateOutput: TypeAlias = Callable[[ToolResultDisplay], None]
"""Takes what there is to show so far; each call replaces what the one before showed."""

P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)


@runtime_checkable
class ToolInvocation(Protocol[P_co]):
    """A validated call, ready to run."""

    @property
    def params(self) -> P_co: ...

    @property
    def kind(self) -> Kind | None:
        """What this very call does to the world, where that differs from its tool's kind: a preview only reads.  None: the tool's."""
        ...

    @property
    def asks(self) -> Asks:
        """Whether this very call is to be asked when no rule speaks, where that differs from what its tool wants.  None: as the tool."""
        ...

    def get_description(self) -> str:
        """The call's object in one line: a path, a pattern, a command."""
        ...

    def tool_locations(self) -> tuple[ToolLocation, ...]: ...

    def target(self) -> Target: ...

    async def should_confirm_execute(self) -> ToolCallConfirmationDetails | Literal[False]:
        """What to show when policy wants the call confirmed; False: nothing in particular.

        Raises ``ToolFailure`` when it is plain already that the call cannot work: nobody is asked in vain.
        """
        ...

    async def on_confirm(self, outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None = None) -> None:
        """Told the person's answer before the call runs."""
        ...

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        """Runs the call.  Raises ``ToolFailure`` for what the caller can mend; cancelled, it leaves nothing running behind."""
        ...


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
        """What its author wants when no rule speaks: True ask, False run, None by its kind.

        ``always``: asking is what the tool is for, so no mode and no allow takes the question away.
        """
        ...

    @property
    def output_limit(self) -> int:
        """Characters of its answer that a model reads; what is longer is cut in the middle and kept whole in a file."""
        ...

    def build(self, params: Mapping[str, Any]) -> ToolInvocation[P_co]:
        """Raises ``ToolFailure`` (``invalid_tool_params``, ``path_not_in_workspace``) in one clear line."""
        ...


class BaseToolInvocation(Generic[P]):
    """An invocation with the plain answers: no locations, nothing in particular to confirm."""

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

    async def on_confirm(self, outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None = None) -> None:
        return None

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        raise NotImplementedError(f"{type(self).__name__} does not say how it runs")


@runtime_checkable
class ModifiableTool(Protocol[P]):
    """A tool whose proposed text the person may edit before it is applied."""

    def get_modify_context(self) -> ModifyContext[P]: ...


class ModifyContext(Protocol[P]):
    def create_updated_params(self, original_content: str | None, new_content: str, params: P) -> Mapping[str, Any]:
        """The arguments that make the file hold ``new_content``; they go back through build and policy."""
        ...

    def remember_proposal(self, invocation: ToolInvocation[P], proposed_content: str) -> ToolInvocation[P]:
        """The same invocation, whose diff statistics count what departs from ``proposed_content`` as the person's part."""
        ...


def asks_of(tool: ToolBuilder[P], invocation: ToolInvocation[P]) -> Asks:
    """What is wanted of this very call; a tool made for asking always asks."""
    return tool.asks if invocation.asks is None or tool.asks == "always" else invocation.asks


def runs_beside(tool: ToolBuilder[P]) -> bool:
    """Whether calls run at once, beside whatever runs: those that look after what is running, or end it, must not wait for it.

    A tool that can do so has the attribute ``runs_beside``, true.
    """
    return bool(getattr(tool, "runs_beside", False))


def names_only(tool: ToolBuilder[P]) -> bool:
    """Whether it shows no more of files than their names and sizes.  Such a tool has the attribute ``names_only``, true."""
    return bool(getattr(tool, "names_only", False))


def acts_on_nothing(invocations: type) -> bool:
    """Whether calls of this class name nothing that they act on, whatever their arguments are."""
    return all(getattr(invocations, name, None) is getattr(BaseToolInvocation, name) for name in ("target", "tool_locations"))


def is_of_server(tool: ToolBuilder[P]) -> bool:
    """Whether an MCP server has it.  Such a tool has the attribute ``of_server``: the server's name, and the tool's there."""
    return getattr(tool, "of_server", None) is not None


def is_tool(value: object) -> bool:
    """Whether ``value`` can be registered: it has a name and builds invocations."""
    return isinstance(getattr(value, "name", None), str) and callable(getattr(value, "build", None))


AnyToolInvocation: TypeAlias = ToolInvocation[Any]
AnyToolBuilder: TypeAlias = ToolBuilder[Any]
