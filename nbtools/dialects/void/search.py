"""Folders and searches as Void speaks of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import ClassVar

from nbtools.core.result import Entry, Listing, ToolResult
from nbtools.dialects.arguments import given, said
from nbtools.dialects.dialect import Arguments, Spelling
from nbtools.dialects.void.raw import Flag, OptionalPath, OptionalText, Page, Path, Text, sayable, sayable_folder
from nbtools.dialects.void.replies import VoidParams, no_such_page, page_of, pages_in, reply
from nbtools.tools.glob import GlobData
from nbtools.tools.grep import GrepData
from nbtools.tools.ls import FolderListed

PAGE = 500
"""Entries, paths and hits that one page has."""
_EVERYTHING = 10_000
_MOST_OF_A_TREE = 20_000
"""Characters."""
_NEXT = "(more on next page...)"


class LsDir(VoidParams):
    """An empty path is the workspace; in the original it became the root of the file system."""

    uri: OptionalPath = None
    """The full path to the folder; empty for the workspace."""
    page_number: Page = 1
    """The page of the result; 1 unless said."""

    def canonical(self) -> Arguments:
        return {"path": self.uri or ".", "limit": PAGE, "offset": (self.page_number - 1) * PAGE}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"path": ".", "limit": None, "offset": 0})
        if known is None or not sayable_folder(known["path"]) or known["limit"] != PAGE or known["offset"] % PAGE:
            return None
        page = known["offset"] // PAGE + 1
        return said(uri=None if known["path"] == "." else known["path"], page_number=None if page == 1 else str(page))

    def reply(self, result: ToolResult) -> ToolResult:
        shown, data = result.return_display, result.data
        if not isinstance(shown, Listing) or not isinstance(data, FolderListed):
            return result
        total = shown.total
        if self.page_number > pages_in(total, PAGE):
            return no_such_page(result, self.page_number, pages_in(total, PAGE))
        left = total - self.page_number * PAGE
        names = list(map(_named, shown.entries))
        lines = [f"{'└' if place == len(names) - 1 and left <= 0 else '├'}── {name}" for place, name in enumerate(names)]
        lines += [f"└── ({left} results remaining...)"] if left > 0 else []
        head = [self.absolute(self.uri or ".")] if self.page_number == 1 else []
        return reply(result, "\n".join([*head, *lines]))


def _named(entry: Entry) -> str:
    name = entry.path.rstrip("/").rpartition("/")[2]
    return f"{name}{'/' if entry.folder else ''}{' (symbolic link)' if entry.link else ''}"


class GetDirTree(VoidParams):
    """Folders of dependencies and builds stay closed, and the tree says so."""

    uri: OptionalPath = None
    """The full path to the folder; empty for the workspace."""

    def canonical(self) -> Arguments:
        return {"path": self.uri or "."}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"path": "."})
        return None if known is None or not sayable_folder(known["path"]) else said(uri=None if known["path"] == "." else known["path"])

    def reply(self, result: ToolResult) -> ToolResult:
        lines = f"Directory of {self.absolute(self.uri or '.')}:\n{result.llm_content}".split("\n")
        ends = list(accumulate(len(line) + 1 for line in lines))
        fit = bisect_right(ends, _MOST_OF_A_TREE + 1)
        if fit == len(lines):
            return reply(result, "\n".join(lines))
        left = f"...Result was truncated: {len(lines) - fit} lines are left out. Ask for a folder in it..."
        return reply(result, "\n".join([*lines[:fit], left]))


class SearchPathnamesOnly(VoidParams):
    """``include_pattern`` works; the original reads another parameter instead.  The best hits come first: the query in one piece, in the
    name, and short names.
    """

    query: Text
    """What the file's name contains, letter by letter in this order."""
    include_pattern: OptionalText = None
    """A glob that the path must fit, to narrow the search."""
    page_number: Page = 1
    """The page of the result; 1 unless said."""

    def canonical(self) -> Arguments:
        pattern = f"{{**/{self.include_pattern},**/{self.include_pattern}/**}}" if self.include_pattern else _with_letters(self.query)
        return {"pattern": pattern, "ignore_case": not self.include_pattern, "hidden": True, "limit": _EVERYTHING, "order": "path"}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"pattern": "", "path": ".", "ignore_case": False, "hidden": False, "limit": 100, "order": "changed"})
        if (
            known is None
            or not sayable(known["path"])
            or known["path"] != "."
            or not known["hidden"]
            or (known["limit"], known["order"]) != (_EVERYTHING, "path")
        ):
            return None
        included = _INCLUDED.fullmatch(known["pattern"])
        query = "" if included else known["pattern"][4:-1].replace("*", "")
        asked = said(query=query, include_pattern=included[1] if included else None)
        same = cls.model_validate(asked).canonical()
        return asked if (same["pattern"], same["ignore_case"]) == (known["pattern"], known["ignore_case"]) else None

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GlobData):
            return result
        looked_at, total = result.data.paths, result.data.total
        found = tuple(sorted(filter(self._fits, looked_at), key=self._rank))
        missing = f"(only {len(looked_at)} of {total} files were looked at; narrow the search)" if len(looked_at) < total else ""
        return _paths(self, result, found, self.page_number, missing)

    def _fits(self, path: str) -> bool:
        """Whether the letters of the query are in it in this order: in the name, in the path where the query has a slash."""
        letters = iter((path if "/" in self.query else path.rpartition("/")[2]).casefold())
        return all(letter in letters for letter in self.query.casefold() if not letter.isspace())

    def _rank(self, path: str) -> tuple[bool, int, str]:
        name = path.rpartition("/")[2]
        return self.query.casefold() not in name.casefold(), len(name), path


_INCLUDED = re.compile(r"\{\*\*/(.+),\*\*/\1/\*\*\}", re.DOTALL)


def _with_letters(query: str) -> str:
    """A glob of the names that have these letters in this order, any letter where a glob would mean something by it."""
    letters = "*".join(re.sub(r"[][*?{}\\]", "?", letter) for letter in query if not letter.isspace())
    return f"**/*{letters}*" if letters else "**/*"


def _paths(params: VoidParams, result: ToolResult, found: tuple[str, ...], page: int, missing: str = "") -> ToolResult:
    """A page of paths, one a line; ``missing`` says what the search left out."""
    pages = pages_in(len(found), PAGE)
    if page > pages:
        return no_such_page(result, page, pages)
    lines = [*map(params.absolute, page_of(found, page, PAGE))] or ["No files found."]
    return reply(result, "\n".join(filter(None, [*lines, _NEXT if page < pages else "", missing])))


class _Searching(VoidParams):
    phrases: ClassVar[Mapping[str, str]] = {"For a literal text rather than a pattern use fixed.": "Leave out is_regex for a literal text."}


class SearchForFiles(_Searching):
    query: Text
    """What to look for in the files."""
    search_in_folder: OptionalPath = None
    """The folder to search in; the workspace unless said."""
    is_regex: Flag = False
    """Whether the query is a regular expression: true or false."""
    page_number: Page = 1
    """The page of the result; 1 unless said."""

    def canonical(self) -> Arguments:
        asked = {"pattern": self.query, "path": self.search_in_folder or ".", "mode": "files", "fixed": not self.is_regex, "outputs": True}
        return {**asked, "ignore_case": True, "hidden": True, "limit": PAGE, "offset": (self.page_number - 1) * PAGE}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {**_SEARCH, "mode": "lines"})
        if known is None or not sayable_folder(known["path"]) or known["mode"] != "files":
            return None
        if not (known["ignore_case"] and known["hidden"] and known["outputs"]):
            return None
        if known["limit"] != PAGE or known["offset"] % PAGE:
            return None
        page = known["offset"] // PAGE + 1
        return said(
            query=known["pattern"],
            search_in_folder=None if known["path"] == "." else known["path"],
            is_regex=None if known["fixed"] else "true",
            page_number=None if page == 1 else str(page),
        )

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GrepData):
            return result
        return _paths(self, result, tuple(result.data.counts), self.page_number)


class SearchInFile(_Searching):
    """Small and capital letters differ, as in the original.  No hit is said; the original answers with nothing.  All files of a folder are
    searched, and lines are told with theirs.
    """

    uri: Path
    """The full path to the file."""
    query: Text
    """What to look for."""
    is_regex: Flag = False
    """Whether the query is a regular expression: true or false."""

    def canonical(self) -> Arguments:
        return {"pattern": self.query, "path": self.uri, "fixed": not self.is_regex, "hidden": True, "outputs": True, "limit": _EVERYTHING}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {**_SEARCH, "mode": "lines"})
        if known is None or not sayable(known["path"]) or known["mode"] != "lines" or known["ignore_case"]:
            return None
        if not (known["hidden"] and known["outputs"]):
            return None
        if known["limit"] != _EVERYTHING or known["offset"]:
            return None
        return said(uri=known["path"], query=known["pattern"], is_regex=None if known["fixed"] else "true")

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, GrepData):
            return result
        hits = [f"Line {one.line}{self._of(one.path)}:\n```\n{one.text}\n```" for one in result.data.matches]
        left = result.data.total - len(result.data.matches)
        hits += [f"({left} more lines match; narrow the search)"] if left else []
        return reply(result, "\n".join(hits) or f"No lines of {self.absolute(self.uri)} match.")

    def _of(self, path: str) -> str:
        """The file of a line, where it is not the one asked for: that was a folder, or a link."""
        whole = self.absolute(path)
        return "" if whole == self.absolute(self.uri) else f" of {whole}"


_SEARCH = {"pattern": "", "path": ".", "outputs": False, "fixed": False, "ignore_case": False, "hidden": False, "limit": 100, "offset": 0}

SEARCH = (
    Spelling("ls_dir", "ls", LsDir, "Lists all files and folders in a folder."),
    Spelling("list_directory", "ls", LsDir, former=True),
    Spelling(
        "get_dir_tree", "tree", GetDirTree, "Gives a tree of all files and folders below a folder; a good way to learn what there is."
    ),
    Spelling("search_pathnames_only", "glob", SearchPathnamesOnly, "Finds files by their names only."),
    Spelling("search_for_files", "grep", SearchForFiles, "Finds the files whose content matches a query."),
    Spelling("search_in_file", "grep", SearchInFile, "Gives the lines of one file that match a query, with their numbers."),
)
