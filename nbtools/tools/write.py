"""Writing a whole file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.tool import Kind, ModifyContext, ToolInvocation
from nbtools.tools.file_change import FileChangeInvocation
from nbtools.workspace.change import FileChange
from nbtools.workspace.endings import carried_over, main_ending, with_lf
from nbtools.workspace.files import MOST_WHOLE, not_text, read_if_there
from nbtools.workspace.paths import shown
from nbtools.workspace.text import UTF8, Text, decode, encode, is_exact
from nbtools.workspace.workspace import Workspace

_ADVICE = "Delete it first, or change it with a program."


class WriteParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str
    """The file to write; folders that are missing are made."""
    content: str
    """All that the file shall hold."""


class WriteTool(BaseDeclarativeTool[WriteParams]):
    """A file that exists keeps its encoding, byte order mark, mode and owner, and its line ends.

    Content with LF alone becomes CRLF where the file's lines end so, and lines that stay the same stay byte for byte.  Content that has
    CRLF itself is written as it is.
    """

    name = "write"
    description = "Writes a text file: creates it, with the folders it needs, or replaces all that it holds. Use edit to change a part."
    kind = Kind.EDIT
    parameters = WriteParams

    def __init__(self, workspace: Workspace, *, whole: int = MOST_WHOLE) -> None:
        self.workspace = workspace
        self.whole = whole

    def create_invocation(self, params: WriteParams) -> WriteInvocation:
        return WriteInvocation(self, params)

    def get_modify_context(self) -> ModifyContext[WriteParams]:
        return WriteModifyContext()


class WriteInvocation(FileChangeInvocation[WriteParams]):
    __slots__ = ("tool",)

    verb = "overwrite"
    past = "Overwrote"

    def __init__(self, tool: WriteTool, params: WriteParams) -> None:
        super().__init__(tool.workspace, params, params.path)
        self.tool = tool

    def plan(self, path: Path) -> FileChange:
        subject = shown(self.workspace.relative(path))
        before = read_if_there(path, subject, self.tool.whole, _ADVICE)
        if before is None:
            content = self.params.content
            return FileChange(path, subject, None, encode(content, UTF8), None, content)
        there = decode(before)
        if there is None:
            raise not_text(subject, before, len(before))
        proposed = _in_place_of(there, self.params.content)
        return FileChange(path, subject, before, encode(proposed, there.encoding), there.text, proposed)

    def renewed(self, seen: FileChange) -> FileChange:
        """What was seen: a file that has changed since is found out at the last moment, and not overwritten."""
        return seen


class WriteModifyContext:
    def create_updated_params(
        self,
        original_content: str | None,
        new_content: str,
        params: WriteParams,
    ) -> Mapping[str, Any]:
        return {"path": params.path, "content": new_content}

    def remember_proposal(self, invocation: ToolInvocation[WriteParams], proposed_content: str) -> ToolInvocation[WriteParams]:
        if not isinstance(invocation, WriteInvocation):
            raise TypeError(f"{invocation!r} is no call of write")
        return invocation.with_proposal(proposed_content)


def _in_place_of(there: Text, content: str) -> str:
    """``content`` as the file spells it."""
    if there.encoding.bom:
        content = content.removeprefix("\ufeff")
    if "\r\n" in content and is_exact(there.text):
        return content
    return carried_over(there.text, with_lf(content), main_ending(there.text))
