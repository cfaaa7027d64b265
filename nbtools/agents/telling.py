"""Tells of a run as it goes: whoever hears, piece by piece, and the log, text by text."""

from __future__ import annotations

from collections.abc import Callable

from nbtools.agents.happenings import Called, Happening, Stepped, Wrote
from nbtools.agents.usage import Usage
from nbtools.traces.agent_log import AgentLog


class Teller:
    """``step`` counts the model's requests from 1, ``text`` is what it wrote in the last one, ``calls`` counts those made."""

    def __init__(self, heard: Callable[[Happening], None], log: AgentLog | None) -> None:
        self.step = 0
        self.text = ""
        self.calls = 0
        self._heard = heard
        self._log = log
        self._thinking = False
        self._pieces: list[str] = []
        self._recorded = Usage()

    def asks(self) -> None:
        """The next request to the model goes out."""
        self.step, self.text = self.step + 1, ""

    def begins(self, *, thinking: bool) -> None:
        """Another text begins."""
        self.flush()
        self._thinking = thinking

    def wrote(self, piece: str) -> None:
        if piece:
            self.text += "" if self._thinking else piece
            self._pieces.append(piece)
            self._heard(Wrote(self.step, piece, self._thinking))

    def stepped(self, model: str, usage: Usage) -> None:
        """A request is answered; ``usage`` is that of the run."""
        self.flush()
        self.used(model, usage)
        self._heard(Stepped(self.step, usage))

    def called(self, call_id: str, name: str) -> None:
        self.calls += 1
        if self._log is not None:
            self._log.expect(call_id)
        self._heard(Called(self.step, call_id, name))

    def used(self, model: str, usage: Usage) -> None:
        """Records what came to the run's usage since the last time."""
        before, self._recorded = self._recorded, usage
        if self._log is None or usage.requests == before.requests:
            return
        cost = None if usage.cost is None else usage.cost - (before.cost or 0)
        self._log.used(
            self.step,
            model,
            input=usage.input - before.input,
            cache_read=usage.cache_read - before.cache_read,
            cache_write=usage.cache_write - before.cache_write,
            output=usage.output - before.output,
            cost=cost,
        )

    def flush(self) -> None:
        """Records the text that was written up to here."""
        if self._pieces and self._log is not None:
            self._log.said("thinking" if self._thinking else "assistant_text", "".join(self._pieces), self.step)
        self._pieces.clear()
