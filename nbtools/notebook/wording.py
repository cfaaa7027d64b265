"""The words of a question's answers, the same on a button and in a prompt."""

from __future__ import annotations

import re
from html import escape

from nbtools.core.confirmation import Confirmation
from nbtools.core.decision import Decision

_SPEC = re.compile(r"[^(]*\((.*)\)", re.DOTALL)


def always_for(confirmation: Confirmation) -> str:
    """What an *always* would allow, as a person says it: ``edit``, or ``git add, git commit``.  Empty when none is offered."""
    return ", ".join(_plainly(rule) for rule in confirmation.offers)


def _plainly(rule: str) -> str:
    spec = _SPEC.fullmatch(rule)
    return spec[1].removesuffix(":*") if spec else rule


def why_html(decision: Decision) -> str:
    """``asked because <b>edits ask</b> (mode default)``."""
    reason, rule = escape(decision.reason), escape(decision.rule)
    if rule and rule in reason:
        return f"asked because {reason.replace(rule, f'<b>{rule}</b>', 1)}"
    return f"asked because <b>{reason}</b>"


def how_to_allow(confirmation: Confirmation) -> str:
    """The message for a call that would have to be asked where nobody can answer."""
    rules = confirmation.offers or (confirmation.tool,)
    magic = " ".join(f'"{rule}"' for rule in rules)
    policy = ", ".join(repr(rule) for rule in rules)
    return (
        f"{confirmation.tool} needs a yes and there is nobody to ask ({confirmation.decision.reason}). Nothing has happened. "
        f"Allow it beforehand with %tools allow {magic} or Policy(allow=[{policy}])."
    )
