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
from nbtools.dialects.dialect import with_defaults
from nbtools.tools.glob import GlobData
from nbtools.tools.grep import GrepData

_GLOB = {
    "pattern": None,
    "path": ".",
    "limit": 100,
    "offset": 0,
    "order": "changed",
    "ignore_case": False,
    "hidden": False,
    "ignored": False,
}
_GREP = {
    "pattern": None,
    "path": ".",
    "glob": None,
    "type": None,
    "mode": "lines",
    "ignore_case": False,
    "fixed": False,
    "word": False,
    "context": 0,
    "before": 0,
    "after": 0,
    "multiline": False,
    "outputs": False,
    "exclude": None,
    "hidden": False,
    "ignored": False,
    "order": "path",
    "per_file": None,
    "limit": 100,
    "offset": 0,
}
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

    sentences: ClassVar = {
        ErrorCode.SEARCH_PATH_NOT_FOUND: _NO_FOLDER,
        ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY: "Path is not a directory: {message}",
    }

    pattern: str
    """The glob pattern, such as "**/*.py" or "src/**/*.ts"."""
    path: str | None = None
    """The folder to search; the workspace by default."""

    def to_canonical(self) -> Mapping[str, Any]:
        folder, pattern = _split_pattern(self.pattern)
        start = (
            self.path
            if folder is None
            else folder
            if folder.startswith(("/", "~")) or not self.path
            else f"{self.path}/{folder}"
        )
        options = {} if start is None else {"path": start}
        return {"pattern": pattern, **options, "hidden": True, "ignored": True, "limit": 100}

    @classmethod
    def from_canonical(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        values = with_defaults(arguments, _GLOB)
        required = {
            "hidden": True,
            "ignored": True,
            "limit": 100,
            "offset": 0,
            "order": "changed",
            "ignore_case": False,
        }
        if values is None or any(values[name] != value for name, value in required.items()):
            return None
        if _split_pattern(values["pattern"]) != (None, values["pattern"]):
            return None
        return {"pattern": values["pattern"], **({} if values["path"] == "." else {"path": values["path"]})}

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

    names: ClassVar[Mapping[str, str]] = {
        "ignore_case": "-i",
        "before": "-B",
        "after": "-A",
        "mode": "output_mode",
        "limit": "head_limit",
    }

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

    def to_canonical(self) -> Mapping[str, Any]:
        listing = self.output_mode == "files_with_matches"
        named = {
            "path": self.path,
            "glob": self.glob or None,
            "type": self.type or None,
            "ignore_case": self.ignore_case or None,
            "multiline": self.multiline or None,
            "order": "changed" if listing else None,
            "offset": self.offset or None,
            **(self._lines_around() if self.output_mode == "content" else {}),
        }
        return {
            "pattern": self.pattern,
            "mode": {"content": "lines", "files_with_matches": "files", "count": "count"}[self.output_mode],
            "hidden": True,
            "outputs": True,
            "limit": min(self.head_limit or _EVERYTHING, _EVERYTHING),
            **{name: value for name, value in named.items() if value is not None},
        }

    def _lines_around(self) -> Mapping[str, int | None]:
        both = self.context if self.context is not None else self.around
        if both is not None:
            return {"context": both or None}
        return {"before": self.before or None, "after": self.after or None}

    @classmethod
    def from_canonical(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        values = with_defaults(arguments, _GREP)
        if values is None or not (values["hidden"] and values["outputs"]):
            return None
        if any(values[name] for name in ("fixed", "word", "exclude", "ignored", "per_file")):
            return None
        if values["order"] != ("changed" if values["mode"] == "files" else "path"):
            return None
        around = {name: values[name] for name in ("context", "before", "after")}
        if any(around.values()) and (
            values["mode"] != "lines" or (around["context"] and (around["before"] or around["after"]))
        ):
            return None
        named = {
            "path": None if values["path"] == "." else values["path"],
            "glob": values["glob"],
            "type": values["type"],
            "-i": values["ignore_case"] or None,
            "-B": values["before"] or None,
            "-A": values["after"] or None,
            "context": values["context"] or None,
            "multiline": values["multiline"] or None,
            "offset": values["offset"] or None,
            "head_limit": values["limit"],
        }
        mode = {"lines": "content", "files": "files_with_matches", "count": "count"}[values["mode"]]
        optional = {name: value for name, value in named.items() if value is not None}
        return {"pattern": values["pattern"], "output_mode": mode, **optional}

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
