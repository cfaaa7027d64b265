"""What happens while an agent runs, as it is told to whoever shows or records it.

Calls are told by the session's own events, under the ids that ``Called`` names: a card shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from nbtools.agents.usage import Usage


@dataclass(frozen=True, slots=True)
class Wrote:
    """A piece of text, as it arrives; ``thinking``: of what the model said to itself.  ``step`` counts the model's requests from 1."""

    step: int
    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Called:
    """A call is about to be made; its events follow."""

    step: int
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Stepped:
    """A request to the model is answered; ``usage`` is that of the run up to now."""

    step: int
    usage: Usage


Happening: TypeAlias = Wrote | Called | Stepped


@dataclass(frozen=True, slots=True)
class Answer:
    """How a run ended.  ``text`` is the model's last word, ``stopped`` says why it ended before it had one, or is empty."""

    text: str
    usage: Usage
    stopped: str = ""

    @property
    def ok(self) -> bool:
        return not self.stopped
