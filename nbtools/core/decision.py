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
    """An action with its reason in words; ``rule`` is the rule that made it as a person would write it, empty when no rule matched."""

    action: Action
    reason: str
    rule: str = ""
