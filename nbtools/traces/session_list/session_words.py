"""Finds the sessions that words such as ``latest`` or the name of a project mean,
and prints those of ``nbtools trace``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.traces.log_arguments import LATEST
from nbtools.traces.session_index.listing import SessionQuery
from nbtools.traces.session_index.places import agent_named, agents
from nbtools.traces.session_list.session_messages import SessionFilter
from nbtools.traces.session_list.session_text import sessions_text
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
        return json.dumps([one.as_json() for one in found], indent=2)
    first = SessionList(SessionFilter(text=text, project=project)).first(_ROWS)
    return sessions_text(first, shutil.get_terminal_size((140, 40)).columns)


def latest_log(words: Sequence[str]) -> str:
    """Returns the path of the session that changed last; ``words`` name an agent, a project, or both.
    Raises ``TraceError``.
    """
    agent = project = ""
    for word in words:
        if not agent and (named := agent_named(word)):
            agent = named
        elif not project:
            project = word
        else:
            raise TraceError(
                f"{word!r} is one name too many: latest takes an agent ({', '.join(agents())}) and a project."
            )
    catalog = session_catalog()
    catalog.refresh()
    found = catalog.page(SessionQuery(agent=agent, project=project), 0, 1)
    if not found:
        about = "".join(f" of {word}" for word in words)
        raise TraceError(
            f"No session{about} was found on this machine. List all of them with %trace, or nbtools trace."
        )
    return str(found[0].path)


def project_named(word: str) -> bool:
    """Returns whether there are sessions in a project of this name, or in this folder."""
    catalog = session_catalog()
    catalog.refresh()
    return catalog.count(SessionQuery(project=word)) > 0
