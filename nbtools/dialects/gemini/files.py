"""Gemini CLI's read_file, write_file and replace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AliasChoices, Field
from pydantic.json_schema import SkipJsonSchema

from nbtools.core.errors import Binary, ErrorCode, ToolError
from nbtools.core.result import FileDiff, FileText, ToolResult
from nbtools.dialects.dialect_model import Arguments, ToolMapping, without_none
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, choice, expressible
from nbtools.dialects.gemini.replies import GeminiParams, Sentence, failure, reply
from nbtools.tools.edit import EditParams
from nbtools.tools.read import LinesRead, MediaRead, ReadParams
from nbtools.tools.write import WriteParams

if TYPE_CHECKING:
    from nbtools.diff.line_diff import PatchHunk

_EXTRA_CONTEXT = 2
"""Lines added to the three that hunks have."""
_MAX_SNIPPET = 8_000


def snippet(diff: FileDiff, hunks: tuple[PatchHunk, ...]) -> str:
    """Returns the changed parts of the new text with five lines of context, separated by ``...``;
    at most 8,000 characters.
    """
    lines = diff.new_content.split("\n")
    pieces: list[str] = []
    end = 0
    for hunk in hunks:
        start = max(end, hunk.new_start - 1 - _EXTRA_CONTEXT)
        pieces += ["..."] * (start > end)
        end = min(len(lines), hunk.new_start - 1 + hunk.new_lines + _EXTRA_CONTEXT)
        pieces += lines[start:end]
    text = "\n".join([*pieces, *(["..."] * (end < len(lines)))])
    return text if len(text) <= _MAX_SNIPPET else text[:_MAX_SNIPPET] + "\n..."


def modified_by_person(parameter: str, diff: FileDiff) -> tuple[str, ...]:
    """Returns the sentence that reports a person's modification of the proposal; empty without one."""
    stat = diff.diff_stat
    changed = (
        stat.user_added_chars or stat.user_removed_chars or stat.user_added_lines or stat.user_removed_lines
    )
    return (f"User modified the `{parameter}` content to be: {diff.new_content}.",) if changed else ()


_TRUNCATED_LINE = re.compile(r"… \[[\d,]+ more characters\]$")


class ReadFile(GeminiParams):
    """Reads lines, 1-based, both ends included;
    ``offset``, 0-based, and ``limit`` are the parameters of earlier versions.

    A start past the end is an error; Gemini CLI returns an empty text with a reversed range.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        ReadParams,
        path="file_path",
        start=AgentField("start_line", from_canonical=lambda line: expressible(line, line >= 1)),
        end="end_line",
        lacks=("pages",),
    )

    file_path: str = Field(validation_alias=AliasChoices("file_path", "absolute_path", "path"))
    """The path to the file to read."""
    start_line: Annotated[int, Field(ge=1)] | None = None
    """The 1-based line to start reading at."""
    end_line: Annotated[int, Field(ge=1)] | None = None
    """The 1-based line to stop reading at, included."""
    offset: SkipJsonSchema[Annotated[int, Field(ge=0)] | None] = None
    limit: SkipJsonSchema[Annotated[int, Field(ge=1)] | None] = None

    errors: ClassVar[Mapping[ErrorCode, Sentence]] = {
        ErrorCode.FILE_NOT_FOUND: "File not found: {path}. {message}",
        ErrorCode.TARGET_IS_DIRECTORY: "Path is a directory, not a file: {path}",
        ErrorCode.FILE_TOO_LARGE: "File size exceeds the 20MB limit: {path}. {message}",
    }

    def to_canonical(self) -> Arguments:
        start, end = self.start_line, self.end_line
        if start is None and end is None and (self.offset is not None or self.limit is not None):
            start = (self.offset or 0) + 1
        if start is None and end is None and self.limit is None and self.file_path.endswith(".ipynb"):
            start = 1  # lines of the JSON, which replace changes, and not cells
        if end is None and self.limit is not None:
            end = (start or 1) + self.limit - 1
        return without_none(path=self.file_path, start=start, end=end)

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken = super().from_canonical(arguments)
        if spoken and spoken.keys() == {"file_path"} and spoken["file_path"].endswith(".ipynb"):
            return None  # canonical: its cells
        return spoken

    def path_parameter(self) -> str:
        return self.file_path

    def reply(self, result: ToolResult) -> ToolResult:
        data, display = result.data, result.return_display
        if isinstance(data, MediaRead) and not isinstance(result.llm_content, str):
            return reply(result, tuple(part for part in result.llm_content if "inline_data" in part))
        if not isinstance(data, LinesRead) or not isinstance(display, FileText):
            return result
        text = "\n".join(
            _TRUNCATED_LINE.sub("... [truncated]", line) if data.shortened else line for line in display.lines
        )
        if data.whole and not data.shortened:
            ends = isinstance(result.llm_content, str) and result.llm_content.endswith("\n")
            return reply(result, text + ("\n" if ends else ""))
        return reply(result, f"{self._banner(data)}\n--- FILE CONTENT (truncated) ---\n{text}")

    def _banner(self, read: LinesRead) -> str:
        status = f"Status: Showing lines {read.start}-{read.end} of {read.total} total lines."
        more = (
            f"Action: The next section begins at start_line: {read.end + 1}." if read.end < read.total else ""
        )
        short = "Some lines were shortened." if read.shortened else ""
        return (
            "\n".join(
                part for part in ("IMPORTANT: Not all of the file is shown.", status, short, more) if part
            )
            + "\n"
        )

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        """Words a failure; for binary content Gemini CLI returns a sentence, not an error."""
        if isinstance(result.data, Binary):
            text = f"Cannot display content of binary file: {self.file_path}"
            return ToolResult(text, text, summary=text)
        return super().failure(result, error)


class WriteFile(GeminiParams):
    """Writes a file.  Gemini CLI adds ``modified_by_user`` and ``ai_proposed_content`` itself when a person
    has changed the text.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        WriteParams,
        path=AgentField("file_path", from_canonical=lambda path: expressible(path, not path.endswith("/"))),
        content="content",
        lacks=("new",),
    )

    file_path: str
    """The path to the file to write to."""
    content: Annotated[str, Field(json_schema_extra={"body": "whole"})]
    """The content to write to the file."""
    modified_by_user: SkipJsonSchema[bool | None] = None
    ai_proposed_content: SkipJsonSchema[str | None] = None

    errors: ClassVar[Mapping[ErrorCode, Sentence]] = {
        ErrorCode.PERMISSION_DENIED: "Permission denied writing to file: {path} (EACCES)",
        ErrorCode.NO_SPACE_LEFT: "No space left on device: {path} (ENOSPC)",
        ErrorCode.TARGET_IS_DIRECTORY: (
            ErrorCode.INVALID_TOOL_PARAMS,
            "Path is a directory, not a file: {path}",
        ),
    }

    def path_parameter(self) -> str:
        return self.file_path

    def reply(self, result: ToolResult) -> ToolResult:
        diff = result.return_display
        if not isinstance(diff, FileDiff):
            return result
        created = diff.original_content is None
        first = "Successfully created and wrote to new file" if created else "Successfully overwrote file"
        sentence = f"{first}: {self.absolute(self.file_path)}."
        changes = "" if created else snippet(diff, result.data.hunks)
        parts = [
            sentence,
            *([f"Here is the updated code:\n{changes}"] if changes else []),
            *modified_by_person("content", diff),
        ]
        return reply(result, " ".join(parts[:1]) + "".join(f"\n{part}" for part in parts[1:]))


class Replace(GeminiParams):
    """Matches exactly first, then with other whitespace or indentation, then approximately, like Gemini CLI.

    Unlike there, an inexact match must be unique and is always reported.  An empty ``old_string`` also fills
    an empty file.  As there, the file keeps its line endings and its end: CRLF in the texts means LF, and a
    final newline is neither added nor removed.  ``expected_replacements`` of earlier versions is checked;
    current ones ignore it.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        EditParams,
        path="file_path",
        old="old_string",
        new="new_string",
        count=choice("allow_multiple", {True: "all", False: 1}),
        keep_end=Fixed(True),
        lacks=("edits", "in_turn", "match"),
    )

    file_path: str
    """The path to the file to modify."""
    instruction: str
    """The purpose and place of the change, clear to someone who has not read the file."""
    old_string: str
    """The exact text to replace, with enough surrounding lines to be unique. Empty to create a file."""
    new_string: Annotated[str, Field(json_schema_extra={"body": True})]
    """The exact new text."""
    allow_multiple: bool = False
    """Whether to replace all occurrences; otherwise there must be exactly one."""
    expected_replacements: SkipJsonSchema[Annotated[int, Field(ge=1)] | None] = None
    modified_by_user: SkipJsonSchema[bool | None] = None
    ai_proposed_content: SkipJsonSchema[str | None] = None

    errors: ClassVar[Mapping[ErrorCode, Sentence]] = {
        ErrorCode.FILE_NOT_FOUND: (
            "File not found: {path}. Cannot apply edit. Use an empty old_string to create a new file."
            " {message}"
        ),
        ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE: (
            "Failed to edit: attempted to create a file that already exists: {path}"
        ),
        ErrorCode.EDIT_NO_OCCURRENCE_FOUND: (
            "Failed to edit, 0 occurrences found for old_string in {path}. No edits were made. {message}"
        ),
        ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH: (
            "Failed to edit, found another number of occurrences than expected for old_string in file:"
            " {path}. {message}"
        ),
        ErrorCode.EDIT_NO_CHANGE: (
            "No changes to apply. The old_string and new_string are identical in file: {path}"
        ),
    }

    def to_canonical(self) -> Arguments:
        call = dict(super().to_canonical())
        if not self.allow_multiple:
            call["count"] = self.expected_replacements or 1
        if self.old_string:
            call.update({name: call[name].replace("\r\n", "\n") for name in ("old", "new")})
        return call

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken = super().from_canonical(arguments)
        if spoken is None or (spoken["old_string"] and "\r\n" in spoken["old_string"] + spoken["new_string"]):
            return None
        return {"file_path": spoken["file_path"], "instruction": "", **spoken}

    def path_parameter(self) -> str:
        return self.file_path

    def reply(self, result: ToolResult) -> ToolResult:
        diff, data = result.return_display, result.data
        if not isinstance(diff, FileDiff):
            return result
        path = self.absolute(self.file_path)
        if diff.original_content is None:
            sentence = f"Created new file: {path} with provided content."
        else:
            sentence = f"Successfully modified file: {path} ({data.places} replacements)."
        lines = ", ".join(str(match.line) for match in data.loose)
        loose = [f"Applied fuzzy match at line{'s' * (len(data.loose) > 1)} {lines}."] * bool(data.loose)
        changes = "" if diff.original_content is None else snippet(diff, data.hunks)
        parts = [
            *loose,
            *([f"Here is the updated code:\n{changes}"] if changes else []),
            *modified_by_person("new_string", diff),
        ]
        return reply(result, sentence + "".join(f"\n{part}" for part in parts))

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        if error.code is ErrorCode.FILE_NOT_FOUND and not self.old_string:
            return failure(error, result.data)
        return super().failure(result, error)


class FormerReplace(Replace):
    """The parameters of versions without an instruction."""

    one_way: ClassVar[bool] = True
    names: ClassVar[Mapping[str, str]] = {"count": "expected_replacements"}

    instruction: str = ""
    """The purpose of the change."""


FILES = (
    ToolMapping(
        "read_file",
        "read",
        ReadFile,
        "Reads a file of the workspace: text, images, audio, video and PDF. A long file is truncated; the"
        " result says how to continue with start_line and end_line.",
    ),
    ToolMapping(
        "write_file",
        "write",
        WriteFile,
        "Writes the whole content of a file and creates the file if needed. If the person changes the content"
        " first, the result says so.",
    ),
    ToolMapping(
        "replace",
        "edit",
        Replace,
        "Replaces text in a file: one occurrence, or all with allow_multiple. old_string must be the exact"
        " text of the file, with enough surrounding lines to be unique. Read the file first.",
    ),
    ToolMapping("replace", "edit", FormerReplace, former=True),
    ToolMapping("edit", "edit", FormerReplace, former=True),
)
