"""Listing folders, finding files and searching in them, as Gemini CLI speaks of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Listing, Match, ToolResult
from nbtools.dialects.arguments import given, said
from nbtools.dialects.dialect import Arguments, Spelling
from nbtools.dialects.gemini.replies import GeminiParams, reply
from nbtools.tools.glob import GlobData
from nbtools.tools.grep import GrepData
from nbtools.tools.ls import FolderListed

_EVERYTHING = 10_000
"""The most files or lines that one page of ours holds; Gemini CLI lists all files that fit."""
_WIDEST = 2_000


class Filtering(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    respect_git_ignore: bool = True
    """Whether to leave out what .gitignore names."""
    respect_gemini_ignore: bool = True
    """Whether to leave out what .geminiignore names; nbtools reads no such file."""


class ListDirectory(GeminiParams):
    """Missing folders are ``ls_execution_error``, as in the original."""

    dir_path: str
    """The path to the folder to list."""
    ignore: tuple[str, ...] = ()
    """Glob patterns of names to leave out."""
    file_filtering_options: Filtering = Filtering()
    """Whether to leave out what ignore files name."""

    errors: ClassVar[Mapping[ErrorCode, tuple[ErrorCode, str]]] = {
        ErrorCode.FILE_NOT_FOUND: (ErrorCode.LS_EXECUTION_ERROR, "Error listing directory: {path} does not exist. {message}"),
        ErrorCode.PATH_IS_NOT_A_DIRECTORY: (ErrorCode.PATH_IS_NOT_A_DIRECTORY, "Path is not a directory: {path}"),
    }

    def canonical(self) -> Arguments:
        return {"path": self.dir_path, "ignore": self.ignore, "ignored": not self.file_filtering_options.respect_git_ignore}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"path": ".", "ignore": (), "ignored": True})
        if known is None:
            return None
        options = {"file_filtering_options": {"respect_git_ignore": False}} if known["ignored"] else {}
        return said(dir_path=known["path"], ignore=known["ignore"] or None, **options)

    def place(self) -> str:
        return self.dir_path

    def reply(self, result: ToolResult) -> ToolResult:
        shown, data = result.return_display, result.data
        path = self.absolute(self.dir_path)
        if not isinstance(data, FolderListed) or not isinstance(shown, Listing):
            return result
        ignored = f"\n\n({data.left_out} ignored)" if data.left_out else ""
        if not shown.entries:
            return reply(result, f"Directory {path} is empty.{ignored}")
        lines = [f"[DIR] {_name(one.path)}" if one.folder else f"{_name(one.path)} ({one.size or 0} bytes)" for one in shown.entries]
        more = f"\n\n({shown.more})" if shown.more else ""
        return reply(result, "\n".join([f"Directory listing for {path}:", *lines]) + ignored + more)


class FormerListDirectory(ListDirectory):
    """The parameter until version 0.11."""

    dir_path: str = Field(alias="path")
    """The absolute path to the folder to list."""

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        return None


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


class Glob(GeminiParams):
    """Dot files are found, the usual folders of dependencies are not; the order is by time of change, of the last day newest first and
    before by name.  No more than 10,000 files are listed, and the answer says so where there are more.
    """

    pattern: str
    """The glob pattern to match, such as '**/*.py' or 'docs/*.md'."""
    dir_path: str = "."
    """The folder to search in."""
    case_sensitive: bool = False
    """Whether small and capital letters differ."""
    respect_git_ignore: bool = True
    """Whether to leave out what .gitignore names."""
    respect_gemini_ignore: bool = True
    """Whether to leave out what .geminiignore names; nbtools reads no such file."""

    errors: ClassVar[Mapping[ErrorCode, tuple[ErrorCode, str]]] = {
        ErrorCode.SEARCH_PATH_NOT_FOUND: (ErrorCode.INVALID_TOOL_PARAMS, "Search path does not exist {path}"),
        ErrorCode.FILE_NOT_FOUND: (ErrorCode.INVALID_TOOL_PARAMS, "Search path does not exist {path}"),
        ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY: (ErrorCode.INVALID_TOOL_PARAMS, "Search path is not a directory: {path}"),
        ErrorCode.PATH_IS_NOT_A_DIRECTORY: (ErrorCode.INVALID_TOOL_PARAMS, "Search path is not a directory: {path}"),
    }

    def canonical(self) -> Arguments:
        places = {"pattern": self.pattern, "path": self.dir_path}
        how = {"ignore_case": not self.case_sensitive, "hidden": True, "ignored": not self.respect_git_ignore}
        return {**places, **how, "limit": _EVERYTHING, "order": "recent"}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(
            arguments,
            {"pattern": "", "path": ".", "ignore_case": False, "hidden": False, "ignored": False, "limit": 100, "order": "changed"},
        )
        if known is None or not known["hidden"] or known["limit"] != _EVERYTHING or known["order"] != "recent":
            return None
        return said(
            pattern=known["pattern"],
            dir_path=None if known["path"] == "." else known["path"],
            case_sensitive=None if known["ignore_case"] else True,
            respect_git_ignore=False if known["ignored"] else None,
        )

    def place(self) -> str:
        return self.dir_path

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if not isinstance(data, GlobData):
            return result
        within = self.absolute(self.dir_path)
        if not data.total:
            return reply(result, f'No files found matching pattern "{self.pattern}" within {within}')
        ignored = f" ({data.left_out} additional files were ignored)" if data.left_out else ""
        head = f'Found {data.total} file(s) matching "{self.pattern}" within {within}{ignored}, sorted by modification time (newest first):'
        rest = [f"({data.total - len(data.paths)} more)"] if data.total > len(data.paths) else []
        return reply(result, "\n".join([head, *map(self.absolute, data.paths), *rest]))


class GrepSearch(GeminiParams):
    """Small and capital letters are the same unless said otherwise.  With one match, 50 lines around it are shown, with two or three, 15,
    unless ``context``, ``before`` or ``after`` say how many.  Build folders and logs are searched, too: the original leaves them out, which
    reads like an answer that there is nothing.
    """

    pattern: str
    """The regular expression to look for."""
    dir_path: str = "."
    """The folder or file to search."""
    include_pattern: str | None = None
    """A glob of the files to search, such as '*.ts' or 'src/**'."""
    exclude_pattern: str | None = None
    """A regular expression: lines that match it are left out."""
    names_only: bool = False
    """Whether to give only the paths of the files."""
    max_matches_per_file: Annotated[int, Field(ge=1)] | None = None
    """How many matches of one file to give at most."""
    total_max_matches: Annotated[int, Field(ge=1)] = 100
    """How many matches to give at most."""
    case_sensitive: bool = False
    """Whether small and capital letters differ."""
    fixed_strings: bool = False
    """Whether the pattern is plain text."""
    context: Annotated[int, Field(ge=0)] | None = None
    """How many lines to give around each match."""
    before: Annotated[int, Field(ge=0)] | None = None
    """How many lines to give before each match."""
    after: Annotated[int, Field(ge=0)] | None = None
    """How many lines to give after each match."""
    no_ignore: bool = False
    """Whether to search files that ignore files name, too."""

    errors: ClassVar[Mapping[ErrorCode, tuple[ErrorCode, str]]] = {
        ErrorCode.SEARCH_PATH_NOT_FOUND: (ErrorCode.FILE_NOT_FOUND, "Path does not exist: {path}. {message}"),
        ErrorCode.GREP_EXECUTION_ERROR: (ErrorCode.GREP_EXECUTION_ERROR, "Error during grep search operation: {message}"),
    }

    def canonical(self) -> Arguments:
        self._exclusion()
        limit = _EVERYTHING if self.exclude_pattern else min(self.total_max_matches, _EVERYTHING)
        asked = {"pattern": self.pattern, "path": self.dir_path, "mode": "files" if self.names_only else "lines", "limit": limit}
        how = {
            "ignore_case": not self.case_sensitive,
            "fixed": self.fixed_strings,
            "hidden": True,
            "ignored": self.no_ignore,
            "outputs": True,
        }
        around = said(context=self._context(), before=self.before, after=self.after)
        return {**asked, **how, **around, **said(glob=self.include_pattern, per_file=self.max_matches_per_file)}

    def _context(self) -> int | str | None:
        if self.before is None and self.after is None and self.context is None and not self.names_only and not self.exclude_pattern:
            return "auto"
        return self.context

    def _exclusion(self) -> re.Pattern[str] | None:
        try:
            return re.compile(self.exclude_pattern, 0 if self.case_sensitive else re.IGNORECASE) if self.exclude_pattern else None
        except re.error as error:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"Invalid exclude regular expression pattern provided: {error}") from None

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, _ONE_SEARCH)
        if known is None or not (known["hidden"] and known["outputs"]) or known["mode"] == "count" or known["word"] or known["offset"]:
            return None
        automatic = known["context"] == "auto"
        if not automatic and known["mode"] == "lines" and not (known["context"] or known["before"] or known["after"]):
            known["context"] = 0
        return said(
            pattern=known["pattern"],
            dir_path=None if known["path"] == "." else known["path"],
            include_pattern=known["glob"],
            names_only=True if known["mode"] == "files" else None,
            max_matches_per_file=known["per_file"],
            total_max_matches=None if known["limit"] == 100 else known["limit"],
            case_sensitive=None if known["ignore_case"] else True,
            fixed_strings=True if known["fixed"] else None,
            context=None if automatic or (known["mode"] == "files" and not known["context"]) else known["context"],
            before=known["before"],
            after=known["after"],
            no_ignore=True if known["ignored"] else None,
        )

    def place(self) -> str:
        return self.dir_path

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if not isinstance(data, GrepData):
            return result
        if self.names_only:
            return reply(result, self._names(list(data.counts)))
        matches, total = self._kept(data)
        if not total:
            return reply(result, f"No matches found for {self._asked()}.")
        return reply(result, "\n".join([self._head(total), "---", *self._groups(matches)]))

    def _kept(self, data: GrepData) -> tuple[tuple[Match, ...], int]:
        """The lines that are not excluded, as many as asked for, and how many matches there are of them."""
        excluded = self._exclusion()
        if excluded is None:
            return data.matches, data.total
        kept = [match for match in data.matches if match.context or not excluded.search(match.text)]
        total = sum(not match.context for match in kept)
        places = [place for place, match in enumerate(kept) if not match.context]
        end = places[self.total_max_matches] if total > self.total_max_matches else len(kept)
        return tuple(kept[:end]), total

    def _head(self, total: int) -> str:
        limited = total > self.total_max_matches
        count = self.total_max_matches if limited else total
        cut = f" (results limited to {self.total_max_matches} matches for performance; {total} in all)" if limited else ""
        return f"Found {count} match{'' if count == 1 else 'es'} for {self._asked()}{cut}:"

    def _asked(self) -> str:
        only = f' (filter: "{self.include_pattern}")' if self.include_pattern else ""
        return f'pattern "{self.pattern}" in path "{self.dir_path}"{only}'

    def _groups(self, matches: Iterable[Match]) -> Iterable[str]:
        for path, lines in groupby(matches, key=lambda match: match.path):
            yield f"File: {path}"
            yield from (f"L{line.line}{'-' if line.context else ':'} {line.text[:_WIDEST]}" for line in lines)
            yield "---"

    def _names(self, paths: list[str]) -> str:
        if not paths:
            return f"No matches found for {self._asked()}."
        shown = paths[: self.total_max_matches]
        head = f"Found {len(shown)} file{'' if len(shown) == 1 else 's'} with matches for {self._asked()}"
        cut = f" (limited to {self.total_max_matches} of {len(paths)})" if len(shown) < len(paths) else ""
        return "\n".join([f"{head}{cut}:", *shown])


_ONE_SEARCH = {
    "pattern": "",
    "outputs": False,
    "path": ".",
    "glob": None,
    "mode": "lines",
    "limit": 100,
    "offset": 0,
    "per_file": None,
    "word": False,
    "ignore_case": False,
    "fixed": False,
    "hidden": False,
    "ignored": False,
    "context": 0,
    "before": None,
    "after": None,
}


class SearchFileContent(GrepSearch):
    """The parameters under the former names, ``search_file_content`` and ``grep``."""

    dir_path: str = Field(default=".", alias="path")
    """The folder to search."""
    include_pattern: str | None = Field(default=None, alias="include")
    """A glob of the files to search."""

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        return None


SEARCH = (
    Spelling(
        "list_directory",
        "ls",
        ListDirectory,
        "Lists the names of files and folders directly in a folder; entries can be left out by glob patterns.",
    ),
    Spelling("list_directory", "ls", FormerListDirectory, former=True),
    Spelling(
        "glob",
        "glob",
        Glob,
        "Finds files by a glob pattern and gives their absolute paths, the one changed last first.",
    ),
    Spelling(
        "grep_search",
        "grep",
        GrepSearch,
        "Searches the content of files for a regular expression and gives the matching lines with their numbers, or only the files.",
    ),
    Spelling("grep_search", "grep", SearchFileContent, former=True),
    Spelling("search_file_content", "grep", GrepSearch, former=True),
    Spelling("search_file_content", "grep", SearchFileContent, former=True),
    Spelling("grep", "grep", SearchFileContent, former=True),
)
