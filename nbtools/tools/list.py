"""The `ls` and `tree` tools: list a folder and display the tree below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.message import Advice, Message, Parameter, ToolName, counted, in_brackets, joined, next_page
from nbtools.core.result import Entry, Listing, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import Example, Icon, Kind, UpdateOutput
from nbtools.tools.workspace_tool import PathInvocation, WorkspaceTool
from nbtools.workspace.cancellation import run_in_thread
from nbtools.workspace.files import read_filter
from nbtools.workspace.files.listing import list_folder
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.paths import printable_path
from nbtools.workspace.search import globs
from nbtools.workspace.search.gitignore import REPOSITORY, IgnoreRules
from nbtools.workspace.search.project_ignore import ignore_filter
from nbtools.workspace.search.tree import Node, limit_entries, read_tree, walk
from nbtools.workspace.workspace import Workspace


def not_a_folder(subject: str) -> ToolFailure:
    see = Advice(" Use ", ToolName("read"), " to see its content.")
    return ToolFailure(
        ErrorCode.PATH_IS_NOT_A_DIRECTORY, Message.of(f"{subject} is a file, not a folder.", see)
    )


MAX_ENTRIES = 1_000_000
"""The largest ``limit``: more entries than a folder has."""


class LsParams(ParameterModel):
    path: str = "."
    """The folder to list."""
    ignore: tuple[str, ...] = ()
    """Globs of names to exclude: `*.pyc`, `node_modules`."""
    ignored: bool = True
    """Whether to include what git ignores, and the folder .git."""
    agent_ignored: bool = False
    """Whether to include files that the project's ignore files for agents, such as .geminiignore,
    leave out.
    """
    limit: Annotated[int, Field(ge=1, le=MAX_ENTRIES)] | None = None
    """Maximum number of entries to return."""
    offset: Annotated[int, Field(ge=0)] = 0
    """How many entries to skip, for the next page: the number already returned."""


@dataclass(frozen=True, slots=True)
class LsData:
    """The numbers of folders and files directly in ``path``,
    without the ``left_out`` entries that an ignore file or the call ignores.

    ``excluded`` of the entries left out match the call's ``ignore`` and no ignore file.
    ``hidden`` counts the entries that the policy does not allow to be read.
    """

    path: str
    folders: int
    files: int
    left_out: int = 0
    hidden: int = 0
    excluded: int = 0


class LsTool(BaseDeclarativeTool[LsParams]):
    """Lists a folder.  ``limit``: maximum number of entries if the call gives none."""

    name = "ls"
    description = (
        "Lists the entries directly in a folder, including hidden names: folders first, files with their size"
        " in bytes."
    )
    kind = Kind.SEARCH
    names_only = True
    icon = Icon.FOLDER
    parameters = LsParams
    examples = (
        Example("Lists a folder.", {"path": "src"}),
        Example("Lists the workspace without Markdown files.", {"ignore": ["*.md"]}),
    )
    output_limit = 1_000_000

    def __init__(self, workspace: Workspace, *, limit: int = 1_000) -> None:
        self.workspace = workspace
        self.limit = limit

    def validate_tool_param_values(self, params: LsParams) -> str | None:
        for glob in params.ignore:
            try:
                globs.compile_glob(glob)
            except ValueError as error:
                return Message.of(Parameter("ignore"), f": {error} (given {glob!r}).")
        return None

    def create_invocation(self, params: LsParams) -> LsInvocation:
        return LsInvocation(self, params)


class LsInvocation(PathInvocation[LsParams, LsTool]):
    __slots__ = ()

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        workspace, subject = self.tool.workspace, printable_path(self.params.path)
        path = workspace.recheck(self.params.path, self.path)
        try:
            found = list_folder(path, workspace)
        except FileNotFoundError:
            raise path_not_found(workspace, self.params.path, "folder") from None
        except NotADirectoryError:
            raise not_a_folder(subject) from None
        except OSError as error:
            raise from_os_error(error, subject, ErrorCode.LS_EXECUTION_ERROR) from None
        visible = self._without_ignored(path, found.entries)
        patterns = [globs.compile_glob(glob.rstrip("/") or glob) for glob in self.params.ignore]
        entries = [
            entry for entry in visible if not any(pattern.fullmatch(_name(entry)) for pattern in patterns)
        ]
        return self._result(
            entries, len(found.entries) - len(entries), found.hidden, len(visible) - len(entries)
        )

    def _without_ignored(self, path: Path, entries: Sequence[Entry]) -> list[Entry]:
        respects_git = not self.params.ignored
        ignoring = ignore_filter(self.tool.workspace, git=respects_git, agent=not self.params.agent_ignored)
        rules = IgnoreRules(path) if respects_git else None

        def is_ignored(entry: Entry) -> bool:
            folder = entry.folder and not entry.link
            if ignoring is not None:
                return ignoring.ignores(entry.path, folder=folder)
            return rules is not None and (
                _name(entry) == REPOSITORY or rules.ignores(_name(entry), folder=folder)
            )

        return [entry for entry in entries if not is_ignored(entry)]

    def _result(self, entries: list[Entry], left_out: int, hidden: int, excluded: int) -> ToolResult:
        total, offset = len(entries), self.params.offset
        listed = entries[offset : offset + (self.params.limit or self.tool.limit)]
        parts = [_page(len(listed), offset, total), f"{left_out:,} ignored" if left_out else ""]
        more = joined("; ", filter(None, parts))
        folders = sum(entry.folder for entry in entries)
        text = "\n".join(map(_line, listed))
        if not total:
            text = "(the folder has no other entries)" if left_out or hidden else "(the folder is empty)"
        by_policy = read_filter.hidden_count_note(hidden)
        return ToolResult(
            joined("\n", filter(None, (text, in_brackets(more)))),
            Listing(tuple(listed), total, joined("; ", filter(None, (more, by_policy)))),
            summary=_summary(folders, total - folders),
            data=LsData(self.relative(), folders, total - folders, left_out, hidden, excluded),
            notes=(f"[{by_policy}]",) if by_policy else (),
        )


def _name(entry: Entry) -> str:
    return entry.path.rpartition("/")[2]


def _page(count: int, offset: int, total: int) -> str:
    if offset and not count and total:
        return f"no entries at offset {offset:,}: the folder has {total:,}"
    if count == total:
        return ""
    return Message.of(f"{offset + 1:,}–{offset + count:,} of {total:,}", *next_page(offset + count, total))


def _line(entry: Entry) -> str:
    name = printable_path(_name(entry))
    link = "symbolic link" if entry.link else ""
    if entry.folder:
        return f"{name}/ ({link})" if link else f"{name}/"
    notes = ", ".join(note for note in (link, "" if entry.size is None else f"{entry.size} bytes") if note)
    return f"{name} ({notes})" if notes else name


def _summary(folders: int, files: int) -> str:
    numbers = ((folders, "folder"), (files, "file"))
    return ", ".join(counted(count, noun) for count, noun in numbers if count) or "empty"


class TreeParams(ParameterModel):
    path: str = "."
    """The folder to display."""
    depth: Annotated[int, Field(ge=1)] | None = None
    """Number of levels to display. Default: all."""
    limit: Annotated[int, Field(ge=1, le=20_000)] = 1_000
    """Maximum number of entries to display."""


@dataclass(frozen=True, slots=True)
class TreeData:
    """The numbers of folders and files, displayed or not, without the content of the ``closed`` folders;
    links count as files.

    ``hidden`` counts the entries that the policy does not allow to be read.
    """

    path: str
    folders: int
    files: int
    closed: tuple[str, ...]
    hidden: int = 0


class TreeTool(WorkspaceTool[TreeParams]):
    """Displays the tree below a folder.  If there are too many entries,
    upper levels come first and the folders of a level share the rest.

    Generated folders (``.git``, ``node_modules``, ``build`` …) are displayed with the number of their entries
    and not opened, unless ``path`` names one.  Links are displayed and not followed.
    """

    name = "tree"
    description = (
        "Shows the tree of files below a folder. Folders such as .git, node_modules or build are not opened;"
        " pass one as path to open it."
    )
    kind = Kind.SEARCH
    names_only = True
    icon = Icon.FOLDER
    parameters = TreeParams
    examples = (
        Example("Shows the tree of the workspace.", {}),
        Example("Shows two levels of a folder.", {"path": "src", "depth": 2}),
    )
    output_limit = 1_000_000

    def create_invocation(self, params: TreeParams) -> TreeInvocation:
        return TreeInvocation(self, params)


class TreeInvocation(PathInvocation[TreeParams, TreeTool]):
    __slots__ = ()

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        workspace, subject = self.tool.workspace, printable_path(self.params.path)
        path = workspace.recheck(self.params.path, self.path)
        hides = workspace.read_filter.hides
        try:
            root = await run_in_thread(
                lambda halt: read_tree(
                    str(path), self.params.depth, halt, lambda below, folder: hides(below, folder=folder)
                )
            )
        except FileNotFoundError:
            raise path_not_found(workspace, self.params.path, "folder") from None
        except NotADirectoryError:
            raise not_a_folder(subject) from None
        except OSError as error:
            raise from_os_error(error, subject, ErrorCode.LS_EXECUTION_ERROR) from None
        limit_entries(root, self.params.limit)
        return self._result(root)

    def _result(self, root: Node) -> ToolResult:
        relative = self.relative()
        prefix = "" if relative == "." else f"{relative}/"
        nodes = list(walk(root))
        folders = sum(node.folder for _, node in nodes)
        closed = tuple(f"{prefix}{path}" for path, node in nodes if node.folder and not node.open)
        entries = list(_tree_entries(root, prefix))
        more = self._more(len(nodes), root.displayed + sum(node.displayed for _, node in nodes))
        lines = [_tree_line(entry) for entry in entries] or ["(the folder is empty)"]
        text = joined("\n", (f"{printable_path(relative)}/", *lines, *filter(None, (in_brackets(more),))))
        summary = f"{counted(folders, 'folder')}, {counted(len(nodes) - folders, 'file')}"
        hidden = root.hidden + sum(node.hidden for _, node in nodes)
        by_policy = read_filter.hidden_count_note(hidden) if hidden else ""
        data = TreeData(relative, folders, len(nodes) - folders, closed, hidden)
        empty = "" if entries else "the folder is empty"
        display = Listing(tuple(entries), len(nodes), joined("; ", filter(None, (empty, more, by_policy))))
        return ToolResult(
            text, display, summary=summary, data=data, notes=(f"[{by_policy}]",) if hidden else ()
        )

    def _more(self, total: int, count: int) -> str:
        if count == total:
            return ""
        levels = f" in {counted(self.params.depth, 'level')}" if self.params.depth else ""
        higher = Advice(", or a higher ", Parameter("limit"), ",")
        return Message.of(
            f"{count:,} of {total:,} entries{levels} are displayed; give the path of a folder",
            higher,
            " to see more",
        )


def _tree_entries(root: Node, prefix: str) -> Iterator[Entry]:
    """Yields each displayed entry, with its path below ``prefix``,
    and one for the omitted entries of a folder.
    """
    # Not recursive: folders may be nested deeper than the interpreter's recursion limit.
    open_folders = [_rows(root, prefix, "")]
    while open_folders:
        row = next(open_folders[-1], None)
        if row is None:
            open_folders.pop()
            continue
        entry, child, indent = row
        yield entry
        open_folders.append(_rows(child, f"{entry.path}/", indent))


def _rows(node: Node, prefix: str, indent: str) -> Iterator[tuple[Entry, Node, str]]:
    """Yields for each entry directly in a folder:
    the entry, its node, and the indentation of its own entries.
    """
    missing = len(node.children) - node.displayed
    for position, child in enumerate(node.children[: node.displayed]):
        last = position == node.displayed - 1 and not missing
        branch, note = f"{indent}{'└── ' if last else '├── '}", _note(child)
        entry = Entry(
            f"{prefix}{child.name}", folder=child.folder, link=bool(child.to), branch=branch, note=note
        )
        yield entry, child, indent + ("    " if last else "│   ")
    if missing:
        yield Entry("", branch=f"{indent}└── ", note=f"… {missing:,} more"), Node(""), ""


def _tree_line(entry: Entry) -> str:
    name = f"{printable_path(_name(entry))}{'/' if entry.folder else ''}"
    return f"{entry.branch}{' '.join(filter(None, (name if entry.path else '', entry.note)))}"


def _note(node: Node) -> str:
    if node.to:
        return f"→ {printable_path(node.to)} (symbolic link)"
    if not node.folder:
        return ""
    if node.count < 0:
        return "(cannot be read)"
    if not node.open:
        return f"(not opened, {node.count:,} {'entry' if node.count == 1 else 'entries'})"
    return ""
