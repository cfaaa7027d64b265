"""Displays a run in a cell, in the order of events: a head that is kept up to date, messages, the calls' cards, a foot."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace

from nbtools.agents.events import AgentEvent, Answer, CallStarted, StepFinished, TextReceived
from nbtools.agents.usage import Limits, Usage
from nbtools.core.call import FINISHED, AwaitingApprovalCall, CallEvent, OutputEvent
from nbtools.notebook.agent.live_display import ThrottledDisplay, another_display, is_live
from nbtools.notebook.agent.model import RunAction, RunFoot, RunHead, RunSaid
from nbtools.notebook.agent.overview import final_figures, running_figures, whole_seconds
from nbtools.notebook.cards.blocks import text_block
from nbtools.notebook.cards.model import State
from nbtools.notebook.display_target import Place
from nbtools.notebook.hidden_characters import one_line, seen

SPLIT_LENGTH = 4_000
"""Characters from which a message continues in another display, at the end of a paragraph: only the last display grows."""
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})", re.MULTILINE)


class MessageDisplay:
    """Displays the model's messages and thoughts.  Used in the session's event loop only."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._slot: ThrottledDisplay | None = None
        self._text = ""
        self._thinking = False
        self._since = 0.0

    def write(self, piece: str, *, thinking: bool) -> None:
        if self._slot is None or thinking is not self._thinking:
            self.end()
            self._slot, self._thinking, self._since = ThrottledDisplay(self._place), thinking, _now()
        self._text += piece
        if not thinking and len(self._text) > SPLIT_LENGTH:
            self._split()
        if self._text.strip():
            self._slot.update(lambda: self._part(ended=False))

    def end(self) -> None:
        """Finishes the current message."""
        if self._slot is not None and self._text.strip():
            self._slot.update(lambda: self._part(ended=True))
            self._slot.flush()
        self._slot, self._text = None, ""

    def _split(self) -> None:
        """Leaves the finished paragraphs in their display; the rest continues in a new one."""
        at = self._text.rfind("\n\n")
        if at > 0 and self._slot is not None and len(_FENCE.findall(self._text, 0, at)) % 2 == 0:
            rest, self._text = self._text[at + 2 :], self._text[:at]
            self.end()
            self._slot, self._text, self._since = ThrottledDisplay(self._place), rest, _now()

    def _part(self, *, ended: bool) -> RunSaid:
        block = text_block(self._text.strip(), markdown=True)
        if not self._thinking:
            return RunSaid(block=block)
        return RunSaid(block=block, thought=_thought(_now() - self._since) if ended else "Thinking")


def _thought(seconds: float) -> str:
    return f"Thought for {whole_seconds(seconds)}" if seconds >= 1 else "Thought"


def _now() -> float:
    return asyncio.get_running_loop().time()


TICK = 1.0
"""Seconds between updates of the head's clock."""
WAITING_TICK = 5.0
"""The same while an approval is pending: the page assumes that a silent run is gone."""
_ACTIONS: tuple[RunAction, ...] = ("continue", "open-trace")


class RunDisplay:
    """Displays one run.  All methods but ``__init__`` are called in the session's loop.  ``show_at`` sets a call's display target."""

    def __init__(self, run: str, model: str, limits: Limits, place: Place, show_at: Callable[[str, Place], None]) -> None:
        self._run = run
        self._model = one_line(model, 100)
        self._limits = limits
        self._place = place
        self._show_at = show_at
        self._live = is_live(place)
        self._head = ThrottledDisplay(place)
        self._texts = MessageDisplay(place)
        self._status = "Starting"
        self._asking: set[str] = set()
        self._calls: set[str] = set()
        self._step = 0
        self._usage = Usage()
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        self._since = asyncio.get_running_loop().time()
        self._head.update(self._live_head if self._live else self._static_head)
        self._head.flush()
        self._update_clock()

    def set_status(self, status: str) -> None:
        """Sets the status in the head."""
        if status != self._status:
            self._status = status
            self._update_head()

    def on_event(self, event: AgentEvent) -> None:
        match event:
            case TextReceived(step=step, text=text, thinking=thinking):
                self._step = step
                self._texts.write(text, thinking=thinking)
                self.set_status("Thinking" if thinking else "Writing")
            case CallStarted(step=step, call_id=call_id):
                self._step = step
                self._texts.end()
                self._calls.add(call_id)
                self._show_at(call_id, replace(another_display(self._place), early=self._live))
                self.set_status("Working")
            case StepFinished(step=step, usage=usage):
                self._step, self._usage = step, usage
                self._update_head()

    def notice(self, event: CallEvent) -> None:
        """Follows a call: the head says when an approval is pending, and when the model continues."""
        call = event.call if isinstance(event, OutputEvent) else event
        if call.request.id not in self._calls:
            return
        was_asking = bool(self._asking)
        if isinstance(event, AwaitingApprovalCall):
            self._asking.add(call.request.id)
        else:
            self._asking.discard(call.request.id)
        if isinstance(event, FINISHED):
            self._calls.discard(call.request.id)
            if not self._calls:
                self.set_status("Thinking")
        if was_asking is not bool(self._asking):
            self._update_head()

    def close(self, answer: Answer) -> None:
        """Displays the end of the run, with or without an answer."""
        done: State = "success" if answer.ok else "cancelled"
        self._usage = answer.usage
        why = "Done" if answer.ok else one_line(answer.stopped[:1].upper() + answer.stopped[1:], 200)
        self._end(done, "Done" if answer.ok else "Stopped", why, "")

    def fail(self, problem: str) -> None:
        """Displays a failure.  If the run made no request yet, the reason is the status."""
        if self._usage.requests:
            self._end("error", "Failed", "Failed", seen(problem, keep="\t\n"))
        else:
            self._end("error", "Failed", one_line(problem), "")

    def _end(self, state: State, status: str, why: str, problem: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._texts.end()
        if self._live:
            self._head.update(lambda: RunHead(run=self._run, model=self._model, state=state, status=status))
            self._head.flush()
        foot = ThrottledDisplay(self._place)
        figures = final_figures(self._usage, self._seconds) if self._usage.requests else ()
        foot.update(lambda: RunFoot(state=state, status=why, figures=figures, problem=problem, actions=_ACTIONS if self._step else ()))
        foot.flush()

    @property
    def _seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._since

    def _update_head(self) -> None:
        if self._live:
            self._head.update(self._live_head)

    def _update_clock(self) -> None:
        self._update_head()
        if self._live:
            self._timer = asyncio.get_running_loop().call_later(WAITING_TICK if self._asking else TICK, self._update_clock)

    def _live_head(self) -> RunHead:
        return RunHead(
            run=self._run,
            model=self._model,
            state="awaiting_approval" if self._asking else "executing",
            status="Needs your answer" if self._asking else self._status,
            figures=running_figures(self._step, self._limits, self._usage, self._seconds),
            can_stop=self._status != STOPPING,
        )

    def _static_head(self) -> RunHead:
        """Returns a head without a state, for displays that cannot be updated."""
        return RunHead(run=self._run, model=self._model, state="scheduled", status="")


STOPPING = "Stopping"
