"""Creates the session of a notebook, with its live cards and its confirmer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from nbtools.core.settings import Settings
from nbtools.core.tool import AnyToolBuilder
from nbtools.notebook.approval.confirmer import NotebookConfirmer
from nbtools.notebook.approval.open_questions import OpenQuestions
from nbtools.notebook.approval.prompt import Prompt
from nbtools.notebook.call_bridge import Bridge
from nbtools.notebook.display_target import DisplayTarget
from nbtools.notebook.frontend import Kernel, Terminal, show_notice
from nbtools.notebook.live_cards import LiveCards
from nbtools.policy.store import PolicyStore, Trust
from nbtools.session import Session
from nbtools.workspace.notebooks.open_notebooks import OpenNotebooks


def open_bridge(
    frontend: Kernel | Terminal,
    folder: Path,
    before: Session | None,
    own: Iterable[AnyToolBuilder],
    root: Callable[[], str],
    questions: OpenQuestions,
    open_notebooks: OpenNotebooks | None = None,
) -> Bridge:
    """Creates a session on ``folder`` with the built-in tools, the tools ``own`` and the saved rules.

    Policy, settings and model are taken from the session ``before``, if there is one.  ``root`` is the folder
    relative to the notebook's, ``questions`` collects what waits for a click, ``open_notebooks`` is the
    access to open notebooks.  Raises ``NbtoolsError`` when the folder does not exist.
    """

    def default_target() -> DisplayTarget:
        return frontend.display_target(None, early=True)

    policy, settings = (
        (None, Settings(plugins=True, servers=True, record=True))
        if before is None
        else (before.policy, before.settings)
    )
    session = Session(folder, policy=policy, settings=settings)
    session.model = None if before is None else before.model
    session.layers = session.store.layers()
    for line in _warnings(session.store):
        show_notice(line)
    cards = LiveCards(default_target, root)
    session.confirmer = NotebookConfirmer(cards, Prompt(frontend), root, questions)
    session.observe(cards)
    session.workspace.open_notebooks = open_notebooks
    session.workspace.draws_pages = True
    for tool in own:
        session.tools.register(tool, replace=True)
    return Bridge(session.sync(), cards, frontend)


def _warnings(store: PolicyStore) -> Iterator[str]:
    """Yields warnings about unreadable policy files and about project rules that are off."""
    yield from store.problems()
    project, trust = store.project(), store.trust()
    if (project.policy.allow or project.policy.mode) and trust in (Trust.UNKNOWN, Trust.CHANGED):
        until = (
            "until you trust them"
            if trust is Trust.UNKNOWN
            else "because they have changed since you trusted them"
        )
        yield f"This project's allow rules are off {until}.\n%tools trust shows them."
