"""Plans the application of a patch to the current files, changing nothing; detects its format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter, ToolName
from nbtools.diff.codex_patch import BEGIN, lines_after_patch, read_codex_patch
from nbtools.diff.patch_model import Block, Create, Delete, FilePatch, Hunk, Patch, Update, patch_error
from nbtools.diff.search_replace import START, lines_outside_blocks, no_patch_error, read_blocks
from nbtools.diff.text_lines import displayable, with_lf
from nbtools.diff.unified_diff import begins_diff, read_unified
from nbtools.workspace.files.copy_move import entry_path
from nbtools.workspace.files.encoding import UTF8, decode, encode
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.files.read import not_text_failure, read_if_exists
from nbtools.workspace.history.operations import Move, Remove, Step, Write
from nbtools.workspace.paths import printable_path
from nbtools.workspace.text.match import MatchMode
from nbtools.workspace.text.patch_edits import block_edits, hunk_edits
from nbtools.workspace.text.placeholders import refuse_placeholder
from nbtools.workspace.text.replace import apply_edits
from nbtools.workspace.text.result_check import refuse_broken_code, refuse_broken_notebook
from nbtools.workspace.workspace import Workspace

_ADVICE = "Change it with a command."


@dataclass(slots=True)
class PatchedFile:
    """A file that a patch changes, before and after (None: not there), with names in the workspace.

    ``steps`` are the operations of the plan that change it, in their order.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    name: str
    former: str
    places: int = 0
    steps: list[Step] = field(default_factory=list)

    @property
    def moved(self) -> bool:
        return self.before is not None and self.after is not None and self.former != self.name

    def text(self, data: bytes | None) -> str | None:
        if data is None:
            return None
        decoded = decode(data)
        return displayable(decoded.text) if decoded else f"({len(data):,} bytes that are not text)\n"


@dataclass(frozen=True, slots=True)
class PatchPlan:
    """The operations of a patch, the files that they change, and notes for the caller."""

    steps: tuple[Step, ...]
    files: tuple[PatchedFile, ...]
    notes: tuple[str, ...]


def plan_patch(workspace: Workspace, patch: Patch, match: MatchMode) -> PatchPlan:
    """Plans the application of ``patch``. Raises ``ToolFailure`` for a part that cannot be applied."""
    planner = _Planner(workspace, match)
    planner.notes += patch.notes
    for file in patch.files:
        planner.add(file)
    files = [one for one in planner.touched if one.before is not None or one.after is not None]
    if not planner.steps or not files:
        notes = "".join(f" ({note.rstrip('.')})" for note in planner.notes)
        raise ToolFailure(
            ErrorCode.EDIT_NO_CHANGE,
            Message.of(Parameter("patch"), f": it changes nothing{notes}. Nothing was changed."),
        )
    for changed in files:
        if changed.after is not None and changed.after != changed.before:
            before = None if changed.moved else changed.before
            refuse_broken_notebook(changed.path, printable_path(changed.name), before, changed.after)
    return PatchPlan(tuple(planner.steps), tuple(files), tuple(planner.notes))


@dataclass(slots=True)
class _Planner:
    """The files as they will be after the parts of the patch planned so far."""

    workspace: Workspace
    match: MatchMode
    steps: list[Step] = field(default_factory=list)
    touched: list[PatchedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, file: FilePatch) -> None:
        if isinstance(file, Create):
            self._create(file.path, file.content)
        elif isinstance(file, Delete):
            self._delete(file)
        else:
            self._update(file)

    def _create(self, path: str, content: str) -> None:
        file = self._file(path)
        if file.after is not None:
            raise _exists(
                printable_path(file.name), "It is not overwritten: use an update, or delete it first."
            )
        refuse_placeholder(content, "", printable_path(file.name))
        data = encode(content, UTF8)
        self._append(file, Write(file.path, printable_path(file.name), self._deleted_content(file), data))
        file.after, file.places = data, file.places + 1

    def _deleted_content(self, file: PatchedFile) -> bytes | None:
        """Returns the content of a file that the patch deletes before creating it, and cancels the deletion.

        The file is changed instead, so that its mode, owner and hard links stay.
        """
        removal = next(
            (step for step in self.steps if isinstance(step, Remove) and step.path == file.path), None
        )
        if removal is None:
            return None
        self.steps.remove(removal)
        for one in self.touched:
            one.steps = [step for step in one.steps if step is not removal]
        return removal.before

    def _append(self, file: PatchedFile, step: Step) -> None:
        self.steps.append(step)
        file.steps.append(step)

    def _delete(self, file: Delete) -> None:
        self._refuse_link(file.path)
        target, before = self._existing(file.path)
        subject = printable_path(target.name)
        if file.content is not None and with_lf(file.content) != with_lf(target.text(before) or ""):
            raise ToolFailure(
                ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
                f"{subject}: its content differs from what the patch deletes. Nothing was changed. Read it"
                " and make a new patch.",
            )
        self._append(target, Remove(target.path, subject, before))
        target.after = None

    def _update(self, file: Update) -> None:
        if self._file(file.path).after is None and _fills(file):
            self._create(
                file.path, "".join(part.replacements[0].new for part in file.parts if isinstance(part, Block))
            )
            return
        target, before = self._existing(file.path)
        after = self._applied(target, before, file)
        if file.to is not None and self.workspace.resolve(file.to) != target.path:
            self._refuse_link(file.path)
            self._move(target, file.to)
        elif after == before:
            raise ToolFailure(
                ErrorCode.EDIT_NO_CHANGE,
                f"{printable_path(target.name)}: the patch changes nothing in it. Nothing was changed.",
            )
        if after != before:
            self._append(target, Write(target.path, printable_path(target.name), before, after))
        target.after = after

    def _applied(self, target: PatchedFile, before: bytes, file: Update) -> bytes:
        if not file.parts:
            return before
        text = decode(before)
        if text is None:
            raise not_text_failure(printable_path(target.name), before, len(before))
        blocks = [part for part in file.parts if isinstance(part, Block)]
        hunks = [part for part in file.parts if isinstance(part, Hunk)]
        subject = printable_path(target.name)
        for part in file.parts:
            refuse_placeholder(part.added(), text.text, f"{subject}, {part.name}")
        found = (
            block_edits(text.text, blocks, self.match, subject)
            if blocks
            else hunk_edits(text.text, hunks, self.match, subject)
        )
        self.notes += found.notes
        target.places += len(file.parts)
        after = apply_edits(text.text, found.edits, subject)
        if found.is_loose:
            refuse_broken_code(target.path, subject, text.text, after)
        return encode(after, text.encoding, text.text)

    def _move(self, source: PatchedFile, to: str) -> None:
        target = self._file(to)
        name = printable_path(target.name)
        if target.after is not None or (
            target.before is None and not self._was_moved_away(target.name) and os.path.lexists(target.path)
        ):
            raise _exists(name, f"{printable_path(source.name)} is not moved over it.")
        self._append(source, Move(source.path, target.path, name))
        if target.before is None:
            self.touched.remove(target)
        source.path, source.name = target.path, target.name

    def _existing(self, path: str) -> tuple[PatchedFile, bytes]:
        file = self._file(path)
        if file.after is None and (file.before is not None or self._was_moved_away(file.name)):
            reason = (
                "an earlier part of the patch deletes or moves it. Nothing was changed. Put the change into"
                " that part."
            )
            raise ToolFailure(ErrorCode.FILE_NOT_FOUND, f"{printable_path(file.name)}: {reason}")
        if file.after is None:
            raise path_not_found(self.workspace, path)
        return file, file.after

    def _refuse_link(self, path: str) -> None:
        """Raises ``ToolFailure`` for a link: its target may be changed, but it is not deleted or moved."""
        path_of_entry = entry_path(self.workspace, path)
        if path_of_entry.is_symlink():
            name = printable_path(self.workspace.relative(path_of_entry))
            fact = f"{name} is a link, and a patch deletes and moves only files. Nothing was changed."
            other = Advice(" Use ", ToolName("delete"), " or ", ToolName("move"), " for the link.")
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, Message.of(fact, other))

    def _was_moved_away(self, name: str) -> bool:
        """Returns whether the patch has moved the file that had this name."""
        return any(file.former == name and file.moved for file in self.touched)

    def _file(self, path: str) -> PatchedFile:
        """Returns the state of the file that has this name by now; reads it when it is first needed."""
        real = self.workspace.resolve(path)
        known = next((file for file in reversed(self.touched) if file.path == real), None)
        if known is None:
            name = self.workspace.relative(real)
            data = (
                None
                if self._was_moved_away(name)
                else read_if_exists(real, printable_path(name), advice=_ADVICE)
            )
            if data is not None:
                self.workspace.read_tracker.require_read(real, printable_path(name), data, whole=False)
            known = PatchedFile(real, data, data, name, name)
            self.touched.append(known)
        return known


def changed_since_read(workspace: Workspace, planned: PatchPlan) -> list[str]:
    """Returns the names of files that were read with another content than they have."""
    return [
        file.former
        for file in planned.files
        if file.before is not None and workspace.read_tracker.has_changed(file.path, file.before)
    ]


def record_written(workspace: Workspace, planned: PatchPlan) -> None:
    """Records the files' contents after the plan has been carried out."""
    for file in planned.files:
        if file.former != file.name or file.after is None:
            workspace.read_tracker.forget(workspace.root / file.former)
    for file in planned.files:
        if file.after is not None:
            workspace.read_tracker.record(file.path, file.after)


def _fills(file: Update) -> bool:
    """Returns whether an update is for a file that does not exist yet: all blocks have an empty old text."""
    return bool(file.parts) and all(
        isinstance(part, Block) and not part.replacements[-1].old for part in file.parts
    )


def _exists(subject: str, advice: str) -> ToolFailure:
    return ToolFailure(
        ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE, f"{subject} exists already. {advice} Nothing was changed."
    )


def read_patch(patch: str, path: str | None = None) -> Patch:
    """Parses a patch by its first recognised line; ``path`` is the file of blocks and hunks without one.

    Raises ``ToolFailure`` (``invalid_tool_params``), also for a second patch in another format:
    it would be ignored.
    """
    lines = patch.split("\n")
    for k, line in enumerate(lines):
        if BEGIN.fullmatch(line):
            envelope = read_codex_patch(patch)
            _refuse_others(lines, lines_after_patch(lines))
            return envelope
        if START.fullmatch(line):
            blocks = read_blocks(patch, path)
            _refuse_others(lines, lines_outside_blocks(lines))
            return blocks
        if begins_diff(lines, k):
            _refuse_others(lines, (k for k in range(len(lines)) if not begins_diff(lines, k)))
            return read_unified(patch, path)
    raise no_patch_error()


def _refuse_others(lines: Sequence[str], numbers: Iterable[int]) -> None:
    for k in numbers:
        unindented = not lines[k].startswith(" ")
        if unindented and (BEGIN.fullmatch(lines[k]) or START.fullmatch(lines[k]) or begins_diff(lines, k)):
            raise patch_error(k + 1, "a patch in another format begins here. Give one format in each call.")
