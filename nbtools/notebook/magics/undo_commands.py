"""The sub-commands of ``%tools`` that list the journal and undo calls."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from nbtools.cards.tables import Sheet
from nbtools.notebook.magics.sub_commands import SubCommand, refused, sheet_of_lines, without_flags

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.workspace.history.store import JournalEntry
    from nbtools.workspace.history.undo import UndoMerge

_MERGES: dict[str, UndoMerge] = {"--merge": True, "--keep": "keep", "--take-back": "take_back"}
_RECENT = 30
_MAX_FILES = 3
"""Files listed in one row."""


class UndoCommands:
    """The sub-commands ``undo``, ``redo`` and ``journal``.
    Errors are raised as ``NbtoolsError`` with a one-line message.
    """

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self.commands = {
            "undo": SubCommand(
                "[--merge | --keep | --take-back] [ID]…",
                "undoes the changes of calls, in this order; without ID, of the last call that changed files",
                self._undo,
            ),
            "redo": SubCommand("", "undoes the last undo", self._redo),
            "journal": SubCommand("[COUNT]", "lists changes that can be undone, latest last", self._journal),
        }

    def _undo(self, rest: list[str]) -> None:
        words, flags = without_flags(rest, "undo", *_MERGES)
        if len(flags) > 1:
            raise refused(f"%tools undo takes one of {', '.join(_MERGES)}.")
        merge = next((_MERGES[flag] for flag in flags), False)
        for call in words or [""]:
            if not self._runtime.bridge.undo(call, merge=merge).ok:
                return

    def _redo(self, rest: list[str]) -> None:
        if rest:
            raise refused("%tools redo takes no words. %tools undo ID undoes the undo with that id.")
        last = next(
            (entry for entry in reversed(self._runtime.session.changes) if entry.undoes and not entry.undone),
            None,
        )
        if last is None:
            raise refused("There is no undo that could be undone. %tools journal lists the changes.")
        self._runtime.bridge.undo(last.id, merge=False)

    def _journal(self, rest: list[str]) -> Sheet:
        if len(rest) > 1 or (rest and not (rest[0].isdigit() and int(rest[0]))):
            raise refused("%tools journal takes a number of calls above 0, as in %tools journal 10.")
        session = self._runtime.session
        changes, notices = session.changes, session.journal_notices
        if not changes:
            off = (
                ()
                if session.settings.journal
                else ("The journal is off. %tools set journal on records changes from then on.",)
            )
            return sheet_of_lines("There is no change to undo.", *off, *notices)
        listed = changes[-(int(rest[0]) if rest else _RECENT) :]
        earlier = (
            (f"{len(changes) - len(listed):,} earlier. %tools journal {len(changes)} lists all.",)
            if len(changes) > len(listed)
            else ()
        )
        lines = ("%tools undo ID undoes a change; an undo can be undone.", *earlier, *notices)
        return Sheet(
            "",
            tuple(map(_row, listed)),
            lines,
            ("id", "tool", "files", "when", "size", "state"),
            frozenset({0, 1, 2}),
        )


def _row(entry: JournalEntry) -> tuple[str, ...]:
    files = ", ".join(entry.files[:_MAX_FILES])
    more = f" and {len(entry.files) - _MAX_FILES:,} more" if len(entry.files) > _MAX_FILES else ""
    when = datetime.fromtimestamp(entry.at).astimezone()
    day = "%H:%M:%S" if when.date() == datetime.now().astimezone().date() else "%Y-%m-%d %H:%M"
    return (entry.id, entry.tool, f"{files}{more}", f"{when:{day}}", size(entry.bytes), _state(entry))


def size(count: int) -> str:
    """Formats a number of bytes."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def _state(entry: JournalEntry) -> str:
    notes = ["only partly applied"] if entry.partly else []
    notes += ["may have changed more"] if entry.unsaved else []
    notes += [f"undone by {entry.undone_by}"] if entry.undone else []
    notes += [f"undoes {entry.undoes}"] if entry.undoes else []
    notes += [] if entry.of_this_session else ["another session"]
    return "; ".join(notes)
