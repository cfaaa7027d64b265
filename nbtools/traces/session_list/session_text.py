"""Formats sessions for people: the texts of a row, and the list as script-free HTML and for terminals."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.cards.tables import Sheet
from nbtools.core.message import counted
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.summary import cost_text, short_number
from nbtools.traces.query.excerpts import snippet
from nbtools.traces.session_index.left_out import LeftOut
from nbtools.traces.session_index.logged_session import LoggedSession
from nbtools.traces.session_index.places import label_of
from nbtools.traces.session_list.session_messages import SessionTotal
from nbtools.traces.usage.cost import prices_name
from nbtools.traces.usage.totals import Total, TotalsBy

_HEAD = (
    *("#", "", "Session", "Agent", "Model", "Project"),
    *("Age", "Duration", "Calls", "Failed", "Edits", "Tokens", "Cost"),
)
_TEXTS = {"", "Session", "Agent", "Model", "Project"}
"""Columns that begin at the left."""
_TITLE = _HEAD.index("Session")
_SHARES = {"Session": 30, "Model": 20, "Project": 18}
"""Most characters of a column; the rest of the terminal's width is for the session's title."""
_DROPPED = ("Model", "Tokens", "Duration", "Edits", "Cost", "Agent")
"""Columns that are left out of a narrow terminal, one after the other."""
ADD_FOLDER = "To list logs of another folder: nbtools trace --add FOLDER, or set NBTOOLS_LOG_FOLDERS."
_MORE = (
    "%trace latest opens the last one, %trace 4 the one with this number, %trace codex and %trace PROJECT"
    " list those of an agent and of a project, %trace --help says more."
)
_PLACEHOLDER = "This version of the agent recorded placeholders instead of the number of output tokens."
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session.  Texts are as displayed; an empty one is not recorded, or not known yet.

    ``path`` is that of the log, ``folder`` the project's path and ``project`` its name.  ``age`` is the time
    since the log's last change, ``times`` says when that was and when the session began.  ``cost_note`` says
    by which prices the cost was computed, and what it lacks.  ``doubt`` says why a number is unreliable,
    ``problem`` why the log cannot be read.
    """

    path: str
    title: str
    agent: str
    model: str
    project: str
    folder: str
    age: str
    times: str
    started: str
    duration: str
    calls: str
    failed_calls: str
    added_lines: str
    removed_lines: str
    tokens: str
    cost: str
    cost_note: str
    running: bool
    doubt: str
    problem: str


@dataclass(frozen=True, slots=True)
class FirstSessions:
    """The first sessions under a filter, ``total`` of them; ``all`` sessions are on this machine.

    ``unread`` of those under the filter are not read as a whole yet, ``left`` logs were found and not listed
    yet.  ``left_out`` files in the agents' folders are not listed.  ``folders`` are those that were
    looked at, if there is no session at all.  ``numbered``: the rows have the numbers by which a command line
    names them, which search results do not.
    """

    rows: tuple[SessionRow, ...]
    total: int
    all: int
    unread: int
    left: int
    left_out: int
    folders: tuple[str, ...]
    numbered: bool = True


def session_row(session: LoggedSession, now: float) -> SessionRow:
    """Returns a session as it is displayed: without secrets, hidden characters visible."""
    changed = session.added_lines is not None or session.removed_lines is not None
    began = "" if session.started is None else f"began {_date(session.started)}, "
    return SessionRow(
        path=one_line(home_relative(str(session.path)), 1_000),
        title=one_line(redacted(session.title), 200) or one_line(session.path.name, 200),
        agent=one_line(label_of(session.agent), 80),
        model=one_line(session.model, 80),
        project=one_line(session.name, 80),
        folder=one_line(home_relative(session.project), 300),
        age=age(now - session.changed),
        times=f"{began}last change {_date(session.changed)}",
        started="" if session.started is None else _date(session.started)[:10],
        duration="" if session.duration is None else elapsed(session.duration),
        calls=_number(session.calls),
        failed_calls=_number(session.failed_calls),
        added_lines=f"+{session.added_lines or 0:,}" if changed else "",
        removed_lines=f"−{session.removed_lines or 0:,}" if changed else "",
        tokens="" if session.tokens is None else short_number(session.tokens),
        cost=cost_text(session.cost, is_lower_bound=bool(session.unpriced or session.doubtful)),
        cost_note=_cost_note(session),
        running=session.running,
        doubt=_PLACEHOLDER if session.doubtful else "",
        problem=one_line(session.problem, 300),
    )


def _cost_note(session: LoggedSession) -> str:
    if session.cost is None:
        if not session.read or not session.tokens:
            return ""
        if not prices_name():
            return 'No price lists are installed: pip install "nbtools-agent[prices]".'
        return f"{prices_name()} has no price for its models."
    if not session.prices:
        return "As the log records it."
    parts = [f"Prices of {session.prices} on the days of the requests"]
    if session.unpriced:
        parts.append(f"without {counted(session.unpriced, 'request')} to models that have no price")
    if session.doubtful:
        parts.append("some numbers of output tokens are placeholders")
    return f"{'; '.join(parts)}."


def left_out_text(files: Sequence[LeftOut]) -> str:
    """Returns the files that are not listed below their reasons, for a terminal."""
    if not files:
        return "Every log in the agents' folders is listed."
    reasons = dict.fromkeys(one.reason for one in files)
    lines = []
    for reason in reasons:
        own = [one.path for one in files if one.reason == reason]
        lines += [
            f"{one_line(reason, 300)} ({counted(len(own), 'file')})",
            *(f"  {one_line(home_relative(str(path)), 1_000)}" for path in own),
        ]
    return "\n".join(lines)


def total_row(total: Total, by: TotalsBy, keys: tuple[int, ...] = ()) -> SessionTotal:
    """Returns sums as they are displayed."""
    labels = {"agent": label_of, "project": home_relative}
    label = labels.get(by, str)(total.name)
    return SessionTotal(
        name=total.name,
        label=one_line(label, 300) or "not recorded",
        sessions=total.sessions,
        calls=total.calls,
        failed=total.failed_calls,
        tokens=total.input_tokens + total.output_tokens,
        cost=total.cost,
        unpriced=total.unpriced,
        lower_bound=total.lower_bound,
        keys=keys,
    )


def excerpt_of(surroundings: str, query: str, *, before: int = 60) -> str:
    """Returns one line around what a search found, with some characters ``before`` it, without secrets."""
    return one_line(snippet(redacted(surroundings), query, before=before), 300)


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
    home = os.path.expanduser("~")  # noqa: PTH111 - pathlib takes ten times as long
    return f"~{path[len(home) :]}" if home != "/" and (path == home or path.startswith(f"{home}/")) else path


def _date(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def sessions_html(page: FirstSessions) -> str:
    """Returns the first sessions as a table."""
    rows = tuple(_rows(page))
    title = f"{counted(page.total, 'session')} on this machine" if page.total else _nothing(page)
    lines = filter(None, (_rest(page), _cost_line(page)))
    return Sheet(title, rows, (*lines, _MORE), _HEAD if rows else (), code=frozenset()).html()


def sessions_text(page: FirstSessions, width: int = 140, *, paths: bool = False) -> str:
    """Returns the first sessions as a table for a terminal of ``width`` columns, each with the path of its
    log below it if ``paths`` are wanted.
    """
    if not page.rows:
        return _nothing(page)
    head, *lines = _table([_HEAD, *_rows(page)], width)
    if paths:
        lines = [
            part for line, row in zip(lines, page.rows, strict=True) for part in (line, f"    {row.path}")
        ]
    return "\n".join([head, *lines, *filter(None, [_rest(page), _cost_line(page)])])


def _nothing(page: FirstSessions) -> str:
    if page.all:
        return f"None of the {counted(page.all, 'session')} on this machine matches."
    folders = [f"  {folder}" for folder in page.folders]
    title = "No session of an agent was found on this machine. These folders were searched:"
    return "\n".join([title, *folders, ADD_FOLDER, *filter(None, [_rest(page)])])


def _rest(page: FirstSessions) -> str:
    more = page.total - len(page.rows)
    parts = [
        f"{counted(more, 'more session')} (--all lists them, --limit N some)" if more > 0 else "",
        f"{counted(page.left, 'log')} not listed yet" if page.left else "",
        f"{counted(page.unread, 'log')} not read completely yet" if page.unread else "",
        f"{counted(page.left_out, 'file is', 'files are')} not listed (--left-out says why)"
        if page.left_out
        else "",
    ]
    return " · ".join(filter(None, parts))


def _cost_line(page: FirstSessions) -> str:
    """Returns by which prices the costs are, where there are any."""
    if not any(row.cost for row in page.rows):
        return ""
    bound = "; ≥ is a lower bound" if any("≥" in row.cost for row in page.rows) else ""
    return f"Costs are by {prices_name() or 'the logs: no price lists are installed'}{bound}."


def _rows(page: FirstSessions) -> Iterator[tuple[str, ...]]:
    for number, row in enumerate(page.rows, 1):
        yield (f"{number}" if page.numbered else "", *_cells(row))


def _cells(row: SessionRow) -> tuple[str, ...]:
    edits = " ".join(filter(None, (row.added_lines, row.removed_lines)))
    mark = "!" if row.problem else ""
    texts = (row.title, row.agent, row.model, row.project, row.age, row.duration, row.calls)
    return ("●" if row.running else mark, *texts, row.failed_calls, edits, row.tokens, row.cost)


def _table(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yields the lines of a table. Empty columns are left out, then texts are shortened,
    then columns dropped from the middle.
    """
    columns = [index for index in range(len(_HEAD)) if any(row[index] for row in rows[1:])]
    full = [max(cell_width(row[index]) for row in rows) for index in range(len(_HEAD))]
    for dropped in range(len(_DROPPED) + 1):
        shown = [index for index in columns if _HEAD[index] not in _DROPPED[:dropped]]
        widths = [min(full[index], _SHARES.get(_HEAD[index], 999)) for index in shown]
        space = width - sum(widths) - 2 * len(widths)
        if space >= 0:
            break
    titles = shown.index(_TITLE)
    widths[titles] = max(12, min(full[_TITLE], widths[titles] + space))
    for row in rows:
        yield "  ".join(
            _fit(row[index], size, right=_HEAD[index] not in _TEXTS)
            for index, size in zip(shown, widths, strict=True)
        ).rstrip()


def cell_width(text: str) -> int:
    """Returns the columns of a terminal that a text takes."""
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fit(text: str, width: int, *, right: bool) -> str:
    if cell_width(text) > width:
        widths = accumulate(map(_width, text))
        text = "".join(one for one, end in zip(text, widths, strict=True) if end < width) + "…"
    space = " " * (width - cell_width(text))
    return space + text if right else text + space
