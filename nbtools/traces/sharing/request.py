"""Answers the page that shares a session: what would be removed, and the file."""

from __future__ import annotations

from pathlib import Path

from nbtools.cards.hidden_characters import one_line
from nbtools.core.secret_search import Secret
from nbtools.traces.explorer.explorer_messages import TraceSecret, TraceShare, TraceShareParams
from nbtools.traces.sharing.notes import shared_labels
from nbtools.traces.sharing.page import ShareOptions, shared_page, write_page
from nbtools.traces.trace import Trace

_MAX_PLACES = 6
"""Steps that are listed for a secret."""


def share(trace: Trace, task: TraceShareParams, target: Path) -> TraceShare:
    """Returns what would be removed; with ``task.write`` after writing the file.  Raises ``TraceError``."""
    page, secrets = shared_page(trace, ShareOptions(task.patterns, task.keep, task.home, task.notes))
    path = str(write_page(page, target)) if task.write else ""
    return TraceShare(
        size=len(page.encode("utf-8", "replace")),
        secrets=tuple(map(_wire, secrets)),
        notes=len(shared_labels(trace)),
        path=path,
    )


def _wire(secret: Secret) -> TraceSecret:
    places = ", ".join(secret.places[:_MAX_PLACES]) + (", …" if secret.count > _MAX_PLACES else "")
    return TraceSecret(
        id=secret.id,
        kind=secret.kind,
        shown=one_line(secret.shown, 60),
        count=secret.count,
        places=places,
        kept=secret.kept,
    )
