"""Opens the session of a notebook, with its cards and its questions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from nbtools.core.live import LiveNotebooks
from nbtools.core.settings import Settings
from nbtools.core.tool import AnyToolBuilder
from nbtools.notebook.bridge import Bridge
from nbtools.notebook.cards import Cards
from nbtools.notebook.confirm import NotebookConfirmer
from nbtools.notebook.frontend import Kernel, Terminal
from nbtools.notebook.places import Place
from nbtools.notebook.prompt import Prompt
from nbtools.policy.store import PolicyStore, Trust
from nbtools.session import Session


def open_bridge(
    frontend: Kernel | Terminal,
    folder: Path,
    before: Session | None,
    own: Iterable[AnyToolBuilder],
    root: Callable[[], str],
    live: LiveNotebooks | None = None,
) -> Bridge:
    """A session on ``folder`` with the built-in tools and ``own``, the rules kept for it, and the rules and settings of the one ``before``.

    ``root`` is that folder as seen from the notebook's, ``live`` the way to the notebooks that are open around.  Raises ``NbtoolsError``
    when the folder is none.
    """

    def elsewhere() -> Place:
        return frontend.place(None, early=True)

    policy, settings = (None, Settings(plugins=True, servers=True, record=True)) if before is None else (before.policy, before.settings)
    session = Session(folder, policy=policy, settings=settings)
    session.model = None if before is None else before.model
    session.layers = session.store.layers()
    for line in _worth_knowing(session.store):
        sys.stderr.write(f"{line}\n")
    cards = Cards(elsewhere, root)
    session.confirmer = NotebookConfirmer(cards, Prompt(frontend), root)
    session.observe(cards)
    session.workspace.live = live
    for tool in own:
        session.tools.register(tool)
    return Bridge(session.sync(), cards, frontend)


def _worth_knowing(store: PolicyStore) -> Iterator[str]:
    """Files that cannot be read, and rules that do not count yet."""
    yield from store.problems()
    project, trust = store.project(), store.trust()
    if (project.policy.allow or project.policy.mode) and trust in (Trust.UNKNOWN, Trust.CHANGED):
        why = "they are not trusted" if trust is Trust.UNKNOWN else "they have changed since you trusted them"
        yield f"Of this project's rules only what forbids or asks counts: {why}. %tools trust shows them."
