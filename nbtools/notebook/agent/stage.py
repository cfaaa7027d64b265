"""A run in a cell, in the order of happening: a head that is kept up to date, texts, the calls' cards, a foot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from nbtools.agents.happenings import Answer, Called, Happening, Stepped, Wrote
from nbtools.agents.usage import Limits, Usage
from nbtools.core.call import FINISHED, AwaitingApprovalCall, CallEvent, OutputEvent
from nbtools.notebook.agent.figures import ended, running
from nbtools.notebook.agent.slot import Slot, beside, is_live
from nbtools.notebook.agent.texts import Texts
from nbtools.notebook.agent.wire import RunAction, RunFoot, RunHead
from nbtools.notebook.places import Place
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import State

TICK = 1.0
"""Seconds after which the head counts on."""
QUIET = 5.0
"""The same while somebody is asked: the page takes a run that is silent for long to be gone."""
_ACTIONS: tuple[RunAction, ...] = ("continue", "open-trace")


class Stage:
    """Everything but ``__init__`` happens in the session's loop.  ``show_at`` says where a call's card stands."""

    def __init__(self, run: str, model: str, limits: Limits, place: Place, show_at: Callable[[str, Place], None]) -> None:
        self._run = run
        self._model = one_line(model, 100)
        self._limits = limits
        self._place = place
        self._show_at = show_at
        self._live = is_live(place)
        self._head = Slot(place)
        self._texts = Texts(place)
        self._status = "Starting"
        self._asking: set[str] = set()
        self._calls: set[str] = set()
        self._step = 0
        self._usage = Usage()
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        self._since = asyncio.get_running_loop().time()
        self._head.turn(self._running if self._live else self._named)
        self._head.settle()
        self._tick()

    def say(self, status: str) -> None:
        """Something else is going on now."""
        if status != self._status:
            self._status = status
            self._turn()

    def hear(self, happening: Happening) -> None:
        match happening:
            case Wrote(step=step, text=text, thinking=thinking):
                self._step = step
                self._texts.write(text, thinking=thinking)
                self.say("Thinking" if thinking else "Writing")
            case Called(step=step, call_id=call_id):
                self._step = step
                self._texts.end()
                self._calls.add(call_id)
                self._show_at(call_id, replace(beside(self._place), early=self._live))
                self.say("Working")
            case Stepped(step=step, usage=usage):
                self._step, self._usage = step, usage
                self._turn()

    def notice(self, event: CallEvent) -> None:
        """A call's state: the head says when somebody is asked, and when the model has the word again."""
        call = event.call if isinstance(event, OutputEvent) else event
        if call.request.id not in self._calls:
            return
        asked = bool(self._asking)
        if isinstance(event, AwaitingApprovalCall):
            self._asking.add(call.request.id)
        else:
            self._asking.discard(call.request.id)
        if isinstance(event, FINISHED):
            self._calls.discard(call.request.id)
            if not self._calls:
                self.say("Thinking")
        if asked is not bool(self._asking):
            self._turn()

    def close(self, answer: Answer) -> None:
        """It is over, with its last word or without."""
        done: State = "success" if answer.ok else "cancelled"
        self._usage = answer.usage
        why = "Done" if answer.ok else one_line(answer.stopped[:1].upper() + answer.stopped[1:], 200)
        self._end(done, "Done" if answer.ok else "Stopped", why, "")

    def fail(self, problem: str) -> None:
        """It cannot go on.  Before there was anything, the reason is all that there is to say."""
        if self._usage.requests:
            self._end("error", "Failed", "Failed", seen(problem, keep="\t\n"))
        else:
            self._end("error", "Failed", one_line(problem), "")

    def _end(self, state: State, status: str, why: str, problem: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._texts.end()
        if self._live:
            self._head.turn(lambda: RunHead(run=self._run, model=self._model, state=state, status=status))
            self._head.settle()
        foot = Slot(self._place)
        figures = ended(self._usage, self._seconds) if self._usage.requests else ()
        foot.turn(lambda: RunFoot(state=state, status=why, figures=figures, problem=problem, actions=_ACTIONS if self._step else ()))
        foot.settle()

    @property
    def _seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._since

    def _turn(self) -> None:
        if self._live:
            self._head.turn(self._running)

    def _tick(self) -> None:
        self._turn()
        if self._live:
            self._timer = asyncio.get_running_loop().call_later(QUIET if self._asking else TICK, self._tick)

    def _running(self) -> RunHead:
        return RunHead(
            run=self._run,
            model=self._model,
            state="awaiting_approval" if self._asking else "executing",
            status="Needs your answer" if self._asking else self._status,
            figures=running(self._step, self._limits, self._usage, self._seconds),
            can_stop=self._status != STOPPING,
        )

    def _named(self) -> RunHead:
        """For where nothing is replaced: what will always be true."""
        return RunHead(run=self._run, model=self._model, state="scheduled", status="")


STOPPING = "Stopping"
