"""The `read` tool: reads text files, notebooks, pictures and PDF documents."""

from __future__ import annotations

import asyncio
import base64
import sys
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path

from pydantic import Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import (
    Advice,
    CalledTool,
    Message,
    Parameter,
    ToolName,
    counted,
    joined,
)
from nbtools.core.result import Media, PagePicture, Part, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import Example, Kind, ToolLocation, UpdateOutput
from nbtools.diff.text_lines import split_lines
from nbtools.tools.line_window import (
    BYTES_PER_TOKEN,
    LinesRead,
    TooLong,
    Window,
    cut_window,
    size_in_bytes,
)
from nbtools.tools.workspace_tool import PathReadInvocation
from nbtools.workspace.cancellation import run_in_thread
from nbtools.workspace.files import media as media_files
from nbtools.workspace.files.encoding import DecodedText, decode
from nbtools.workspace.files.media import MAX_MEDIA_BYTES, identify_picture, media_type
from nbtools.workspace.files.page_pictures import page_pictures
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.files.read import (
    MAX_READ_BYTES,
    not_text_failure,
    read_bytes,
    read_head,
    read_lines,
    size_of,
)
from nbtools.workspace.files.recordings import Recording, identify_recording
from nbtools.workspace.notebooks.notebook_file import CellText, cells_of
from nbtools.workspace.paths import printable_path
from nbtools.workspace.read_tracking import ReadExtent
from nbtools.workspace.search.project_ignore import is_ignored_by_name
from nbtools.workspace.workspace import Workspace

__all__ = [
    "BYTES_PER_TOKEN",
    "LinesRead",
    "MediaRead",
    "NotebookRead",
    "ReadParams",
    "ReadTool",
    "TooLong",
    "shortened_output",
]

_MOST_RANGED = 1_000_000
"""Maximum number of characters if ``end`` is given."""
_MOST_OUTPUT = 2_000
"""Characters of a cell's outputs that are returned: the first fifth and the last four fifths."""


class ReadParams(ParameterModel):
    path: str
    """The file to read."""
    start: int | None = None
    """First line to read, counted from 1. A negative number counts from the end:
    -20 reads the last 20 lines.
    """
    end: int | None = Field(default=None, ge=1)
    """Last line to read, inclusive."""
    pages: str | None = None
    """Pages of a PDF document to read, like "3" or "1-5". Read a long document in parts."""


@dataclass(frozen=True, slots=True)
class MediaRead:
    """A picture, recording or PDF document that was returned;
    ``pages`` is a document's total number of pages, else None.
    """

    path: str
    mime_type: str
    bytes: int
    pages: int | None = None


@dataclass(frozen=True, slots=True)
class NotebookRead:
    """All cells of a notebook, including those that the text omits: it has the first ``shown``."""

    path: str
    cells: tuple[CellText, ...]
    shown: int


class ReadTool(BaseDeclarativeTool[ReadParams]):
    """Reads a file.

    ``limit``: lines without ``end``; ``width``: characters of a line; ``characters``: characters in all;
    ``whole``: bytes of a file that is read without a range; ``media``: bytes of pictures and documents.

    The workspace's ``read_tokens`` limits the text further: a read without ``end`` returns the first lines
    that fit, one with ``end`` is refused if its lines exceed the limit.

    The file type is detected from the content, not from the name.
    Reading a range of a larger file takes the time to count its lines, and memory for the range only.
    """

    name = "read"
    kind = Kind.READ
    parameters = ReadParams
    examples = (
        Example("Reads a file.", {"path": "src/cart.py"}),
        Example("Reads lines 1 to 3.", {"path": "src/cart.py", "start": 1, "end": 3}),
    )
    output_limit = _MOST_RANGED + 1_000  # and a notice

    def __init__(
        self,
        workspace: Workspace,
        *,
        limit: int = 2_000,
        width: int = 2_000,
        whole: int = MAX_READ_BYTES,
        characters: int = 250_000,
        media: int = MAX_MEDIA_BYTES,
    ) -> None:
        self.workspace = workspace
        self.limit, self.width, self.characters = limit, width, characters
        self.whole, self.media = whole, media
        self.description = (
            f"Reads a text file, or its lines from start to end; without end at most {limit:,} lines, and the"
            " result says how to continue. Returns pictures (PNG, JPEG, GIF, WebP, BMP), audio, video, PDF"
            " documents, and notebooks as cells with their outputs."
        )

    def validate_tool_param_values(self, params: ReadParams) -> str | None:
        if params.start == 0:
            zero = " is 0. Lines count from 1; a negative number counts from the end."
            return Message.of(CalledTool("read"), ": ", Parameter("start"), zero)
        if params.start and params.end and params.end < params.start:
            end = Message.of(Parameter("end"), f" ({params.end})")
            start = Message.of(Parameter("start"), f" ({params.start})")
            both = ". Lines count from 1 and both ends are included."
            return Message.of(CalledTool("read"), ": ", end, " is before ", start, both)
        if params.pages is not None:
            media_files.parse_pages(params.pages)
        return None

    def create_invocation(self, params: ReadParams) -> ReadInvocation:
        return ReadInvocation(self, params)


class ReadInvocation(PathReadInvocation[ReadParams, ReadTool]):
    __slots__ = ("subject",)

    def __init__(self, tool: ReadTool, params: ReadParams) -> None:
        super().__init__(tool, params)
        self.subject = printable_path(params.path)

    def get_description(self) -> str:
        start, end, pages = self.params.start, self.params.end, self.params.pages
        name = printable_path(self.relative())
        if pages is not None:
            return f"{name}, pages {printable_path(pages)}"
        if start is not None and start < 0:
            return f"{name}, the last {-start} lines" + (f" up to line {end}" if end else "")
        if end:
            return f"{name}, lines {start or 1}–{end}"
        return f"{name}, from line {start}" if start else name

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path), self.params.start if (self.params.start or 0) > 0 else None),)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        path = self.tool.workspace.recheck(self.params.path, self.path)
        if is_ignored_by_name(self.tool.workspace, self.params.path):
            reason = "is ignored by the project's ignore files, so it is not read"
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                f"{self.subject} {reason}. A person can change that in the settings.",
            )
        try:
            size, head = size_of(path, self.subject), read_head(path, self.subject)
        except ToolFailure as failure:
            if failure.code is ErrorCode.FILE_NOT_FOUND:
                raise path_not_found(self.tool.workspace, self.params.path) from None
            raise
        mime_type = media_type(head)
        if mime_type:
            return await self._media(path, mime_type)
        recording = identify_recording(head) if self.tool.workspace.reads_recordings else None
        if recording is not None and self.params.pages is None:
            return self._recording(path, recording)
        if self.params.pages is not None:
            lines = Advice(" Use ", Parameter("start"), " and ", Parameter("end"), ".")
            message = Message.of(f"{self.subject} is not a PDF document and has no pages.", lines)
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
        if size <= self.tool.whole:
            return self._text(path, read_bytes(path, self.subject, self.tool.whole))
        return await self._excerpt(path)

    @property
    def _ranged(self) -> bool:
        return self.params.start is not None or self.params.end is not None

    async def _media(self, path: Path, mime_type: str) -> ToolResult:
        advice = "Reduce its size first" + (
            ", or extract some of its pages" if mime_type == "application/pdf" else ""
        )
        data = read_bytes(path, self.subject, self.tool.media, f"{advice}.")
        self.tool.workspace.read_tracker.record(path, data)
        if mime_type != "application/pdf":
            if self.params.pages is not None:
                raise ToolFailure(
                    ErrorCode.INVALID_TOOL_PARAMS,
                    f"{self.subject} is a picture; only PDF documents have pages.",
                )
            found = identify_picture(data, self.subject)
            return media_result(
                MediaRead(self.relative(), mime_type, len(data)),
                data,
                f"{found.name} image, {found.width} × {found.height} pixels",
            )
        part, total, numbers = await asyncio.to_thread(
            media_files.extract_pages, data, self.params.pages, self.subject
        )
        count = counted(total, "page")
        note = count if len(numbers) == total else f"pages {numbers[0]}–{numbers[-1]} of {total}"
        text = await asyncio.to_thread(media_files.document_text, part, numbers[0])
        pictures = await page_pictures(part, numbers[0]) if self.tool.workspace.draws_pages else ()
        return media_result(
            MediaRead(self.relative(), mime_type, len(part), total),
            part,
            f"PDF document, {note}",
            text,
            pictures,
        )

    def _recording(self, path: Path, recording: Recording) -> ToolResult:
        data = read_bytes(path, self.subject, self.tool.media, "Extract a part of it first.")
        self.tool.workspace.read_tracker.record(path, data)
        return media_result(MediaRead(self.relative(), recording.mime_type, len(data)), data, recording.name)

    def _text(self, path: Path, data: bytes) -> ToolResult:
        """Returns the requested lines, or all, of a file that is read into memory."""
        if not self._ranged and path.suffix == ".ipynb" and data.strip():
            try:
                return self._notebook(path, data)
            except ToolFailure as failure:
                return self._lines(path, data, Message.of("displayed as text: ", failure.message))
        return self._lines(path, data)

    def _notebook(self, path: Path, data: bytes) -> ToolResult:
        cells = cells_of(data, self.subject)
        text, count = cells_text(cells, min(self.tool.characters, self._most_bytes))
        if (size := size_in_bytes(text)) > self._most_bytes:
            raise self._too_long(size, "the first cell has")
        self.tool.workspace.read_tracker.record(
            path, data, ReadExtent.WHOLE if count == len(cells) else ReadExtent.PARTIAL
        )
        others = Advice("; read the others by id with ", ToolName("cells"))
        more = "" if count == len(cells) else Message.of(f"\n[cells 1–{count} of {len(cells)}", others, "]")
        summary = counted(len(cells), "cell")
        content = joined("", (text or "(the notebook has no cells)", more))
        return ToolResult(content, content, summary=summary, data=NotebookRead(self.relative(), cells, count))

    def _lines(self, path: Path, data: bytes, *notes: str) -> ToolResult:
        lines = split_lines(decode_text(data, self.subject).text)
        total = len(lines)
        start = self._start(total)
        text = "".join(lines[start - 1 : self.params.end or start + self.tool.limit - 1])
        found = self._window(text, start, total)
        self.tool.workspace.read_tracker.record(path, data, self._view(found.read))
        return ToolResult(
            found.text_with_notes(*notes), found.display(*notes), summary=found.summary, data=found.read
        )

    async def _excerpt(self, path: Path) -> ToolResult:
        """Returns lines of a file that is too large to be read into memory."""
        start, end = self.params.start or 1, self.params.end
        count = -start
        if end is None:
            count = self.tool.limit
        elif start > 0:
            count = end - start + 1
        part = await run_in_thread(
            partial(read_lines, path, self.subject, start, count, limit=self.tool.whole)
        )
        first = self._start(part.total)
        text = decode_text(part.encoding.bom + part.data, self.subject).text
        if start < 0 and end is not None:
            text = "".join(split_lines(text)[: end - first + 1])
        found = self._window(text, first, part.total)
        return ToolResult(found.text_with_notes(), found.display(), summary=found.summary, data=found.read)

    def _start(self, total: int) -> int:
        """Returns the first line to read.
        Raises ``ToolFailure``, with an empty ``LinesRead`` as data, if the file has no such line.
        """
        start, end = self.params.start or 1, self.params.end
        first = start if start > 0 else max(1, total + 1 + start)
        if first > max(total, 1):
            empty = LinesRead(self.relative(), first, first - 1, total)
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, _past_the_end(self.subject, first, total), empty)
        if end is not None and end < first:
            from_end = Message.of(
                f"{self.subject} has {counted(total, 'line')}, so ",
                Parameter("start"),
                f" {start} is line {first}",
            )
            message = Message.of(from_end, ", after ", Parameter("end"), f" ({end}).")
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
        return first

    def _window(self, text: str, start: int, total: int) -> Window:
        width = sys.maxsize if self.tool.workspace.reads_whole_lines else self.tool.width
        cut = partial(cut_window, self.relative(), text, start, total, width=width)
        if self.params.end is None:
            return cut(most=self.tool.characters, most_bytes=self._most_bytes)
        if self._most_bytes == inf:
            return cut(most=_MOST_RANGED)
        found = cut(most=inf)
        if (size := size_in_bytes(found.text)) > self._most_bytes:
            raise self._too_long(size, f"the lines {found.read.start}–{found.read.end} have")
        return found

    @property
    def _most_bytes(self) -> float:
        tokens = self.tool.workspace.read_tokens
        return inf if tokens is None else tokens * BYTES_PER_TOKEN

    def _too_long(self, size: int, what: str) -> ToolFailure:
        """Returns the failure (``file_too_large``), with a ``TooLong`` as data."""
        tokens = self.tool.workspace.read_tokens or 0
        count = f"{size // BYTES_PER_TOKEN:,} tokens, more than the {tokens:,} that one call returns"
        fewer = Message.of(
            " Ask for fewer lines", Advice(" (", Parameter("start"), ", ", Parameter("end"), ")"), "."
        )
        message = Message.of(f"{self.subject}: {what} about {count}.", fewer)
        return ToolFailure(ErrorCode.FILE_TOO_LARGE, message, TooLong(size, tokens))

    def _view(self, read: LinesRead) -> ReadExtent:
        # A cut line must not prevent an edit elsewhere in the file.
        if read.whole and not read.shortened:
            return ReadExtent.WHOLE
        return ReadExtent.RANGE if self._ranged or read.whole else ReadExtent.PARTIAL


def decode_text(data: bytes, subject: str) -> DecodedText:
    """Decodes a file's content.  Raises ``ToolFailure`` if it is not text."""
    text = decode(data)
    if text is None:
        raise not_text_failure(subject, data, len(data))
    return text


def media_parts(read: MediaRead, data: bytes, note: str) -> tuple[Part, Part]:
    """Returns the parts for a model: a text that names the file, and the content."""
    inline = {"mime_type": read.mime_type, "data": base64.b64encode(data).decode()}
    return {"text": f"{read.path}: {note}, {read.bytes:,} bytes"}, {"inline_data": inline}


def media_result(
    read: MediaRead, data: bytes, note: str, text: str = "", pages: tuple[PagePicture, ...] = ()
) -> ToolResult:
    """Returns the result for a model and for people;
    ``text`` and ``pages`` are those of a document, which only people see.
    """
    return ToolResult(
        media_parts(read, data, note),
        Media(read.path, read.mime_type, data, note, text, pages),
        summary=note,
        data=read,
    )


def cells_text(cells: tuple[CellText, ...], most: float) -> tuple[str, int]:
    """Returns the text of the first cells, as many as fit in ``most`` characters, at least one;
    and their number.
    """
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
    outputs = f"\n--- output of {cell.id}\n{shortened_output(cell.outputs)}" if cell.outputs else ""
    return f"--- cell {cell.number}, {cell.type}, id {cell.id}\n{cell.source}{outputs}"


def shortened_output(text: str) -> str:
    """Returns a cell's outputs as they are returned:
    the first fifth and the last four fifths of long ones, and what is missing.
    """
    missing = len(text) - _MOST_OUTPUT
    head = _MOST_OUTPUT // 5
    if missing <= 0:
        return text
    return f"{text[:head]}\n[… {missing:,} characters omitted …]\n{text[head + missing :]}"


def _past_the_end(subject: str, start: int, total: int) -> str:
    lines = counted(total, "line") if total else "no lines"
    most = Advice(" Give a ", Parameter("start"), f" of at most {max(total, 1)}.")
    return Message.of(f"Line {start} does not exist: {subject} has {lines}.", most)
