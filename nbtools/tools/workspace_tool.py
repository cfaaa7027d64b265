"""Base classes of tools that act on a workspace, and of their calls."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, Protocol, TypeVar

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.tool import BaseToolInvocation, PathTarget, ToolLocation
from nbtools.workspace.paths import printable_path
from nbtools.workspace.workspace import Workspace


class _HasPath(Protocol):
    @property
    def path(self) -> str: ...


class _HasWorkspace(Protocol):
    @property
    def workspace(self) -> Workspace: ...


P = TypeVar("P")
T = TypeVar("T")
PathParams = TypeVar("PathParams", bound=_HasPath)
PathTool = TypeVar("PathTool", bound=_HasWorkspace)


class WorkspaceTool(BaseDeclarativeTool[P]):
    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace


class WorkspaceInvocation(BaseToolInvocation[P], Generic[P, T]):
    """A call that needs its tool: the workspace, limits."""

    __slots__ = ("tool",)

    def __init__(self, tool: T, params: P) -> None:
        super().__init__(params)
        self.tool = tool


class PathInvocation(WorkspaceInvocation[PathParams, PathTool]):
    """A call about the file or folder ``path`` of its parameters, which is resolved when the call is built:
    the policy decides about this path, and ``recheck`` makes sure that the call uses it.
    """

    __slots__ = ("path",)

    def __init__(self, tool: PathTool, params: PathParams) -> None:
        super().__init__(tool, params)
        self.path = self.resolve()

    def resolve(self) -> Path:
        return self.tool.workspace.resolve(self.params.path)

    def get_description(self) -> str:
        return printable_path(self.relative())

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(self.tool.workspace.spellings(self.params.path))

    def relative(self) -> str:
        return self.tool.workspace.relative(self.path)


class PathReadInvocation(PathInvocation[PathParams, PathTool]):
    """A call that reads ``path``, which may also be a file with the full output of an earlier call."""

    __slots__ = ()

    def resolve(self) -> Path:
        return self.tool.workspace.resolve_to_read(self.params.path)


def searched_description(pattern: str, folder: str) -> str:
    """Describes a search for a pattern below a folder."""
    return printable_path(pattern) + ("" if folder == "." else f" in {printable_path(folder)}")
