"""Gemini CLI's list_directory, glob and grep_search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Annotated, ClassVar

from pydantic import AliasChoices, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Entry, Listing, Match, ToolResult
from nbtools.core.schema.documented_model import DocumentedModel
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, choice, expressible, negated
from nbtools.dialects.gemini.replies import GeminiParams, Sentence, reply
from nbtools.tools.glob import GlobData, GlobParams
from nbtools.tools.grep import GrepData, GrepParams
from nbtools.tools.list import MAX_ENTRIES, LsData, LsParams

_EVERYTHING = 10_000
"""The maximum of files or lines in one page of nbtools' tools; Gemini CLI lists all matching files."""
_MAX_LINE = 2_000
_DEPENDENCIES = ("node_modules", ".git", "bower_components", ".svn", ".hg")
"""Folders that ``glob`` and ``grep_search`` never search."""
_GENERATED = (
    "{"
    + ",".join(
        (*_DEPENDENCIES, ".vscode", ".idea", "dist", "build", "coverage", "__pycache__", "*.log", "*.tmp")
    )
    + "}"
)
"""What ``grep_search`` does not search without ``no_ignore``, in the engine with ripgrep."""


class Filtering(DocumentedModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    respect_git_ignore: bool = True
    """Whether to exclude files listed in .gitignore."""
    respect_gemini_ignore: bool = True
    """Whether to exclude files listed in .geminiignore."""


def _from_name_glob(pattern: str) -> str:
    """Converts a pattern in which only ``*`` and ``?`` are special to a canonical one."""
    return re.sub(r"[\[{}]", r"[\g<0>]", pattern)


def _to_name_globs(patterns: tuple[str, ...]) -> tuple[str, ...]:
    globs = tuple(re.sub(r"\[([\[{}])\]", r"\1", pattern) for pattern in patterns)
    return expressible(globs, tuple(map(_from_name_glob, globs)) == tuple(patterns))


class ListDirectory(GeminiParams):
    """Lists a whole folder.  A missing folder is ``ls_execution_error``, as in Gemini CLI.

    ``respect_git_ignore`` is the parameter of earlier versions.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        LsParams,
        path="dir_path",
        ignore=AgentField("ignore", lambda globs: tuple(map(_from_name_glob, globs)), _to_name_globs),
        limit=Fixed(MAX_ENTRIES),
        by_code=("ignored", "agent_ignored"),
        lacks=("offset",),
    )

    dir_path: str = Field(validation_alias=AliasChoices("dir_path", "path"))
    """The path to the folder to list."""
    ignore: tuple[str, ...] = ()
    """Glob patterns of names to exclude."""
    file_filtering_options: Filtering = Filtering()
    """Whether to respect ignore files."""
    respect_git_ignore: SkipJsonSchema[bool | None] = None

    errors: ClassVar[Mapping[ErrorCode, Sentence]] = {
        ErrorCode.FILE_NOT_FOUND: (
            ErrorCode.LS_EXECUTION_ERROR,
            "Error listing directory: {path} does not exist. {message}",
        ),
        ErrorCode.PATH_IS_NOT_A_DIRECTORY: "Path is not a directory: {path}",
    }

    def to_canonical(self) -> Arguments:
        options = self.file_filtering_options
        respects = options.respect_git_ignore if self.respect_git_ignore is None else self.respect_git_ignore
        ignored = {"ignored": not respects, "agent_ignored": not options.respect_gemini_ignore}
        return {**super().to_canonical(), **ignored}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, values = super().from_canonical(arguments), cls.canonical.with_defaults(arguments)
        if spoken is None or values is None:
            return None
        names = {"respect_git_ignore": "ignored", "respect_gemini_ignore": "agent_ignored"}
        options = {name: False for name, canonical in names.items() if values[canonical]}
        return {**spoken, "file_filtering_options": options} if options else spoken

    def path_parameter(self) -> str:
        return self.dir_path

    def reply(self, result: ToolResult) -> ToolResult:
        listing, data = result.return_display, result.data
        path = self.absolute(self.dir_path)
        if not isinstance(data, LsData) or not isinstance(listing, Listing):
            return result
        count = data.left_out - data.excluded
        ignored = f"\n\n({count} ignored)" if count else ""
        if not listing.entries:
            return reply(result, f"Directory {path} is empty.{ignored}")
        left = data.folders + data.files - len(listing.entries)
        more = f"\n\n({left:,} more)" if left else ""
        return reply(
            result,
            "\n".join([f"Directory listing for {path}:", *map(_entry, listing.entries)]) + ignored + more,
        )


def _entry(entry: Entry) -> str:
    name = entry.path.rstrip("/").rpartition("/")[2]
    if entry.folder:
        return f"[DIR] {name}"
    if entry.link and entry.size is None:
        return f"{name} (link that leads nowhere or outside)"
    return f"{name} ({entry.size or 0} bytes)"


class Glob(GeminiParams):
    """Finds hidden files, but nothing in dependency folders and in folders of version control.

    Files changed during the last day come first, newest first; the others follow by name.
    Lists at most 10,000 files and says how many more there are.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        GlobParams,
        pattern="pattern",
        path="dir_path",
        ignore_case=negated("case_sensitive"),
        ignored=negated("respect_git_ignore"),
        agent_ignored=negated("respect_gemini_ignore"),
        hidden=Fixed(True),
        exclude=Fixed(_DEPENDENCIES),
        limit=Fixed(_EVERYTHING),
        order=Fixed("recent"),
        lacks=("offset",),
    )

    pattern: str
    """The glob pattern to match, such as '**/*.py' or 'docs/*.md'."""
    dir_path: str = Field(default=".", validation_alias=AliasChoices("dir_path", "path"))
    """The folder to search in."""
    case_sensitive: bool = False
    """Whether the search is case-sensitive."""
    respect_git_ignore: bool = True
    """Whether to exclude files listed in .gitignore."""
    respect_gemini_ignore: bool = True
    """Whether to exclude files listed in .geminiignore."""

    errors: ClassVar[Mapping[ErrorCode, Sentence]] = {
        ErrorCode.SEARCH_PATH_NOT_FOUND: (ErrorCode.INVALID_TOOL_PARAMS, "Search path does not exist {path}"),
        ErrorCode.FILE_NOT_FOUND: (ErrorCode.INVALID_TOOL_PARAMS, "Search path does not exist {path}"),
        ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY: (
            ErrorCode.INVALID_TOOL_PARAMS,
            "Search path is not a directory: {path}",
        ),
        ErrorCode.PATH_IS_NOT_A_DIRECTORY: (
            ErrorCode.INVALID_TOOL_PARAMS,
            "Search path is not a directory: {path}",
        ),
    }

    def path_parameter(self) -> str:
        return self.dir_path

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if not isinstance(data, GlobData):
            return result
        within = self.absolute(self.dir_path)
        if not data.total:
            return reply(result, f'No files found matching pattern "{self.pattern}" within {within}')
        ignored = f" ({data.left_out} additional files were ignored)" if data.left_out else ""
        head = (
            f'Found {data.total} file(s) matching "{self.pattern}" within {within}{ignored}, sorted by'
            " modification time (newest first):"
        )
        rest = [f"({data.total - len(data.paths)} more)"] if data.total > len(data.paths) else []
        return reply(result, "\n".join([head, *map(self.absolute, data.paths), *rest]))


class GrepSearch(GeminiParams):
    """Ignores case by default.

    Shows 50 lines of context for one match and 15 for two or three, unless ``context``, ``before`` or
    ``after`` is set.  Dependency and build folders and logs are searched only with ``no_ignore``.  Files are
    named relative to ``dir_path``.  Notebooks are searched as cells, with the text of outputs, where Gemini
    CLI searches the JSON; a group is then ``File: analysis.ipynb, cell 4``.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        GrepParams,
        pattern="pattern",
        path="dir_path",
        glob="include_pattern",
        mode=choice("names_only", {True: "files", False: "lines"}, is_named=False),
        per_file="max_matches_per_file",
        limit=AgentField("total_max_matches", lambda limit: min(limit, _EVERYTHING)),
        ignore_case=negated("case_sensitive"),
        fixed="fixed_strings",
        context=AgentField(
            "context", from_canonical=lambda lines: None if lines == "auto" else lines, always=True
        ),
        before="before",
        after="after",
        ignored=AgentField("no_ignore", is_named=False),
        hidden=Fixed(True),
        outputs=Fixed(True),
        by_code=("exclude", "agent_ignored"),
        lacks=("type", "word", "multiline", "order", "offset"),
    )

    pattern: str
    """The regular expression to look for."""
    dir_path: str = Field(default=".", validation_alias=AliasChoices("dir_path", "path"))
    """The folder or file to search."""
    include_pattern: str | None = Field(
        default=None, validation_alias=AliasChoices("include_pattern", "include")
    )
    """A glob of the files to search, such as '*.ts' or 'src/**'."""
    exclude_pattern: str | None = None
    """A regular expression; lines that match it are excluded."""
    names_only: bool = False
    """Whether to return only the paths of the files."""
    max_matches_per_file: Annotated[int, Field(ge=1)] | None = None
    """The maximum number of matches per file."""
    total_max_matches: Annotated[int, Field(ge=1)] = 100
    """The maximum number of matches."""
    case_sensitive: bool = False
    """Whether the search is case-sensitive."""
    fixed_strings: bool = False
    """Whether the pattern is literal text."""
    context: Annotated[int, Field(ge=0)] | None = None
    """How many lines to show before and after each match."""
    before: Annotated[int, Field(ge=0)] | None = None
    """How many lines to show before each match."""
    after: Annotated[int, Field(ge=0)] | None = None
    """How many lines to show after each match."""
    no_ignore: bool = False
    """Whether to search ignored files, too."""

    errors: ClassVar[Mapping[ErrorCode, Sentence]] = {
        ErrorCode.SEARCH_PATH_NOT_FOUND: (ErrorCode.FILE_NOT_FOUND, "Path does not exist: {path}. {message}"),
        ErrorCode.GREP_EXECUTION_ERROR: "Error during grep search operation: {message}",
    }

    def to_canonical(self) -> Arguments:
        self._exclusion()
        call = {**super().to_canonical(), "agent_ignored": self.no_ignore}
        if self.exclude_pattern:
            call["limit"] = _EVERYTHING
        if not self.no_ignore:
            call["exclude"] = _GENERATED
        lines_around = self.before is not None or self.after is not None or self.context is not None
        if not (lines_around or self.names_only or self.exclude_pattern):
            call["context"] = "auto"
        return call

    def _exclusion(self) -> re.Pattern[str] | None:
        if not self.exclude_pattern:
            return None
        try:
            return re.compile(self.exclude_pattern, 0 if self.case_sensitive else re.IGNORECASE)
        except re.error as error:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, f"Invalid exclude regular expression pattern provided: {error}"
            ) from None

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, values = super().from_canonical(arguments), cls.canonical.with_defaults(arguments)
        if (
            spoken is None
            or values is None
            or values["agent_ignored"] != values["ignored"]
            or values["exclude"] != (None if values["ignored"] else _GENERATED)
        ):
            return None
        # A context of 0 has to be passed: without, there are lines around few matches.
        unneeded = values["mode"] == "files" and not values["context"]
        return {name: value for name, value in spoken.items() if not (unneeded and name == "context")}

    def path_parameter(self) -> str:
        return self.dir_path

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if not isinstance(data, GrepData):
            return result
        if self.names_only:
            return reply(result, self._names([relative_to(data.start, path) for path in data.counts]))
        matches, total = self._not_excluded(data)
        if not total:
            return reply(result, f"No matches found for {self._description()}.")
        return reply(result, "\n".join([self._head(total), "---", *_groups(matches, data.start)]))

    def _not_excluded(self, data: GrepData) -> tuple[tuple[Match, ...], int]:
        """Returns the lines that ``exclude_pattern`` does not match, up to ``total_max_matches``,
        and the number of all such matches.
        """
        excluded = self._exclusion()
        if excluded is None:
            return data.matches, data.total
        matches = [match for match in data.matches if match.context or not excluded.search(match.text)]
        total = sum(not match.context for match in matches)
        indices = [index for index, match in enumerate(matches) if not match.context]
        end = indices[self.total_max_matches] if total > self.total_max_matches else len(matches)
        return tuple(matches[:end]), total

    def _head(self, total: int) -> str:
        limited = total > self.total_max_matches
        count = self.total_max_matches if limited else total
        cut = (
            f" (results limited to {self.total_max_matches} matches for performance; {total} in all)"
            if limited
            else ""
        )
        return f"Found {count} match{'' if count == 1 else 'es'} for {self._description()}{cut}:"

    def _description(self) -> str:
        only = f' (filter: "{self.include_pattern}")' if self.include_pattern else ""
        return f'pattern "{self.pattern}" in path "{self.dir_path}"{only}'

    def _names(self, paths: list[str]) -> str:
        if not paths:
            return f"No matches found for {self._description()}."
        page = paths[: self.total_max_matches]
        head = f"Found {len(page)} file{'' if len(page) == 1 else 's'} with matches for {self._description()}"
        cut = f" (limited to {self.total_max_matches} of {len(paths)})" if len(page) < len(paths) else ""
        return "\n".join([f"{head}{cut}:", *page])


def _groups(matches: Iterable[Match], start: str) -> Iterable[str]:
    for (path, cell), lines in groupby(matches, key=lambda match: (match.path, match.cell)):
        yield f"File: {relative_to(start, path)}{f', {cell}' if cell else ''}"
        yield from (f"L{line.line}{'-' if line.context else ':'} {line.text[:_MAX_LINE]}" for line in lines)
        yield "---"


def relative_to(start: str, path: str) -> str:
    """Returns the path relative to the searched folder; the name of a file that was searched itself."""
    if path == start:
        return path.rpartition("/")[2]
    if start == ".":
        return path
    return path.removeprefix(f"{start}/")


SEARCH = (
    ToolMapping(
        "list_directory",
        "ls",
        ListDirectory,
        "Lists the files and folders directly in a folder; glob patterns can exclude entries.",
    ),
    ToolMapping(
        "glob",
        "glob",
        Glob,
        "Finds files by a glob pattern; returns absolute paths, most recently changed first.",
    ),
    ToolMapping(
        "grep_search",
        "grep",
        GrepSearch,
        "Searches file contents for a regular expression; returns matching lines with their numbers, or only"
        " the files.",
    ),
    ToolMapping("search_file_content", "grep", GrepSearch, former=True),
    ToolMapping("grep", "grep", GrepSearch, former=True),
)
