"""``%trace LOG --replay``: one call, or a range of them, from a cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.replayed import card_of_copying, card_of_obstacle, card_of_replayed, card_of_skipped, hint_of
from nbtools.notebook.trace.rerunning import Rerun, obstacle, opened
from nbtools.notebook.trace.spot import Spot
from nbtools.notebook.trace.stepping import Numbered, Stepping
from nbtools.replay.ground import Ground, folder_of, ground_of
from nbtools.replay.replay import Replayed
from nbtools.replay.stepping import selected

if TYPE_CHECKING:
    from nbtools.notebook.trace.opening import Explorer
    from nbtools.notebook.workbench import Workbench
    from nbtools.traces.model import Call, Session


@dataclass(frozen=True, slots=True)
class Where:
    """``folder`` stands for the session's, at ``commit``; ``cwd`` is the session's where the log does not say it.  Empty: as recorded."""

    folder: str = ""
    commit: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class Again:
    """``remember`` is told what has been shown.  Obstacles are shown as cards."""

    bench: Workbench
    remember: Callable[[object], None]

    def one(self, explorer: Explorer, number: str, where: Where) -> Replayed | None:
        """The call that is step ``number``.  Raises ``TraceError`` where there is none."""
        call, spot = explorer.call_at(number), Spot(self.bench.frontend)
        ground = ground_of(call, where.cwd, _sessions(explorer))
        if why := obstacle(call, ground):
            spot.put(card_of_obstacle(call, why, cwd=ground.cwd, number=number))
            return None
        rerun = self._copy(call, ground, where, spot, number)
        if rerun is None:
            return None
        try:
            steps = rerun.steps([call])
            found = rerun.perform(lambda call_id: steps.step(id=call_id), spot)
        finally:
            rerun.close()
        if not isinstance(found, Replayed):
            spot.put(card_of_skipped(found, cwd=ground.cwd, number=number))
            return None
        spot.put(card_of_replayed(found, number=number, hint=hint_of(found)))
        self.remember(found)
        return found

    def several(self, explorer: Explorer, first: str, last: str, where: Where) -> Stepping | None:
        """Those from one step to another, to where results part.  Raises ``TraceError`` where there are none."""
        sessions = _sessions(explorer)
        calls = selected(explorer.calls_between(first, last), sessions)
        numbered = [Numbered(explorer.step_of(call), call) for call in calls]
        if not numbered:
            raise TraceError(f"Between the steps {first} and {last} is nothing to run again: what is there was rewound.")
        call, spot = calls[0], Spot(self.bench.frontend)
        rerun = self._copy(call, ground_of(call, where.cwd, sessions), where, spot, numbered[0].number)
        if rerun is None:
            return None
        steps = Stepping(rerun, numbered, self.bench.frontend, self.remember)
        steps.run(spot)
        self.remember(steps)
        return steps

    def _copy(self, call: Call, ground: Ground, where: Where, spot: Spot, number: str) -> Rerun | None:
        """None where there is nothing to copy, and that is shown."""
        try:
            folder = folder_of(ground, where.folder or None)
            if spot.updates and spot.watched:
                spot.put(card_of_copying(call, ground.cwd, folder.name, number=number))
            return opened(self.bench, ground, folder, where.commit)
        except TraceError as error:
            spot.put(card_of_obstacle(call, str(error), cwd=ground.cwd, number=number, hint=_HINT))
        except KeyboardInterrupt:
            spot.put(card_of_obstacle(call, "It was stopped while the folder was copied.", cwd=ground.cwd, number=number))
            raise
        return None


def _sessions(explorer: Explorer) -> dict[str, Session]:
    return {one.id: one for one in explorer.trace.sessions}


_HINT = "`--in FOLDER` says which folder or checkout stands for the session's, `--at COMMIT` which commit of it."
