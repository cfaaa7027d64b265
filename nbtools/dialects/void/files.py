"""Files as Void speaks of them: reading, creating, deleting, search/replace blocks, rewriting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Annotated, ClassVar

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileText, ToolResult
from nbtools.dialects.arguments import given, said
from nbtools.dialects.dialect import Arguments, Spelling
from nbtools.dialects.void.blocks import only_blocks
from nbtools.dialects.void.raw import Flag, Line, Page, Path, Text, sayable
from nbtools.dialects.void.replies import VoidParams, no_such_page, pages_in, reply
from nbtools.tools.file_lines import LinesRead
from nbtools.tools.patch import Patched
from nbtools.tools.revise import Revised
from nbtools.tools.write import Changed

PAGE = 500_000
"""Characters of the selected text that one page has."""
_TO_THE_END = 1_000_000_000


class ReadFile(VoidParams):
    """The counts are those of the whole file; the original gives those of the lines asked for as if they were."""

    uri: Path
    """The full path to the file."""
    start_line: Line = None
    """The first line to read, counted from 1. Do not give it unless asked for a part."""
    end_line: Line = None
    """The last line to read, included."""
    page_number: Page = 1
    """The page of the result; 1 unless said."""

    phrases: ClassVar[Mapping[str, str]] = {"Give a start of": "Give a start_line of", "start=": "start_line=", "end (": "end_line ("}

    def canonical(self) -> Arguments:
        return {"path": self.uri, "start": self.start_line or 1, "end": self.end_line or _TO_THE_END}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"path": "", "start": None, "end": None})
        if known is None or not sayable(known["path"]) or known["end"] is None or (known["start"] or 0) < 1:
            return None
        end = None if known["end"] == _TO_THE_END else str(known["end"])
        return said(uri=known["path"], start_line=None if known["start"] == 1 else str(known["start"]), end_line=end)

    def reply(self, result: ToolResult) -> ToolResult:
        shown, data = result.return_display, result.data
        if not isinstance(shown, FileText) or not isinstance(data, LinesRead):
            return result
        text = "\n".join(shown.lines)
        pages = pages_in(len(text), PAGE)
        if self.page_number > pages:
            return no_such_page(result, self.page_number, pages)
        body = f"{self.absolute(self.uri)}\n```\n{text[(self.page_number - 1) * PAGE : self.page_number * PAGE]}\n```"
        return reply(result, "\n".join([body, *self._more(data, text, pages)]))

    def _more(self, data: LinesRead, text: str, pages: int) -> Iterator[str]:
        """What is not in this page and where it is, never in silence."""
        if self.page_number < pages:
            yield f"(more on next page...)\nThe lines {data.start}-{data.end} of {data.total} have {len(text)} characters."
        elif data.end < min(self.end_line or data.total, data.total):
            yield f"(more lines...)\nThese are the lines {data.start}-{data.end} of {data.total}. Read on with start_line {data.end + 1}."
        if data.shortened:
            yield f"({data.shortened} long line{'s are' if data.shortened > 1 else ' is'} cut)"


class CreateFileOrFolder(VoidParams):
    """Nothing that exists is overwritten."""

    uri: Path
    """The full path; one that ends in a slash makes a folder."""

    def canonical(self) -> Arguments:
        return {"path": self.uri, "content": "", **({} if self.uri.endswith("/") else {"new": True})}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"path": "", "content": "", "new": False})
        if known is None or not sayable(known["path"]) or known["content"] or str(known["path"]).endswith("/") is known["new"]:
            return None
        return {"uri": known["path"]}

    def reply(self, result: ToolResult) -> ToolResult:
        made = not isinstance(result.data, Changed) or result.data.created
        return reply(result, f"URI {self.absolute(self.uri)} {'successfully created' if made else 'is a folder that is there already'}.")


class DeleteFileOrFolder(VoidParams):
    uri: Path
    """The full path to the file or folder."""
    is_recursive: Flag = False
    """Whether a folder is deleted with all that is in it: true or false."""

    phrases: ClassVar[Mapping[str, str]] = {"Give recursive": "Give is_recursive"}

    def canonical(self) -> Arguments:
        return {"path": self.uri, "recursive": self.is_recursive}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"path": "", "recursive": False})
        return (
            None
            if known is None or not sayable(known["path"])
            else said(uri=known["path"], is_recursive="true" if known["recursive"] else None)
        )

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, f"URI {self.absolute(self.uri)} successfully deleted.")


class EditFile(VoidParams):
    """All blocks are looked for in the file as it is, each must have one place, and all are applied or none.  What stands around them is
    not looked at.

    The original edits the first of several places in silence, loses the rest of a line that a block holds only in part, eats lines beside
    blank ones, applies a block that breaks off, and reports success for a file that does not exist: none of that happens here.
    """

    uri: Path
    """The full path to the file."""
    search_replace_blocks: Annotated[Text, Field(json_schema_extra={"body": "whole"})]
    """Blocks: a line <<<<<<< ORIGINAL, the text as it stands, a line =======, the new text, a line >>>>>>> UPDATED."""

    phrases: ClassVar[Mapping[str, str]] = {"use edit for it": "use rewrite_file for it", "or use edit": "or use rewrite_file"}

    def canonical(self) -> Arguments:
        return {"patch": only_blocks(self.search_replace_blocks), "path": self.uri, "match": "blanks"}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"patch": "", "path": "", "match": "close"})
        if known is None or not sayable(known["path"]) or known["match"] != "blanks" or not _is_blocks(known["patch"]):
            return None
        return {"uri": known["path"], "search_replace_blocks": known["patch"]}

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, " ".join([f"Change successfully made to {self.absolute(self.uri)}.", *_notes(result)]))


def _is_blocks(patch: str) -> bool:
    try:
        return only_blocks(patch) == patch
    except ToolFailure:
        return False


def _notes(result: ToolResult) -> Iterator[str]:
    """The original adds what its editor's linters found; here it is told where a block was not there exactly, and what is unexpected."""
    if isinstance(result.data, Patched) and any(file.created for file in result.data.files):
        yield "The file is new."
    told = takewhile(lambda line: not line.startswith("--- "), str(result.llm_content).split("\n"))
    yield from filter(None, list(told)[1:])


class RewriteFile(VoidParams):
    """A file that does not exist is made; the original reports success and does nothing."""

    uri: Path
    """The full path to the file."""
    new_content: Annotated[Text, Field(json_schema_extra={"body": "whole"})]
    """All that the file shall hold."""

    def canonical(self) -> Arguments:
        if self.uri.endswith("/"):
            raise ToolFailure(ErrorCode.TARGET_IS_DIRECTORY, f"{self.uri} is the path of a folder, which has no content. Name a file.")
        return {"path": self.uri, "content": self.new_content}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"path": "", "content": "", "new": False})
        if known is None or not sayable(known["path"]) or known["new"] or str(known["path"]).endswith("/"):
            return None
        return {"uri": known["path"], "new_content": known["content"]}

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, f"Change successfully made to {self.absolute(self.uri)}.")


class WriteFile(VoidParams):
    """A name that descriptions of Void give."""

    uri: Path
    """The full path to the file."""
    content: Text
    """All that the file shall hold."""

    def canonical(self) -> Arguments:
        return {"path": self.uri, "content": self.content}

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, f"Change successfully made to {self.absolute(self.uri)}.")


class CreateSearchReplaceBlocks(VoidParams):
    """A tool that descriptions of Void give, and that the program has under another name, as fast apply: another model writes the blocks.

    They are applied, too, after the same questions as those of ``edit_file``.
    """

    uri: Path
    """The full path to the file."""
    description: Text
    """What to change in it, with all that somebody needs to know who sees nothing but the file."""

    phrases: ClassVar[Mapping[str, str]] = {
        "revise": "create_search_replace_blocks",
        "Use edit": "Use edit_file",
        "with edit.": "with edit_file.",
    }

    def canonical(self) -> Arguments:
        return {"path": self.uri, "description": self.description}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"path": "", "description": ""})
        return {"uri": known["path"], "description": known["description"]} if known and sayable(known["path"]) else None

    def reply(self, result: ToolResult) -> ToolResult:
        blocks = result.data.blocks if isinstance(result.data, Revised) else ""
        return reply(result, f"Change successfully made to {self.absolute(self.uri)} by these blocks:\n{blocks}")


FILES = (
    Spelling("read_file", "read", ReadFile, "Gives all of a file, or some of its lines, with its path."),
    Spelling(
        "create_file_or_folder",
        "write",
        CreateFileOrFolder,
        "Creates an empty file or, where the path ends in a slash, a folder; never overwrites.",
    ),
    Spelling("delete_file_or_folder", "delete", DeleteFileOrFolder, "Deletes a file or folder."),
    Spelling(
        "edit_file",
        "patch",
        EditFile,
        "Changes parts of a file by search/replace blocks. ORIGINAL must be in the file exactly, once; blocks may not overlap.",
    ),
    Spelling(
        "create_search_replace_blocks",
        "revise",
        CreateSearchReplaceBlocks,
        "Has another model write the search/replace blocks for a change that is described, and applies them.",
    ),
    Spelling("rewrite_file", "write", RewriteFile, "Replaces all that a file holds. For small changes edit_file is better."),
    Spelling("write_file", "write", WriteFile, former=True),
)
