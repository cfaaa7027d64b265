"""Recorded calls run in a copy, from a cell: with a card while they run, questions as the notebook asks them, and a way to stop them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nbtools.core.errors import TraceError
from nbtools.notebook.bridge import Bridge
from nbtools.notebook.cards import Cards
from nbtools.notebook.confirm import NotebookConfirmer
from nbtools.notebook.prompt import Prompt
from nbtools.notebook.trace.spot import Spot
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.replay.copying import Copy, make_copy
from nbtools.replay.ground import Ground
from nbtools.replay.meaning import meaning_of
from nbtools.replay.replay import session_in
from nbtools.replay.stepping import Steps
from nbtools.traces.model import Call
from nbtools.traces.replaying import waited_for

if TYPE_CHECKING:
    from nbtools.notebook.places import Place
    from nbtools.notebook.workbench import Workbench

T = TypeVar("T")


class Rerun:
    """A copy of the folder of recorded calls, and a session in it.  ``close`` removes both; so do the notebook's end and its kernel's."""

    def __init__(self, bench: Workbench, copy: Copy, ground: Ground) -> None:
        self.copy = copy
        self.ground = ground.on(copy)
        self._bench = bench
        self._bridge = _bridge(bench, copy)
        bench.guests.append(self)

    def steps(self, calls: Iterable[Call]) -> Steps:
        return Steps(calls, self.ground, self.copy, self._bridge.blocking.session)

    def perform(self, work: Callable[[str], Coroutine[Any, Any, T]], spot: Spot) -> T:
        """Waits for ``work``, which makes a call of that id, shown at ``spot`` while it runs.  An interrupt stops it and propagates."""
        return self._bridge.perform(work, frame=spot.frame)

    def cancel(self, call_id: str) -> object:
        return self._bridge.cancel(call_id)

    def leave(self) -> None:
        """It has a folder of its own, and stays."""

    def close(self) -> None:
        """May be called again."""
        if self in self._bench.guests:
            self._bench.guests.remove(self)
            self._bridge.blocking.close()
        self.copy.remove()


def obstacle(call: Call, ground: Ground) -> str:
    """Why it means nothing here; empty where it does.  Nothing is copied for what cannot be run."""
    try:
        meaning_of(call, ground, detail=call.detail)
    except TraceError as error:
        return str(error)
    return ""


def opened(bench: Workbench, ground: Ground, folder: Path, commit: str) -> Rerun:
    """A copy of ``folder``.  Raises ``TraceError`` where it cannot be made."""
    copy = waited_for(make_copy(folder, commit, ground.commit))
    try:
        return Rerun(bench, copy, ground)
    except BaseException:
        copy.remove()
        raise


def _bridge(bench: Workbench, copy: Copy) -> Bridge:
    """Cards without links: the files of a copy are soon gone."""

    def elsewhere() -> Place:
        return bench.frontend.place(None, early=True)

    def root() -> str:
        return str(copy.root)

    own = bench.session
    session = session_in(copy, _policy(own.policy, own.mode), None)
    session.layers = session.store.layers()
    for rule in own.grants:
        session.allow(rule)
    cards = Cards(elsewhere, root)
    session.confirmer = NotebookConfirmer(cards, Prompt(bench.frontend), root)
    session.observe(cards)
    return Bridge(session.sync(), cards, bench.frontend)


def _policy(own: Policy, mode: Mode) -> Policy:
    """The notebook's rules; edits run, for the copy is thrown away."""
    return replace(own, mode=mode if mode is Mode.YOLO else Mode.AUTO_EDIT)
