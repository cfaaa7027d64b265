"""Tool results: content for a model, a display for people, data for programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.extension_points import extension
from nbtools.core.message import Message, joined

Part: TypeAlias = dict[str, Any]
"""A JSON part of multi-media content: ``{"text": …}`` or
``{"inline_data": {"mime_type": …, "data": base64}}``.
"""

LlmContent: TypeAlias = str | tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class DiffStat:
    """Lines and characters that a change adds and removes:
    the model's part, and the person's part if they modified the proposal.
    """

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
    """One file before and after.  ``file_diff`` is a unified diff;
    ``original_content`` is None for a new file.

    ``language`` is set for a part of a file, such as a cell, whose language the file's name does not tell.
    """

    file_diff: str
    file_name: str
    original_content: str | None
    new_content: str
    diff_stat: DiffStat
    language: str = ""

    @property
    def changed_lines(self) -> tuple[int, int]:
        """The numbers of added and removed lines.

        They are not the sums of ``diff_stat``,
        which counts a line that the model proposed and the person changed twice.
        """
        return _changed_lines(self.file_diff)


@lru_cache(maxsize=1_000)
def _changed_lines(diff: str) -> tuple[int, int]:
    lines = diff.split("\n")[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A cell of a notebook: its id, or ``#number`` if it has none, and its number from 1;
    ``output``: its outputs, not its source.
    """

    id: str
    number: int
    output: bool = False

    def __str__(self) -> str:
        return f"cell {self.number}{' output' if self.output else ''}"


@dataclass(frozen=True, slots=True)
class Match:
    """A line that a search found, or with ``context`` a line next to one.
    ``ranges`` are the matches: start and end columns from 0.

    In a notebook, ``line`` counts within ``cell``.
    """

    path: str
    line: int
    text: str
    ranges: tuple[tuple[int, int], ...] = ()
    context: bool = False
    cell: CellPlace | None = None

    @property
    def place(self) -> str:
        """The file, the cell if there is one, and the line: ``src/a.py:3``, ``analysis.ipynb:cell 4:2``."""
        return ":".join((self.path, *((str(self.cell),) if self.cell else ()), str(self.line)))


@dataclass(frozen=True, slots=True)
class Matches:
    """A page of search results, in the order found.
    ``total`` counts all matching lines, ``files`` all files that have one.
    """

    matches: tuple[Match, ...]
    total: int
    files: int
    more: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file (``size`` in bytes) or a folder, by its path relative to the workspace;
    a ``link`` counts as its target.

    In a tree, ``branch`` is what is drawn before the name, which is the last part of the path, and ``note`` a
    remark after it.  An entry without a path has only a remark: how many entries a folder has that are left
    out.
    """

    path: str
    folder: bool = False
    size: int | None = None
    link: bool = False
    branch: str = ""
    note: str = ""


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
    """The output of a command as the terminal received it (colours and carriage returns included),
    limited to its end.

    ``lines`` counts all printed lines; ``full_output`` is the file with all of it, empty when the text is
    complete.  ``status`` says in two or three words how the command ended, where it has no exit code.
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
class PagePicture:
    """A page of a document as a PNG picture; ``number`` counts from 1."""

    number: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound or a document: ``data`` is the file's content, ``note`` a remark of one line.

    ``text`` is a document's text, ``pages`` are pictures of its first pages:
    only people see them, not a model, and logs do not keep the pictures.
    """

    path: str
    mime_type: str
    data: bytes
    note: str = ""
    text: str = ""
    pages: tuple[PagePicture, ...] = ()


TodoStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


@dataclass(frozen=True, slots=True)
class TodoItem:
    text: str
    status: TodoStatus = "pending"


@dataclass(frozen=True, slots=True)
class TodoList:
    """A list of tasks, in order."""

    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class Markdown:
    """A text in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Several:
    """Several displays, one below the other."""

    shown: tuple[ToolResultDisplay, ...]


ToolResultDisplay: TypeAlias = (
    str
    | FileDiff
    | FileDiffs
    | Matches
    | Listing
    | FileText
    | CommandOutput
    | Media
    | TodoList
    | Markdown
    | Several
)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call.

    ``llm_content`` is for a model, ``return_display`` for people, ``data`` for programs; ``summary`` has one
    line.  ``error`` is None when the tool worked, even if a command exits with 1.  ``notes`` are what a model
    must learn in every dialect: what was ended, left out or cannot be undone, and what hooks add.  A tool and
    its hooks only set them; whoever passes the result on, such as the session after the dialect has worded
    its reply, adds them to ``llm_content`` with ``complete``.

    The fields of the display and of the data can be read from the result itself: ``result.matches`` is
    ``result.return_display.matches``. Where both have a field, the display's is meant.
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

    def __getattr__(self, name: str) -> Any:
        """Returns a field of the display, or else of the data."""
        if name.startswith("_") or name in ToolResult.__slots__:  # an incomplete copy asks for its own fields
            raise AttributeError(name)
        for part in (self.return_display, self.data):
            if name in _field_names(part):
                return getattr(part, name)
        names = ", ".join(self._delegated()) or "none"
        raise AttributeError(
            f"This result has no attribute {name!r}. Attributes of its display and data: {names}.",
            name=name,
            obj=self,
        )

    def __dir__(self) -> list[str]:
        return sorted({*super(ToolResult, self).__dir__(), *self._delegated()})

    def _delegated(self) -> list[str]:
        names = dict.fromkeys((*_field_names(self.return_display), *_field_names(self.data)))
        return [name for name in names if name not in ToolResult.__slots__]

    def _mime_(self) -> tuple[str, str]:
        """Returns a card as HTML for marimo. In IPython the call itself shows its card."""
        return "text/html", extension("core.result_html")(self)

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<ToolResult {self.error.code}: {self.error.message}>"
        content = self.llm_content
        text = self.summary or (content if isinstance(content, str) else f"{len(content)} parts")
        return f"<ToolResult {text.splitlines()[0][:100] if text else 'empty'}>"


def _field_names(part: object) -> tuple[str, ...]:
    """Returns the public fields of a dataclass or pydantic model; none for other values."""
    if isinstance(part, type):
        return ()
    names = list(getattr(type(part), "model_fields", ()))
    if is_dataclass(part):
        names = [field.name for field in fields(part)]
    return tuple(name for name in names if not name.startswith("_"))


def checked_result(tool: str, result: object) -> ToolResult:
    """Returns what a tool's ``execute`` returned.
    Raises ``ToolFailure`` (``unhandled_exception``) unless that is a ``ToolResult``.
    """
    if isinstance(result, ToolResult):
        return result
    message = (
        f"{tool} returned {result!r:.100} instead of a ToolResult. Its execute() must return ToolResult(text"
        " for a model, display)."
    )
    raise ToolFailure(ErrorCode.UNHANDLED_EXCEPTION, message)


def failed(error: ToolError, data: object = None) -> ToolResult:
    """Returns the result of a failed call, with the same message for model and person."""
    first = error.message.split("\n", 1)[0]
    summary = error.message if first == error.message else first  # a message keeps its references
    return ToolResult(joined("", ("Error: ", error.message)), error.message, error, summary, data)


BATCH_ENDED = "batch_ended"
"""The ``data`` of a call that was cancelled because an earlier call of its message was denied or stopped the
batch.
"""


@dataclass(frozen=True, slots=True)
class CancelledOutput:
    """The ``data`` of a call that was cancelled while running: its output until then, as text for a model."""

    text: str


def with_output(result: ToolResult, output: CancelledOutput, display: ToolResultDisplay) -> ToolResult:
    """Returns the result of a cancelled call with its output until then, for a model and for people."""
    content = f"{result.llm_content}\nIts output until then:\n{output.text}"
    return replace(result, llm_content=content, return_display=display)


def map_text(content: LlmContent, change: Callable[[str], str]) -> LlmContent:
    """Returns the content with ``change`` applied to each of its texts."""
    if isinstance(content, str):
        return change(content)
    return tuple({**part, "text": change(part["text"])} if "text" in part else part for part in content)


def complete(result: ToolResult) -> ToolResult:
    """Returns the result with its notes at the end of the content for a model."""
    if not result.notes:
        return result
    text = "\n".join(result.notes)
    content = result.llm_content
    added = f"{content}\n\n{text}".lstrip() if isinstance(content, str) else (*content, {"text": text})
    return replace(result, llm_content=added)


def with_words(result: ToolResult, words: Callable[[Message], str]) -> ToolResult:
    """Returns the result with ``words`` in place of each message in it;
    ``result`` itself where there is none.  Its data stay.
    """
    changes: dict[str, Any] = {}
    content = result.llm_content
    texts = [content] if isinstance(content, str) else [part.get("text") for part in content]
    if any(isinstance(text, Message) for text in texts):
        changes["llm_content"] = map_text(
            content, lambda text: words(text) if isinstance(text, Message) else text
        )
    if result.error is not None and isinstance(result.error.message, Message):
        changes["error"] = replace(result.error, message=words(result.error.message))
    if isinstance(result.summary, Message):
        changes["summary"] = words(result.summary)
    if result.notes and any(isinstance(note, Message) for note in result.notes):
        changes["notes"] = tuple(words(note) if isinstance(note, Message) else note for note in result.notes)
    display = result.return_display
    if type(display) is not str and (worded := _display_with_words(display, words)) is not display:
        changes["return_display"] = worded
    return replace(result, **changes) if changes else result


def _display_with_words(display: ToolResultDisplay, words: Callable[[Message], str]) -> ToolResultDisplay:
    match display:
        case Message():
            return words(display)
        case Matches() | Listing() | FileText() if isinstance(display.more, Message):
            return replace(display, more=words(display.more))
        case CommandOutput() if isinstance(display.note, Message):
            return replace(display, note=words(display.note))
        case Several():
            shown = tuple(_display_with_words(one, words) for one in display.shown)
            same = all(new is old for new, old in zip(shown, display.shown, strict=True))
            return display if same else Several(shown)
        case _:
            return display
