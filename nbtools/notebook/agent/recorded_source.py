"""A recorded session as the model of a notebook's agent: its settings, its cards, and the end of its copy."""

from __future__ import annotations

from concurrent.futures import TimeoutError as Late
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.core.errors import AgentError, SessionError
from nbtools.notebook.waits import PATIENCE

if TYPE_CHECKING:
    from nbtools.agents.playback import Playback
    from nbtools.notebook.display_target import DisplayTarget
    from nbtools.notebook.live_cards import LiveCards
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.replay.copy import Copy
    from nbtools.session import Session

STEP = "step"


def checked_pace(pace: float | str) -> float | str:
    """Returns a pace: seconds, or ``step``.  Raises ``AgentError`` for anything else."""
    if pace == STEP:
        return STEP
    try:
        seconds = float(pace)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise AgentError(
            f"The pace {pace!r} is not a number of seconds before each step, or 'step' for one call at a"
            " time."
        )
    return seconds


class RecordedSource:
    """A source of calls of the runtime, as long as its copy exists."""

    def __init__(self, runtime: NotebookRuntime, playback: Playback) -> None:
        self.playback = playback
        self._runtime = runtime
        self._session: Session | None = None
        self._cards: LiveCards | None = None
        playback.equip = self._equip

    def set(self, project: str | Path | None, pace: float | str) -> None:
        """Applies the settings of the notebook's agent; a project only if one is named."""
        if project is not None:
            self.playback.project = project
        self.playback.pace = checked_pace(pace)
        if self not in self._runtime.call_sources:
            self._runtime.add_source(self)

    def set_target(self, call_id: str, target: DisplayTarget) -> None:
        if self._cards is not None:
            self._cards.open(call_id, target)

    def work(self) -> None:
        """Returns None: the agent's run is a source of its own."""

    def cancel(self, call_id: str) -> None:
        """Cancels a call in the copy, from any thread."""
        session = self._session

        async def cancel() -> None:
            if session is not None:
                session.cancel(call_id)

        self._runtime.bridge.blocking.submit(cancel())

    def leave(self) -> None:
        """Removes the copy, because the loop in which its session works is about to end."""
        self.close()

    def close(self) -> None:
        """Removes the copy.  May be called again."""
        if self not in self._runtime.call_sources:
            return
        self._runtime.remove_source(self)
        self._session = self._cards = None
        with suppress(SessionError, Late):
            self._runtime.bridge.blocking.submit(self.playback.close()).result(PATIENCE)

    def _equip(self, session: Session, _: Copy) -> None:
        from nbtools.notebook.copy_cards import (  # noqa: PLC0415 - cards are not needed to load the extension
            show_calls,
        )

        self._session, self._cards = session, show_calls(self._runtime, session)
