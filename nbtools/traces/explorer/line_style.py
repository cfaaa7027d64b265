"""Styles the rows of a log for the list, cards and comparisons: icon, name, tone, outcome and duration."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from msgspec import Struct

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.core.message import counted
from nbtools.traces.explorer.explorer_view import Tone
from nbtools.traces.explorer.nesting import CallKey, LineRow
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.model import Call, Event, EventKind, Op, Session, Status
from nbtools.traces.prompts import typed_text

MAX_SUBJECT = 200
"""Largest length of a line's subject, in characters."""
CHANGE_OPS: frozenset[Op] = frozenset({"write", "edit", "patch", "notebook"})
STATUS_WORDS: dict[Status, str] = {
    "ok": "Done",
    "error": "Failed",
    "cancelled": "Cancelled",
    "denied": "Denied",
    "interrupted": "Interrupted",
    "unanswered": "No answer recorded",
    "unknown": "Outcome not recorded",
}
MIN_DURATION = 0.05
"""Seconds from which a duration is shown."""
_ICONS: dict[Op, str] = {
    "shell": "terminal",
    "read": "fileSearch",
    "search": "regex",
    "list": "folder",
    "fetch": "globe",
    "web_search": "globe",
    "plan": "lightBulb",
    **dict.fromkeys(CHANGE_OPS, "pencil"),
}
"""``Icon`` values, as our tools of the same kind have; all other operations get a ``hammer``."""
_LINE_ICONS: dict[Op, str] = {**_ICONS, "agent": "agent", "ask": "person"}
"""Lines have two icons more than cards: for calls that an agent or a person answers."""
_EVENT_STYLES: dict[EventKind, tuple[str, str, Tone]] = {
    "user": ("person", "", "person"),
    "assistant_text": ("assistant", "", "agent"),
    "thinking": ("thought", "thinking", "quiet"),
    "compaction": ("fold", "compaction", "quiet"),
    "attachment": ("clip", "attachment", "quiet"),
    "error": ("alarm", "error", "failed"),
    "scorer": ("check", "scorer", "quiet"),
}
"""Icon, name and tone of messages."""


# A log has 100,000 of these: no model is validated for each.
class StepLine(Struct, frozen=True, gc=False):
    """One line of the list.

    ``line`` is its index in the whole log from 0, which no filter changes; ``number`` is its step number as
    displayed.  ``below`` is the number of lines nested under it.  ``call``: it is a tool call, not a message.
    """

    line: int
    number: str
    icon: str
    name: str
    subject: str
    right: str
    tone: Tone
    depth: int
    below: int = 0
    call: bool = False
    live: bool = True
    added: int = 0
    removed: int = 0


def icon_of(call: Call) -> str:
    return _ICONS.get(call.op, "hammer")


def tone_of(call: Call) -> Tone:
    if call.is_failure:
        return "failed"
    if call.status == "ok":
        return "changed" if call.op in CHANGE_OPS else "done"
    return "unknown" if call.status == "unknown" else "stopped"


def outcome_of(call: Call) -> str:
    """Returns the outcome to show: ``exit 1``, ``denied``; empty for success and for an unknown one."""
    if call.exit_code and call.status in ("ok", "error"):
        return f"exit {call.exit_code}"
    return "" if call.status in ("ok", "unknown") else STATUS_WORDS[call.status].lower()


def duration_of(call: Call) -> str:
    """Returns the duration as text; empty if it is not recorded or very short."""
    return elapsed(call.duration) if call.duration is not None and call.duration >= MIN_DURATION else ""


def relative_path(path: str, folder: str) -> str:
    """Returns ``path`` relative to the session's ``folder``; unchanged if it is elsewhere or not a path."""
    return path.removeprefix(folder.rstrip("/") + "/") if folder else path


def tones_of(rows: Iterable[LineRow], running: Collection[CallKey]) -> list[Tone]:
    """Returns the tone of each row.  A log has 100,000 calls, but few ways in which calls end."""
    known: dict[tuple[Op, Status, bool], Tone] = {}
    tones: list[Tone] = []
    for row in rows:
        if type(row) is Call:
            key = (row.op, row.status, bool(row.exit_code))
            tone = known.get(key)
            if tone is None:
                tone = known[key] = tone_of(row)
            tones.append("unknown" if running and (row.session, row.id) in running else tone)
        else:
            tones.append(_EVENT_STYLES[row.kind][2] if isinstance(row, Event) else "quiet")
    return tones


def styled_line(
    row: LineRow,
    line: int,
    number: str,
    depth: int,
    *,
    folder: str = "",
    added: int = 0,
    removed: int = 0,
    steps: int = 0,
    below: int = 0,
    is_running: bool = False,
) -> StepLine:
    """Returns a row as a line of the list.  ``folder`` is the working directory of its session, ``steps`` the
    number of steps directly under it.
    """
    if isinstance(row, Call):
        outcome = "running" if is_running else outcome_of(row)
        right = (outcome, counted(steps, "step") if steps else "", duration_of(row))
        return StepLine(
            line=line,
            number=number,
            icon=_LINE_ICONS.get(row.op, "hammer"),
            name=_tool_name(row.name),
            subject=_subject(relative_path(row.subject, folder)),
            right=" · ".join(filter(None, right)),
            tone="unknown" if is_running else tone_of(row),
            depth=depth,
            below=below,
            call=True,
            live=row.live,
            added=added,
            removed=removed,
        )
    tone: Tone
    if isinstance(row, Session):
        icon, name, tone, text = "session", "session", "quiet", row.title or row.id
    else:
        icon, name, tone = _EVENT_STYLES[row.kind]
        text = (typed_text(row.text) if row.kind == "user" else "") or row.text.strip()
    return StepLine(
        line=line,
        number=number,
        icon=icon,
        name=name,
        subject=_subject(text),
        right=counted(row.records, "record") if isinstance(row, Session) else "",
        tone=tone,
        depth=depth,
        live=isinstance(row, Session) or row.live,
    )


@lru_cache(maxsize=512)
def _tool_name(name: str) -> str:
    return one_line(name, 100)


def _subject(text: str) -> str:
    """Returns one line without secrets; they are removed before shortening, which could cut through one."""
    return one_line(redacted(text), MAX_SUBJECT)
