"""Logs are full of secrets and explorers are shown to others: known shapes of them are taken out, as out of a live call's card."""

from __future__ import annotations

import os
from functools import cache

from nbtools.core.redact import Redactor
from nbtools.core.result import ToolResultDisplay
from nbtools.workspace.commands.environment import secret_variables


@cache
def _redactor() -> Redactor:
    return Redactor.of(secret_variables(os.environ))


def hidden(text: str) -> str:
    """``text`` without secrets."""
    return _redactor().text(text)


def hidden_in(display: ToolResultDisplay) -> ToolResultDisplay:
    return _redactor().display(display)
