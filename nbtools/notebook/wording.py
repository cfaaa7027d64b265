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
