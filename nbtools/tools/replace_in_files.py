"""Replacing what matches a pattern, in all files of a folder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.confirmation import ToolEditConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileDiff, ToolResult
from nbtools.core.tool import BaseToolInvocation, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.tools.file_changes import added_and_removed, bounded, counted, displayed, question
from nbtools.workspace.changes import carry_out
from nbtools.workspace.diff import compared
from nbtools.workspace.editing.body import body_of
from nbtools.workspace.files import MOST_WHOLE, not_text, read_bytes
from nbtools.workspace.halting import Halt, in_thread
from nbtools.workspace.hiding import NOT_SEARCHED
from nbtools.workspace.moving import as_folder
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.pulse import Pulse
from nbtools.workspace.searching import globs
from nbtools.workspace.searching.hits import HitLine, Hits, find_hits, find_ignored, places, replaced, wrong_reference
from nbtools.workspace.searching.search import Query
from nbtools.workspace.steps import Write
from nbtools.workspace.workspace import Workspace

_MOST_SHOWN = 50
"""Files whose diffs are shown; all are changed."""
_MOST_NAMED = 100
_QUIET = 0.3
"""Seconds that it may take before it tells how far it is."""
_BETWEEN = 0.25
_PATIENCE = 2.0
"""Seconds for counting the files that are left out because git ignores them."""


class ReplaceInFilesParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    pattern: str
    """A regular expression as ripgrep reads it; ^ and $ stand for the ends of a line."""
    replacement: str
    """The text to put in its place; $1 or ${name} stand for groups of the pattern (${1}x before letters), $0 for all, $$ for a dollar."""
    path: str = "."
    """The folder or file to change."""
    glob: Annotated[str | None, Field(json_schema_extra={"flag": "g"})] = None
    """Only files whose name fits, like `*.py`, or whose path does, like `src/**/*.{ts,tsx}`."""
    type: Annotated[str | None, Field(json_schema_extra={"flag": "t"})] = None
    """Only files of this kind, like `py`, `js` or `md`."""
    fixed: Annotated[bool, Field(json_schema_extra={"flag": "F"})] = False
    """Whether pattern and replacement are plain text."""
    ignore_case: Annotated[bool, Field(json_schema_extra={"flag": "i"})] = False
    """Whether small and capital letters are the same."""
    word: Annotated[bool, Field(json_schema_extra={"flag": "w"})] = False
    """Whether only whole words match."""
    multiline: Annotated[bool, Field(json_schema_extra={"flag": "U"})] = False
    """Whether a match may go over several lines."""
    apply: bool = False
    """Whether to make the change; else it is only shown."""
    limit: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """How many files may change at most; with more, none does."""


@dataclass(frozen=True, slots=True)
class FileCount:
    """How many places of a file are replaced."""

    path: str
    places: int


@dataclass(frozen=True, slots=True)
class ReplacedInFiles:
    """By path; ``places`` counts all; ``applied``: whether it was done or only shown."""

    files: tuple[FileCount, ...]
    places: int
    applied: bool


@dataclass(frozen=True, slots=True)
class _Change:
    """A file's new content, and the same as text."""

    step: Write
    diff: FileDiff | None


class ReplaceInFilesTool(BaseDeclarativeTool[ReplaceInFilesParams]):
    """ripgrep finds the places and says what comes there, so the pattern means the same as for ``grep``, groups included.

    Encodings, byte order marks and line ends stay.  Files that git ignores, hidden ones and binary ones are left out.
    """

    name = "replace_in_files"
    description = (
        "Replaces what matches a regular expression in all files of a folder. Shows what would change; with apply it is done, in all files "
        "or none. Files that git ignores are left out."
    )
    kind = Kind.EDIT
    can_update_output = True
    parameters = ReplaceInFilesParams

    def __init__(self, workspace: Workspace, *, whole: int = MOST_WHOLE) -> None:
        self.workspace = workspace
        self.whole = whole

    def validate_tool_param_values(self, params: ReplaceInFilesParams) -> str | None:
        if not params.pattern:
            return "pattern is empty. Give the text or regular expression to replace."
        for name in ("pattern", "replacement", "glob", "type"):
            if "\0" in (getattr(params, name) or ""):
                return f"{name} has a NUL character in it."
        try:
            globs.compile_glob(params.glob or "*")
        except ValueError as error:
            return f"glob: {error} (given {params.glob!r})."
        return None if params.fixed else wrong_reference(params.pattern, params.replacement)

    def create_invocation(self, params: ReplaceInFilesParams) -> ReplaceInFilesInvocation:
        return ReplaceInFilesInvocation(self, params)


class ReplaceInFilesInvocation(BaseToolInvocation[ReplaceInFilesParams]):
    __slots__ = ("path", "query", "seen", "tool")

    def __init__(self, tool: ReplaceInFilesTool, params: ReplaceInFilesParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = tool.workspace.resolve(params.path)
        self.query = Query(params.pattern, params.ignore_case, params.fixed, params.word, params.glob, params.type)
        self.seen: dict[str, bytes] | None = None

    @property
    def kind(self) -> Kind | None:
        """A preview only searches."""
        return None if self.params.apply else Kind.SEARCH

    def get_description(self) -> str:
        start = self.tool.workspace.relative(self.path)
        return f"{shown(self.params.pattern)} → {shown(self.params.replacement)}" + ("" if start == "." else f" in {shown(start)}")

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(as_folder(self.path, self.tool.workspace.spellings(self.params.path)))

    async def should_confirm_execute(self) -> ToolEditConfirmationDetails:
        """Raises ``ToolFailure`` when there is nothing to replace, or too much: nobody is asked in vain."""
        hits = self._bearable(await self._hits(_Progress(None)))
        changes = await in_thread(lambda halt: self._changes(hits, halt, with_all=True))
        self.seen = {change.step.subject: change.step.after for change in changes}
        diffs = [change.diff for change in changes if change.diff]
        more = f" ({_MOST_SHOWN} of the files are shown)" if len(changes) > len(diffs) else ""
        title = f"Replace {counted(hits.places, 'place')} in {counted(len(changes), 'file')}?{more}"
        return question(title, self.tool.workspace.root, diffs)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        progress = _Progress(update_output)
        try:
            return await (self._applied(progress) if self.params.apply else self._previewed(progress))
        finally:
            progress.end()

    async def _previewed(self, progress: _Progress) -> ToolResult:
        hits = await self._hits(progress)
        changes = await in_thread(lambda halt: self._changes(hits, halt, with_all=False))
        left_out = (*_left_out(hits), *await self._ignored(hits))
        over = f"more than {counted(self.params.limit, 'file')}: raise limit to apply it" if len(hits.files) > self.params.limit else ""
        notes = [note for note in (*left_out, over) if note]
        told = f"{_summary(hits)} would be replaced; nothing was changed. Call again with apply to do it." if hits.files else "No matches."
        return self._result(told, hits, changes, notes)

    async def _applied(self, progress: _Progress) -> ToolResult:
        hits = self._bearable(await self._hits(progress))
        changes = await in_thread(lambda halt: self._changes(hits, halt, with_all=True))
        self._demand_same(changes)
        steps = [change.step for change in changes]
        await carry_out(self.tool.workspace.journal, steps, lambda done: progress.tell(f"Changed {done:,} of {len(changes):,} files"))
        for change in changes:
            self.tool.workspace.seen.note(change.step.path, change.step.after)
        return self._result(f"Replaced {_summary(hits)}.", hits, changes, [*_left_out(hits)])

    async def _hits(self, progress: _Progress) -> Hits:
        workspace, params = self.tool.workspace, self.params
        path = workspace.resolve(params.path)
        if path != self.path:
            raise ToolFailure(ErrorCode.CONFLICT, f"{shown(params.path)} leads somewhere else by now. Nothing was changed. Call again.")
        if not path.is_dir() and not path.is_file():
            raise ToolFailure(ErrorCode.SEARCH_PATH_NOT_FOUND, not_found(workspace, params.path, "file or folder").message)
        start = workspace.relative(path)
        return await find_hits(
            workspace.root,
            start,
            self.query,
            params.replacement,
            progress.found,
            multiline=params.multiline,
            hiding=workspace.hiding,
        )

    def _bearable(self, hits: Hits) -> Hits:
        limit = self.params.limit
        if not hits.files:
            left_out = "".join(f" ({note})" for note in _left_out(hits))
            why = f"There is nothing to replace: no match for {shown(self.params.pattern)}{left_out}. Nothing was changed."
            raise ToolFailure(ErrorCode.EDIT_NO_OCCURRENCE_FOUND, f"{why} Look with grep first.")
        if len(hits.files) > limit:
            why = f"{counted(len(hits.files), 'file')} would change, more than limit ({limit:,}). Nothing was changed."
            raise ToolFailure(ErrorCode.EDIT_PREPARATION_FAILURE, f"{why} Narrow it by path, glob or type, or raise limit.")
        return hits

    def _changes(self, hits: Hits, halt: Halt, *, with_all: bool) -> list[_Change]:
        """The changes with the diffs of the first files; without the others where only those are wanted."""
        changes = []
        for number, (name, lines) in enumerate(hits.files.items()):
            halt.check()
            if number >= _MOST_SHOWN and not with_all:
                break
            changes.append(self._change(name, lines, with_diff=number < _MOST_SHOWN))
        return changes

    def _change(self, name: str, lines: Sequence[HitLine], *, with_diff: bool) -> _Change:
        workspace, subject = self.tool.workspace, shown(name)
        path = workspace.resolve(name)
        before = read_bytes(path, subject, self.tool.whole, "Leave it out (path, glob, type), or change it with a program.")
        body = body_of(before)
        if body is None:
            raise not_text(subject, before, len(before))
        if self.params.apply:
            workspace.seen.check(path, subject, before, whole=False)
        after = replaced(body, lines, subject)
        diff = compared(name, body.text(), after.text())[0] if with_diff else None
        return _Change(Write(path, subject, before, after.content()), diff)

    def _demand_same(self, changes: Sequence[_Change]) -> None:
        """What a person has said yes to is what is done: the same files with the same content."""
        if self.seen is not None and self.seen != {change.step.subject: change.step.after for change in changes}:
            why = "The files were changed since the diff was shown. Nothing was replaced. Call again."
            raise ToolFailure(ErrorCode.CONFLICT, why)

    async def _ignored(self, hits: Hits) -> tuple[str, ...]:
        workspace, found = self.tool.workspace, None
        with contextlib.suppress(TimeoutError):
            start = workspace.relative(self.path)
            every = find_ignored(workspace.root, start, self.query, multiline=self.params.multiline, hiding=workspace.hiding)
            async with asyncio.timeout(_PATIENCE):
                found = await every
        if found is None:
            return ("files that git ignores and hidden ones are left out; there are too many to count them",)
        ignored = len(found - hits.files.keys() - hits.same)
        return (f"{counted(ignored, 'file')} with matches left out: ignored by git, or hidden",) if ignored else ()

    def _result(self, told: str, hits: Hits, changes: Sequence[_Change], notes: Sequence[str]) -> ToolResult:
        counts = tuple(FileCount(name, places(lines)) for name, lines in hits.files.items())
        diffs = [change.diff for change in changes if change.diff]
        rest = len(hits.files) - len(diffs)
        notes = [*([f"the diffs of {counted(rest, 'more file')} are left out"] if rest else []), *notes]
        text = "\n".join([told, *_named(counts), *(f"[{note}]" for note in notes)])
        more = f", {added_and_removed([diff.diff_stat for diff in diffs])}" if diffs and not rest else ""
        hidden = (f"[{NOT_SEARCHED}]",) if self.tool.workspace.hiding else ()
        return ToolResult(
            "\n".join([text, *filter(None, [bounded(diffs)])]),
            displayed(diffs) if diffs else "\n".join((text, *hidden)),
            summary=f"{_summary(hits)}{more}{'' if self.params.apply else ', not applied'}" if hits.files else "No matches",
            data=ReplacedInFiles(counts, hits.places, self.params.apply),
            notes=hidden,
        )


class _Progress:
    """Tells how far the work is: after a while, then some four times a second."""

    def __init__(self, update_output: UpdateOutput | None) -> None:
        self._update = update_output
        self._pulse = Pulse(self._beat, _BETWEEN, first=_QUIET)
        self._text = ""
        self._hits: Hits | None = None

    def found(self, hits: Hits) -> None:
        self._hits = hits
        self._pulse.touch()

    def tell(self, text: str) -> None:
        self._hits, self._text = None, text
        self._pulse.touch()

    def end(self) -> None:
        self._pulse.stop()

    def _beat(self) -> None:
        if self._update is not None:
            self._update(f"{_summary(self._hits)} so far" if self._hits is not None else self._text)


def _summary(hits: Hits) -> str:
    return f"{counted(hits.places, 'place')} in {counted(len(hits.files), 'file')}"


def _left_out(hits: Hits) -> Iterator[str]:
    if hits.binary:
        yield f"{counted(hits.binary, 'binary file')} with matches left out"
    if hits.unreadable:
        more = "; …" if len(hits.unreadable) > 3 else ""
        yield f"{counted(len(hits.unreadable), 'file')} could not be read: {'; '.join(hits.unreadable[:3])}{more}"


def _named(counts: Sequence[FileCount]) -> Iterator[str]:
    for count in counts[:_MOST_NAMED]:
        yield f"{shown(count.path)}: {count.places:,}"
    if len(counts) > _MOST_NAMED:
        yield f"and {len(counts) - _MOST_NAMED:,} more files"
