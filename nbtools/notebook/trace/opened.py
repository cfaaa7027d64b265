"""A line of the list, opened: its card, what stands around it, what can be done with it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from msgspec.structs import replace as replaced

from nbtools.core.errors import TraceError
from nbtools.notebook.displays import text_block
from nbtools.notebook.trace.around import Surroundings
from nbtools.notebook.trace.call_cell import cell_of
from nbtools.notebook.trace.cells import Cells
from nbtools.notebook.trace.facets import Facets
from nbtools.notebook.trace.order import Told
from nbtools.notebook.trace.recorded import card_of_recorded
from nbtools.notebook.trace.records import Records
from nbtools.notebook.trace.secrets import hidden, hidden_in
from nbtools.notebook.trace.timeline import Timeline
from nbtools.notebook.trace.wire import TraceOpened
from nbtools.notebook.visible import one_line
from nbtools.notebook.wire import Card
from nbtools.replay import ground_of, meaning_of
from nbtools.traces.model import Call, Detail, Event, Session

_MARKDOWN = frozenset({"user", "assistant_text", "compaction"})
_SPEAKERS = {"person": "You", "agent": "Agent"}


@dataclass(frozen=True, slots=True)
class _Again:
    """A card, and the cell that makes the call again or why there is none; of what is no call neither."""

    card: Card
    tool: str = ""
    obstacle: str = ""


class Opener:
    """Opens the lines of a log."""

    def __init__(self, lines: Timeline, facets: Facets, records: Records, cells: Cells) -> None:
        self._lines = lines
        self._records = records
        self._cells = cells
        self._around = Surroundings(lines, facets)

    def opened(self, line: int) -> TraceOpened:
        """Raises ``TraceError`` where the log has changed since it was read."""
        row = self._lines.rows[line]
        number = self._lines.numbers[line]
        again = self._again(row) if isinstance(row, Call) else _Again(self._said(row, line))
        return TraceOpened(
            line=line,
            card=again.card,
            foot=_foot(row, number),
            around=self._around.of(line),
            raw=self._records.where(row),
            replay=self._cells.replay(number) if again.tool else "",
            obstacle=again.obstacle,
            tool=again.tool,
            link=self._cells.link(number),
        )

    def _again(self, call: Call) -> _Again:
        detail = call.detail
        ground = ground_of(call, sessions=self._lines.sessions)
        card = card_of_recorded(_told(call), _shown(detail), cwd=ground.cwd)
        try:
            return _Again(card, tool=cell_of(meaning_of(call, ground, detail=detail)))
        except TraceError as error:
            return _Again(card, obstacle=str(error))

    def _said(self, row: Told, line: int) -> Card:
        """What was said, as the card of a call would show a text."""
        drawn = self._lines[line]
        text = hidden(self._records.text(row)) if isinstance(row, Event) else ""
        markdown = isinstance(row, Event) and row.kind in _MARKDOWN
        return Card(
            id="",
            state="error" if drawn.tone == "failed" else "success",
            tool=_SPEAKERS.get(drawn.tone, drawn.name),
            icon=drawn.icon,
            subject="" if text else drawn.subject,
            status="",
            detail=drawn.right,
            blocks=(text_block(text, markdown=markdown),) if text.strip() else (),
            record="" if drawn.live else "on a branch that was rewound",
            root="/",
        )


def _told(call: Call) -> Call:
    """Without secrets in what stands in the head and the foot of its card."""
    subject, permission = hidden(call.subject), hidden(call.permission)
    if (subject, permission) == (call.subject, call.permission):
        return call
    return replaced(call, subject=subject, permission=permission)


def _shown(detail: Detail) -> Detail:
    """Changes of files are shown as they are, as in a live card."""
    return replace(detail, display=hidden_in(detail.display), command=hidden(detail.command))


def _foot(row: Told, number: str) -> str:
    """When it was stands in the record of a call's card already."""
    if isinstance(row, Call):
        return f"step {number}"
    at, turn = (row.started, 0) if isinstance(row, Session) else (row.at, row.turn)
    clock = "" if at is None else time.strftime("%H:%M:%S", time.localtime(at))
    return one_line(" · ".join(filter(None, [f"step {number}", clock, f"turn {turn}" if turn else ""])))
