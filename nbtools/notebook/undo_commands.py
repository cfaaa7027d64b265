"""The sub-commands of ``%tools`` that bring things back: what calls have changed, and undoing it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from nbtools.notebook.sheets import Sheet
from nbtools.notebook.sub_commands import SubCommand, refused, said, without_flags

if TYPE_CHECKING:
    from nbtools.notebook.workbench import Workbench
    from nbtools.workspace.journal.records import JournalEntry

_RECENT = 30
_NAMED = 3
"""Files named in a row."""


class UndoCommands:
    """The sub-commands.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.commands = {
            "undo": SubCommand("[--merge] [ID]", "bring back what was there before a call; alone: before the last change", self._undo),
            "journal": SubCommand("[COUNT]", "what calls have changed and can be undone, latest last", self._journal),
        }

    def _undo(self, rest: list[str]) -> None:
        words, flags = without_flags(rest, "undo", "--merge")
        if len(words) > 1:
            raise refused("%tools undo takes the id of one call, as %tools journal lists them; without one it undoes the last change.")
        self._bench.bridge.undo(words[0] if words else "", merge=bool(flags))

    def _journal(self, rest: list[str]) -> Sheet:
        if len(rest) > 1 or (rest and not (rest[0].isdigit() and int(rest[0]))):
            raise refused("%tools journal takes how many calls to show, as in %tools journal 10.")
        session = self._bench.session
        changes, notices = session.changes, session.journal_notices
        if not changes:
            off = () if session.settings.journal else ("The journal is off: %tools set journal on keeps what calls change.",)
            return said("No call has changed anything that could be undone.", *off, *notices)
        shown = changes[-(int(rest[0]) if rest else _RECENT) :]
        earlier = (f"{len(changes) - len(shown):,} earlier: %tools journal {len(changes)} shows all.",) if len(changes) > len(shown) else ()
        lines = ("%tools undo ID brings back what was there before; an undo can be undone.", *earlier, *notices)
        return Sheet("", tuple(map(_row, shown)), lines, ("id", "tool", "files", "when", "kept", ""), frozenset({0, 1, 2}))


def _row(entry: JournalEntry) -> tuple[str, ...]:
    named = ", ".join(entry.files[:_NAMED])
    more = f" and {len(entry.files) - _NAMED:,} more" if len(entry.files) > _NAMED else ""
    when = datetime.fromtimestamp(entry.at).astimezone()
    day = "%H:%M:%S" if when.date() == datetime.now().astimezone().date() else "%Y-%m-%d %H:%M"
    return (entry.id, entry.tool, f"{named}{more}", f"{when:{day}}", size(entry.bytes), _state(entry))


def size(count: int) -> str:
    """A number of bytes for people."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def _state(entry: JournalEntry) -> str:
    told = ["failed half way"] if entry.partly else []
    told += [f"undone by {entry.undone_by}"] if entry.undone else []
    told += [f"undid {entry.undoes}"] if entry.undoes else []
    told += [] if entry.of_this_session else ["another session"]
    return "; ".join(told)
