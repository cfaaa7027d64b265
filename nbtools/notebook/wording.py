"""The words of a question's answers, the same on a button and in a prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from nbtools.core.decision import Decision
from nbtools.notebook.visible import one_line

_LONGEST = 60
"""Characters of a button's label; its tooltip has all of it."""
_LONGEST_TIP = 1_500
_SPEC = re.compile(r"[^(]*\((.*)\)", re.DOTALL)


def always_for(rules: Sequence[str]) -> str:
    """What an *always* would allow, as a person says it: ``edit``, ``git add, git commit``, ``in src/``.  Empty where there are none."""
    return one_line(", ".join(dict.fromkeys(map(_plainly, rules))), _LONGEST)


def always_tip(rules: Sequence[str], covered: Sequence[str]) -> str:
    """The tooltip of an *always*: its rules and, of rules about commands, what each covers."""
    return one_line(f"Does not ask again for {', '.join(rules)}{'. ' if covered else ''}{' '.join(covered)}", _LONGEST_TIP)


def _plainly(rule: str) -> str:
    spec = _SPEC.fullmatch(rule)
    if spec is None:
        return rule
    folder = spec[1].removesuffix("/**")
    return f"in {folder}/" if folder != spec[1] else spec[1].removesuffix(":*")


def why_html(decision: Decision) -> str:
    """``asked because <b>edits ask</b> (mode default)``."""
    reason, rule = escape(one_line(decision.reason)), escape(one_line(decision.rule))
    if rule and rule in reason:
        return f"asked because {reason.replace(rule, f'<b>{rule}</b>', 1)}"
    return f"asked because <b>{reason}</b>"
