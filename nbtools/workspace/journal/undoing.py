"""Working out what brings back the files that a call changed, and what stands in the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from nbtools.core.errors import ToolFailure
from nbtools.core.result import FileDiff
from nbtools.workspace.diff import compared
from nbtools.workspace.files import read_if_there
from nbtools.workspace.journal.content import applied, fingerprint, is_loose, is_of
from nbtools.workspace.journal.journal import Journal
from nbtools.workspace.journal.recording import link_of
from nbtools.workspace.journal.records import Entry, Record
from nbtools.workspace.journal.trees import tree_of
from nbtools.workspace.merge import merge
from nbtools.workspace.nofollow import look
from nbtools.workspace.steps import Link, MakeFolder, Move, Remove, RemoveFolder, RemoveTree, Restore, SetMode, Step, Write, link_target
from nbtools.workspace.text import decode, encode

Outcome: TypeAlias = Literal["restored", "as before", "merged", "mergeable", "conflict"]
"""``as before``: it was so already.  ``mergeable``: changed since, and both changes fit together.  ``conflict``: they do not."""


IN_EDITOR = "it was changed in the open notebook, which has its own undo"


@dataclass(frozen=True, slots=True)
class FileUndone:
    """What becomes of one path; ``why`` says what stands in the way."""

    path: str
    outcome: Outcome
    why: str = ""


@dataclass(slots=True)
class Undoing:
    """The steps that bring everything back, those that remove folders made for it, which come when all others are done, a line for each
    path, and the merges to show where files have changed since.
    """

    steps: list[Step] = field(default_factory=list)
    folders: list[Step] = field(default_factory=list)
    files: list[FileUndone] = field(default_factory=list)
    merges: list[FileDiff] = field(default_factory=list)

    @property
    def hindered(self) -> bool:
        return any(file.outcome in ("mergeable", "conflict") for file in self.files)


def undoing(journal: Journal, entries: Sequence[Entry], name: Callable[[Path], str], *, merging: bool) -> Undoing:
    """Of all that ``entries`` did, the last first; changes nothing.  ``merging``: changes made since stay where both fit together."""
    planner = _Planner(journal, name, merging)
    for entry in reversed(entries):
        planner.start(entry)
        for record in reversed(entry.records):
            planner.take(record)
    planner.remove_folders(folder for entry in entries for record in entry.records for folder in record.folders)
    return planner.done


HowFar: TypeAlias = Literal["made", "not made", "partly", "changed since"]


def how_far(journal: Journal, entry: Entry) -> HowFar:
    """What became of a change that was recorded, as the files tell: a session may have been cut short before, at or after it."""
    found = {file.outcome for file in undoing(journal, [entry], str, merging=False).files}
    if not found:  # only folders
        return "made" if any(os.path.lexists(folder) for record in entry.records for folder in record.folders) else "not made"
    if found == {"restored"}:
        return "made"
    if found == {"as before"}:
        return "not made"
    return "partly" if found == {"restored", "as before"} else "changed since"


@dataclass(slots=True)
class _Planner:
    """``now``: contents as they will be after the steps so far, where those change them; None: no file.

    ``unmoved``: where an entry that was cut short had not moved to yet.
    """

    journal: Journal
    name: Callable[[Path], str]
    merging: bool
    done: Undoing = field(default_factory=Undoing)
    now: dict[Path, bytes | None] = field(default_factory=dict)
    unmoved: frozenset[Path] = frozenset()

    def start(self, entry: Entry) -> None:
        stays = {record.path for record in entry.records if record.kind == "trash" and self._stays(record)}
        moves = [(record.path, record.place) for record in entry.records if record.kind == "move" and record.place is not None]
        self.unmoved = frozenset(to for path, to in moves if self._is(path) and (to in stays or not self._is(to)))

    def take(self, record: Record) -> None:
        try:
            self._take(record)
        except ToolFailure as failure:  # a folder or a pipe is there now
            self._tell(record.path, "conflict", failure.message)

    def remove_folders(self, folders: Iterable[Path]) -> None:
        """Those made for the changes, as far as nothing else is in them."""
        deepest_first = sorted(dict.fromkeys(folders), key=lambda folder: len(folder.parts), reverse=True)
        self.done.folders += [RemoveFolder(folder, self.name(folder)) for folder in deepest_first]

    def _take(self, record: Record) -> None:  # noqa: C901 - a line or two for each kind
        match record.kind:
            case "write":
                self._write(record)
            case "move":
                self._move(record, record.place or record.path)
            case "trash":
                self._restore(record, record.place or record.path)
            case "restore":
                self._trash(record)
            case "mode":
                self._mode(record)
            case "link":
                self._link(record)
            case "unfolder":
                self._step(MakeFolder(record.path, self.name(record.path)))
            case "lost":
                there = self._stays(record)
                self._tell(record.path, "as before" if there else "conflict", "" if there else "it was too large to be kept, and is gone")
            case "cells":
                self._tell(record.path, "conflict", IN_EDITOR)
            case "folder":
                pass

    def _write(self, record: Record) -> None:
        path = record.path
        if path in self.unmoved:
            self._tell(path, "as before")
            return
        now = self._content(path)
        before = self.journal.content(record.before) if record.before else None
        if record.before and before is None:
            # A file that is kept itself has its place there only when another has taken its own.
            same = is_of(record.before, now)
            self._tell(path, "as before" if same else "conflict", "" if same else self._why_gone(record.before))
            return
        after = applied(record.delta, before) if record.delta is not None and before is not None else None
        is_after = now == after if after is not None else fingerprint(now) == record.after
        if is_after and now != before:
            self._set(path, now, before, record.mode or None)
            self._tell(path, "restored")
        elif now == before:
            self._tell(path, "as before")
        else:
            self._merge(path, after, now, before)

    def _why_gone(self, key: str) -> str:
        file = self.journal.blobs.file(key)
        spoiled = is_loose(key) and file.exists()
        return f"a program that had it open wrote to what was kept of it, {file}" if spoiled else "what was in it is not kept any more"

    def _merge(self, path: Path, base: bytes | None, now: bytes | None, before: bytes | None) -> None:
        """Takes the change out and leaves what has come since."""
        texts = [None if data is None else decode(data) for data in (base, now, before)]
        if None in texts or now is None:
            self._tell(path, "conflict", "it was deleted since" if now is None else "it was changed since")
            return
        there = texts[1]
        merged = merge(*(text.text for text in texts if text), our_label="as it is now", their_label="before the call")
        shown = compared(self.name(path), there.text if there else "", merged.text)[0]
        self.done.merges.append(shown)
        if not merged.clean:
            self._tell(path, "conflict", "it was changed since, in the same lines")
        elif self.merging and there is not None:
            self._set(path, now, encode(merged.text, there.encoding), None)
            self._tell(path, "merged")
        else:
            self._tell(path, "mergeable", "it was changed since")

    def _set(self, path: Path, now: bytes | None, then: bytes | None, mode: int | None) -> None:
        subject = self.name(path)
        if then is None:
            self._step(Remove(path, subject, now or b""))
        else:
            self._step(Write(path, subject, now, then, mode if now is None else None))
        self.now[path] = then

    def _move(self, record: Record, to: Path) -> None:
        """Back to where it was."""
        there, here = self._is(to), self._is(record.path)
        if to in self.unmoved:
            self._tell(record.path, "as before")
        elif there and not here:
            self._step(Move(to, record.path, self.name(record.path)))
            self.now[record.path], self.now[to] = self.now.get(to, _content_of(to)), None
            self._tell(record.path, "restored")
        elif there and here and not {to, record.path} & self.now.keys() and is_one(to, record.path):
            self._drop_name(to)
            self._tell(record.path, "restored")
        else:
            why = f"{self.name(to)} is not there any more" if not there else "something else has this name now"
            self._tell(record.path, "conflict", why)

    def _drop_name(self, path: Path) -> None:
        """One of two names of a file or link that was cut short on its way from one to the other."""
        target, subject = link_target(path), self.name(path)
        self._step(Remove(path, subject, self._content(path) or b"") if target is None else Link(path, subject, target, None))
        self.now[path] = None

    def _restore(self, record: Record, kept: Path) -> None:
        if look(kept) is None:
            same = self._stays(record)
            self._tell(record.path, "as before" if same else "conflict", "" if same else "what was deleted is not kept any more")
        elif self._is(record.path):
            same = self._stays(record)
            self._tell(record.path, "as before" if same else "conflict", "" if same else "something else has this name now")
        else:
            self._step(Restore(kept, record.path, self.name(record.path)))
            self.now[record.path] = _content_of(kept)
            self._tell(record.path, "restored")

    def _stays(self, record: Record) -> bool:
        """Whether what was to be taken away is still there: cut short before, or when it had a second name or a copy already."""
        return record.path not in self.now and self._is(record.path) and tree_of(record.path).stamp == record.before

    def _trash(self, record: Record) -> None:
        """What an undo brought back is deleted again."""
        kept = record.place
        if kept is not None and look(kept) is not None:  # cut short before it was back, or when it had both names
            if is_one(kept, record.path):
                self._drop_name(record.path)
            self._tell(record.path, "as before")
        elif not self._is(record.path):
            self._tell(record.path, "as before")
        elif self.now.get(record.path, b"") is not None and tree_of(record.path).stamp != record.after:
            self._tell(record.path, "conflict", "it was changed since")
        else:
            # Where it was kept before: the change that deleted it first can then be undone again.
            self._step(RemoveTree(record.path, self.name(record.path), record.place))
            self.now[record.path] = None
            self._tell(record.path, "restored")

    def _mode(self, record: Record) -> None:
        info, after = look(record.path), int(record.after, 8)
        if info is None or info.st_mode & 0o7777 == record.mode:
            self._tell(record.path, "as before")
            return
        if info.st_mode & 0o7777 != after:
            self._tell(record.path, "conflict", "its mode was changed since")
            return
        self._step(SetMode(record.path, self.name(record.path), after, record.mode))
        self._tell(record.path, "restored")

    def _link(self, record: Record) -> None:
        now, before, after = link_target(record.path), link_of(record.before), link_of(record.after)
        if now == before and (now is not None or look(record.path) is None):
            self._tell(record.path, "as before")
        elif now == after and (now is not None or look(record.path) is None):
            self._step(Link(record.path, self.name(record.path), now, before))
            self._tell(record.path, "restored")
        else:
            self._tell(record.path, "conflict", "it was changed since")

    def _content(self, path: Path) -> bytes | None:
        return self.now[path] if path in self.now else read_if_there(path, self.name(path), limit=sys.maxsize - 1)

    def _is(self, path: Path) -> bool:
        return self.now[path] is not None if path in self.now else look(path) is not None

    def _step(self, step: Step) -> None:
        self.done.steps.append(step)

    def _tell(self, path: Path, outcome: Outcome, why: str = "") -> None:
        """The last word on a path counts, but a hindrance stays."""
        name = self.name(path)
        known = next((file for file in self.done.files if file.path == name), None)
        if known is None:
            self.done.files.append(FileUndone(name, outcome, why))
        elif known.outcome not in ("conflict", "mergeable") and outcome != "as before":
            self.done.files[self.done.files.index(known)] = replace(known, outcome=outcome, why=why)


def is_one(path: Path, other: Path) -> bool:
    """Whether both names are there, and of one file."""
    one, two = look(path), look(other)
    return one is not None and two is not None and os.path.samestat(one, two)


def _content_of(path: Path) -> bytes | None:
    """Of a file; empty stands for a folder and for a link: they are there."""
    try:
        return read_if_there(path, str(path), limit=sys.maxsize - 1)
    except ToolFailure:
        return b""
