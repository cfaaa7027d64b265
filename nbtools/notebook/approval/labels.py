"""Texts of an approval request: buttons, placeholders and tooltips; shared by the widget and the prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nbtools.notebook.hidden_characters import one_line

APPROVE_ONCE = "Approve once"
ALWAYS_ALLOW = "Always allow {}"
MODIFY = "Modify…"
DENY = "Deny"
REASON = "Reason (sent with Deny)"
REASON_TIP = "Deny sends this reason to whoever made the call"
REASON_SENT = "Reason: {}"
REMEMBER = "Remember for this project"
REMEMBER_TIP = "“Always allow” then also applies to later sessions in this workspace; %tools grants lists what is remembered"
UPDATE_PROPOSAL = "Update proposal"
BACK = "Back"
ANSWER = "Answer"
SKIP = "Skip"
SKIP_TIP = "Ends the call without an answer"
ANSWERS_SENT = "Sends: {}"
ANSWER_MISSING = "A question has no answer yet"

_MAX_LABEL = 60
"""Characters of a button's label; its tooltip has the full text."""
_MAX_TIP = 1_500
_SPEC = re.compile(r"[^(]*\((.*)\)", re.DOTALL)


def always_for(rules: Sequence[str]) -> str:
    """Returns what "always allow" would allow: ``edit``, ``git add, git commit``, ``in src/``.  Empty without rules."""
    return one_line(", ".join(dict.fromkeys(map(_scope, rules))), _MAX_LABEL)


def always_tip(rules: Sequence[str], covered: Sequence[str]) -> str:
    """Returns the tooltip of an "always allow" button: its rules and, for rules about commands, what each covers."""
    return one_line(f"No further approval for {', '.join(rules)}{'. ' if covered else ''}{' '.join(covered)}", _MAX_TIP)


def _scope(rule: str) -> str:
    spec = _SPEC.fullmatch(rule)
    if spec is None:
        return rule
    folder = spec[1].removesuffix("/**")
    return f"in {folder}/" if folder != spec[1] else spec[1].removesuffix(":*")
