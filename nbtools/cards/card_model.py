"""Data model of a card, serialised as ``application/vnd.nbtools.call.v1+json``,
and of requests to open notebooks.

One frozen model per block; all renderers (the JupyterLab extension, the script-free HTML, the plain text)
only draw these.  ``labextension/src/cards/model.ts`` is generated from this file.  Lines are 1-based, paths
relative to the workspace, times in seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import from_json

from nbtools.cards.packing import pack, unpack

MIME = "application/vnd.nbtools.call.v1+json"
GROUP_MIME = "application/vnd.nbtools.group.v1+json"
"""Several parts of a cell in one output: ``id`` is the output's, ``parts`` are their MIME bundles."""

Span = tuple[str, str]
"""Text and its space-separated style words.

Syntax: ``k`` keyword, ``s`` string, ``c`` comment, ``n`` number, ``d`` definition, ``b`` builtin.  Changes
inside a line: ``mark``.  A search hit: ``hit``.  A hidden or bidirectional character made visible:
``hidden``.  Something dangerous: ``warn``.  Terminal: ``bold dim italic underline strike``, ``fg0`` …
``fg15`` and ``bg0`` … ``bg15``, ``fg#rrggbb``, ``bg#rrggbb``.
"""

State = Literal["validating", "scheduled", "awaiting_approval", "executing", "success", "error", "cancelled"]


class Wire(BaseModel):
    # A model's validator is built when it is first used:
    # a card needs few of these, and building all takes as long as a short call.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Line(Wire):
    """One line of one side of a diff."""

    number: int
    spans: tuple[Span, ...]


class Row(Wire):
    """One row of a side-by-side diff.  Both sides and not changed: context.
    One side only: added or removed.
    """

    old: Line | None
    new: Line | None
    changed: bool


class Hunk(Wire):
    """Adjacent rows.  ``folded`` hunks are unchanged and shown as one line;
    ``hidden`` counts rows that are not part of the card.
    """

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
    deleted: bool = False
    former: str = ""
    """The path before the file is moved."""
    titled: bool = False
    """Whether the path is shown above the diff, as where there are several."""


class CommandPart(Wire):
    """One simple command of a command line: the operator before it, its text, and a note on its effects."""

    operator: str
    spans: tuple[Span, ...]
    note: str = ""
    warning: bool = False


class CommandBlock(Wire):
    """All simple commands of a command line.  A part with the operator ``↳`` is started by the part
    above it.
    """

    type: Literal["command"] = "command"
    parts: tuple[CommandPart, ...]
    sandbox: str = ""
    """How the command is sandboxed, or why it is not; empty where no sandbox is configured."""


class OutputBlock(Wire):
    """The end of a terminal's output, with carriage returns and colours already processed."""

    type: Literal["output"] = "output"
    lines: tuple[tuple[Span, ...], ...]
    earlier: int = 0
    """Lines before the first one shown."""
    full_output: str = ""
    """Path of the file with the full output, if there is one."""


class MatchLine(Wire):
    number: int
    spans: tuple[Span, ...]
    context: bool = False


class MatchGroup(Wire):
    path: str
    part: str = ""
    """The cell of a notebook in words: ``cell 4``, ``cell 4 output``."""
    cell: str = ""
    """The id of that cell, if it has one."""
    lines: tuple[MatchLine, ...]


class MatchesBlock(Wire):
    type: Literal["matches"] = "matches"
    groups: tuple[MatchGroup, ...]
    more: str = ""
    """What was left out, and how to see it."""


class ListingEntry(Wire):
    """A file or a folder.  In a tree, ``branch`` is what is drawn before its name,
    which then is the last part of the path.
    """

    path: str
    branch: str = ""
    folder: bool = False
    size: int | None = None
    note: str = ""


class ListingBlock(Wire):
    type: Literal["listing"] = "listing"
    entries: tuple[ListingEntry, ...]
    more: str = ""


class CodeBlock(Wire):
    """Part of a file, with syntax highlighting; ``start`` is the number of its first line.

    Code that is not in a file has an empty ``path``, and a ``title`` that says what it is.
    """

    type: Literal["code"] = "code"
    path: str
    start: int
    lines: tuple[tuple[Span, ...], ...]
    total: int = 0
    """Number of lines of the file; 0 if it is unknown."""
    more: str = ""
    title: str = ""


class TextBlock(Wire):
    type: Literal["text"] = "text"
    text: str
    tone: Literal["plain", "quiet", "warning", "error"] = "plain"
    markdown: bool = False
    title: str = ""
    """If not empty, the text is hidden until a click on the title unfolds it."""


Picture = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


class ImageBlock(Wire):
    """An image; ``data`` is its content in base64."""

    type: Literal["image"] = "image"
    path: str
    mime_type: Picture
    data: str
    note: str = ""


class Page(Wire):
    """A page of a document, with its number; ``data`` is a PNG picture in base64."""

    number: int
    data: str


class PagesBlock(Wire):
    """Pictures of a document's first pages, of which a card shows two at once."""

    type: Literal["pages"] = "pages"
    path: str
    pages: tuple[Page, ...]
    more: str = ""
    """How many pages are left out."""


Sound = Literal["audio/wav", "audio/mpeg", "audio/ogg", "audio/webm", "audio/flac", "audio/mp4", "audio/aac"]


class AudioBlock(Wire):
    """A sound; ``data`` is its content in base64."""

    type: Literal["audio"] = "audio"
    mime_type: Sound
    data: str
    note: str = ""


class TodoEntry(Wire):
    text: str
    status: Literal["pending", "in_progress", "completed", "cancelled", "blocked"]


class TodoBlock(Wire):
    """A to-do list, in order."""

    type: Literal["todo"] = "todo"
    items: tuple[TodoEntry, ...]
    more: str = ""


class QuestionBlock(Wire):
    """A question to the person, with its choices and, once there is one, the answer."""

    type: Literal["question"] = "question"
    header: str
    text: str
    choices: tuple[tuple[str, str], ...] = ()
    """Label and description of each choice."""
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
    | PagesBlock
    | AudioBlock
    | TodoBlock
    | QuestionBlock,
    Field(discriminator="type"),
]


class CardPlace(Wire):
    """A file, and optionally a line in it, that a click opens."""

    path: str
    line: int | None = None


CardVerb: TypeAlias = Literal["undo", "merge", "keep", "take_back", "apply"]


class CardAction(Wire):
    """An action that a click sends to the kernel (``cards.act``); ``magic`` is the equivalent command."""

    verb: CardVerb
    id: str
    label: str
    magic: str


class Card(Wire):
    """A call in one of its states, ready to be rendered: a head, a body of blocks, a foot."""

    id: str
    state: State
    tool: str
    icon: str
    """One of ``Icon``'s values."""
    subject: str
    """The object of the call in one line: a path, a pattern, a command."""
    added: int = 0
    removed: int = 0
    status: str
    """The state in words: ``Needs your answer``, ``Running``, ``3 matches in 2 files``,
    ``Text not found``.
    """
    failed: bool = False
    """Whether a successful call has a bad outcome, such as a command that exits with 1.
    Rendered like an error.
    """
    detail: str = ""
    """Secondary text beside the status: time, counts."""
    blocks: tuple[Block, ...] = ()
    folded: bool = False
    """Whether the body is hidden until it is unfolded; ``unfold`` is the label of the link that does so."""
    unfold: str = ""
    record: str = ""
    """Who decided, when, and by which rule."""
    note: str = ""
    """Secondary text at the right end of the foot: why approval is required, when the call times out."""
    places: tuple[CardPlace, ...] = ()
    root: str = "."
    """The workspace relative to the notebook's folder; prefixed to the path of a place."""
    deeds: tuple[CardAction, ...] = ()
    """Actions that are still possible: undo, redo, merge, apply a previewed change."""
    cancellable: bool = False
    """Whether a Cancel button is shown; it sends ``{"cancel": id}`` on the comm target ``nbtools``."""

    @model_validator(mode="before")
    @classmethod
    def _unpack(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "packed" not in value:
            return value
        fields = {name: part for name, part in value.items() if name != "packed"}
        return {**fields, "blocks": from_json(unpack(str(value["packed"])))}

    def packed(self) -> dict[str, Any]:
        """Returns the JSON of the card for a MIME bundle:
        without default values, with its blocks in the field ``packed``.
        """
        fields = self.model_dump(mode="json", exclude={"blocks"}, exclude_defaults=True)
        blocks = f"[{','.join(block.model_dump_json() for block in self.blocks)}]"
        return {**fields, "packed": pack(blocks.encode())} if self.blocks else fields


CELLS_EVENT = "cells"
"""The event with a ``NotebookRequest``, which every page with notebooks gets; it calls ``cells.answer``."""

CellKind = Literal["code", "markdown", "raw"]


class ListTask(Wire):
    """Lists the open notebooks."""

    type: Literal["list"] = "list"


class CellsTask(Wire):
    """Returns the cells of a notebook, including unsaved changes."""

    type: Literal["cells"] = "cells"
    path: str


class ReplaceTask(Wire):
    """Replaces the source, and optionally the type, of a cell whose source is still ``expected``."""

    type: Literal["replace"] = "replace"
    path: str
    cell: str
    expected: str
    source: str
    kind: CellKind | None


class InsertTask(Wire):
    """Inserts a cell with the id ``cell`` after the cell ``after``;
    empty means at the top, null at the end.
    """

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
    """Queues a cell.  The answer comes when it has run,
    or at once where it would run on the requesting kernel.
    """

    type: Literal["run"] = "run"
    path: str
    cell: str


class StopTask(Wire):
    """Interrupts a notebook's kernel."""

    type: Literal["stop"] = "stop"
    path: str


NotebookTask = Annotated[
    ListTask | CellsTask | ReplaceTask | InsertTask | DeleteTask | MoveTask | RunTask | StopTask,
    Field(discriminator="type"),
]


class NotebookRequest(Wire):
    """A request of the kernel to the page ``client``, or to every page if that is empty."""

    id: str
    client: str
    task: NotebookTask


class OpenedNotebook(Wire):
    """An open notebook of the page ``client``, by its path on the server.

    ``own`` means that it runs on the requesting kernel, ``busy`` that one of its cells is running.
    """

    client: str
    path: str
    dirty: bool
    own: bool
    busy: bool


class OpenedCell(Wire):
    """A cell of an open notebook; ``outputs`` is the JSON of its nbformat outputs."""

    id: str
    type: str
    source: str
    outputs: str
    busy: bool


class NotebookAnswer(Wire):
    """A page's answer, including the open notebooks of the browser's other pages;
    ``problem`` says why nothing was done.
    """

    id: str
    problem: str = ""
    queued: bool = False
    notebooks: tuple[OpenedNotebook, ...] = ()
    cells: tuple[OpenedCell, ...] = ()
