"""Void's tools for files: reading, creating, deleting, search/replace blocks, rewriting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Annotated, ClassVar

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileText, ToolResult
from nbtools.core.result_data import Diagnostic, Diagnostics
from nbtools.dialects.dialect_model import Arguments, ToolMapping, without_none
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, InexpressibleError, expressible
from nbtools.dialects.void.replies import VoidParams, no_such_page, pages_in, reply
from nbtools.dialects.void.text_parameters import Flag, Line, Page, Path, Text, is_plain_path, path_field
from nbtools.tools.diagnostics import DiagnosticsParams
from nbtools.tools.move_delete import DeleteParams
from nbtools.tools.patch import PatchData, PatchParams
from nbtools.tools.read import LinesRead, ReadParams
from nbtools.tools.revise import ReviseData, ReviseParams
from nbtools.tools.write import FileChanged, WriteParams

_START = re.compile(r"(?<!<)<{7} (?:ORIGINAL|SEARCH)[^\S\n]*(?=\n|\Z)")
_END = re.compile(r"(?<!>)>{7} (?:UPDATED|REPLACE)")
_MARKERS = re.compile(r"\s*(?:(?:<{7} (?:ORIGINAL|SEARCH)|>{7} (?:UPDATED|REPLACE))\s*)+")


def only_blocks(text: str) -> str:
    """Converts the text to search/replace blocks whose markers are whole lines;
    text outside of blocks becomes empty lines.

    As in Void, text may precede a block's first marker in its line, and the last marker ends a block wherever
    it stands in a line.  Markers outside of blocks stay, because the parser of the blocks reports them: the
    text of a block may have contained the last marker.  Raises ``ToolFailure`` (``invalid_tool_params``)
    where there is no block.
    """
    blocks = "".join(_blocks(text))
    if not blocks.strip():
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            "No Search/Replace blocks were received! Each begins with the line <<<<<<< ORIGINAL and ends with"
            " the line >>>>>>> UPDATED, with the line ======= between its two texts.",
        )
    return blocks


def _blocks(text: str) -> Iterator[str]:
    position = 0
    while start := _START.search(text, position):
        yield _outside(text[position : start.start()], first=position == 0).rstrip(" \t")
        end = _END.search(text, start.end())
        if end is None:
            yield text[start.start() :]
            return
        block = text[start.start() : end.start()]
        yield f"{block}{'' if block.endswith(chr(10)) else chr(10)}{end[0]}"
        position = end.end()
    if position:
        yield _outside(text[position:], first=False)


def _outside(text: str, *, first: bool) -> str:
    """Empties the lines between blocks, but leaves those with misplaced markers;
    ``first``: the text precedes all blocks.
    """
    return "\n".join(
        line if not line.strip() or _MARKERS.fullmatch(line) else _misplaced(line, first)
        for line in text.split("\n")
    )


def _misplaced(line: str, first: bool) -> str:
    # A description before the blocks may name the markers.
    found = None if first else _END.search(line)
    return found[0] if found else ""


PAGE = 500_000
"""Characters per page."""
_TO_THE_END = 1_000_000_000


class ReadFile(VoidParams):
    """Reads a file.  Line counts are those of the whole file; Void gives those of the requested lines."""

    canonical: ClassVar[FieldMap] = FieldMap(
        ReadParams, path=path_field("uri"), by_code=("start", "end"), lacks=("pages",)
    )
    names: ClassVar[Mapping[str, str]] = {"start": "start_line", "end": "end_line"}

    uri: Path
    """The full path to the file."""
    start_line: Line = None
    """The first line to read, counted from 1. Omit it to read the whole file."""
    end_line: Line = None
    """The last line to read, included."""
    page_number: Page = 1
    """The page of the result; 1 by default."""

    def to_canonical(self) -> Arguments:
        lines = {"start": self.start_line or 1, "end": self.end_line or _TO_THE_END}
        return {**super().to_canonical(), **lines}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, start, end = super().from_canonical(arguments), arguments.get("start"), arguments.get("end")
        if spoken is None or end is None or (start or 0) < 1:
            return None
        start_line = None if start == 1 else str(start)
        return {
            **spoken,
            **without_none(start_line=start_line, end_line=None if end == _TO_THE_END else str(end)),
        }

    def reply(self, result: ToolResult) -> ToolResult:
        display, data = result.return_display, result.data
        if not isinstance(display, FileText) or not isinstance(data, LinesRead):
            return result
        text = "\n".join(display.lines)
        pages = pages_in(len(text), PAGE)
        if self.page_number > pages:
            return no_such_page(result, self.page_number, pages)
        page = text[(self.page_number - 1) * PAGE : self.page_number * PAGE]
        body = f"{self.absolute(self.uri)}\n```\n{page}\n```"
        return reply(result, "\n".join([body, *self._more(data, text, pages)]))

    def _more(self, data: LinesRead, text: str, pages: int) -> Iterator[str]:
        """Yields notes on what this page lacks and how to read it."""
        if self.page_number < pages:
            yield (
                f"(more on next page...)\nThe lines {data.start}-{data.end} of {data.total} have {len(text)}"
                " characters."
            )
        elif data.end < min(self.end_line or data.total, data.total):
            yield (
                f"(more lines...)\nThese are the lines {data.start}-{data.end} of {data.total}. Read on with"
                f" start_line {data.end + 1}."
            )


class ReadLintErrors(VoidParams):
    """Returns syntax errors and warnings; Void returns those of the editor's language servers."""

    canonical: ClassVar[FieldMap] = FieldMap(DiagnosticsParams, path=path_field("uri"))

    uri: Path
    """The full path to the file."""

    def reply(self, result: ToolResult) -> ToolResult:
        found = result.data
        if not isinstance(found, Diagnostics):
            return result
        programs = (
            " or ".join(f"`{program}`" for program in found.programs) or "a linter for this type of file"
        )
        if not found.checked:
            return reply(
                result, f"This type of file cannot be checked here. Use run_command with {programs}."
            )
        if not found.problems:
            more = (
                f" Only the syntax was checked; use run_command with {programs} for more."
                if found.programs
                else ""
            )
            return reply(result, f"No lint errors found.{more}")
        return reply(
            result,
            "\n\n".join(_lint_error(number, problem) for number, problem in enumerate(found.problems, 1)),
        )


def _lint_error(number: int, problem: Diagnostic) -> str:
    cell = "" if problem.cell is None else f" of cell {problem.cell}"
    lines = f"Lines Affected: {problem.line}-{problem.end_line}{cell}"
    return f"Error {number}:\n{lines}\nError message:({problem.severity}) {problem.message}"


class CreateFileOrFolder(VoidParams):
    """Creates an empty file or a folder; never overwrites."""

    canonical: ClassVar[FieldMap] = FieldMap(
        WriteParams, path=path_field("uri"), content=Fixed(""), by_code=("new",)
    )

    uri: Path
    """The full path; one that ends in a slash makes a folder."""

    def to_canonical(self) -> Arguments:
        return {**super().to_canonical(), **({} if self.uri.endswith("/") else {"new": True})}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken = super().from_canonical(arguments)
        is_folder = spoken is not None and spoken["uri"].endswith("/")
        return None if is_folder is bool(arguments.get("new")) else spoken

    def reply(self, result: ToolResult) -> ToolResult:
        created = not isinstance(result.data, FileChanged) or result.data.created
        return reply(
            result,
            f"URI {self.absolute(self.uri)}"
            f" {'successfully created' if created else 'is a folder that is there already'}.",
        )


class DeleteFileOrFolder(VoidParams):
    canonical: ClassVar[FieldMap] = FieldMap(DeleteParams, path=path_field("uri"), recursive="is_recursive")

    uri: Path
    """The full path to the file or folder."""
    is_recursive: Flag = False
    """Whether to delete a folder with its content: true or false."""

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, f"URI {self.absolute(self.uri)} successfully deleted.")


def _same_blocks(patch: str) -> str:
    try:
        return expressible(patch, only_blocks(patch) == patch)
    except ToolFailure:
        raise InexpressibleError from None


class EditFile(VoidParams):
    """Applies all blocks or none; each must match the unchanged file in exactly one place.
    Text around the blocks is ignored.

    Void silently edits the first of several matches, loses the rest of a partly matched line, removes lines
    beside blank ones, applies an incomplete block, and reports success for a missing file.  None of that
    happens here.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        PatchParams,
        path=path_field("uri"),
        patch=AgentField("search_replace_blocks", only_blocks, _same_blocks),
        match=Fixed("blanks"),
    )

    uri: Path
    """The full path to the file."""
    search_replace_blocks: Annotated[Text, Field(json_schema_extra={"body": "whole"})]
    """Blocks: a line <<<<<<< ORIGINAL, the existing text, a line =======, the new text,
    a line >>>>>>> UPDATED.
    """

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(
            result, " ".join([f"Change successfully made to {self.absolute(self.uri)}.", *_notes(result)])
        )


def _notes(result: ToolResult) -> Iterator[str]:
    """Yields notes about inexact matches and other unexpected facts; Void adds its linters' findings."""
    if isinstance(result.data, PatchData) and any(file.created for file in result.data.files):
        yield "The file is new."
    lines = takewhile(lambda line: not line.startswith("--- "), str(result.llm_content).split("\n"))
    yield from filter(None, list(lines)[1:])


def _no_folder(path: str) -> str:
    if path.endswith("/"):
        raise ToolFailure(
            ErrorCode.TARGET_IS_DIRECTORY, f"{path} is the path of a folder. Give the path of a file."
        )
    return path


class RewriteFile(VoidParams):
    """Replaces or creates a file; for a missing file Void reports success and does nothing."""

    canonical: ClassVar[FieldMap] = FieldMap(
        WriteParams,
        path=AgentField(
            "uri", _no_folder, lambda path: expressible(path, is_plain_path(path) and not path.endswith("/"))
        ),
        content="new_content",
        lacks=("new",),
    )

    uri: Path
    """The full path to the file."""
    new_content: Annotated[Text, Field(json_schema_extra={"body": "whole"})]
    """The whole new content of the file."""

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, f"Change successfully made to {self.absolute(self.uri)}.")


class WriteFile(VoidParams):
    """A tool name that descriptions of Void mention."""

    one_way: ClassVar[bool] = True
    canonical: ClassVar[FieldMap] = FieldMap(WriteParams, path="uri", content="content")

    uri: Path
    """The full path to the file."""
    content: Text
    """The whole new content of the file."""

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, f"Change successfully made to {self.absolute(self.uri)}.")


class CreateSearchReplaceBlocks(VoidParams):
    """Has another model write the blocks for a described change and applies them;
    descriptions of Void mention it, Void has fast apply.

    The same approval is required as for ``edit_file``.
    """

    canonical: ClassVar[FieldMap] = FieldMap(ReviseParams, path=path_field("uri"), description="description")

    uri: Path
    """The full path to the file."""
    description: Text
    """What to change, complete for someone who sees only the file."""

    def reply(self, result: ToolResult) -> ToolResult:
        blocks = result.data.blocks if isinstance(result.data, ReviseData) else ""
        return reply(
            result, f"Change successfully made to {self.absolute(self.uri)} by these blocks:\n{blocks}"
        )


FILES = (
    ToolMapping(
        "read_file",
        "read",
        ReadFile,
        "Reads a whole file or some of its lines; the result contains the path.",
    ),
    ToolMapping(
        "read_lint_errors", "diagnostics", ReadLintErrors, "Returns the syntax errors and warnings of a file."
    ),
    ToolMapping(
        "create_file_or_folder",
        "write",
        CreateFileOrFolder,
        "Creates an empty file or, where the path ends in a slash, a folder; never overwrites.",
        special=True,
    ),
    ToolMapping("delete_file_or_folder", "delete", DeleteFileOrFolder, "Deletes a file or folder."),
    ToolMapping(
        "edit_file",
        "patch",
        EditFile,
        "Changes parts of a file by search/replace blocks. ORIGINAL must occur in the file exactly once;"
        " blocks may not overlap.",
    ),
    ToolMapping(
        "create_search_replace_blocks",
        "revise",
        CreateSearchReplaceBlocks,
        "Has another model write the search/replace blocks for a described change, and applies them.",
    ),
    ToolMapping(
        "rewrite_file",
        "write",
        RewriteFile,
        "Replaces the whole content of a file. For small changes use edit_file.",
    ),
    ToolMapping("write_file", "write", WriteFile, former=True),
)
