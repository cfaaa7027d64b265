"""Reading a file, or some of its lines."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Media, Part, ToolResult
from nbtools.core.tool import BaseToolInvocation, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.tools.file_lines import LinesRead, Window, counted, window
from nbtools.workspace import pdf
from nbtools.workspace.excerpt import read_lines
from nbtools.workspace.files import MOST_WHOLE, not_text, read_bytes, read_head, size_of
from nbtools.workspace.halting import in_thread
from nbtools.workspace.media import MOST_MEDIA, media_type, picture
from nbtools.workspace.nearby import not_found
from nbtools.workspace.notebooks.notebook_file import CellText, cells_of
from nbtools.workspace.paths import shown
from nbtools.workspace.seen import View
from nbtools.workspace.text import Text, decode, split_lines
from nbtools.workspace.workspace import Workspace

__all__ = ["LinesRead", "MediaRead", "NotebookRead", "ReadParams", "ReadTool"]

_MOST_RANGED = 1_000_000
"""Characters of lines that were asked for up to an end."""
_MOST_OUTPUT = 2_000
"""Characters of a cell's outputs that are shown: the first fifth and the last four."""


class ReadParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str
    """The file to read."""
    start: int | None = None
    """First line to read, counted from 1; negative counts from the end: -20 is the last 20 lines."""
    end: int | None = Field(default=None, ge=1)
    """Last line to read, included."""
    pages: str | None = None
    """Pages of a PDF document to read, like "3" or "1-5"; one of many pages is read in parts."""


@dataclass(frozen=True, slots=True)
class MediaRead:
    """A picture or document as it is handed on; ``pages``: how many it has in all, None for a picture."""

    path: str
    mime_type: str
    bytes: int
    pages: int | None = None


@dataclass(frozen=True, slots=True)
class NotebookRead:
    """All cells of a notebook, whatever of them was shown."""

    path: str
    cells: tuple[CellText, ...]


class ReadTool(BaseDeclarativeTool[ReadParams]):
    """``limit`` lines are read where no ``end`` is given, ``width`` characters of each, ``characters`` in all; files up to ``whole`` bytes
    without a range, pictures and documents up to ``media`` bytes.

    A file is what its bytes say, not its name.  A window of a larger file takes the time to count its lines, and memory for the window.
    """

    name = "read"
    kind = Kind.READ
    parameters = ReadParams
    output_limit = _MOST_RANGED + 1_000  # and a notice

    def __init__(
        self,
        workspace: Workspace,
        *,
        limit: int = 2_000,
        width: int = 2_000,
        whole: int = MOST_WHOLE,
        characters: int = 250_000,
        media: int = MOST_MEDIA,
    ) -> None:
        self.workspace = workspace
        self.limit, self.width, self.whole, self.characters, self.media = limit, width, whole, characters, media
        self.description = (
            f"Reads a text file, or the lines from start to end; without end at most {limit:,} lines, and the result says how to read on. "
            f"Shows pictures (PNG, JPEG, GIF, WebP, BMP) and PDF documents, and notebooks as cells with their outputs."
        )

    def validate_tool_param_values(self, params: ReadParams) -> str | None:
        if params.start == 0:
            return "read: start is 0. Lines count from 1; a negative start counts from the end."
        if params.start and params.end and params.end < params.start:
            return f"read: end ({params.end}) is before start ({params.start}). Lines count from 1 and both ends are included."
        if params.pages is not None:
            pdf.parse_pages(params.pages)
        return None

    def create_invocation(self, params: ReadParams) -> ReadInvocation:
        return ReadInvocation(self, params)


class ReadInvocation(BaseToolInvocation[ReadParams]):
    __slots__ = ("path", "subject", "tool")

    def __init__(self, tool: ReadTool, params: ReadParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = tool.workspace.resolve_to_read(params.path)
        self.subject = shown(params.path)

    def get_description(self) -> str:
        start, end, pages = self.params.start, self.params.end, self.params.pages
        name = shown(self._relative())
        if pages is not None:
            return f"{name}, pages {shown(pages)}"
        if start is not None and start < 0:
            return f"{name}, the last {-start} lines" + (f" up to line {end}" if end else "")
        return name + (f", lines {start or 1}–{end}" if end else f", from line {start}" if start else "")

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path), self.params.start if (self.params.start or 0) > 0 else None),)

    def target(self) -> PathTarget:
        return PathTarget(self.tool.workspace.spellings(self.params.path))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        path = self.tool.workspace.still(self.params.path, self.path)
        try:
            size, head = size_of(path, self.subject), read_head(path, self.subject)
        except ToolFailure as failure:
            if failure.code is ErrorCode.FILE_NOT_FOUND:
                raise not_found(self.tool.workspace, self.params.path) from None
            raise
        mime_type = media_type(head)
        if mime_type:
            return await self._media(path, mime_type)
        if self.params.pages is not None:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{self.subject} is no PDF document, so it has no pages. Use start and end.")
        if size <= self.tool.whole or not self._ranged:
            return self._text(path, read_bytes(path, self.subject, self.tool.whole))
        return await self._excerpt(path)

    @property
    def _ranged(self) -> bool:
        return self.params.start is not None or self.params.end is not None

    async def _media(self, path: Path, mime_type: str) -> ToolResult:
        advice = "Make it smaller first" + (", or take some pages out of it" if mime_type == "application/pdf" else "")
        data = read_bytes(path, self.subject, self.tool.media, f"{advice}.")
        self.tool.workspace.seen.note(path, data)
        if mime_type != "application/pdf":
            if self.params.pages is not None:
                raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{self.subject} is a picture; only PDF documents have pages.")
            found = picture(data, self.subject)
            return media_result(
                MediaRead(self._relative(), mime_type, len(data)), data, f"{found.name} image, {found.width} × {found.height} pixels"
            )
        part, total, numbers = await asyncio.to_thread(pdf.cut, data, self.params.pages, self.subject)
        count = f"{total} page{'' if total == 1 else 's'}"
        note = count if len(numbers) == total else f"pages {numbers[0]}–{numbers[-1]} of {total}"
        return media_result(MediaRead(self._relative(), mime_type, len(part), total), part, f"PDF document, {note}")

    def _text(self, path: Path, data: bytes) -> ToolResult:
        """Of a file that is read whole into memory, all or the lines asked for."""
        if not self._ranged and path.suffix == ".ipynb" and data.strip():
            try:
                return self._notebook(path, data)
            except ToolFailure as failure:
                return self._lines(path, data, f"shown as text: {failure.message}")
        return self._lines(path, data)

    def _notebook(self, path: Path, data: bytes) -> ToolResult:
        cells = cells_of(data, self.subject)
        text, count = cells_text(cells, self.tool.characters)
        self.tool.workspace.seen.note(path, data, View.WHOLE if count == len(cells) else View.PARTIAL)
        more = "" if count == len(cells) else f"\n[cells 1–{count} of {len(cells)}; the cells tool reads the others by id]"
        summary = f"{len(cells)} cell{'' if len(cells) == 1 else 's'}"
        said = (text or "(the notebook has no cells)") + more
        return ToolResult(said, said, summary=summary, data=NotebookRead(self._relative(), cells))

    def _lines(self, path: Path, data: bytes, *notes: str) -> ToolResult:
        lines = split_lines(decoded(data, self.subject).text)
        total = len(lines)
        start = self._start(total)
        chosen = "".join(lines[start - 1 : self._last(start)])
        found = self._window(chosen, start, total)
        self.tool.workspace.seen.note(path, data, self._view(found.read))
        return ToolResult(found.said(*notes), found.display(*notes), summary=found.summary, data=found.read)

    async def _excerpt(self, path: Path) -> ToolResult:
        """Of a file that is never in memory."""
        start, end = self.params.start or 1, self.params.end
        count = self.tool.limit if end is None else end - start + 1 if start > 0 else -start
        part = await in_thread(partial(read_lines, path, self.subject, start, count, limit=self.tool.whole))
        first = self._start(part.total)
        text = decoded(part.encoding.bom + part.data, self.subject).text
        if start < 0 and end is not None:
            text = "".join(split_lines(text)[: end - first + 1])
        found = self._window(text, first, part.total)
        return ToolResult(found.said(), found.display(), summary=found.summary, data=found.read)

    def _start(self, total: int) -> int:
        """The first line to show.  Raises ``ToolFailure``, with ``LinesRead`` of none, where there is none."""
        start, end = self.params.start or 1, self.params.end
        first = start if start > 0 else max(1, total + 1 + start)
        if first > max(total, 1):
            there = LinesRead(self._relative(), first, first - 1, total)
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, _past_the_end(self.subject, first, total), there)
        if end is not None and end < first:
            said = f"{self.subject} has {counted(total)}, so start={start} is line {first}; end ({end}) is before it."
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, said)
        return first

    def _last(self, start: int) -> int:
        return self.params.end or start + self.tool.limit - 1

    def _window(self, text: str, start: int, total: int) -> Window:
        most = self.tool.characters if self.params.end is None else _MOST_RANGED
        return window(self._relative(), text, start, total, width=self.tool.width, most=most)

    def _view(self, read: LinesRead) -> View:
        """A line that was cut is no reason to refuse an edit elsewhere in the file."""
        if read.whole and not read.shortened:
            return View.WHOLE
        return View.RANGE if self._ranged or read.whole else View.PARTIAL

    def _relative(self) -> str:
        return self.tool.workspace.relative(self.path)


def decoded(data: bytes, subject: str) -> Text:
    """Raises ``ToolFailure`` for what is no text."""
    text = decode(data)
    if text is None:
        raise not_text(subject, data, len(data))
    return text


def media_parts(read: MediaRead, data: bytes, note: str) -> tuple[Part, Part]:
    """What a model gets: a name and the content."""
    inline = {"mime_type": read.mime_type, "data": base64.b64encode(data).decode()}
    return {"text": f"{read.path}: {note}, {read.bytes:,} bytes"}, {"inline_data": inline}


def media_result(read: MediaRead, data: bytes, note: str) -> ToolResult:
    return ToolResult(media_parts(read, data, note), Media(read.path, read.mime_type, data, note), summary=note, data=read)


def cells_text(cells: tuple[CellText, ...], most: int) -> tuple[str, int]:
    """The first cells, as many as fit in ``most`` characters and at least one, and how many those are."""
    parts: list[str] = []
    size = 0
    for cell in cells:
        parts.append(_cell(cell))
        size += len(parts[-1])
        if size > most and len(parts) > 1:
            parts.pop()
            break
    return "\n\n".join(parts), len(parts)


def _cell(cell: CellText) -> str:
    outputs = f"\n--- output of {cell.id}\n{_shortened_output(cell.outputs)}" if cell.outputs else ""
    return f"--- cell {cell.number}, {cell.type}, id {cell.id}\n{cell.source}{outputs}"


def _shortened_output(text: str) -> str:
    missing = len(text) - _MOST_OUTPUT
    head = _MOST_OUTPUT // 5
    return text if missing <= 0 else f"{text[:head]}\n[… {missing:,} characters left out …]\n{text[head + missing :]}"


def _past_the_end(subject: str, start: int, total: int) -> str:
    lines = counted(total) if total else "no lines"
    return f"{subject} has {lines}; there is none from {start} on. Give a start of at most {max(total, 1)}."
