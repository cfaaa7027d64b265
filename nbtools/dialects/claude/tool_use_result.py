"""Models of ``toolUseResult``, the structured data that Claude Code's transcripts hold beside each result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from nbtools.core.result import FileDiff

if TYPE_CHECKING:
    from nbtools.diff.line_diff import PatchHunk


class Structured(BaseModel):
    """Base class.  Fields without a default are always present, the others only when they are set."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    @model_serializer(mode="wrap")
    def _without_absent(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        always = {name for name, field in type(self).model_fields.items() if field.is_required()}
        always_present = always | {type(self).model_fields[name].alias or name for name in always}
        return {
            name: value for name, value in dump(self).items() if value is not None or name in always_present
        }

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON object as in a transcript."""
        return self.model_dump(mode="json", by_alias=True)


class Hunk(Structured):
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


def structured_patch(hunks: tuple[PatchHunk, ...]) -> tuple[Hunk, ...]:
    """Converts hunks; tabs stay, where Claude Code writes two spaces for each."""
    return tuple(
        Hunk(
            old_start=hunk.old_start,
            old_lines=hunk.old_lines,
            new_start=hunk.new_start,
            new_lines=hunk.new_lines,
            lines=hunk.lines,
        )
        for hunk in hunks
    )


def user_modified(diff: FileDiff) -> bool:
    """Whether a person modified the proposal."""
    stat = diff.diff_stat
    return bool(
        stat.user_added_lines or stat.user_removed_lines or stat.user_added_chars or stat.user_removed_chars
    )


# --- files


class TextFile(Structured):
    file_path: str
    content: str
    num_lines: int
    start_line: int
    total_lines: int


class TextRead(Structured):
    type: Literal["text"]
    file: TextFile


class MediaFile(Structured):
    """An image (``type`` is its media type) or a document (with its path), in base64,
    and the file's size in bytes.
    """

    base64: str
    original_size: int
    type: str | None = None
    file_path: str | None = None


class MediaRead(Structured):
    type: Literal["image", "pdf"]
    file: MediaFile


class Cell(Structured):
    cell_type: str
    source: str
    cell_id: str
    outputs: str | None = None


class NotebookFile(Structured):
    file_path: str
    cells: tuple[Cell, ...]


class NotebookRead(Structured):
    type: Literal["notebook"]
    file: NotebookFile


class WriteResult(Structured):
    type: Literal["create", "update"]
    file_path: str
    content: str
    structured_patch: tuple[Hunk, ...]
    original_file: str | None
    user_modified: bool


class EditResult(Structured):
    file_path: str
    old_string: str
    new_string: str
    original_file: str | None
    structured_patch: tuple[Hunk, ...]
    user_modified: bool
    replace_all: bool


class MultiEditResult(Structured):
    file_path: str
    edits: tuple[dict[str, Any], ...]
    original_file_contents: str | None
    structured_patch: tuple[Hunk, ...]
    user_modified: bool


class NotebookEditResult(Structured):
    model_config = ConfigDict(alias_generator=None)

    new_source: str
    cell_type: str
    edit_mode: str
    cell_id: str
    notebook_path: str


# --- search


class GlobResult(Structured):
    """The result of Glob; ``num_files`` counts the listed files, ``total_matches`` all."""

    filenames: tuple[str, ...]
    num_files: int
    truncated: bool
    total_matches: int


class GrepResult(Structured):
    """The result of Grep; ``applied_limit`` and ``applied_offset`` are present when they excluded
    something.
    """

    mode: Literal["content", "files_with_matches", "count"]
    num_files: int
    filenames: tuple[str, ...]
    content: str | None = None
    num_lines: int | None = None
    num_matches: int | None = None
    applied_limit: int | None = None
    applied_offset: int | None = None


# --- commands


class BashResult(Structured):
    """The result of Bash; ``stdout`` contains both streams in order,
    ``stderr`` notices of the tool itself.
    """

    stdout: str
    stderr: str
    interrupted: bool
    is_image: bool
    return_code_interpretation: str | None = None
    background_task_id: str | None = None
    timed_out_after_ms: int | None = None
    persisted_output_path: str | None = None


class Task(Structured):
    model_config = ConfigDict(alias_generator=None)

    task_id: str
    task_type: str
    status: str
    description: str
    output: str
    exit_code: int | None = None


class TaskOutputResult(Structured):
    model_config = ConfigDict(alias_generator=None)

    retrieval_status: str
    task: Task


class TaskStopResult(Structured):
    model_config = ConfigDict(alias_generator=None)

    message: str
    task_id: str
    task_type: str
    command: str


class BashOutputResult(Structured):
    shell_id: str
    command: str
    status: str
    exit_code: int | None
    stdout: str
    stderr: str
    filter_pattern: str | None = None


class KillShellResult(Structured):
    model_config = ConfigDict(alias_generator=None)

    message: str
    shell_id: str


# --- others


class Todo(Structured):
    content: str
    status: str
    active_form: str | None = None


class TodoWriteResult(Structured):
    old_todos: tuple[Todo, ...]
    new_todos: tuple[Todo, ...]


class AskUserQuestionResult(Structured):
    questions: tuple[dict[str, Any], ...]
    answers: dict[str, str]


class WebFetchResult(Structured):
    bytes: int
    code: int
    result: str
    url: str
