"""Recorded calls one after the other in one copy, from cells: as far as they go as recorded, and on by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.replayed import card_of_replayed, card_of_skipped
from nbtools.notebook.trace.rerunning import Rerun
from nbtools.notebook.trace.spot import Spot
from nbtools.notebook.trace.steps_html import steps_html, steps_text
from nbtools.replay.replay import Replayed
from nbtools.replay.stepping import Skipped

if TYPE_CHECKING:
    from pathlib import Path

    from nbtools.notebook.frontend import Kernel, Terminal
    from nbtools.replay.meaning import Meaning
    from nbtools.traces.model import Call

_BETWEEN = 0.2
"""Seconds between two pictures of the list while it is run."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A call and the number of its step."""

    number: str
    call: Call


class Stepping:
    """``steps = %trace LOG --replay 46-52``: what became of each call, and which is ``next``.

    ``run()`` goes on to the first result that is not the recorded one, ``step()`` runs one call, ``step(new="…")`` with other arguments of
    our tool (``meaning`` says which it has), ``again(new="…")`` the last one once more, ``skip()`` passes the next one over.  ``root`` is
    the copy, to look at and to edit; ``close()`` removes it, as does the end of the kernel.  They wait, as ``tools.…`` do.
    """

    def __init__(
        self, rerun: Rerun, calls: Sequence[Numbered], frontend: Kernel | Terminal, remember: Callable[[object], None] = lambda _: None
    ) -> None:
        self.calls = tuple(calls)
        self._rerun = rerun
        self._steps = rerun.steps(one.call for one in calls)
        self._frontend = frontend
        self._remember = remember
        self.is_open = True

    @property
    def done(self) -> tuple[Replayed | Skipped, ...]:
        """What became of the calls so far, in their order."""
        return tuple(self._steps.done)

    @property
    def next(self) -> Numbered | None:
        """The call to come, with its number."""
        return self.calls[len(self._steps.done)] if self._steps.next is not None else None

    @property
    def meaning(self) -> Meaning:
        """Our tool and the arguments that ``step()`` would run it with.  Raises ``TraceError`` where there is none, or nothing is left."""
        return self._steps.meaning

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Those of ``meaning``, none where the next call means nothing here, or nothing is left."""
        try:
            return self.meaning.arguments
        except TraceError:
            return {}

    @property
    def cwd(self) -> str:
        """The session's folder as recorded."""
        return self._rerun.ground.cwd

    @property
    def root(self) -> Path:
        """The copy of the session's folder."""
        return self._rerun.copy.root

    @property
    def basis(self) -> str:
        """What the copy had at the beginning: a commit, or the files as they were."""
        return self._rerun.copy.basis

    def step(self, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Replayed | Skipped:
        """Runs the next call, with these arguments in place of its own; shows its card and returns what came.  Raises ``TraceError``."""
        found = self._step(Spot(self._frontend), {**(arguments or {}), **named})
        self._remember(found)
        return found

    def again(self, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Replayed | Skipped:
        """Runs the last call once more, with these arguments in place of its own, on what is in the copy now.  Raises ``TraceError``."""
        self._must_be_open()
        number, spot, edited = self.calls[max(0, len(self.done) - 1)].number, Spot(self._frontend), {**(arguments or {}), **named}
        found = self._rerun.perform(lambda call_id: self._steps.again(edited, id=call_id), spot)
        self._put(found, spot, number)
        self._remember(found)
        return found

    def skip(self, why: str = "passed over by hand") -> Skipped:
        """Passes the next call over.  Raises ``TraceError`` where nothing is left."""
        number = self._waiting().number
        skipped = self._steps.skip(why)
        Spot(self._frontend).put(card_of_skipped(skipped, cwd=self.cwd, number=number))
        self._remember(skipped)
        return skipped

    def run(self, board: Spot | None = None) -> Replayed | None:
        """Goes on to the first result that is not the recorded one, which it returns; None where all went as recorded."""
        self._waiting()
        board, spot = board or Spot(self._frontend), Spot(self._frontend)
        if board.updates:
            board.show(self.bundle())
        try:
            parted = self._run(board, spot)
        finally:
            board.show(self.bundle())
        self._remember(parted)
        return parted

    def close(self) -> None:
        """Removes the copy.  What was done stays to be looked at.  May be called again."""
        self.is_open = False
        self._rerun.close()

    def bundle(self) -> dict[str, Any]:
        return {"text/html": steps_html(self), "text/plain": steps_text(self)}

    def _run(self, board: Spot, spot: Spot) -> Replayed | None:
        drawn = time.monotonic()
        while self._steps.next is not None:
            found = self._step(spot, {})
            if isinstance(found, Replayed) and not found.same:
                return found
            if board.updates and time.monotonic() - drawn > _BETWEEN:
                board.show(self.bundle())
                drawn = time.monotonic()
        return None

    def _step(self, spot: Spot, arguments: Mapping[str, Any]) -> Replayed | Skipped:
        number = self._waiting().number
        found = self._rerun.perform(lambda call_id: self._steps.step(arguments, id=call_id), spot)
        self._put(found, spot, number)
        return found

    def _put(self, found: Replayed | Skipped, spot: Spot, number: str) -> None:
        if isinstance(found, Skipped):
            spot.put(card_of_skipped(found, cwd=self.cwd, number=number))
            return
        spot.put(card_of_replayed(found, number=number, hint="" if found.same else self._hint()))

    def _hint(self) -> str:
        ways = "`steps.again(…)` runs it once more with other arguments, `steps.root` is the copy to look into"
        return f"{ways}, `steps.run()` goes on." if self.next else f"{ways}."

    def _must_be_open(self) -> None:
        if not self.is_open:
            raise TraceError("these steps are closed and their copy is gone; begin again with %trace LOG --replay FIRST-LAST.")

    def _waiting(self) -> Numbered:
        self._must_be_open()
        if self.next is None:
            raise TraceError("all calls of the range have been run; take another range.")
        return self.next

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle()

    def __repr__(self) -> str:
        return f"<Steps {self.calls[0].number} to {self.calls[-1].number}: {len(self.done)} of {len(self.calls)} done>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
