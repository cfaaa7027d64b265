"""Answers the page that shares a session: what would be removed, and the file."""

from __future__ import annotations

from pathlib import Path

from nbtools.cards.hidden_characters import one_line
from nbtools.core.secret_search import Secret
from nbtools.traces.explorer.explorer_messages import (
    TraceExportFormat,
    TraceSecret,
    TraceShare,
    TraceShareParams,
)
from nbtools.traces.export.formats import FORMATS, ExportOptions, default_name, write_export
from nbtools.traces.sharing.notes import shared_labels
from nbtools.traces.sharing.page import ShareOptions, secrets_of, shared_page, write_page
from nbtools.traces.trace import Trace

_FORMATS = tuple(
    TraceExportFormat(name=one.name, label=one.label, about=one.about, notes=one.has_notes) for one in FORMATS
)
_MAX_PLACES = 6
"""Steps that are listed for a secret."""


def share(trace: Trace, task: TraceShareParams, target: Path) -> TraceShare:
    """Returns what would be removed; with ``task.write`` after writing the file.  Raises ``TraceError``."""
    if task.format == "html":
        page, secrets = shared_page(trace, ShareOptions(task.patterns, task.keep, task.home, task.notes))
        path, size = target, len(page.encode("utf-8", "replace"))
        if task.write:
            path = write_page(page, target)
    else:
        options = ShareOptions(task.patterns, task.keep, task.home)
        name = target.with_name(default_name(trace, task.format))
        secrets, size, path = secrets_of(trace, options), 0, target
        if task.write:
            path = write_export(
                trace, task.format, name, ExportOptions(task.patterns, task.keep, task.home, task.notes)
            )
    return TraceShare(
        size=size,
        formats=_FORMATS,
        secrets=tuple(map(_wire, secrets)),
        notes=len(shared_labels(trace)),
        path=str(path) if task.write else "",
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
