"""What policy says of a call: the action, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Decision:
    """An action with its reason in words.  ``rule`` is what made it: a rule as written, or the name of a built-in one (*edits ask*).

    ``part`` is what of the call it speaks of, where that is not all: one path, one command of a command line.  ``source`` is where the
    rule stands: ``user``, ``project``, ``session``, a grant; empty for built-in ones.
    """

    action: Action
    reason: str
    rule: str = ""
    part: str = ""
    source: str = ""
    reading: str = ""
    """How a command line was read, where that decided.

    ``strict``: by the reader that understands all of it; ``grammar``: by bash's grammar; ``text``: as a text.
    """
    entry: str = ""
    """The entries of the table of programs that tell what its programs do: ``git log, head``."""
