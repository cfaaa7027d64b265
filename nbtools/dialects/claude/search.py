"""Claude Code's Glob and Grep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import basename, dirname, normpath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from nbtools.core.errors import ErrorCode
from nbtools.core.result import Listing, Match, ToolResult
from nbtools.dialects.claude.replies import ClaudeParams, reply
from nbtools.dialects.claude.tool_use_result import GlobResult, GrepResult
from nbtools.dialects.dialect_model import Arguments, without_none
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, choice, expressible, optional
from nbtools.tools.glob import GlobData, GlobParams
from nbtools.tools.grep import GrepData, GrepParams

_AROUND = ("context", "before", "after")
_NO_FOLDER = "Directory does not exist: {message}"
_NO_PATH = "Path does not exist: {message}"
_EVERYTHING = 10_000
_FILES = "No files found"
_MATCHES = "No matches found"


class Glob(ClaudeParams):
    """Finds ignored and hidden files, too, most recently changed first.

    Claude Code does not document its order and truncates to 100 without a total (reference 2.2, #23916);
    here the result contains the total.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        GlobParams,
        pattern=AgentField(
            "pattern",
            lambda pattern: _split_pattern(pattern)[1],
            lambda pattern: expressible(pattern, _split_pattern(pattern) == (None, pattern)),
        ),
        path="path",
        hidden=Fixed(True),
        ignored=Fixed(True),
        limit=Fixed(100),
        lacks=("offset", "order", "ignore_case", "agent_ignored", "exclude"),
    )

    sentences: ClassVar = {
        ErrorCode.SEARCH_PATH_NOT_FOUND: _NO_FOLDER,
        ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY: "Path is not a directory: {message}",
    }

    pattern: str
    """The glob pattern, such as "**/*.py" or "src/**/*.ts"."""
    path: str | None = None
    """The folder to search; the workspace by default."""

    def to_canonical(self) -> Arguments:
        folder, _ = _split_pattern(self.pattern)
        if folder is None:
            return super().to_canonical()
        relative = bool(self.path) and not folder.startswith(("/", "~"))
        return {**super().to_canonical(), "path": f"{self.path}/{folder}" if relative else folder}

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GlobData):
            return result
        paths, total = tuple(map(self.absolute, result.data.paths)), result.data.total
        data = GlobResult(
            filenames=paths, num_files=len(paths), truncated=len(paths) < total, total_matches=total
        )
        if not paths:
            return reply(result, _FILES, data)
        counted = f"{len(paths):,} of {total:,} files are shown."
        cut = (
            [f"(Results are truncated. Consider using a more specific path or pattern. {counted})"]
            if data.truncated
            else []
        )
        return reply(result, "\n".join([*paths, *cut]), data)


def _split_pattern(pattern: str) -> tuple[str | None, str]:
    """Splits a pattern with an absolute path or ``..`` into a folder and the rest;
    the folder is None for other patterns.
    """
    if not pattern.startswith(("/", "~/")) and ".." not in pattern.split("/"):
        return None, pattern
    steps = pattern.split("/")
    fixed = next((number for number, step in enumerate(steps) if set(step) & set("*?[{")), len(steps))
    if fixed == len(steps):
        return dirname(normpath(pattern)) or ".", basename(normpath(pattern))
    return "/".join(steps[:fixed]) or "/", "/".join(steps[fixed:])


class Grep(ClaudeParams):
    """ripgrep's syntax, hidden files too, files that git ignores not.

    ``head_limit`` and ``offset`` count matching lines; Claude Code counts lines of output, context among
    them.  Lines beyond 500 columns are shown cut, where there they become a placeholder (reference 2.2,
    #78827); numbers of files and matches are of the whole search.  Notebooks are searched as cells, with the
    text of outputs, where there the JSON is searched; a line is ``analysis.ipynb:cell 4:2:text``.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        GrepParams,
        pattern="pattern",
        mode=choice(
            "output_mode",
            {"content": "lines", "files_with_matches": "files", "count": "count"},
            always=True,
        ),
        path="path",
        glob=optional("glob"),
        type=optional("type"),
        ignore_case="ignore_case",
        before="before",
        after="after",
        context="context",
        multiline="multiline",
        offset="offset",
        limit=AgentField("head_limit", lambda limit: min(limit or _EVERYTHING, _EVERYTHING), always=True),
        hidden=Fixed(True),
        outputs=Fixed(True),
        by_code=("order",),
        lacks=("fixed", "word", "exclude", "ignored", "agent_ignored", "per_file"),
    )

    sentences: ClassVar = {ErrorCode.SEARCH_PATH_NOT_FOUND: _NO_PATH}

    pattern: str
    """The regular expression to look for."""
    path: str | None = None
    """The file or folder to search; the workspace by default."""
    glob: str | None = None
    """Only files that match this glob, such as "*.js" or "*.{ts,tsx}"."""
    type: str | None = None
    """Only files of this type, such as js, py or rust."""
    output_mode: Literal["content", "files_with_matches", "count"] = "files_with_matches"
    """What to return: matching lines, files with matches, or the number of matches per file."""
    before: Annotated[int | None, Field(alias="-B", ge=0)] = None
    """How many lines to show before each match, with output_mode "content"."""
    after: Annotated[int | None, Field(alias="-A", ge=0)] = None
    """How many lines to show after each match, with output_mode "content"."""
    around: Annotated[int | None, Field(alias="-C", ge=0)] = None
    """The same as context."""
    context: Annotated[int | None, Field(ge=0)] = None
    """How many lines to show before and after each match, with output_mode "content"."""
    numbered: Annotated[bool, Field(alias="-n")] = True
    """Whether to show line numbers, with output_mode "content"."""
    ignore_case: Annotated[bool, Field(alias="-i")] = False
    """Whether to ignore case."""
    only_matching: Annotated[bool, Field(alias="-o")] = False
    """Whether to show only the matching part of each line, with output_mode "content"."""
    multiline: bool = False
    """Whether a match may span lines, and a dot matches line ends, too."""
    head_limit: Annotated[int, Field(ge=0)] = 250
    """How many lines (or files) to show at most; 0 for all."""
    offset: Annotated[int, Field(ge=0)] = 0
    """How many lines (or files) to skip first."""

    def to_canonical(self) -> Arguments:
        call = {name: value for name, value in super().to_canonical().items() if name not in _AROUND}
        if self.output_mode == "files_with_matches":
            call["order"] = "changed"
        if self.output_mode == "content":
            call.update(self._lines_around())
        return call

    def _lines_around(self) -> Mapping[str, int]:
        both = self.around if self.context is None else self.context
        return without_none(before=self.before, after=self.after) if both is None else {"context": both}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        values = cls.canonical.with_defaults(arguments)
        if values is None or values["order"] != ("changed" if values["mode"] == "files" else "path"):
            return None
        around = any(values[name] for name in _AROUND)
        if around and values["mode"] != "lines":
            return None
        if values["context"] and (values["before"] or values["after"]):
            return None
        return super().from_canonical(arguments)

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GrepData):
            return result
        match self.output_mode:
            case "content":
                return self._content(result, result.data)
            case "count":
                return self._count(result, result.data)
            case _:
                return self._files(result, result.data)

    def _content(self, result: ToolResult, data: GrepData) -> ToolResult:
        lines = list(self._lines(data.matches))
        displayed = sum(not match.context for match in data.matches)
        searched = GrepResult(
            mode="content",
            num_files=0,
            filenames=(),
            content="\n".join(lines),
            num_lines=len(lines),
            **self._applied(displayed, data.total),
        )
        text = "\n".join(lines) or (self._beyond(data.total) or _MATCHES)
        return reply(result, text + self._footer(displayed, data.total), searched)

    def _lines(self, matches: Sequence[Match]) -> Iterator[str]:
        named = not self._is_one_file(matches)
        for before, match in pairwise([None, *matches]):
            if self._has_context and before is not None and match is not None and not _follows(before, match):
                yield "--"
            if match is not None and not (self.only_matching and match.context):
                yield from self._line(match, named=named)

    def _line(self, match: Match, *, named: bool) -> Iterator[str]:
        mark = "-" if match.context else ":"
        cell = f"{match.cell}{mark}" if match.cell else ""
        head = (
            (f"{match.path}{mark}" if named else "") + cell + (f"{match.line}{mark}" if self.numbered else "")
        )
        texts = [match.text[start:end] for start, end in match.ranges] if self.only_matching else [match.text]
        return (head + text for text in texts)

    @property
    def _has_context(self) -> bool:
        return any(self._lines_around().values())

    def _is_one_file(self, matches: Sequence[Match]) -> bool:
        """Whether ``path`` is the file itself, which ripgrep then does not name."""
        path = self.path or ""
        return (
            bool(matches)
            and bool(path)
            and all(self.absolute(match.path) == self.absolute(path) for match in matches)
        )

    def _count(self, result: ToolResult, data: GrepData) -> ToolResult:
        page = list(data.counts.items())[self.offset :][: self.head_limit or None]
        rows = "\n".join(f"{path}:{count}" for path, count in page)
        searched = GrepResult(
            mode="count",
            num_files=len(data.counts),
            filenames=(),
            content=rows,
            num_matches=data.total,
            **self._applied(len(page), len(data.counts)),
        )
        times = f"{data.total} total occurrence{'' if data.total == 1 else 's'}"
        total = f"Found {times} across {_counted(len(data.counts))}."
        text = rows or (self._beyond(len(data.counts)) or _MATCHES)
        return reply(result, f"{text}\n\n{total}{self._footer(len(page), len(data.counts))}", searched)

    def _files(self, result: ToolResult, data: GrepData) -> ToolResult:
        listing = result.return_display
        paths = tuple(entry.path for entry in listing.entries) if isinstance(listing, Listing) else ()
        total = len(data.counts)
        searched = GrepResult(
            mode="files_with_matches", num_files=total, filenames=paths, **self._applied(len(paths), total)
        )
        if not paths:
            return reply(result, (self._beyond(total) or _FILES) + self._footer(0, total), searched)
        return reply(
            result,
            "\n".join([f"Found {_counted(total)}", *paths]) + self._footer(len(paths), total),
            searched,
        )

    def _applied(self, displayed: int, total: int) -> dict[str, Any]:
        return {
            "applied_limit": self.head_limit if self._cut(displayed, total) else None,
            "applied_offset": self.offset or None,
        }

    def _cut(self, displayed: int, total: int) -> bool:
        return self.head_limit > 0 and self.offset + displayed < total

    def _beyond(self, total: int) -> str:
        return "No entries at this offset" if self.offset and total else ""

    def _footer(self, displayed: int, total: int) -> str:
        parts = [f"limit: {self.head_limit}"] if self._cut(displayed, total) else []
        parts += [f"offset: {self.offset}"] if self.offset else []
        return f"\n\n[Showing results with pagination = {', '.join(parts)}]" if parts else ""


def _follows(before: Match, match: Match) -> bool:
    return (before.path, before.cell, before.line + 1) == (match.path, match.cell, match.line)


def _counted(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"
