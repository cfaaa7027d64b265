"""Claude Code's Edit and the former MultiEdit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import FileDiff, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.dialects.claude.files import CURRENT, updated
from nbtools.dialects.claude.replies import ClaudeParams, error_reply, failure, not_read_reply, reply
from nbtools.dialects.claude.tool_use_result import (
    EditResult,
    MultiEditResult,
    structured_patch,
    user_modified,
)
from nbtools.dialects.dialect_model import Arguments
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, choice, expressible
from nbtools.tools.edit import EditParams, FileChanged, Occurrences

_SAME = "No changes to make: old_string and new_string are exactly the same."
_WAYS_OUT = (
    "To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more"
    " context to uniquely identify the instance."
)


class Step(ParameterModel):
    """One replacement."""

    old_string: str
    """The exact text to replace."""
    new_string: str
    """The new text."""
    replace_all: bool = False
    """Whether to replace all occurrences; otherwise there must be exactly one."""

    @property
    def count(self) -> int | str:
        return "all" if self.replace_all else 1


def _no_notebook(path: str) -> str:
    if path.endswith(".ipynb"):
        raise ToolFailure(
            ErrorCode.EDIT_PREPARATION_FAILURE,
            "File is a Jupyter Notebook. Use the NotebookEdit tool to edit this file.",
        )
    return path


class Edit(ClaudeParams):
    """Matches exactly, except for line endings.

    A file changed since it was read can be edited where the old text still occurs; the result says so.

    Unlike in Claude Code, errors name the lines of several occurrences,
    or the most similar text when there is none.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        EditParams,
        path=AgentField(
            "file_path", _no_notebook, lambda path: expressible(path, not path.endswith(".ipynb"))
        ),
        old="old_string",
        new="new_string",
        count=choice("replace_all", {True: "all", False: 1}),
        match=Fixed("exact"),
        lacks=("edits", "in_turn", "keep_end"),
    )

    file_path: str
    """The file to change, as an absolute path or relative to the workspace."""
    old_string: str
    """The exact text to replace, without line numbers; empty to create a new file."""
    new_string: str
    """The new text; it must differ from old_string."""
    replace_all: bool = False
    """Whether to replace all occurrences; otherwise there must be exactly one."""

    def reply(self, result: ToolResult) -> ToolResult:
        diff, changed = result.return_display, result.data
        if not isinstance(diff, FileDiff) or not isinstance(changed, FileChanged):
            return result
        data = EditResult(
            file_path=self.absolute(self.file_path),
            old_string=self.old_string,
            new_string=self.new_string,
            original_file=diff.original_content,
            structured_patch=structured_patch(changed.hunks),
            user_modified=user_modified(diff),
            replace_all=self.replace_all,
        )
        sentence = updated(self.absolute(self.file_path), diff)
        if self.replace_all and not user_modified(diff):
            sentence = (
                f"The file {self.absolute(self.file_path)} has been updated. All occurrences were"
                " successfully replaced."
            )
        return reply(result, sentence + _state(diff, changed), data)

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        step = Step(old_string=self.old_string, new_string=self.new_string, replace_all=self.replace_all)
        return _failed(result, error, step)


def _canonical_steps(steps: tuple[Step, ...]) -> tuple[Arguments, ...]:
    empty = next((number for number, step in enumerate(steps, 1) if not step.old_string), None)
    if empty is not None:
        message = f"old_string of edit {empty} is empty. Give the text to replace; Write makes a new file."
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
    return tuple({"old": step.old_string, "new": step.new_string, "count": step.count} for step in steps)


def _spoken_steps(steps: Sequence[Arguments]) -> list[Arguments]:
    values = [{"new": "", "count": 1, **step} for step in steps]
    expressible(steps, steps and all(step["count"] in (1, "all") for step in values))
    return [
        {"old_string": step["old"], "new_string": step["new"], "replace_all": step["count"] == "all"}
        for step in values
    ]


class MultiEdit(ClaudeParams):
    """Applies replacements in order, each to the result of the previous one; all of them or none."""

    canonical: ClassVar[FieldMap] = FieldMap(
        EditParams,
        path=AgentField(
            "file_path", _no_notebook, lambda path: expressible(path, not path.endswith(".ipynb"))
        ),
        edits=AgentField("edits", _canonical_steps, _spoken_steps),
        in_turn=Fixed(True),
        match=Fixed("exact"),
        lacks=("old", "new", "count", "keep_end"),
    )
    names: ClassVar[Mapping[str, str]] = {"old": "old_string", "new": "new_string", "count": "replace_all"}

    file_path: str
    """The file to change, as an absolute path or relative to the workspace."""
    edits: Annotated[tuple[Step, ...], Field(min_length=1)]
    """The replacements, in order."""

    def reply(self, result: ToolResult) -> ToolResult:
        diff, changed = result.return_display, result.data
        if not isinstance(diff, FileDiff) or not isinstance(changed, FileChanged):
            return result
        lines = [
            f'{number}. Replaced "{_short(step.old_string)}" with "{_short(step.new_string)}"'
            for number, step in enumerate(self.edits, 1)
        ]
        count = f"{len(lines)} edit{'' if len(lines) == 1 else 's'}"
        data = MultiEditResult(
            file_path=self.absolute(self.file_path),
            edits=tuple(step.model_dump() for step in self.edits),
            original_file_contents=diff.original_content,
            structured_patch=structured_patch(changed.hunks),
            user_modified=user_modified(diff),
        )
        return reply(
            result, "\n".join([f"Applied {count} to {self.absolute(self.file_path)}:", *lines]), data
        )

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        return _failed(result, error, None)


def _state(diff: FileDiff, changed: FileChanged) -> str:
    if changed.others_changed:
        return (
            " The file had been changed since you read it; those changes are still in it, Read it to see"
            " them."
        )
    return "" if user_modified(diff) else CURRENT


def _failed(result: ToolResult, error: ToolError, step: Step | None) -> ToolResult:
    """Words a failed edit.  ``step`` is None for several replacements,
    where the message names the failed one.
    """
    sentence = _SENTENCES.get(error.code)
    if sentence is not None:
        return error_reply(error, sentence.replace("{message}", error.message))
    string = f"\nString: {step.old_string}" if step else ""
    if error.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND:
        return error_reply(error, f"String to replace not found in file.{string}\n({error.message})")
    if error.code is ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH and isinstance(result.data, Occurrences):
        occurrences = result.data
        lines = f" (line{'s' if len(occurrences.lines) > 1 else ''} {', '.join(map(str, occurrences.lines))})"
        matches = f"Found {occurrences.found} matches of the string to replace, but replace_all is false."
        return error_reply(error, f"{matches} {_WAYS_OUT}{string}\n{lines.strip()}")
    return not_read_reply(error, result.data) or failure(error, result.data)


_SENTENCES = {
    ErrorCode.EDIT_NO_CHANGE: _SAME,
    ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE: "Cannot create new file - file already exists.",
    ErrorCode.FILE_NOT_FOUND: "File does not exist. {message}",
}


def _short(text: str) -> str:
    """Truncates to 50 characters, as MultiEdit's result does."""
    return text if len(text) <= 50 else f"{text[:50]}..."
