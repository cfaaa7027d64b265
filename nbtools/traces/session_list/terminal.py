"""Text output of ``nbtools trace`` without a log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nbtools.traces.log_arguments import LATEST
from nbtools.traces.session_index.listing import SessionQuery
from nbtools.traces.session_index.places import add_log_folder
from nbtools.traces.session_list.model import SessionFilter, SessionsTask
from nbtools.traces.session_list.selection import latest_log, project_named
from nbtools.traces.session_list.text import sessions_text
from nbtools.traces.session_list.view import SessionList, session_catalog

_ROWS = 40
_READING = 2.0
"""Seconds in which whole logs are read before the table is printed."""


def resolve(words: Sequence[str]) -> str | None:
    """Returns the log that the words of the command line mean; None for a list. Raises ``TraceError``."""
    if words[:1] == [LATEST]:
        return latest_log(words[1:])
    if not words or (not Path(words[0]).expanduser().is_file() and project_named(words[0])):
        return None
    return words[0]


def session_table(words: Sequence[str], text: str = "", *, as_json: bool = False) -> str:
    """Returns the sessions of this machine, or those of a project, as a table, or all of them as JSON."""
    catalog = session_catalog()
    catalog.refresh()
    catalog.read_now(_READING)
    project = "".join(words)
    if as_json:
        found = catalog.page(SessionQuery(text=text, project=project))
        return json.dumps([{**msgspec.structs.asdict(one), "path": str(one.path)} for one in found], indent=2)
    task = SessionsTask(filter=SessionFilter(text=text, project=project), first=0, count=_ROWS)
    page = SessionList().page(task)
    return sessions_text(page, shutil.get_terminal_size((140, 40)).columns)


def add_folder(folder: str) -> Path:
    """Adds a folder with logs and returns its path. Raises ``TraceError``."""
    return add_log_folder(folder)
