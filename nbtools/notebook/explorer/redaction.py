"""Removes known secrets from what the explorer displays."""

from __future__ import annotations

import os
from functools import cache

from nbtools.core.redaction import Redactor
from nbtools.core.result import ToolResultDisplay
from nbtools.workspace.processes.environment import secret_variables


# Logs contain many secrets, and explorers are shown to other people: the same patterns apply as to a live call's card.
@cache
def _redactor() -> Redactor:
    return Redactor.of(secret_variables(os.environ))


def redacted(text: str) -> str:
    """Returns ``text`` without secrets."""
    return _redactor().text(text)


def redacted_display(display: ToolResultDisplay) -> ToolResultDisplay:
    """Returns ``display`` without secrets."""
    return _redactor().display(display)
