"""What a call gives back: content for a model, something to show to a person, data for a program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from nbtools.core.errors import ToolError

Part: TypeAlias = dict[str, Any]
"""A JSON part of multi-media content: ``{"text": …}`` or ``{"inline_data": {"mime_type": …, "data": base64}}``."""

LlmContent: TypeAlias = str | tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class DiffStat:
    """Lines and characters that a change adds and removes: the model's part, and the person's where they modified the proposal."""

    model_added_lines: int = 0
    model_removed_lines: int = 0
    model_added_chars: int = 0
    model_removed_chars: int = 0
    user_added_lines: int = 0
    user_removed_lines: int = 0
    user_added_chars: int = 0
    user_removed_chars: int = 0


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file before and after.  ``file_diff`` is a unified diff; ``original_content`` is None for a new file.

    ``language`` is set where it is a part of a file, such as a cell: what the part is written in, which the file's name does not say.
    """

    file_diff: str
    file_name: str
    original_content: str | None
    new_content: str
    diff_stat: DiffStat
    language: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A line that a search found (or, with ``context``, its neighbour).  ``ranges`` are the hits in it, start and end columns from 0."""

    path: str
    line: int
    text: str
    ranges: tuple[tuple[int, int], ...] = ()
    context: bool = False


@dataclass(frozen=True, slots=True)
class Matches:
    """A page of a search, in the order found.  ``total`` counts all matching lines, ``files`` all files with one."""

    matches: tuple[Match, ...]
    total: int
    files: int
    more: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file (``size`` in bytes) or a folder, by its path relative to the workspace; a ``link`` counts as what it leads to."""

    path: str
    folder: bool = False
    size: int | None = None
    link: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of files and folders; ``total`` counts all of them."""

    entries: tuple[Entry, ...]
    total: int
    more: str = ""


@dataclass(frozen=True, slots=True)
class FileText:
    """Lines ``start`` … of a file, without their ends; ``total`` counts the file's lines."""

    path: str
    start: int
    lines: tuple[str, ...]
    total: int
    more: str = ""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What a command printed, as the terminal received it (colours and carriage returns included), cut to its tail.

    ``lines`` counts all lines printed, ``full_output`` is the file that has everything, empty when the text is complete.  ``status`` says
    in two or three words how it ended where an exit code does not.
    """

    text: str
    lines: int
    exit_code: int | None
    full_output: str = ""
    note: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True)
class FileDiffs:
    """Several files before and after, changed together."""

    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, a sound or a document to look at: ``data`` is the file's content, ``note`` what is worth knowing of it in one line."""

    path: str
    mime_type: str
    data: bytes
    note: str = ""


TodoStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


@dataclass(frozen=True, slots=True)
class TodoItem:
    text: str
    status: TodoStatus = "pending"


@dataclass(frozen=True, slots=True)
class TodoList:
    """What is to be done, in order."""

    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class Markdown:
    """A text to be read as markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Several:
    """What is shown one below the other."""

    shown: tuple[ToolResultDisplay, ...]


ToolResultDisplay: TypeAlias = (
    str | FileDiff | FileDiffs | Matches | Listing | FileText | CommandOutput | Media | TodoList | Markdown | Several
)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of a call.

    ``llm_content`` is what a model reads, ``return_display`` what a person sees, ``data`` what a program uses; ``summary`` says it in one
    line.  ``error`` is None when the call did what it promised: a command that exits with 1 did.  ``notes`` is what hooks add: once
    worded for a model (``with_notes``), it is in ``llm_content``, too.
    """

    llm_content: LlmContent
    return_display: ToolResultDisplay
    error: ToolError | None = None
    summary: str | None = None
    data: Any = None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.error is None

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<ToolResult {self.error.code}: {self.error.message}>"
        text = self.summary or (self.llm_content if isinstance(self.llm_content, str) else f"{len(self.llm_content)} parts")
        return f"<ToolResult {text.splitlines()[0][:100] if text else 'empty'}>"


def failed(error: ToolError, data: object = None) -> ToolResult:
    """The result of a call that failed: model and person read the same message."""
    return ToolResult(f"Error: {error.message}", error.message, error, error.message.split("\n", 1)[0], data)


@dataclass(frozen=True, slots=True)
class CancelledOutput:
    """The ``data`` of a call that was cancelled while it ran: the output that it had streamed by then, as a model reads it."""

    text: str


def with_output(result: ToolResult, output: CancelledOutput, display: ToolResultDisplay) -> ToolResult:
    """The result of a cancelled call with the output that it had streamed, for a model and for a person."""
    return replace(result, llm_content=f"{result.llm_content}\nIts output until then:\n{output.text}", return_display=display)


def with_notes(result: ToolResult, notes: tuple[str, ...]) -> ToolResult:
    """The result with ``notes`` at the end of what a model reads."""
    text = "\n".join(notes)
    content = result.llm_content
    added = f"{content}\n\n{text}".lstrip() if isinstance(content, str) else (*content, {"text": text})
    return replace(result, llm_content=added, notes=notes)
