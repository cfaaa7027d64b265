"""What happens to a call that no rule speaks of: by the mode, and by what the tool does to the world."""

from __future__ import annotations

from enum import StrEnum

from nbtools.core.decision import Action, Decision
from nbtools.core.tool import Asks, Kind


class Mode(StrEnum):
    """From strict to free; a stricter mode never allows what a freer one does not."""

    PLAN = "plan"
    """Nothing changes anything: only reading and searching, whatever the rules allow."""
    DONT_ASK = "dont_ask"
    """Like default, but what would be asked is denied."""
    DEFAULT = "default"
    """Reading and searching run, everything else asks."""
    AUTO_EDIT = "auto_edit"
    """Edits of files run too."""
    YOLO = "yolo"
    """Everything runs that no rule denies or asks."""


def stricter(*modes: Mode) -> Mode:
    """The strictest of them."""
    return min(modes, key=list(Mode).index)


_NOUNS = {
    Kind.READ: "reading",
    Kind.SEARCH: "searching",
    Kind.THINK: "thinking",
    Kind.FETCH: "fetching",
    Kind.EDIT: "edits",
    Kind.DELETE: "deletions",
    Kind.MOVE: "moves",
    Kind.EXECUTE: "commands",
    Kind.OTHER: "tools of your own",
}
_OF_SERVERS = "tools of servers"

AUTO_EDIT_RUNS = "edits run"
THE_POINT = Decision(Action.ASK, "asking is what it is for", "asking is what it is for")
"""On a tool that is there to ask: no mode and no allow takes the question away."""


def default_decision(mode: Mode, asks: Asks, kind: Kind, *, of_server: bool = False) -> Decision:
    """The decision where no rule speaks; ``asks`` is what the tool's author wants, ``of_server`` says that an MCP server has it."""
    noun = _noun(kind, of_server=of_server)
    if mode is Mode.PLAN and not kind.changes_nothing:
        return plan_denial(kind, of_server=of_server)
    if asks == "always":
        return THE_POINT
    if mode is Mode.YOLO:
        return Decision(Action.ALLOW, "everything runs (mode yolo)", "everything runs")
    if _runs_unasked(mode, asks, kind):
        why = f"{noun} changes nothing" if kind.changes_nothing else f"{noun} run"
        return Decision(Action.ALLOW, f"{why} (mode {mode})", why)
    why = f"{noun} asks" if noun.endswith("ing") else f"{noun} ask"
    return Decision(Action.ASK, f"{why} (mode {mode})", why)


def _runs_unasked(mode: Mode, asks: Asks, kind: Kind) -> bool:
    if asks is not None:
        return asks is False
    return kind.changes_nothing or (mode is Mode.AUTO_EDIT and kind is Kind.EDIT)


def plan_denial(kind: Kind, *, of_server: bool = False) -> Decision:
    return Decision(Action.DENY, f"{_noun(kind, of_server=of_server)} are off while planning (mode plan)", "plan changes nothing")


def _noun(kind: Kind, *, of_server: bool) -> str:
    return _OF_SERVERS if of_server and kind is Kind.OTHER else _NOUNS[kind]


def without_asking(mode: Mode, decision: Decision) -> Decision:
    """In ``dont_ask``, a question is a no."""
    if mode is Mode.DONT_ASK and decision.action is Action.ASK:
        return Decision(Action.DENY, f"{decision.reason}, and mode dont_ask asks nobody", decision.rule)
    return decision
