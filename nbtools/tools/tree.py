"""What is in a folder, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.result import ToolResult
from nbtools.core.tool import BaseToolInvocation, Icon, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.workspace import hiding
from nbtools.workspace.halting import in_thread
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.searching.tree import Node, look, make_room, walk
from nbtools.workspace.workspace import Workspace


class TreeParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str = "."
    """The folder to show."""
    depth: Annotated[int, Field(ge=1)] | None = None
    """How many levels to look at; all of them without."""
    limit: Annotated[int, Field(ge=1, le=20_000)] = 1_000
    """How many entries to show at most."""


@dataclass(frozen=True, slots=True)
class TreeShown:
    """How many folders and files there are, shown or not, without what is in the ``closed`` folders; links count as files.

    ``hidden`` counts the entries that policy lets nobody read.
    """

    path: str
    folders: int
    files: int
    closed: tuple[str, ...]
    hidden: int = 0


class TreeTool(BaseDeclarativeTool[TreeParams]):
    """Where not all fits, upper levels come first and each folder of a level gets its share.

    Folders that programs fill (``.git``, ``node_modules``, ``build`` …) are shown with the number of their entries and not opened, except
    the one that is named.  Links are shown and not followed.
    """

    name = "tree"
    description = (
        "Shows the tree of files below a folder. Folders such as .git, node_modules or build are not opened; name one to see what is in it."
    )
    kind = Kind.SEARCH
    names_only = True
    icon = Icon.FOLDER
    parameters = TreeParams
    output_limit = 1_000_000

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def create_invocation(self, params: TreeParams) -> TreeInvocation:
        return TreeInvocation(self, params)


class TreeInvocation(BaseToolInvocation[TreeParams]):
    __slots__ = ("path", "tool")

    def __init__(self, tool: TreeTool, params: TreeParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = tool.workspace.resolve(params.path)

    def get_description(self) -> str:
        return shown(self.tool.workspace.relative(self.path))

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(self.tool.workspace.spellings(self.params.path))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        workspace, subject = self.tool.workspace, shown(self.params.path)
        path = workspace.still(self.params.path, self.path)
        hides = workspace.hiding.hides
        try:
            root = await in_thread(lambda halt: look(str(path), self.params.depth, halt, lambda below, folder: hides(below, folder=folder)))
        except FileNotFoundError:
            raise not_found(workspace, self.params.path, "folder") from None
        except NotADirectoryError:
            raise ToolFailure(
                ErrorCode.PATH_IS_NOT_A_DIRECTORY, f"{subject} is a file, not a folder. Use read to see what is in it."
            ) from None
        except OSError as error:
            raise from_os_error(error, subject, ErrorCode.LS_EXECUTION_ERROR) from None
        make_room(root, self.params.limit)
        return self._result(root)

    def _result(self, root: Node) -> ToolResult:
        relative = self.tool.workspace.relative(self.path)
        prefix = "" if relative == "." else f"{relative}/"
        nodes = list(walk(root))
        folders = sum(node.folder for _, node in nodes)
        closed = tuple(f"{prefix}{path}" for path, node in nodes if node.folder and not node.open)
        lines = list(_drawn(root))
        more = self._more(len(nodes), root.shown + sum(node.shown for _, node in nodes))
        text = "\n".join([f"{shown(relative)}/", *(lines or ["(the folder is empty)"]), *([f"[{more}]"] if more else [])])
        summary = f"{_counted(folders, 'folder')}, {_counted(len(nodes) - folders, 'file')}"
        hidden = root.hidden + sum(node.hidden for _, node in nodes)
        by_policy = f"[{hiding.left_out(hidden)}]" if hidden else ""
        data = TreeShown(relative, folders, len(nodes) - folders, closed, hidden)
        display = f"{text}\n{by_policy}" if hidden else text
        return ToolResult(text, display, summary=summary, data=data, notes=(by_policy,) if hidden else ())

    def _more(self, total: int, count: int) -> str:
        if count == total:
            return ""
        levels = f" in {_counted(self.params.depth, 'level')}" if self.params.depth else ""
        return f"{count:,} of {total:,} entries{levels} are shown; path names a folder to see more of, limit allows more"


def _drawn(root: Node) -> Iterator[str]:
    """A line for each entry there is room for, and one for those of a folder there is not.  Folders may be nested very deep."""
    open_folders = [_rows(root, "")]
    while open_folders:
        row = next(open_folders[-1], None)
        if row is None:
            open_folders.pop()
            continue
        line, child, indent = row
        yield line
        open_folders.append(_rows(child, indent))


def _rows(node: Node, indent: str) -> Iterator[tuple[str, Node, str]]:
    """Of what is directly in a folder: the line, the entry, and how far what is in that is indented."""
    missing = len(node.children) - node.shown
    for position, child in enumerate(node.children[: node.shown]):
        last = position == node.shown - 1 and not missing
        yield f"{indent}{'└── ' if last else '├── '}{_said(child)}", child, indent + ("    " if last else "│   ")
    if missing:
        yield f"{indent}└── … {missing:,} more", Node(""), ""


def _said(node: Node) -> str:
    name = shown(node.name)
    if node.to:
        return f"{name} → {shown(node.to)} (symbolic link)"
    if not node.folder:
        return name
    if node.count < 0:
        return f"{name}/ (cannot be read)"
    if not node.open:
        return f"{name}/ (not opened, {node.count:,} {'entry' if node.count == 1 else 'entries'})"
    return f"{name}/"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
