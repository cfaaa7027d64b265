"""Permission modes: the decision on calls that no rule matches, by the mode and the tool's kind."""

from __future__ import annotations

from enum import StrEnum

from nbtools.core.decision import Action, Decision
from nbtools.core.tool import Asks, Kind


class Mode(StrEnum):
    """The permission modes, strictest first.  A stricter mode never allows what a later one does not."""

    PLAN = "plan"
    """Allows only calls that change nothing, whatever the rules allow."""
    DONT_ASK = "dont_ask"
    """Like ``default``, but denies calls that would need approval."""
    DEFAULT = "default"
    """Allows reading and searching; every other call needs approval."""
    AUTO_EDIT = "auto_edit"
    """Like ``default``, and allows edits of files in the workspace."""
    YOLO = "yolo"
    """Allows every call that no rule denies or asks for."""


def stricter(*modes: Mode) -> Mode:
    """Returns the strictest of the modes."""
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
    Kind.OTHER: "custom tools",
}
_MCP_TOOLS = "MCP tools"

AUTO_EDIT_RUNS = "edits run"
ALWAYS_ASKS = Decision(Action.ASK, "this tool asks before every call", "this tool asks before every call")
"""The decision on a tool with ``asks = "always"``: no mode and no allow rule replaces the question."""


def default_decision(mode: Mode, asks: Asks, kind: Kind, *, of_server: bool = False) -> Decision:
    """Returns the decision where no rule applies.

    ``asks`` is what the tool declares; ``of_server`` says that an MCP server provides the tool.
    """
    noun = _noun(kind, of_server=of_server)
    if mode is Mode.PLAN and not kind.changes_nothing:
        return plan_denial(kind, of_server=of_server)
    if asks == "always":
        return ALWAYS_ASKS
    if mode is Mode.YOLO:
        return Decision(Action.ALLOW, f"mode {mode} allows everything", "everything runs")
    if _runs_unasked(mode, asks, kind):
        if kind.changes_nothing:
            return Decision(Action.ALLOW, f"{noun} changes nothing (mode {mode})", f"{noun} changes nothing")
        reason = (
            f"mode {mode} allows {noun}" if asks is None else "the tool is declared to run without approval"
        )
        return Decision(Action.ALLOW, reason, f"{noun} run")
    rule = f"{noun} needs approval" if noun.endswith("ing") else f"{noun} need approval"
    if asks is not None and kind is not Kind.FETCH:
        reason = "the tool is declared to need approval"
    else:
        reason = rule if mode is Mode.DONT_ASK else f"mode {mode} asks before {noun}"
    return Decision(Action.ASK, reason, rule)


def _runs_unasked(mode: Mode, asks: Asks, kind: Kind) -> bool:
    if asks is not None:
        return asks is False
    return kind.changes_nothing or (mode is Mode.AUTO_EDIT and kind is Kind.EDIT)


def plan_denial(kind: Kind, *, of_server: bool = False) -> Decision:
    """Returns the denial of a call that could change something in mode ``plan``."""
    noun = _noun(kind, of_server=of_server)
    return Decision(
        Action.DENY, f"mode plan denies {noun}, because it allows no changes", "plan changes nothing"
    )


def _noun(kind: Kind, *, of_server: bool) -> str:
    return _MCP_TOOLS if of_server and kind is Kind.OTHER else _NOUNS[kind]


def deny_instead_of_asking(mode: Mode, decision: Decision) -> Decision:
    """Returns the decision, with an ask turned into a denial in mode ``dont_ask``."""
    if mode is Mode.DONT_ASK and decision.action is Action.ASK:
        return Decision(
            Action.DENY,
            f"{decision.reason}, and mode dont_ask denies calls that need approval",
            decision.rule,
        )
    return decision
