"""Void's tools for listing folders and searching."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import ClassVar

from nbtools.core.result import Entry, Listing, Match, ToolResult
from nbtools.dialects.dialect_model import Arguments, ToolMapping, without_none
from nbtools.dialects.field_map import FieldMap, Fixed, negated
from nbtools.dialects.void.replies import VoidParams, no_such_page, page_of, pages_in, reply
from nbtools.dialects.void.text_parameters import (
    Flag,
    OptionalPath,
    OptionalText,
    Page,
    Path,
    Text,
    folder_field,
    page_field,
    path_field,
)
from nbtools.tools.glob import GlobData, GlobParams
from nbtools.tools.grep import GrepData, GrepParams
from nbtools.tools.list import LsData, LsParams, TreeParams

PAGE = 500
"""Entries, paths or matches per page."""
_EVERYTHING = 10_000
_MAX_TREE = 20_000
"""Characters."""
_NEXT = "(more on next page...)"
_NOT_IN_VOID = (
    *("glob", "type", "word", "context", "before", "after", "multiline"),
    *("exclude", "ignored", "agent_ignored", "order", "per_file"),
)
"""Parameters of the canonical search."""


class LsDir(VoidParams):
    """Lists a folder.  An empty path is the workspace; in Void it is the root of the file system."""

    canonical: ClassVar[FieldMap] = FieldMap(
        LsParams,
        path=folder_field("uri"),
        limit=Fixed(PAGE),
        offset=page_field("page_number", PAGE),
        lacks=("ignore", "ignored", "agent_ignored"),
    )

    uri: OptionalPath = None
    """The full path to the folder; empty for the workspace."""
    page_number: Page = 1
    """The page of the result; 1 by default."""

    def reply(self, result: ToolResult) -> ToolResult:
        listing, data = result.return_display, result.data
        if not isinstance(listing, Listing) or not isinstance(data, LsData):
            return result
        total = listing.total
        if self.page_number > pages_in(total, PAGE):
            return no_such_page(result, self.page_number, pages_in(total, PAGE))
        remaining = total - self.page_number * PAGE
        names = list(map(_named, listing.entries))
        lines = [
            f"{'└' if index == len(names) - 1 and remaining <= 0 else '├'}── {name}"
            for index, name in enumerate(names)
        ]
        lines += [f"└── ({remaining} results remaining...)"] if remaining > 0 else []
        head = [self.absolute(self.uri or ".")] if self.page_number == 1 else []
        return reply(result, "\n".join([*head, *lines]))


def _named(entry: Entry) -> str:
    name = entry.path.rstrip("/").rpartition("/")[2]
    return f"{name}{'/' if entry.folder else ''}{' (symbolic link)' if entry.link else ''}"


class GetDirTree(VoidParams):
    """Returns a tree of a folder; dependency and build folders are not expanded, and the tree says so."""

    canonical: ClassVar[FieldMap] = FieldMap(TreeParams, path=folder_field("uri"), lacks=("depth", "limit"))

    uri: OptionalPath = None
    """The full path to the folder; empty for the workspace."""

    def reply(self, result: ToolResult) -> ToolResult:
        lines = f"Directory of {self.absolute(self.uri or '.')}:\n{result.llm_content}".split("\n")
        ends = list(accumulate(len(line) + 1 for line in lines))
        fit = bisect_right(ends, _MAX_TREE + 1)
        if fit == len(lines):
            return reply(result, "\n".join(lines))
        notice = f"...Result was truncated: {len(lines) - fit} lines are left out. Ask for a folder in it..."
        return reply(result, "\n".join([*lines[:fit], notice]))


class SearchPathnamesOnly(VoidParams):
    """Finds files by name.

    Names that contain the whole query come first, then shorter names.
    ``include_pattern`` has an effect, unlike in Void.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        GlobParams,
        hidden=Fixed(True),
        limit=Fixed(_EVERYTHING),
        order=Fixed("path"),
        by_code=("pattern", "ignore_case"),
        lacks=("path", "offset", "ignored", "agent_ignored", "exclude"),
    )
    names: ClassVar[Mapping[str, str]] = {"pattern": "query"}

    query: Text
    """Letters that the file's name contains in this order."""
    include_pattern: OptionalText = None
    """A glob that the path must match, to narrow the search."""
    page_number: Page = 1
    """The page of the result; 1 by default."""

    def to_canonical(self) -> Arguments:
        pattern = (
            f"{{**/{self.include_pattern},**/{self.include_pattern}/**}}"
            if self.include_pattern
            else _with_letters(self.query)
        )
        return {"pattern": pattern, "ignore_case": not self.include_pattern, **super().to_canonical()}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        values = cls.canonical.with_defaults(arguments)
        if values is None or super().from_canonical(arguments) is None:
            return None
        included = _INCLUDED.fullmatch(values["pattern"])
        query = "" if included else values["pattern"][4:-1].replace("*", "")
        parameters = without_none(query=query, include_pattern=included[1] if included else None)
        same = cls.model_validate(parameters).to_canonical()
        found = (same["pattern"], same["ignore_case"]) == (values["pattern"], values["ignore_case"])
        return parameters if found else None

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GlobData):
            return result
        searched, total = result.data.paths, result.data.total
        paths = tuple(sorted(filter(self._matches, searched), key=self._rank))
        missing = (
            f"(only {len(searched)} of {total} files were looked at; narrow the search)"
            if len(searched) < total
            else ""
        )
        return _paths(self, result, paths, self.page_number, missing)

    def _matches(self, path: str) -> bool:
        """Whether the name (the path if the query has a slash) contains the letters of the query in order."""
        letters = iter((path if "/" in self.query else path.rpartition("/")[2]).casefold())
        return all(letter in letters for letter in self.query.casefold() if not letter.isspace())

    def _rank(self, path: str) -> tuple[bool, int, str]:
        name = path.rpartition("/")[2]
        return self.query.casefold() not in name.casefold(), len(name), path


_INCLUDED = re.compile(r"\{\*\*/(.+),\*\*/\1/\*\*\}", re.DOTALL)


def _with_letters(query: str) -> str:
    """Returns a glob of the names with these letters in order; ``?`` replaces glob characters."""
    letters = "*".join(re.sub(r"[][*?{}\\]", "?", letter) for letter in query if not letter.isspace())
    return f"**/*{letters}*" if letters else "**/*"


def _paths(
    params: VoidParams, result: ToolResult, paths: tuple[str, ...], page: int, missing: str = ""
) -> ToolResult:
    """Returns a page of paths, one per line; ``missing`` says what the search left out."""
    pages = pages_in(len(paths), PAGE)
    if page > pages:
        return no_such_page(result, page, pages)
    lines = [*map(params.absolute, page_of(paths, page, PAGE))] or ["No files found."]
    return reply(result, "\n".join(filter(None, [*lines, _NEXT if page < pages else "", missing])))


class SearchForFiles(VoidParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        GrepParams,
        pattern="query",
        path=folder_field("search_in_folder"),
        fixed=negated("is_regex"),
        mode=Fixed("files"),
        ignore_case=Fixed(True),
        hidden=Fixed(True),
        outputs=Fixed(True),
        limit=Fixed(PAGE),
        offset=page_field("page_number", PAGE),
        lacks=_NOT_IN_VOID,
    )

    query: Text
    """The text to search for."""
    search_in_folder: OptionalPath = None
    """The folder to search; the workspace by default."""
    is_regex: Flag = False
    """Whether the query is a regular expression: true or false."""
    page_number: Page = 1
    """The page of the result; 1 by default."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GrepData):
            return result
        return _paths(self, result, tuple(result.data.counts), self.page_number)


class SearchInFile(VoidParams):
    """Searches a file, case-sensitively as in Void.

    Unlike Void, it reports when nothing matches, and for a folder it searches all files and names the file of
    each line.  A notebook is searched as cells, with the text of outputs: ``Line 2 of cell 4``.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        GrepParams,
        path=path_field("uri"),
        pattern="query",
        fixed=negated("is_regex"),
        hidden=Fixed(True),
        outputs=Fixed(True),
        limit=Fixed(_EVERYTHING),
        lacks=("mode", "ignore_case", "offset", *_NOT_IN_VOID),
    )

    uri: Path
    """The full path to the file."""
    query: Text
    """The text to search for."""
    is_regex: Flag = False
    """Whether the query is a regular expression: true or false."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GrepData):
            return result
        hits = [
            f"Line {match.line}{self._location(match)}:\n```\n{match.text}\n```"
            for match in result.data.matches
        ]
        remaining = result.data.total - len(result.data.matches)
        hits += [f"({remaining} more lines match; narrow the search)"] if remaining else []
        return reply(result, "\n".join(hits) or f"No lines of {self.absolute(self.uri)} match.")

    def _location(self, match: Match) -> str:
        """Names the cell of a match, and its file where it differs from ``uri``,
        which is then a folder or a link.
        """
        cell = f" of {match.cell}" if match.cell else ""
        absolute = self.absolute(match.path)
        return cell if absolute == self.absolute(self.uri) else f"{cell} of {absolute}"


SEARCH = (
    ToolMapping("ls_dir", "ls", LsDir, "Lists all files and folders in a folder."),
    ToolMapping("list_directory", "ls", LsDir, former=True),
    ToolMapping(
        "get_dir_tree",
        "tree",
        GetDirTree,
        "Returns a tree of all files and folders below a folder; a good way to get an overview.",
    ),
    ToolMapping("search_pathnames_only", "glob", SearchPathnamesOnly, "Finds files by name only."),
    ToolMapping("search_for_files", "grep", SearchForFiles, "Finds the files whose content matches a query."),
    ToolMapping(
        "search_in_file",
        "grep",
        SearchInFile,
        "Returns the lines of one file that match a query, with their numbers.",
    ),
)
