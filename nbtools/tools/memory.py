"""The `memory` tool: stores facts for later sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.message import Advice, CalledTool, Message, Parameter, ToolName
from nbtools.core.result import ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import (
    BaseToolInvocation,
    Example,
    Kind,
    ModifyContext,
    PathTarget,
    ToolInvocation,
    ToolLocation,
    UpdateOutput,
)
from nbtools.diff.text_lines import displayable
from nbtools.tools.file_change import FileChangeInvocation
from nbtools.workspace.files.encoding import UTF8, decode, encode
from nbtools.workspace.files.memory import (
    PROJECT_FILE,
    added_fact,
    display_path,
    nearest_folder,
    one_line,
    resolve_links,
    user_file,
    with_fact,
)
from nbtools.workspace.files.read import not_text_failure, read_if_exists
from nbtools.workspace.text.file_edit import FileChange
from nbtools.workspace.workspace import Workspace

_MOST = 1_000_000
"""Maximum size of a memory file in bytes; it is read at the start of every session."""

Scope = Literal["project", "user"]


_SHORTEN = Message.of("Shorten it", Advice(" with ", ToolName("edit")), ".")


class MemoryParams(ParameterModel):
    text: Annotated[str, Field(max_length=10_000)] | None = None
    """The fact to remember, as one short sentence that needs no context.
    Default: the stored facts are returned.
    """
    scope: Scope = "project"
    """Where to store it: for this project, or for the user in all projects."""


@dataclass(frozen=True, slots=True)
class MemoryData:
    """``text`` is the added line, or the whole memory if no line was added;
    ``path`` is the file as displayed.
    """

    scope: Scope
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory file: ``path`` in ``workspace`` (a separate one for the user's file);
    ``name`` is its displayed name.
    """

    workspace: Workspace
    path: str
    name: str

    @property
    def spellings(self) -> tuple[str, ...]:
        """The names by which a rule may refer to the file."""
        return self.workspace.spellings(self.path) if self.name == self.path else (self.name,)


class MemoryTool(BaseDeclarativeTool[MemoryParams]):
    """Adds a line to ``.nbtools/memory.md`` of the project, or to the user's memory file,
    which is outside the workspace.

    ``user``: another path of the user's file.
    """

    name = "memory"
    description = (
        "Stores a fact for later sessions, for the project or for the user; without text it returns the"
        " stored facts."
    )
    kind = Kind.EDIT
    parameters = MemoryParams
    examples = (
        Example("Remembers a fact about this project.", {"text": "Tests run with make test"}),
        Example("Remembers a fact for all projects.", {"text": "I prefer tabs", "scope": "user"}),
    )

    def __init__(self, workspace: Workspace, *, user: Path | None = None) -> None:
        self.workspace = workspace
        self._user = user

    def memory_file(self, scope: Scope) -> MemoryFile:
        if scope == "project":
            return MemoryFile(self.workspace, PROJECT_FILE, PROJECT_FILE)
        path = self._user or user_file()
        file = resolve_links(path)
        folder = nearest_folder(file)
        workspace = Workspace(folder, self.workspace.settings)
        workspace.journal = self.workspace.journal
        return MemoryFile(workspace, file.relative_to(folder).as_posix(), display_path(path))

    def validate_tool_param_values(self, params: MemoryParams) -> str | None:
        if params.text is not None and "\0" in params.text:
            return Message.of(
                CalledTool("memory"), ": ", Parameter("text"), " contains a NUL character. Remove it."
            )
        if params.text is None or one_line(params.text):
            return None
        empty = " is empty. Give the fact to remember, or omit it to get the stored facts."
        return Message.of(CalledTool("memory"), ": ", Parameter("text"), empty)

    def create_invocation(self, params: MemoryParams) -> ReadMemoryInvocation | AddFactInvocation:
        place = self.memory_file(params.scope)
        if params.text is None:
            return ReadMemoryInvocation(params, place)
        return AddFactInvocation(params, place, one_line(params.text))

    def get_modify_context(self) -> ModifyContext[MemoryParams]:
        return MemoryModifyContext()


class ReadMemoryInvocation(BaseToolInvocation[MemoryParams]):
    __slots__ = ("path", "place")

    def __init__(self, params: MemoryParams, place: MemoryFile) -> None:
        super().__init__(params)
        self.place = place
        self.path = place.workspace.resolve(place.path)

    @property
    def kind(self) -> Kind:
        return Kind.READ

    def get_description(self) -> str:
        return self.place.name

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(self.place.spellings)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        text = _text(self.path, self.place.name)
        data = MemoryData(self.params.scope, self.place.name, text)
        if not text.strip():
            message = f"{self.place.name} has no facts yet."
            return ToolResult(message, message, summary="nothing yet", data=data)
        return ToolResult(f"{self.place.name}:\n{text}", text, summary=self.place.name, data=data)


class AddFactInvocation(FileChangeInvocation[MemoryParams]):
    __slots__ = ("fact", "place")

    verb = "add to"

    def __init__(self, params: MemoryParams, place: MemoryFile, fact: str) -> None:
        super().__init__(place.workspace, params, place.path)
        self.place = place
        self.fact = fact

    def get_description(self) -> str:
        return self.fact

    def target(self) -> PathTarget:
        return PathTarget(self.place.spellings)

    def plan(self) -> FileChange:
        before = read_if_exists(self.path, self.place.name, _MOST, _SHORTEN)
        if before is None:
            content = with_fact("", self.fact)
            return FileChange(self.path, self.place.name, None, encode(content, UTF8), None, content)
        current = decode(before)
        if current is None:
            raise not_text_failure(self.place.name, before, len(before))
        proposed = with_fact(current.text, self.fact)
        return FileChange(
            self.path,
            self.place.name,
            before,
            encode(proposed, current.encoding, current.text),
            current.text,
            proposed,
        )

    def _result(self, change: FileChange, folders: tuple[str, ...]) -> ToolResult:
        diff, _ = change.compared(self.proposal)
        data = MemoryData(self.params.scope, self.place.name, self.fact)
        summary = "already stored" if change.changes_nothing else "stored"
        return ToolResult(" ".join(self._sentences(change, ())), diff, summary=summary, data=data)

    def _sentences(self, change: FileChange, folders: tuple[str, ...]) -> Iterable[str]:
        verb = "already has" if change.changes_nothing else "now has"
        yield f"{self.place.name} {verb} the line: {self.fact}"
        if self.proposal is not None and self.proposal != displayable(change.proposed):
            yield "(The person changed the proposed text before it was written.)"


class MemoryModifyContext:
    def create_updated_params(
        self, original_content: str | None, new_content: str, params: MemoryParams
    ) -> Mapping[str, Any]:
        """Returns the parameters with the person's version of the line.
        Raises ``ToolFailure`` if other lines were changed.
        """
        return {"text": added_fact(original_content or "", new_content), "scope": params.scope}

    def remember_proposal(
        self, invocation: ToolInvocation[MemoryParams], proposed_content: str
    ) -> ToolInvocation[MemoryParams]:
        if not isinstance(invocation, AddFactInvocation):
            raise TypeError(f"{invocation!r} is not an invocation of memory that adds a fact")
        return invocation.with_proposal(proposed_content)


def _text(path: Path, name: str) -> str:
    data = read_if_exists(path, name, _MOST, _SHORTEN) or b""
    decoded = decode(data)
    if decoded is None:
        raise not_text_failure(name, data, len(data))
    return displayable(decoded.text)
