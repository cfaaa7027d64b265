"""The decision of the policy on a call: the action and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Decision:
    """An action with its reason as text.

    ``rule`` is the rule that made it, as written, or the name of a built-in one (*edits need approval*).
    ``part`` is the part of the call that it is about: one path, or one command of a command line; empty for
    the whole call.  ``source`` is the rule's layer: ``user``, ``project``, ``session``, a grant; empty for
    built-in rules.
    """

    action: Action
    reason: str
    rule: str = ""
    part: str = ""
    source: str = ""
    reading: str = ""
    """How the command line was analysed, if the decision depends on that.

    ``strict``: completely, by the strict reader; ``grammar``: by bash's grammar; ``text``: compared as text.
    """
    entry: str = ""
    """The entries of the table of programs that were used: ``git log, head``."""
