"""Formats sessions for people."""

from __future__ import annotations

import time
from pathlib import Path

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.summary import short_number
from nbtools.traces.session_index.listing import LoggedSession
from nbtools.traces.session_index.places import label_of
from nbtools.traces.session_list.model import SessionRow

_PLACEHOLDER = "This version of the agent recorded placeholders instead of the number of output tokens."
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def session_row(session: LoggedSession, now: float) -> SessionRow:
    """Returns a session as it is displayed: without secrets, hidden characters visible."""
    changed = session.added is not None or session.removed is not None
    return SessionRow(
        id=session.id,
        title=one_line(redacted(session.title), 200) or one_line(session.path.name, 200),
        agent=one_line(label_of(session.agent), 80),
        model=one_line(session.model, 80),
        project=one_line(session.name, 80),
        folder=one_line(home_relative(session.project), 300),
        age=age(now - session.changed),
        times=_times(session),
        duration="" if session.duration is None else elapsed(session.duration),
        calls=_number(session.calls),
        failed=_number(session.failed),
        added=f"+{session.added or 0:,}" if changed else "",
        removed=f"−{session.removed or 0:,}" if changed else "",
        tokens=_tokens(session),
        running=session.running,
        unread=not session.read,
        doubt=_PLACEHOLDER if session.doubtful else "",
        problem=one_line(session.problem, 300),
    )


def age(seconds: float) -> str:
    """Formats how long ago something was: ``now``, ``5 min``, ``3 h``, ``12 d``, ``8 months``,
    ``2 years``.
    """
    if seconds < _MINUTE:
        return "now"
    for unit, length, limit in (("min", _MINUTE, _HOUR), ("h", _HOUR, _DAY), ("d", _DAY, 60 * _DAY)):
        if seconds < limit:
            return f"{seconds / length:.0f} {unit}"
    months = seconds / _DAY / 30.44
    return f"{months:.0f} months" if months < 24 else f"{months / 12:.0f} years"


def home_relative(path: str) -> str:
    """Returns a path with ``~`` for the person's home folder."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if home != "/" and (path == home or path.startswith(f"{home}/")) else path


def _times(session: LoggedSession) -> str:
    began = f"began {_date(session.started)}, " if session.started is not None else ""
    return f"{began}last change {_date(session.changed)}"


def _date(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _tokens(session: LoggedSession) -> str:
    counts = [count for count in (session.tokens_in, session.tokens_out) if count is not None]
    return short_number(sum(counts)) if counts else ""
