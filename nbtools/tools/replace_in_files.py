"""The `replace_in_files` tool: replaces the matches of a pattern in all files of a folder."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

from pydantic import Field

from nbtools.core.confirmation import FileChoice, FileParts, ToolEditConfirmationDetails, takes_nothing
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Message, Parameter, counted
from nbtools.core.result import FileDiff, ToolResult
from nbtools.core.result_data import FileCount, ReplaceInFilesData
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import Example, Kind, PathTarget, UpdateOutput
from nbtools.diff.line_diff import file_diff_with_hunks
from nbtools.tools.file_change import diffs_confirmation, diffs_display, line_counts, truncated_diffs
from nbtools.tools.workspace_tool import PathInvocation, WorkspaceTool, searched_description
from nbtools.workspace.cancellation import CancellationFlag, run_in_thread
from nbtools.workspace.files.copy_move import with_folder_slash
from nbtools.workspace.files.encoding import decode, encode
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.files.read import not_text_failure, read_bytes
from nbtools.workspace.files.read_filter import NOT_SEARCHED
from nbtools.workspace.history.changes import make_changes
from nbtools.workspace.history.operations import Write
from nbtools.workspace.paths import printable_path
from nbtools.workspace.search import globs
from nbtools.workspace.search.regex_replace import (
    HitLine,
    Hits,
    apply_hits,
    count_hits,
    find_hits,
    find_ignored,
    group_reference_error,
    literal_escapes,
)
from nbtools.workspace.search.text_search import Query
from nbtools.workspace.text.file_selection import chosen_content, content_parts, describe_choices
from nbtools.workspace.text.result_check import refuse_broken_notebook
from nbtools.workspace.throttle import Throttle

_MOST_SHOWN = 50
"""Maximum number of files whose diffs are displayed; all files are changed."""
_MOST_NAMED = 100
_QUIET = 0.3
"""Seconds before the first progress report."""
_BETWEEN = 0.25
_COUNT_TIMEOUT = 2.0
"""Seconds for counting the files that git ignores."""


class ReplaceInFilesParams(ParameterModel):
    pattern: str
    """A regular expression in ripgrep's syntax; ^ and $ match the start and end of a line."""
    replacement: str
    """The replacement text; $1 or ${name} insert groups of the pattern (${1}x before letters),
    $0 the whole match, $$ a dollar sign.
    """
    path: str = "."
    """The folder or file to change."""
    glob: Annotated[str | None, Field(json_schema_extra={"flag": "g"})] = None
    """Only files whose name matches, like `*.py`, or whose path matches, like `src/**/*.{ts,tsx}`."""
    type: Annotated[str | None, Field(json_schema_extra={"flag": "t"})] = None
    """Only files of this ripgrep type, like `py`, `js` or `md`."""
    fixed: Annotated[bool, Field(json_schema_extra={"flag": "F"})] = False
    """Whether pattern and replacement are literal text."""
    ignore_case: Annotated[bool, Field(json_schema_extra={"flag": "i"})] = False
    """Whether to ignore upper and lower case."""
    word: Annotated[bool, Field(json_schema_extra={"flag": "w"})] = False
    """Whether only whole words match."""
    multiline: Annotated[bool, Field(json_schema_extra={"flag": "U"})] = False
    """Whether a match may span several lines."""
    apply: bool = False
    """Whether to apply the change; otherwise it is only previewed."""
    limit: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Maximum number of files to change; if more would change, none is."""


@dataclass(frozen=True, slots=True)
class _Change:
    """The write of a file's new content, its diff if it is displayed,
    and the number of replacements in the file called ``name``.
    """

    step: Write
    diff: FileDiff | None
    name: str
    places: int


class ReplaceInFilesTool(WorkspaceTool[ReplaceInFilesParams]):
    """Replaces pattern matches in files.
    ripgrep finds and replaces, so patterns and groups mean the same as for ``grep``.

    Encodings, byte order marks and line endings are preserved.
    Git-ignored, hidden and binary files are omitted.
    """

    name = "replace_in_files"
    description = (
        "Replaces the matches of a regular expression in all files of a folder. Previews the changes; with"
        " apply, makes them in all files or none. Files that git ignores are omitted."
    )
    kind = Kind.EDIT
    can_update_output = True
    parameters = ReplaceInFilesParams
    examples = (
        Example(
            "Shows what would be replaced in Python files.",
            {"pattern": "item", "replacement": "article", "glob": "*.py"},
        ),
        Example("Replaces it.", {"pattern": "item", "replacement": "article", "path": "src", "apply": True}),
    )

    def validate_tool_param_values(self, params: ReplaceInFilesParams) -> str | None:
        if not params.pattern:
            return Message.of(
                Parameter("pattern"), " is empty. Give the text or regular expression to replace."
            )
        for name in ("pattern", "replacement", "glob", "type"):
            if "\0" in (getattr(params, name) or ""):
                return Message.of(Parameter(name), " contains a NUL character. Remove it.")
        try:
            globs.compile_glob(params.glob or "*")
        except ValueError as error:
            return Message.of(Parameter("glob"), f": {error} (given {params.glob!r}).")
        return None if params.fixed else group_reference_error(params.pattern, params.replacement)

    def create_invocation(self, params: ReplaceInFilesParams) -> ReplaceInFilesInvocation:
        return ReplaceInFilesInvocation(self, params)


class ReplaceInFilesInvocation(PathInvocation[ReplaceInFilesParams, ReplaceInFilesTool]):
    __slots__ = ("approved_changes", "choices", "query", "selected")

    def __init__(self, tool: ReplaceInFilesTool, params: ReplaceInFilesParams) -> None:
        super().__init__(tool, params)
        self.query = Query(
            params.pattern, params.ignore_case, params.fixed, params.word, params.glob, params.type
        )
        self.approved_changes: tuple[_Change, ...] | None = None
        self.selected: tuple[_Change, ...] | None = None
        self.choices: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind | None:
        """``search`` for a preview; None (the tool's own kind) if the change is applied."""
        return None if self.params.apply else Kind.SEARCH

    def get_description(self) -> str:
        replacement = searched_description(self.params.replacement, self.relative())
        return f"{printable_path(self.params.pattern)} → {replacement}"

    def target(self) -> PathTarget:
        return PathTarget(with_folder_slash(self.path, self.tool.workspace.spellings(self.params.path)))

    async def should_confirm_execute(self) -> ToolEditConfirmationDetails:
        """Returns the question. Raises ``ToolFailure`` if there is nothing to replace or too much,
        before anyone is asked.
        """
        self.approved_changes = changes = self.selected or tuple(await self._all_changes(_Progress(None)))
        diffs = [change.diff for change in changes if change.diff]
        is_complete = len(changes) == len(diffs)
        more = "" if is_complete else f" ({_MOST_SHOWN} of the files are displayed)"
        title = f"Replace {_summary(_counts(changes))}?{more}"
        details = diffs_confirmation(title, self.tool.workspace.root, diffs)
        remarks = [f"You {', '.join(self.choices)}" if self.choices else "", self._literal_escapes()]
        note = "".join(f"{remark}. " for remark in remarks if remark).rstrip()
        return replace(details, note=note, parts=tuple(map(_parts, changes)) if is_complete else ())

    def select(self, files: Sequence[FileChoice]) -> Self:
        changes = self.approved_changes or ()
        if len(files) != len(changes):
            message = (
                f"The answer is about {len(files)} files; the change has {len(changes)}. Nothing was changed."
            )
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
        same = copy.copy(self)
        chosen = tuple(filter(None, map(_selected, changes, files)))
        same.approved_changes = same.selected = chosen
        same.choices = (
            *self.choices,
            *describe_choices([change.name for change in changes], list(map(_parts, changes)), files),
        )
        return same

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        progress = _Progress(update_output)
        try:
            return await (self._apply(progress) if self.params.apply else self._preview(progress))
        finally:
            progress.end()

    async def _preview(self, progress: _Progress) -> ToolResult:
        hits = await self._hits(progress)
        changes = await run_in_thread(lambda halt: self._changes(hits, halt, with_all=False))
        omitted = (*_omitted_files(hits), *await self._ignored_files(hits))
        limit = self.params.limit
        notes = [*omitted, self._literal_escapes()]
        if len(hits.files) > limit:
            notes.insert(-1, f"over the limit of {counted(limit, 'file')}; raise limit to apply the change")
        counts = tuple(FileCount(name, count_hits(lines)) for name, lines in hits.files.items())
        preview = (
            f"{_summary(counts)} would be replaced; nothing was changed. Call again with apply to replace."
        )
        return self._result(preview if counts else "No matches.", counts, changes, list(filter(None, notes)))

    async def _apply(self, progress: _Progress) -> ToolResult:
        omitted = list[str]()
        if self.selected is None:
            changes = await self._all_changes(progress, omitted)
            self._check_unchanged(changes)
        else:  # its operations refuse files that have changed since
            self._start()
            changes = list(self.selected)
            omitted.append(f"the person {', '.join(self.choices)}")
        steps = [change.step for change in changes]
        await make_changes(
            self.tool.workspace.journal,
            steps,
            lambda done: progress.report(f"Changed {done:,} of {len(changes):,} files"),
        )
        for change in changes:
            self.tool.workspace.read_tracker.record(change.step.path, change.step.after)
        counts, remark = _counts(changes), self._literal_escapes()
        return self._result(
            f"Replaced {_summary(counts)}.", counts, changes, [*omitted, remark] if remark else omitted
        )

    def _literal_escapes(self) -> str:
        return "" if self.params.fixed else literal_escapes(self.params.replacement)

    async def _all_changes(self, progress: _Progress, omitted: list[str] | None = None) -> list[_Change]:
        """Returns all changes; adds notes on files that are left out to ``omitted``."""
        hits = self._check_count(await self._hits(progress))
        if omitted is not None:
            omitted += _omitted_files(hits)
        return await run_in_thread(lambda halt: self._changes(hits, halt, with_all=True))

    def _start(self) -> str:
        """Returns where to search, relative to the workspace.
        Raises ``ToolFailure`` if that is not what was approved, or missing.
        """
        workspace, params = self.tool.workspace, self.params
        path = workspace.resolve(params.path)
        if path != self.path:
            why = "now resolves to a different path. Nothing was changed. Call again."
            raise ToolFailure(ErrorCode.CONFLICT, f"{printable_path(params.path)} {why}")
        if not path.is_dir() and not path.is_file():
            raise ToolFailure(
                ErrorCode.SEARCH_PATH_NOT_FOUND,
                path_not_found(workspace, params.path, "file or folder").message,
            )
        return workspace.relative(path)

    async def _hits(self, progress: _Progress) -> Hits:
        workspace, params = self.tool.workspace, self.params
        return await find_hits(
            workspace.root,
            self._start(),
            self.query,
            params.replacement,
            progress.found,
            multiline=params.multiline,
            hiding=workspace.read_filter,
        )

    def _check_count(self, hits: Hits) -> Hits:
        limit = self.params.limit
        if not hits.files:
            omitted = "".join(f" ({note})" for note in _omitted_files(hits))
            why = (
                f"Nothing to replace: no match for {printable_path(self.params.pattern)}{omitted}. Nothing"
                " was changed."
            )
            raise ToolFailure(ErrorCode.EDIT_NO_OCCURRENCE_FOUND, f"{why} Find the text with grep first.")
        if len(hits.files) > limit:
            why = (
                f"{counted(len(hits.files), 'file')} would change, more than the limit of {limit:,}. Nothing"
                " was changed."
            )
            raise ToolFailure(
                ErrorCode.EDIT_PREPARATION_FAILURE,
                f"{why} Narrow the search with path, glob or type, or raise limit.",
            )
        return hits

    def _changes(self, hits: Hits, halt: CancellationFlag, *, with_all: bool) -> list[_Change]:
        """Returns the changes, with diffs for the first files;
        without ``with_all``, only those first files.
        """
        changes = []
        for number, (name, lines) in enumerate(hits.files.items()):
            halt.raise_if_cancelled()
            if number >= _MOST_SHOWN and not with_all:
                break
            changes.append(self._change(name, lines, with_diff=number < _MOST_SHOWN))
        return changes

    def _change(self, name: str, lines: Sequence[HitLine], *, with_diff: bool) -> _Change:
        workspace, subject = self.tool.workspace, printable_path(name)
        path = workspace.resolve(name)
        before = read_bytes(
            path, subject, advice="Exclude it with path, glob or type, or change it with a shell command."
        )
        text = decode(before)
        if text is None:
            raise not_text_failure(subject, before, len(before))
        if self.params.apply:
            workspace.read_tracker.require_read(path, subject, before, whole=False)
        after = apply_hits(text, lines, subject)
        diff = file_diff_with_hunks(name, text.text, after)[0] if with_diff else None
        data = encode(after, text.encoding, text.text)
        refuse_broken_notebook(path, subject, before, data)
        return _Change(Write(path, subject, before, data), diff, name, count_hits(lines))

    def _check_unchanged(self, changes: Sequence[_Change]) -> None:
        """Raises ``ToolFailure`` (``conflict``) if the new contents are not those that a person approved."""
        if self.approved_changes is not None and _contents(self.approved_changes) != _contents(changes):
            why = "The files were changed after the diff was displayed. Nothing was replaced. Call again."
            raise ToolFailure(ErrorCode.CONFLICT, why)

    async def _ignored_files(self, hits: Hits) -> tuple[str, ...]:
        workspace, found = self.tool.workspace, None
        with contextlib.suppress(TimeoutError):
            start = workspace.relative(self.path)
            multiline, hiding = self.params.multiline, workspace.read_filter
            every = find_ignored(workspace.root, start, self.query, multiline=multiline, hiding=hiding)
            async with asyncio.timeout(_COUNT_TIMEOUT):
                found = await every
        if found is None:
            return ("git-ignored and hidden files are omitted; there are too many to count",)
        ignored = len(found - hits.files.keys() - hits.same)
        if ignored:
            return (f"{counted(ignored, 'file')} with matches omitted: ignored by git, or hidden",)
        return ()

    def _result(
        self, message: str, counts: tuple[FileCount, ...], changes: Sequence[_Change], notes: Sequence[str]
    ) -> ToolResult:
        diffs = [change.diff for change in changes if change.diff]
        rest = len(counts) - len(diffs)
        notes = [*([f"the diffs of {counted(rest, 'more file')} are omitted"] if rest else []), *notes]
        text = "\n".join([message, *_file_counts(counts), *(f"[{note}]" for note in notes)])
        more = f", {line_counts(diffs)}" if diffs and not rest else ""
        not_applied = "" if self.params.apply else ", not applied"
        hidden = (f"[{NOT_SEARCHED}]",) if self.tool.workspace.read_filter else ()
        return ToolResult(
            "\n".join([text, *filter(None, [truncated_diffs(diffs)])]),
            diffs_display(diffs) if diffs else "\n".join((text, *hidden)),
            summary=f"{_summary(counts)}{more}{not_applied}" if counts else "No matches",
            data=ReplaceInFilesData(counts, sum(count.places for count in counts), self.params.apply),
            notes=hidden,
        )


class _Progress:
    """Reports progress: first after ``_QUIET`` seconds, then about four times a second."""

    def __init__(self, update_output: UpdateOutput | None) -> None:
        self._update = update_output
        self._pulse = Throttle(self._beat, _BETWEEN, first=_QUIET)
        self._text = ""
        self._hits: Hits | None = None

    def found(self, hits: Hits) -> None:
        self._hits = hits
        self._pulse.trigger()

    def report(self, text: str) -> None:
        self._hits, self._text = None, text
        self._pulse.trigger()

    def end(self) -> None:
        self._pulse.stop()

    def _beat(self) -> None:
        if self._update is not None:
            hits = self._hits
            self._update(self._text if hits is None else f"{_places(hits.places, len(hits.files))} so far")


def _contents(changes: Sequence[_Change]) -> dict[str, bytes]:
    return {change.step.subject: change.step.after for change in changes}


def _parts(change: _Change) -> FileParts:
    return content_parts(change.step.before, change.step.after)


def _selected(change: _Change, choice: FileChoice) -> _Change | None:
    """Returns the part of a file's change that was chosen; None if nothing of it is left."""
    if takes_nothing(choice, _parts(change)):
        return None
    if isinstance(choice, bool):
        return change
    step = change.step
    after = chosen_content(step.path, step.subject, step.before, step.after, choice)
    before, now = decode(step.before or b""), decode(after)
    if after == step.before or before is None or now is None:
        return None
    diff = file_diff_with_hunks(change.name, before.text, now.text)[0]
    return _Change(
        replace(step, after=after), diff, change.name, 1 if isinstance(choice, str) else sum(choice)
    )


def _counts(changes: Sequence[_Change]) -> tuple[FileCount, ...]:
    return tuple(FileCount(change.name, change.places) for change in changes)


def _summary(counts: Sequence[FileCount]) -> str:
    return _places(sum(count.places for count in counts), len(counts))


def _places(places: int, files: int) -> str:
    return f"{counted(places, 'place')} in {counted(files, 'file')}"


def _omitted_files(hits: Hits) -> Iterator[str]:
    if hits.binary:
        yield f"{counted(hits.binary, 'binary file')} with matches omitted"
    if hits.unreadable:
        more = "; …" if len(hits.unreadable) > 3 else ""
        yield (
            f"{counted(len(hits.unreadable), 'file')} could not be read:"
            f" {'; '.join(hits.unreadable[:3])}{more}"
        )


def _file_counts(counts: Sequence[FileCount]) -> Iterator[str]:
    for count in counts[:_MOST_NAMED]:
        yield f"{printable_path(count.path)}: {count.places:,}"
    if len(counts) > _MOST_NAMED:
        yield f"and {len(counts) - _MOST_NAMED:,} more files"
