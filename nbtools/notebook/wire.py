"""The card as it travels: ``application/vnd.nbtools.call.v1+json``.

One frozen model a block; every renderer (the JupyterLab extension, the script-free HTML, the plain text) draws from these and computes
nothing of its own.  ``labextension/src/wire.ts`` is generated from this file.  Lines are 1-based, paths relative to the workspace,
times in seconds.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MIME = "application/vnd.nbtools.call.v1+json"

Span = tuple[str, str]
"""Text and its space-separated style words.

Syntax: ``k`` keyword, ``s`` string, ``c`` comment, ``n`` number, ``d`` definition, ``b`` builtin.  Changes inside a line: ``mark``.
A search hit: ``hit``.  A hidden or bidirectional character made visible: ``hidden``.  Something to be wary of: ``warn``.
Terminal: ``bold dim italic underline strike``, ``fg0`` … ``fg15`` and ``bg0`` … ``bg15``, ``fg#rrggbb``, ``bg#rrggbb``.
"""

State = Literal["validating", "scheduled", "awaiting_approval", "executing", "success", "error", "cancelled"]


class Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Line(Wire):
    """One line of one side of a diff."""

    number: int
    spans: tuple[Span, ...]


class Row(Wire):
    """One row of a side-by-side diff.  Both sides and not changed: context.  One side only: added or removed."""

    old: Line | None
    new: Line | None
    changed: bool


class Hunk(Wire):
    """A stretch of rows.  ``folded`` hunks are unchanged and stand behind one quiet line; ``hidden`` counts lines that are not sent."""

    rows: tuple[Row, ...]
    folded: bool = False
    hidden: int = 0


class DiffBlock(Wire):
    type: Literal["diff"] = "diff"
    path: str
    added: int
    removed: int
    hunks: tuple[Hunk, ...]
    created: bool = False
    titled: bool = False
    """One of several: its path stands above it."""


class CommandPart(Wire):
    """One simple command of a command line: the operator that joins it to the one before, its text, what is worth knowing of it."""

    operator: str
    spans: tuple[Span, ...]
    note: str = ""
    warning: bool = False


class CommandBlock(Wire):
    """Every command of a command line.  A part whose operator is ``↳`` is started by the one above it."""

    type: Literal["command"] = "command"
    parts: tuple[CommandPart, ...]
    sandbox: str = ""
    """What confines it, or why nothing does; empty where no sandbox is wanted."""


class OutputBlock(Wire):
    """The tail of a terminal's output, rendered: carriage returns and colours are done."""

    type: Literal["output"] = "output"
    lines: tuple[tuple[Span, ...], ...]
    earlier: int = 0
    """Lines before the first one shown."""
    full_output: str = ""
    """Path of the file with everything, when there is one."""


class MatchLine(Wire):
    number: int
    spans: tuple[Span, ...]
    context: bool = False


class MatchGroup(Wire):
    path: str
    lines: tuple[MatchLine, ...]


class MatchesBlock(Wire):
    type: Literal["matches"] = "matches"
    groups: tuple[MatchGroup, ...]
    more: str = ""
    """What was left out, and how to see it."""


class ListingEntry(Wire):
    path: str
    folder: bool = False
    size: int | None = None


class ListingBlock(Wire):
    type: Literal["listing"] = "listing"
    entries: tuple[ListingEntry, ...]
    more: str = ""


class CodeBlock(Wire):
    """Part of a file, syntax-coloured; ``start`` is the number of its first line."""

    type: Literal["code"] = "code"
    path: str
    start: int
    lines: tuple[tuple[Span, ...], ...]
    more: str = ""


class TextBlock(Wire):
    type: Literal["text"] = "text"
    text: str
    tone: Literal["plain", "quiet", "warning", "error"] = "plain"
    markdown: bool = False


Picture = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


class ImageBlock(Wire):
    """A picture; ``data`` is its content in base64."""

    type: Literal["image"] = "image"
    path: str
    mime_type: Picture
    data: str
    note: str = ""


Sound = Literal["audio/wav", "audio/mpeg", "audio/ogg", "audio/webm", "audio/flac", "audio/mp4", "audio/aac"]


class AudioBlock(Wire):
    """Something to listen to; ``data`` is its content in base64."""

    type: Literal["audio"] = "audio"
    mime_type: Sound
    data: str
    note: str = ""


class TodoEntry(Wire):
    text: str
    status: Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


class TodoBlock(Wire):
    """What is to be done, in order."""

    type: Literal["todo"] = "todo"
    items: tuple[TodoEntry, ...]


class QuestionBlock(Wire):
    """Something asked of the person: its choices, and the answer once there is one."""

    type: Literal["question"] = "question"
    header: str
    text: str
    choices: tuple[tuple[str, str], ...] = ()
    """Label and description of each."""
    several: bool = False
    answer: str = ""


Block = Annotated[
    DiffBlock
    | CommandBlock
    | OutputBlock
    | MatchesBlock
    | ListingBlock
    | CodeBlock
    | TextBlock
    | ImageBlock
    | AudioBlock
    | TodoBlock
    | QuestionBlock,
    Field(discriminator="type"),
]


class Place(Wire):
    """A file, and a line in it, that a click opens."""

    path: str
    line: int | None = None


class Deed(Wire):
    """Something that a click asks of the kernel, by ``{verb: id}`` on the comm target ``nbtools``; ``magic`` does the same typed."""

    verb: Literal["undo", "merge"]
    id: str
    label: str
    magic: str


class Card(Wire):
    """A call in one of its states, ready to be drawn: a head, a body of blocks, a foot."""

    id: str
    state: State
    tool: str
    icon: str
    """One of ``Icon``'s values."""
    subject: str
    """The call's object in one line: a path, a pattern, a command."""
    added: int = 0
    removed: int = 0
    status: str
    """The state in words: ``Needs your answer``, ``Running``, ``3 matches in 2 files``, ``Text not found``."""
    failed: bool = False
    """The call did what it promised and the outcome is bad news nevertheless: a command that exits with 1.  Drawn like an error."""
    detail: str = ""
    """What stands quietly beside the status: time, counts."""
    blocks: tuple[Block, ...] = ()
    folded: bool = False
    """Whether the body is closed until it is asked for; ``unfold`` names the link that opens it."""
    unfold: str = ""
    record: str = ""
    """Who decided what, when, by which rule."""
    note: str = ""
    """A quiet word at the foot's right end: why it asks, when it ends."""
    places: tuple[Place, ...] = ()
    root: str = "."
    """The workspace as seen from the notebook's folder; joined before a place's path."""
    deeds: tuple[Deed, ...] = ()
    """What can still be done about it: undo, undo that, merge."""
    cancellable: bool = False
    """Whether a Cancel button makes sense; it sends ``{"cancel": id}`` on the comm target ``nbtools``."""


LIVE_TARGET = "nbtools_cells"
"""The comm target of every page with notebooks: the kernel opens a comm with a ``LiveRequest``; the page answers on a comm of its own, on
the target ``nbtools``, with ``{"live": LiveAnswer}``: such comms reach a kernel even while a cell blocks it."""

CellKind = Literal["code", "markdown", "raw"]


class ListTask(Wire):
    """Which notebooks are open?"""

    type: Literal["list"] = "list"


class CellsTask(Wire):
    """What cells does a notebook have, unsaved changes included?"""

    type: Literal["cells"] = "cells"
    path: str


class ReplaceTask(Wire):
    """Another source, and perhaps type, for a cell that still has the source ``expected``."""

    type: Literal["replace"] = "replace"
    path: str
    cell: str
    expected: str
    source: str
    kind: CellKind | None


class InsertTask(Wire):
    """A new cell with the id ``cell`` behind ``after``: empty at the top, null at the end."""

    type: Literal["insert"] = "insert"
    path: str
    cell: str
    source: str
    kind: CellKind
    after: str | None


class DeleteTask(Wire):
    type: Literal["delete"] = "delete"
    path: str
    cell: str
    expected: str


class MoveTask(Wire):
    type: Literal["move"] = "move"
    path: str
    cell: str
    after: str | None


class RunTask(Wire):
    """Queue a cell; the answer comes when it has run, at once where it would run on the kernel that asks."""

    type: Literal["run"] = "run"
    path: str
    cell: str


class StopTask(Wire):
    """Interrupt a notebook's kernel."""

    type: Literal["stop"] = "stop"
    path: str


LiveTask = Annotated[
    ListTask | CellsTask | ReplaceTask | InsertTask | DeleteTask | MoveTask | RunTask | StopTask,
    Field(discriminator="type"),
]


class LiveRequest(Wire):
    """What the kernel wants of the page ``client``; of every page where that is empty."""

    id: str
    client: str
    task: LiveTask


class OpenedNotebook(Wire):
    """An open notebook of the page ``client`` by its path on the server; ``own``: it runs on the kernel that asks; ``busy``: one of its
    cells runs.
    """

    client: str
    path: str
    dirty: bool
    own: bool
    busy: bool


class OpenedCell(Wire):
    """``outputs`` is the JSON of nbformat's outputs."""

    id: str
    type: str
    source: str
    outputs: str
    busy: bool


class LiveAnswer(Wire):
    """A page's answer, the open notebooks of the browser's other pages included; ``problem`` says why nothing was done."""

    id: str
    problem: str = ""
    queued: bool = False
    notebooks: tuple[OpenedNotebook, ...] = ()
    cells: tuple[OpenedCell, ...] = ()
