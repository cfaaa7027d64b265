"""Finds the sessions that ``latest`` and the name of a project mean."""

from __future__ import annotations

from collections.abc import Sequence

from nbtools.core.errors import TraceError
from nbtools.traces.session_index.listing import SessionQuery
from nbtools.traces.session_index.places import agent_named, agents
from nbtools.traces.session_list.view import session_catalog


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
