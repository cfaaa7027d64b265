"""Removes known secrets from what the explorer displays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from nbtools.core.redaction import Redactor
from nbtools.core.result import ToolResultDisplay
from nbtools.core.secret_variables import secret_variables

_CURRENT: ContextVar[Redactor | None] = ContextVar("nbtools_redactor", default=None)


# Logs contain many secrets, and explorers are shown to other people:
# the same patterns apply as to a live call's card.
@cache
def _redactor() -> Redactor:
    return Redactor.of(secret_variables(os.environ))


@contextmanager
def redacting(redactor: Redactor) -> Iterator[None]:
    """Redacts with another redactor in this context."""
    token = _CURRENT.set(redactor)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def redacted(text: str) -> str:
    """Returns ``text`` without secrets."""
    return (_CURRENT.get() or _redactor()).text(text)


def redacted_display(display: ToolResultDisplay) -> ToolResultDisplay:
    """Returns ``display`` without secrets."""
    return (_CURRENT.get() or _redactor()).display(display)
