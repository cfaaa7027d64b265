"""Detects placeholder lines that stand for omitted code, such as ``# ... existing code ...``."""

from __future__ import annotations

import re

from nbtools.core.errors import ErrorCode, ToolFailure

_OPEN = r"(?://+|\#+|--+|%+|;+|/\*+|\*|<!--|\{/\*|\"{3}|'{3})?"
_CLOSE = r"(?:\*+/\}?|-->|\"{3}|'{3})?"
_DOTS = r"(?:\.{3,}|…)"
_WHAT = (
    r"(?:code|file|class|module|methods?|functions?|implementation|content|contents|logic|lines?|imports?"
    r"|tests?|definitions?|body)"
)
_SAME = (
    r"(?:(?:is|are|remains?|stays?|goes)\s+)?"
    r"(?:here|unchanged|the\s+same|same|as\s+(?:is|before|it\s+(?:is|was)|above)|not\s+changed)"
)
_PHRASE = rf"""(?:
    (?:the\s+)?(?:rest|remainder)(?:\s+of(?:\s+(?:the|your|this))?(?:\s+\w+)?\s+{_WHAT}|\s+of)?(?:\s+{_SAME})?
  | (?:(?:the|your|all|keep|other|of)\s+)*(?:existing|unchanged|previous|remaining|original|other)
    \s+(?:\w+\s+)?{_WHAT}(?:\s+{_SAME})?
  | {_WHAT}\s+{_SAME}
  | (?:same\s+as\s+(?:before|above)|unchanged|no\s+changes?(?:\s+here)?)
)"""
_PLACEHOLDER = re.compile(
    rf"""{_OPEN}\s*[(\[]?\s*
    (?:{_DOTS}\s*[(\[]?\s*{_PHRASE}\s*[)\]]?\s*{_DOTS}?|{_PHRASE}\s*{_DOTS})
    \s*[)\]]?\s*\.?\s*{_CLOSE}""",
    re.IGNORECASE | re.VERBOSE,
)
_MAX_LENGTH = 120


def find_placeholder(new: str, old: str) -> str | None:
    """Returns the first line of ``new`` that only stands for omitted text, unless ``old`` has it."""
    if "..." not in new and "…" not in new:
        return None
    old_lines = {line.strip() for line in old.split("\n")}
    lines = (line.strip() for line in new.split("\n"))
    return next(
        (
            line
            for line in lines
            if len(line) <= _MAX_LENGTH and _PLACEHOLDER.fullmatch(line) and line not in old_lines
        ),
        None,
    )


def refuse_placeholder(new: str, old: str, subject: str) -> None:
    """Raises ``ToolFailure`` (``invalid_tool_params``) if ``new`` has a placeholder that ``old`` has not."""
    line = find_placeholder(new, old)
    if line is not None:
        message = (
            f'{subject}: the line "{line}" is a placeholder for omitted text. Nothing was changed. Give the'
            " whole text, or edit a part."
        )
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
