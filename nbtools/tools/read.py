"""Reading a file, or some of its lines."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileText, ToolResult
from nbtools.core.tool import BaseToolInvocation, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.workspace.files import MOST_WHOLE, not_text, read_bytes, read_lines, size_of
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.text import Text, decode, displayable, split_lines
from nbtools.workspace.workspace import Workspace


class ReadParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str
    """The file to read."""
    start: int | None = Field(default=None, ge=1)
    """First line to read, counted from 1."""
    end: int | None = Field(default=None, ge=1)
    """Last line to read, included."""


@dataclass(frozen=True, slots=True)
class LinesRead:
    """Lines ``start`` to ``end`` (1-based, inclusive) of ``total``; ``shortened`` of them were too long and lost their end."""

    path: str
    start: int
    end: int
    total: int
    shortened: int = 0

    @property
    def whole(self) -> bool:
        return self.start == 1 and self.end == self.total


class ReadTool(BaseDeclarativeTool[ReadParams]):
    """``limit`` lines are read where no ``end`` is given, ``width`` characters of each; files up to ``whole`` bytes without a range."""

    name = "read"
    kind = Kind.READ
    parameters = ReadParams

    def __init__(self, workspace: Workspace, *, limit: int = 2_000, width: int = 2_000, whole: int = MOST_WHOLE) -> None:
        self.workspace = workspace
        self.limit, self.width, self.whole = limit, width, whole
        self.description = (
            f"Reads a text file, or the lines from start to end. Without end at most {limit:,} lines; the result says how to read on."
        )

    def validate_tool_param_values(self, params: ReadParams) -> str | None:
        if params.start and params.end and params.end < params.start:
            return f"read: end ({params.end}) is before start ({params.start}). Lines count from 1 and both ends are included."
        return None

    def create_invocation(self, params: ReadParams) -> ReadInvocation:
        return ReadInvocation(self, params)


class ReadInvocation(BaseToolInvocation[ReadParams]):
    __slots__ = ("path", "subject", "tool")

    def __init__(self, tool: ReadTool, params: ReadParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = tool.workspace.resolve(params.path)
        self.subject = shown(params.path)

    def get_description(self) -> str:
        start, end = self.params.start, self.params.end
        to_the_end = f", from line {start}" if start else ""
        return shown(self._relative()) + (f", lines {start or 1}–{end}" if end else to_the_end)

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path), self.params.start),)

    def target(self) -> PathTarget:
        return PathTarget(self.tool.workspace.spellings(self.params.path))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        path = self.tool.workspace.resolve(self.params.path)
        try:
            lines, read = await self._lines(path)
        except ToolFailure as failure:
            if failure.code is ErrorCode.FILE_NOT_FOUND:
                raise not_found(self.tool.workspace, self.params.path) from None
            raise
        if read.start > max(read.total, 1):
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, _past_the_end(self.subject, read))
        return _result(lines, read)

    async def _lines(self, path: Path) -> tuple[list[str], LinesRead]:
        """The wanted lines with their ends, cut to width, and which they are."""
        start, end = self.params.start or 1, self.params.end
        last = end or start + self.tool.limit - 1
        if size_of(path, self.subject) <= self.tool.whole or (self.params.start is None and end is None):
            data = read_bytes(path, self.subject, self.tool.whole)
            lines = split_lines(_decoded(data, self.subject).text)
            chosen, total = lines[start - 1 : last], len(lines)
        else:
            # Long enough to be felt: the event loop goes on meanwhile.
            excerpt = await asyncio.to_thread(read_lines, path, self.subject, start, last, self.tool.whole)
            chosen, total = split_lines(_decoded(excerpt.encoding.bom + excerpt.data, self.subject).text), excerpt.total
        cut = [number for number, line in enumerate(chosen) if len(line) > self.tool.width < len(line.rstrip("\r\n"))]
        for number in cut:
            chosen[number] = _shortened(chosen[number], self.tool.width)
        return chosen, LinesRead(self._relative(), start, min(last, total), total, len(cut))

    def _relative(self) -> str:
        return self.tool.workspace.relative(self.path)


def _decoded(data: bytes, subject: str) -> Text:
    text = decode(data)
    if text is None:
        raise not_text(subject, data, len(data))
    return text


def _shortened(line: str, width: int) -> str:
    """The beginning of ``line`` and a word on how much more there is."""
    body = line.rstrip("\r\n")
    return f"{body[:width]}… [{len(body) - width:,} more characters]{line[len(body) :]}"


def _result(lines: list[str], read: LinesRead) -> ToolResult:
    text = displayable("".join(lines).replace("\r\n", "\n"))
    more = _notice(read)
    gap = "" if not text or text.endswith("\n") else "\n"
    display = FileText(read.path, read.start, tuple(text.removesuffix("\n").split("\n") if text else ()), read.total, more)
    return ToolResult(f"{text}{gap}[{more}]" if more else text, display, summary=_summary(read), data=read)


def _notice(read: LinesRead) -> str:
    """What is not there and how to see it; empty when all is."""
    parts = ["the file is empty"] if not read.total else []
    if not read.whole:
        parts.append(f"lines {read.start}–{read.end} of {read.total}")
        parts += [f"read on with start={read.end + 1}"] if read.end < read.total else []
    if read.shortened:
        parts.append(f"{read.shortened} long line{'s are' if read.shortened > 1 else ' is'} cut")
    return "; ".join(parts)


def _summary(read: LinesRead) -> str:
    if read.whole and read.total:
        return f"{read.total} line{'' if read.total == 1 else 's'}"
    return f"lines {read.start}–{read.end} of {read.total}" if read.total else "empty"


def _past_the_end(subject: str, read: LinesRead) -> str:
    lines = f"{read.total} line{'' if read.total == 1 else 's'}" if read.total else "no lines"
    return f"{subject} has {lines}; there is none from {read.start} on. Give a start of at most {max(read.total, 1)}."
