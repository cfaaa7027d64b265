"""What a model writes, as it comes: displays of a few paragraphs, of which only the last one grows."""

from __future__ import annotations

import asyncio
import re

from nbtools.notebook.agent.figures import elapsed_roughly
from nbtools.notebook.agent.slot import Slot
from nbtools.notebook.agent.wire import RunSaid
from nbtools.notebook.displays import text_block
from nbtools.notebook.places import Place

LONG = 4_000
"""Characters from which on a text goes on in a display of its own, at the end of a paragraph."""
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})", re.MULTILINE)


class Texts:
    """Used in the session's loop only."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._slot: Slot | None = None
        self._text = ""
        self._thinking = False
        self._since = 0.0

    def write(self, piece: str, *, thinking: bool) -> None:
        if self._slot is None or thinking is not self._thinking:
            self.end()
            self._slot, self._thinking, self._since = Slot(self._place), thinking, _now()
        self._text += piece
        if not thinking and len(self._text) > LONG:
            self._split()
        if self._text.strip():
            self._slot.turn(lambda: self._part(ended=False))

    def end(self) -> None:
        """What comes next is something else."""
        if self._slot is not None and self._text.strip():
            self._slot.turn(lambda: self._part(ended=True))
            self._slot.settle()
        self._slot, self._text = None, ""

    def _split(self) -> None:
        """Leaves what is said for good in its place; the rest goes on in the next one."""
        at = self._text.rfind("\n\n")
        if at > 0 and self._slot is not None and len(_FENCE.findall(self._text, 0, at)) % 2 == 0:
            rest, self._text = self._text[at + 2 :], self._text[:at]
            self.end()
            self._slot, self._text, self._since = Slot(self._place), rest, _now()

    def _part(self, *, ended: bool) -> RunSaid:
        block = text_block(self._text.strip(), markdown=True)
        if not self._thinking:
            return RunSaid(block=block)
        return RunSaid(block=block, thought=_thought(_now() - self._since) if ended else "Thinking")


def _thought(seconds: float) -> str:
    return f"Thought for {elapsed_roughly(seconds)}" if seconds >= 1 else "Thought"


def _now() -> float:
    return asyncio.get_running_loop().time()
