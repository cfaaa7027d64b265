"""Texts of an approval request: labels and tooltips of its buttons,
shared by the front ends and the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nbtools.cards.hidden_characters import one_line

LABELS: Mapping[str, str] = {
    "once": "Approve once",
    "always": "Always allow %1",
    "tool": "Always allow this tool",
    "server": "Always allow this server",
    "modify": "Modify…",
    "deny": "Deny",
    "answers": "Answer",
    "skip": "Skip",
}
"""The labels of buttons; ``%1`` is what is allowed.  ``make wire`` writes the page's
``labextension/src/approval/labels.ts`` from them, where ``make translations`` finds them.
"""
SKIP_TIP = "Ends the call without an answer"
UNTIL_COPY_ENDS = "It holds until this temporary copy is removed."

_MAX_LABEL = 60
"""Characters of a button's label; its tooltip has the full text."""
MAX_TIP = 1_500
_SPEC = re.compile(r"[^(]*\((.*)\)", re.DOTALL)


def always_for(rules: Sequence[str]) -> str:
    """Returns what "always allow" would allow: ``edit``, ``git add, git commit``, ``in src/``.
    Empty without rules.
    """
    return one_line(", ".join(dict.fromkeys(map(_scope, rules))), _MAX_LABEL)


def always_tip(rules: Sequence[str], covered: Sequence[str]) -> str:
    """Returns the tooltip of an "always allow" button:
    its rules and, for rules about commands, what each covers.
    """
    return one_line(
        f"No further approval for {', '.join(rules)}{'. ' if covered else ''}{' '.join(covered)}", MAX_TIP
    )


def _scope(rule: str) -> str:
    spec = _SPEC.fullmatch(rule)
    if spec is None:
        return rule
    folder = spec[1].removesuffix("/**")
    return f"in {folder}/" if folder != spec[1] else spec[1].removesuffix(":*")
