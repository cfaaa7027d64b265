"""Events of an agent's run, and their emitter, which also writes the agent's log.

Tool calls are reported by the session's own events, under the ids in ``Called``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from nbtools.agents.usage import Usage
from nbtools.traces.recording.agent_log import AgentLog


@dataclass(frozen=True, slots=True)
class TextReceived:
    """A piece of streamed text; with ``thinking``, of the model's reasoning.
    ``step`` counts model requests from 1.
    """

    step: int
    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool call is about to start; its events follow."""

    step: int
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A model request was answered; ``usage`` is the run's so far."""

    step: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about the run that neither the model nor a tool says;
    ``about`` is an object that shows more in a notebook, if any.
    """

    text: str
    about: object = None


AgentEvent: TypeAlias = TextReceived | CallStarted | StepFinished | Remark


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a run.  ``text`` is the model's last text;
    ``stopped`` is why the run ended before an answer, or empty.
    """

    text: str
    usage: Usage
    stopped: str = ""

    @property
    def ok(self) -> bool:
        return not self.stopped


class EventEmitter:
    """Emits a run's events to a listener and records them in the log.

    ``step`` counts model requests from 1, ``text`` is the text of the last one, ``calls`` counts tool calls.
    """

    def __init__(self, heard: Callable[[AgentEvent], None], log: AgentLog | None) -> None:
        self.step = 0
        self.text = ""
        self.calls = 0
        self._listener = heard
        self._log = log
        self._thinking = False
        self._pieces: list[str] = []
        self._recorded = Usage()

    def begin_step(self) -> None:
        """Begins the next model request."""
        self.step, self.text = self.step + 1, ""

    def begin_text(self, *, thinking: bool) -> None:
        """Begins a new text or reasoning part."""
        self.flush()
        self._thinking = thinking

    def add_text(self, piece: str) -> None:
        if piece:
            self.text += "" if self._thinking else piece
            self._pieces.append(piece)
            self._listener(TextReceived(self.step, piece, self._thinking))

    def end_step(self, model: str, usage: Usage) -> None:
        """Ends a model request; ``usage`` is the run's so far."""
        self.flush()
        self.record_usage(model, usage)
        self._listener(StepFinished(self.step, usage))

    def add_call(self, call_id: str, name: str) -> None:
        self.calls += 1
        if self._log is not None:
            self._log.expect(call_id)
        self._listener(CallStarted(self.step, call_id, name))

    def record_usage(self, model: str, usage: Usage) -> None:
        """Records the increase of the run's usage since the last record."""
        before, self._recorded = self._recorded, usage
        if self._log is None or usage.requests == before.requests:
            return
        cost = None if usage.cost is None else usage.cost - (before.cost or 0)
        self._log.write_request(
            self.step,
            model,
            input=usage.input - before.input,
            cache_read=usage.cache_read - before.cache_read,
            cache_write=usage.cache_write - before.cache_write,
            output=usage.output - before.output,
            cost=cost,
        )

    def flush(self) -> None:
        """Records the text written since the last flush."""
        if self._pieces and self._log is not None:
            self._log.write_message(
                "thinking" if self._thinking else "assistant_text", "".join(self._pieces), self.step
            )
        self._pieces.clear()
