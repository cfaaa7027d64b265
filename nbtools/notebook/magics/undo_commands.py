"""The sub-commands of ``%tools`` that list the journal and undo calls."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from nbtools.cards.tables import Sheet
from nbtools.notebook.magics.flags import refused, switch, word, word_list
from nbtools.notebook.magics.sub_commands import SubCommand, sheet_of_lines

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.workspace.history.store import JournalEntry
    from nbtools.workspace.history.undo import UndoMerge

_MERGES: dict[str, UndoMerge] = {"merge": True, "keep": "keep", "take_back": "take_back"}
_RECENT = 30
_COUNT_HINT = "takes a number of calls above 0, as in %tools journal 10."
_MAX_FILES = 3
"""Files listed in one row."""


class UndoCommands:
    """The sub-commands ``undo``, ``redo`` and ``journal``."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self.commands = (
            SubCommand(
                "undo",
                "undoes the changes of calls, in this order; without ID, of the last call that changed files",
                self._undo,
                (*map(switch, _MERGES), word_list("ids", required=False, offers=self._undoable)),
                "takes ids of calls, and one of --merge, --keep, --take-back.",
                usage="[--merge | --keep | --take-back] [ID]…",
            ),
            SubCommand(
                "redo",
                "undoes the last undo",
                self._redo,
                hint="takes no words. %tools undo ID undoes the undo with that id.",
            ),
            SubCommand(
                "journal",
                "lists changes that can be undone, latest last",
                self._journal,
                (word("count", type="integer", required=False),),
                _COUNT_HINT,
            ),
        )

    def _undoable(self, *_: object) -> list[str]:
        return [entry.id for entry in reversed(self._runtime.session.changes) if not entry.undone]

    def _undo(self, ids: Sequence[str] = ("",), **flags: bool) -> None:
        chosen = [_MERGES[name] for name, is_on in flags.items() if is_on]
        if len(chosen) > 1:
            raise refused("%tools undo takes one of --merge, --keep, --take-back.")
        merge = chosen[0] if chosen else False
        for call in ids:
            if not self._runtime.bridge.undo(call, merge=merge).ok:
                return

    def _redo(self) -> None:
        last = next(
            (entry for entry in reversed(self._runtime.session.changes) if entry.undoes and not entry.undone),
            None,
        )
        if last is None:
            raise refused("There is no undo that could be undone. %tools journal lists the changes.")
        self._runtime.bridge.undo(last.id, merge=False)

    def _journal(self, count: int = _RECENT) -> Sheet:
        if count < 1:
            raise refused(f"%tools journal {_COUNT_HINT}")
        session = self._runtime.session
        changes, notices = session.changes, session.journal_notices
        if not changes:
            off = (
                ()
                if session.settings.journal
                else ("The journal is off. %tools set journal on records changes from then on.",)
            )
            return sheet_of_lines("There is no change to undo.", *off, *notices)
        listed = changes[-count:]
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
