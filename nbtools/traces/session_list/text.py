"""The list of sessions as script-free HTML and as a table for terminals."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from nbtools.cards.tables import Sheet
from nbtools.core.message import counted
from nbtools.traces.session_list.model import SessionRow, SessionsPage

_HEAD = ("", "Session", "Agent", "Model", "Project", "Age", "Duration", "Calls", "Failed", "Edits", "Tokens")
_SHARES = {"Session": 30, "Model": 20, "Project": 18}
"""Most characters of a column; the rest of the terminal's width is for the session's title."""
_DROPPED = ("Model", "Tokens", "Duration", "Edits", "Agent")
"""Columns that are left out of a narrow terminal, one after the other."""
ADD_FOLDER = "To list logs of another folder: nbtools trace --add FOLDER, or set NBTOOLS_LOG_FOLDERS."
_MORE = "%trace latest opens the last one, %trace PROJECT lists those of a project, %trace? says more."


def sessions_html(page: SessionsPage) -> str:
    """Returns the first sessions as a table."""
    rows = tuple(_cells(row) for row in page.rows)
    title = f"{counted(page.total, 'session')} on this machine" if page.total else _nothing(page)
    lines = [_rest(page)] if _rest(page) else []
    return Sheet(title, rows, (*lines, _MORE), _HEAD if rows else (), code=frozenset()).html()


def sessions_text(page: SessionsPage, width: int = 140) -> str:
    """Returns the first sessions as a table for a terminal of ``width`` columns."""
    if not page.rows:
        return _nothing(page)
    lines = list(_table([_HEAD, *(_cells(row) for row in page.rows)], width))
    return "\n".join([*lines, *filter(None, [_rest(page)])])


def _nothing(page: SessionsPage) -> str:
    if page.all:
        return f"None of the {counted(page.all, 'session')} on this machine matches."
    folders = "\n".join(f"  {folder}" for folder in page.folders)
    return (
        "No session of an agent was found on this machine. These folders were"
        f" searched:\n{folders}\n{ADD_FOLDER}"
    )


def _rest(page: SessionsPage) -> str:
    more = page.total - len(page.rows)
    parts = [
        f"{counted(more, 'more session')}" if more > 0 else "",
        f"{counted(page.left, 'log')} not listed yet" if page.left else "",
        f"{counted(page.unread, 'log')} not read completely yet" if page.unread else "",
        f"{counted(page.unreadable, 'file')} in no known format" if page.unreadable else "",
    ]
    return " · ".join(filter(None, parts))


def _cells(row: SessionRow) -> tuple[str, ...]:
    edits = " ".join(filter(None, (row.added, row.removed)))
    mark = "●" if row.running else "!" if row.problem else ""
    return (
        mark,
        row.title,
        row.agent,
        row.model,
        row.project,
        row.age,
        row.duration,
        row.calls,
        row.failed,
        edits,
        row.tokens,
    )


def _table(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yields the lines of a table. Empty columns are left out, then texts are shortened,
    then columns dropped from the middle.
    """
    columns = [index for index in range(len(_HEAD)) if any(row[index] for row in rows[1:])]
    full = [max(cell_width(row[index]) for row in rows) for index in range(len(_HEAD))]
    for dropped in (0, 1, 2, 3, 4, 5):
        shown = [index for index in columns if _HEAD[index] not in _DROPPED[:dropped]]
        widths = [min(full[index], _SHARES.get(_HEAD[index], 999)) for index in shown]
        space = width - sum(widths) - 2 * len(widths)
        if space >= 0:
            break
    titles = shown.index(1)
    widths[titles] = max(12, min(full[1], widths[titles] + space))
    for row in rows:
        yield "  ".join(
            _fit(row[index], size, right=index > 4) for index, size in zip(shown, widths, strict=True)
        ).rstrip()


def cell_width(text: str) -> int:
    """Returns the columns of a terminal that a text takes."""
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    return (
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
    )


def _fit(text: str, width: int, *, right: bool) -> str:
    if cell_width(text) > width:
        text = "".join(_until(text, width - 1)) + "…"
    space = " " * (width - cell_width(text))
    return space + text if right else text + space


def _until(text: Iterable[str], width: int) -> Iterator[str]:
    for character in text:
        width -= _width(character)
        if width < 0:
            return
        yield character
