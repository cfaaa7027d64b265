"""Runs recorded calls in a copy, from a cell:
with a card while they run, approval requests as in the notebook, and cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nbtools.core.errors import TraceError
from nbtools.core.run_sync import run_sync
from nbtools.notebook.call_bridge import Bridge
from nbtools.notebook.copy_cards import show_calls
from nbtools.notebook.live_display import LiveDisplay
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.replay.canonical_call import canonical_call
from nbtools.replay.copy import Copy, make_copy
from nbtools.replay.replay import open_session
from nbtools.replay.steps import Steps
from nbtools.replay.working_directory import WorkingDirectory
from nbtools.traces.model import Call

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime

T = TypeVar("T")


class Rerun:
    """A copy of the folder of recorded calls, and a session in it.

    ``close`` removes both; so does the end of the notebook's runtime or of the kernel.
    """

    def __init__(self, runtime: NotebookRuntime, copy: Copy, ground: WorkingDirectory) -> None:
        self.copy = copy
        self.ground = ground.in_copy(copy)
        self._runtime = runtime
        self._bridge = _bridge(runtime, copy)
        runtime.add_source(self)

    def steps(self, calls: Iterable[Call]) -> Steps:
        return Steps(calls, self.ground, self.copy, self._bridge.blocking.session)

    def perform(self, work: Callable[[str], Coroutine[Any, Any, T]], display: LiveDisplay) -> T:
        """Runs ``work``, which makes a call with the given id, shown at ``display``, and waits.
        An interrupt cancels it and propagates.
        """
        return self._bridge.perform(work, display=display)

    def work(self) -> None:
        """Returns None: its calls are replayed one at a time, each in its own card."""

    def cancel(self, call_id: str) -> object:
        return self._bridge.cancel(call_id)

    def leave(self) -> None:
        """Does nothing: the copy is independent of the notebook's workspace."""

    def close(self) -> None:
        """Removes the session and the copy.  May be called more than once."""
        if self in self._runtime.call_sources:
            self._runtime.remove_source(self)
            self._bridge.blocking.close()
        self.copy.remove()


def replay_obstacle(call: Call, ground: WorkingDirectory) -> str:
    """Returns why the call cannot be run here; empty if it can.  Checked before anything is copied."""
    try:
        canonical_call(call, ground, detail=call.detail)
    except TraceError as error:
        return str(error)
    return ""


def open_rerun(runtime: NotebookRuntime, ground: WorkingDirectory, folder: Path, commit: str) -> Rerun:
    """Copies ``folder``.  Raises ``TraceError`` if it cannot be copied."""
    copy = run_sync(make_copy(folder, commit, ground.commit))
    try:
        return Rerun(runtime, copy, ground)
    except BaseException:
        copy.remove()
        raise


def _bridge(runtime: NotebookRuntime, copy: Copy) -> Bridge:
    """Builds the session and the cards in the copy."""
    own = runtime.session
    session = open_session(copy, _policy(own.policy, own.mode), None)
    session.layers = session.store.layers()
    for rule in own.grants:
        session.allow(rule)
    return Bridge(session.sync(), show_calls(runtime, session), runtime.frontend)


def _policy(own: Policy, mode: Mode) -> Policy:
    """Returns the notebook's rules, with a mode in which edits run: the copy is temporary."""
    return replace(own, mode=mode if mode is Mode.YOLO else Mode.AUTO_EDIT)
