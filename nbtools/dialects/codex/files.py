"""Codex's experimental tools for files, which current versions no longer declare."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileText, ToolResult
from nbtools.dialects.codex.replies import CodexParams, reply
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, optional
from nbtools.tools.grep import GrepData, GrepParams

_MAX_LINE = 500
_MAX_FILES = 2_000


class ReadFile(CodexParams):
    file_path: str
    """The file to read."""
    offset: Annotated[int, Field(ge=1)] = 1
    """The first line to return, counted from 1."""
    limit: Annotated[int, Field(ge=1)] = 2_000
    """The most lines to return."""
    mode: Literal["slice", "indentation"] = "slice"
    """Lines from offset on; the block around a line by its indentation is not supported."""

    def to_canonical(self) -> Arguments:
        if self.mode != "slice":
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                'mode "indentation" is not supported. Read lines with offset and limit.',
            )
        return {"path": self.file_path, "start": self.offset, "end": self.offset + self.limit - 1}

    def reply(self, result: ToolResult) -> ToolResult:
        text = result.return_display
        if not isinstance(text, FileText):
            return result
        return reply(
            result,
            "\n".join(f"L{number}: {line[:_MAX_LINE]}" for number, line in enumerate(text.lines, text.start)),
        )


class GrepFiles(CodexParams):
    one_way: ClassVar[bool] = True
    canonical: ClassVar[FieldMap] = FieldMap(
        GrepParams,
        pattern="pattern",
        path=optional("path"),
        glob=optional("include"),
        mode=Fixed("files"),
        order=Fixed("changed"),
        limit=AgentField("limit", lambda limit: min(limit, _MAX_FILES)),
    )
    pattern: str
    """The regular expression to look for."""
    include: str | None = None
    """A glob of the files to search."""
    path: str | None = None
    """The folder or file to search; the workspace by default."""
    limit: Annotated[int, Field(ge=1)] = 100
    """The most files to return, at most 2000."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GrepData):
            return result
        files = list(result.data.counts)
        most = min(self.limit, _MAX_FILES)
        more = [f"({len(files) - most} more files match)"] if len(files) > most else []
        return reply(result, "\n".join([*map(self.absolute, files[:most]), *more]) or "No matches found.")


FILES = (
    ToolMapping("read_file", "read", ReadFile, former=True),
    ToolMapping("grep_files", "grep", GrepFiles, former=True),
)
