"""The `todo` tool: keeps a list of tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, StringConstraints, model_validator

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.message import CalledTool, Message, counted
from nbtools.core.result import TodoItem, TodoList, TodoStatus, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import Example, Kind, UpdateOutput
from nbtools.tools.workspace_tool import WorkspaceInvocation
from nbtools.workspace.workspace import Workspace

_MARKS: dict[TodoStatus, str] = {
    "pending": " ",
    "in_progress": ">",
    "completed": "x",
    "cancelled": "-",
    "blocked": "!",
}
_STATUSES = {mark: status for status, mark in _MARKS.items()}
_MARKED = re.compile(r"\[([ >x!-])\]\s+(.*)", re.DOTALL)
_CHANGES: dict[TodoStatus, str] = {
    "pending": "Put back",
    "in_progress": "Started",
    "completed": "Completed",
    "cancelled": "Cancelled",
    "blocked": "Blocked",
}


class TodoItemParams(ParameterModel):
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
    """The task."""
    status: TodoStatus = "pending"
    """The state of the task; at most one item may be in_progress."""

    @model_validator(mode="before")
    @classmethod
    def _read_mark(cls, value: Any) -> Any:
        """Reads the status from the mark of the displayed list, ``[x] Read the code``,
        if only a text is given.
        """
        found = (
            _MARKED.match(value["text"])
            if isinstance(value, dict) and list(value) == ["text"] and isinstance(value["text"], str)
            else None
        )
        return {"text": found[2], "status": _STATUSES[found[1]]} if found else value


class TodoParams(ParameterModel):
    items: Annotated[
        Annotated[tuple[TodoItemParams, ...], Field(max_length=200)] | None,
        Field(json_schema_extra={"body": True}),
    ] = None
    """The whole new list, in order; an empty list clears it. Default: returns the current list."""


@dataclass(frozen=True, slots=True)
class TodoData:
    """The list before the call and after it."""

    before: tuple[TodoItem, ...]
    after: tuple[TodoItem, ...]


class TodoTool(BaseDeclarativeTool[TodoParams]):
    """Keeps the session's task list; ``items`` is its current content."""

    name = "todo"
    description = (
        "Keeps a list of tasks: give all items each time, in order, with the status of each; without items it"
        " returns the list."
    )
    kind = Kind.THINK
    parameters = TodoParams
    examples = (
        Example("Sets the list of steps.", {"items": [{"text": "Write tests"}, {"text": "Fix the bug"}]}),
        Example("Shows the list.", {}),
    )

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.items: tuple[TodoItem, ...] = ()

    def validate_tool_param_values(self, params: TodoParams) -> str | None:
        started = [item.text for item in params.items or () if item.status == "in_progress"]
        if len(started) <= 1:
            return None
        named = (
            f": {len(started)} items are in_progress ({'; '.join(map(_short, started))}). Only one may be."
        )
        return Message.of(CalledTool("todo"), named)

    def create_invocation(self, params: TodoParams) -> TodoInvocation:
        return TodoInvocation(self, params)


class TodoInvocation(WorkspaceInvocation[TodoParams, TodoTool]):
    __slots__ = ()

    def get_description(self) -> str:
        items = self.params.items
        return "show the list" if items is None else counted(len(items), "item")

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        before = self.tool.items
        if self.params.items is not None:
            self.tool.items = tuple(TodoItem(item.text, item.status) for item in self.params.items)
        after = self.tool.items
        changes = [] if self.params.items is None else list(_changes(before, after)) or ["Nothing changed."]
        lines = [f"{number}. [{_MARKS[item.status]}] {item.text}" for number, item in enumerate(after, 1)]
        text = "\n".join([*changes, _counts(after), *lines])
        return ToolResult(
            text,
            TodoList(after) if after else "Nothing to do.",
            summary=_summary(after),
            data=TodoData(before, after),
        )


def _changes(before: tuple[TodoItem, ...], after: tuple[TodoItem, ...]) -> Iterator[str]:
    """Yields a sentence for each kind of change; items with equal text are the same item."""
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    removed = Counter(item.text for item in gone.elements())
    texts_by_change: dict[str, list[str]] = {}
    for item in new.elements():
        existed = removed[item.text] > 0
        removed[item.text] -= existed
        texts_by_change.setdefault(_CHANGES[item.status] if existed else "Added", []).append(item.text)
    for change, texts in (*texts_by_change.items(), ("Removed", list(removed.elements()))):
        if texts:
            yield f"{change}: {_enumerate(texts)}."
    if not gone and not new and before != after:
        yield "The order changed."


def _counts(items: tuple[TodoItem, ...]) -> str:
    if not items:
        return "The list is empty."
    counts = Counter(item.status for item in items)
    states = ", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in _MARKS if counts[status])
    return f"{counted(len(items), 'item')}: {states}."


def _summary(items: tuple[TodoItem, ...]) -> str:
    active = [item for item in items if item.status != "cancelled"]
    if active:
        return f"{sum(item.status == 'completed' for item in active)} of {len(active)} done"
    return "nothing to do"


def _enumerate(texts: list[str]) -> str:
    return "; ".join(map(_short, texts[:5])) + (f" and {len(texts) - 5} more" if len(texts) > 5 else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"
