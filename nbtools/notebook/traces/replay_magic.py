"""Runs ``%trace LOG --replay``: one recorded call or a range, in a temporary copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools.core.errors import TraceError
from nbtools.notebook.live_display import LiveDisplay
from nbtools.notebook.traces.stepping import Rerun, SteppedReplay, open_rerun
from nbtools.replay.canonical_call import canonical_call
from nbtools.replay.replayed import (
    Replayed,
    copying_card,
    obstacle_card,
    replay_hint,
    replayed_card,
    skipped_card,
)
from nbtools.replay.steps import select_calls
from nbtools.replay.steps_overview import NumberedCall
from nbtools.replay.working_directory import WorkingDirectory, folder_to_copy, working_directory_of

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.traces.explorer.explorer import Explorer
    from nbtools.traces.model import Call, Session


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """``folder`` is copied in place of the session's, at ``commit``;
    ``cwd`` is the session's folder if the log does not record it.

    Empty values: as recorded.
    """

    folder: str = ""
    commit: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class ReplayMagic:
    """Replays steps; ``remember`` is called with what has been displayed.  Obstacles are shown as cards."""

    runtime: NotebookRuntime
    remember: Callable[[object], None]

    def replay_step(self, explorer: Explorer, number: str, where: ReplayOptions) -> Replayed | None:
        """Runs the call of step ``number``.  Raises ``TraceError`` if there is none."""
        call, display = explorer.call_at(number), LiveDisplay(self.runtime.frontend.display_target(None))
        ground = working_directory_of(call, where.cwd, _sessions(explorer))
        try:
            canonical_call(call, ground, detail=call.detail)  # raises before anything is copied
        except TraceError as error:
            display.show_card(obstacle_card(call, str(error), cwd=ground.cwd, number=number))
            return None
        rerun = self._copy(call, ground, where, display, number)
        if rerun is None:
            return None
        try:
            steps = rerun.steps([call])
            result = rerun.perform(lambda call_id: steps.step(id=call_id), display)
        finally:
            rerun.close()
        if not isinstance(result, Replayed):
            display.show_card(skipped_card(result, cwd=ground.cwd, number=number))
            return None
        display.show_card(replayed_card(result, number=number, hint=replay_hint(result)))
        self.remember(result)
        return result

    def replay_range(
        self, explorer: Explorer, first: str, last: str, where: ReplayOptions
    ) -> SteppedReplay | None:
        """Runs the calls of a range up to the first different result.
        Raises ``TraceError`` if there are none.
        """
        sessions = _sessions(explorer)
        calls = select_calls(explorer.calls_between(first, last), sessions)
        numbered = [NumberedCall(explorer.step_of(call), call) for call in calls]
        if not numbered:
            raise TraceError(
                f"Steps {first}–{last} contain nothing to run again: all their calls are on a rewound branch."
            )
        call, display = calls[0], LiveDisplay(self.runtime.frontend.display_target(None))
        rerun = self._copy(
            call, working_directory_of(call, where.cwd, sessions), where, display, numbered[0].number
        )
        if rerun is None:
            return None
        steps = SteppedReplay(rerun, numbered, self.runtime.frontend, self.remember)
        steps.run(display)
        self.remember(steps)
        return steps

    def _copy(
        self, call: Call, ground: WorkingDirectory, where: ReplayOptions, display: LiveDisplay, number: str
    ) -> Rerun | None:
        """Returns None, after showing why, if there is nothing to copy."""
        try:
            folder = folder_to_copy(ground, where.folder or None)
            if display.target.is_live:
                display.show_card(copying_card(call, ground.cwd, folder.name, number=number))
            return open_rerun(self.runtime, ground, folder, where.commit)
        except TraceError as error:
            display.show_card(obstacle_card(call, str(error), cwd=ground.cwd, number=number, hint=_HINT))
        except KeyboardInterrupt:
            display.show_card(
                obstacle_card(
                    call,
                    "It was interrupted while the folder was being copied.",
                    cwd=ground.cwd,
                    number=number,
                )
            )
            raise
        return None


def _sessions(explorer: Explorer) -> dict[str, Session]:
    return {one.id: one for one in explorer.trace.sessions}


_HINT = (
    "--in FOLDER names the folder or checkout to copy in place of the session's, --at COMMIT the commit to"
    " check out."
)
