"""Claude Code's Read, Write and the former LS."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import FileDiff, FileText, Listing, Media, ToolResult
from nbtools.dialects.claude.notebooks import cells_as_text, structured_cells
from nbtools.dialects.claude.replies import ClaudeParams, error_reply, failure, not_read_reply, reply
from nbtools.dialects.claude.tool_use_result import (
    MediaFile,
    MediaRead,
    NotebookFile,
    NotebookRead,
    TextFile,
    TextRead,
    WriteResult,
    structured_patch,
    user_modified,
)
from nbtools.dialects.dialect_model import Arguments
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, expressible, optional
from nbtools.tools import read
from nbtools.tools.list import MAX_ENTRIES, LsParams
from nbtools.tools.write import FileChanged, WriteParams

_MOST_BYTES = 256 * 1024
"""A longer text is refused for its bytes, a shorter one for its tokens."""
CURRENT = " (file state is current in your context — no need to Read it back)"
_EMPTY = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"


class Read(ClaudeParams):
    """Numbers lines as ``N<tab>text``, as in versions from 2.1.110 on.

    At most 25,000 tokens are returned, estimated at four bytes each: requested lines (``limit``) that have
    more are refused, any other read returns the first ones.

    Unlike in Claude Code, a final line ending does not add a numbered empty line; an unchanged file is
    returned again, because the earlier result may have left the context; and a truncated long line says how
    much is missing.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        read.ReadParams,
        path="file_path",
        start=AgentField("offset", lambda line: max(line, 1), lambda line: expressible(line, line >= 1)),
        pages=optional("pages"),
        by_code=("end",),
    )
    names: ClassVar[Mapping[str, str]] = {"end": "limit"}

    file_path: str
    """The file to read, as an absolute path or relative to the workspace."""
    offset: Annotated[int | None, Field(ge=0)] = None
    """The first line to read, counted from 1. For files that are too long to read at once."""
    limit: Annotated[int | None, Field(gt=0)] = None
    """How many lines to read. For files that are too long to read at once."""
    pages: str | None = None
    """Pages of a PDF document, such as "3" or "1-5". Only for PDF files."""

    def to_canonical(self) -> Arguments:
        call = super().to_canonical()
        return call if self.limit is None else {**call, "end": call.get("start", 1) + self.limit - 1}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, end = super().from_canonical(arguments), arguments.get("end")
        if spoken is None or end is None:
            return spoken
        limit = end - spoken.get("offset", 1) + 1
        return {**spoken, "limit": limit} if limit > 0 else None

    def reply(self, result: ToolResult) -> ToolResult:
        if isinstance(result.data, read.NotebookRead):
            return self._cells(result, result.data)
        match result.return_display:
            case FileText() as text:
                return self._text(result, text)
            case Media() as media:
                return self._media(result, media)
            case _:
                return result

    def _text(self, result: ToolResult, text: FileText) -> ToolResult:
        lines = [f"{number}\t{line}" for number, line in enumerate(text.lines, text.start)]
        last = text.start + len(text.lines) - 1
        content = "\n".join(lines) if text.total else _EMPTY
        expected = text.total if self.limit is None else min(text.start + self.limit - 1, text.total)
        if last < expected:
            content += f"\n\n<system-reminder>{_partial(text.start, last, text.total)}</system-reminder>"
        file = TextFile(
            file_path=self.absolute(self.file_path),
            content="\n".join(text.lines),
            num_lines=len(text.lines),
            start_line=text.start,
            total_lines=text.total,
        )
        return reply(result, content, TextRead(type="text", file=file))

    def _media(self, result: ToolResult, media: Media) -> ToolResult:
        """Returns an image alone; a document has a line that names it."""
        parts = result.llm_content if isinstance(result.llm_content, tuple) else ()
        inline = tuple(part for part in parts if "inline_data" in part)
        encoded = base64.b64encode(media.data).decode()
        if media.mime_type.startswith("image/"):
            file = MediaFile(base64=encoded, type=media.mime_type, original_size=len(media.data))
            return reply(result, inline, MediaRead(type="image", file=file))
        name = {"text": f"PDF file read: {self.absolute(self.file_path)} ({len(media.data):,} bytes)"}
        file = MediaFile(
            base64=encoded, file_path=self.absolute(self.file_path), original_size=len(media.data)
        )
        return reply(result, (name, *inline), MediaRead(type="pdf", file=file))

    def _cells(self, result: ToolResult, data: read.NotebookRead) -> ToolResult:
        cells = data.cells[: data.shown]
        text = cells_as_text(cells)
        if data.shown < len(data.cells):
            advice = "Use offset and limit to read lines of the notebook's JSON."
            text += (
                f"\n\n<system-reminder>PARTIAL view: cells 1-{data.shown} of {len(data.cells)}."
                f" {advice}</system-reminder>"
            )
        file = NotebookFile(file_path=self.absolute(self.file_path), cells=structured_cells(cells))
        return reply(result, text, NotebookRead(type="notebook", file=file))

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        if isinstance(result.data, read.LinesRead):
            return self._past_the_end(result, result.data.total)
        if error.code is ErrorCode.FILE_NOT_FOUND:
            return error_reply(error, f"File does not exist. {error.message}")
        if isinstance(result.data, read.TooLong):
            return error_reply(error, _too_long(result.data))
        if error.code is ErrorCode.TARGET_IS_DIRECTORY:
            return error_reply(
                error, f"EISDIR: illegal operation on a directory, read '{self.absolute(self.file_path)}'"
            )
        return failure(error, result.data)

    def _past_the_end(self, result: ToolResult, total: int) -> ToolResult:
        """Returns a warning with the number of lines; in Claude Code this is not an error."""
        lines = f"The file has {total} line{'' if total == 1 else 's'}."
        warning = (
            f"Warning: the file exists but is shorter than the provided offset ({self.offset or 1}). {lines}"
        )
        file = TextFile(
            file_path=self.absolute(self.file_path),
            content="",
            num_lines=0,
            start_line=self.offset or 1,
            total_lines=total,
        )
        return reply(
            result, f"<system-reminder>{warning}</system-reminder>", TextRead(type="text", file=file)
        )


def _too_long(content: read.TooLong) -> str:
    tokens = content.bytes // read.BYTES_PER_TOKEN
    how_much, limit = f"{tokens} tokens", f"tokens ({content.tokens})"
    if content.bytes > _MOST_BYTES:
        how_much, limit = f"{content.bytes / 1024:.1f}KB", f"size ({_MOST_BYTES // 1024}KB)"
    advice = (
        "Use offset and limit parameters to read specific portions of the file, or search for specific"
        " content with Grep."
    )
    return f"File content ({how_much}) exceeds maximum allowed {limit}. {advice}"


def _partial(first: int, last: int, total: int) -> str:
    return f"PARTIAL view: lines {first}-{last} of {total}. Use offset ({last + 1}) and limit to read on."


class Write(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(WriteParams, path="file_path", content="content", lacks=("new",))

    file_path: str
    """The file to write, as an absolute path or relative to the workspace."""
    content: str
    """The whole new content of the file."""

    def reply(self, result: ToolResult) -> ToolResult:
        diff, changed = result.return_display, result.data
        if not isinstance(diff, FileDiff) or not isinstance(changed, FileChanged):
            return result
        data = WriteResult(
            type="create" if changed.created else "update",
            file_path=self.absolute(self.file_path),
            content=diff.new_content,
            structured_patch=() if changed.created else structured_patch(changed.hunks),
            original_file=diff.original_content,
            user_modified=user_modified(diff),
        )
        sentence = (
            f"File created successfully at: {self.absolute(self.file_path)}"
            if changed.created
            else updated(self.absolute(self.file_path), diff)
        )
        return reply(result, sentence + ("" if user_modified(diff) else CURRENT), data)

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        return not_read_reply(error, result.data) or failure(error, result.data)


def updated(path: str, diff: FileDiff) -> str:
    """Returns the result's sentence; after a person modified the change,
    it tells the model to read the file.
    """
    if user_modified(diff):
        return (
            f"The file {path} has been updated. The user modified your proposed changes before accepting"
            " them; Read the file to see how."
        )
    return f"The file {path} has been updated successfully."


class LS(ClaudeParams):
    """Lists only the folder's direct entries; early versions of Claude Code listed subfolders, too."""

    one_way: ClassVar[bool] = True
    canonical: ClassVar[FieldMap] = FieldMap(LsParams, path="path", ignore="ignore", limit=Fixed(MAX_ENTRIES))

    path: str
    """The folder to list, as an absolute path or relative to the workspace."""
    ignore: tuple[str, ...] = ()
    """Glob patterns of names to exclude."""

    def reply(self, result: ToolResult) -> ToolResult:
        listing = result.return_display
        if not isinstance(listing, Listing):
            return result
        folder = f"{self.absolute(self.path).removesuffix('/')}/"
        names = [
            f"  - {entry.path.rpartition('/')[2]}{'/' if entry.folder else ''}" for entry in listing.entries
        ]
        more = [f"[{listing.more}]"] if listing.more else []
        return reply(result, "\n".join([f"- {folder}", *names, *more]), result.data)
