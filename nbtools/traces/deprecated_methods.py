"""Methods of a trace that became functions; they go with the next release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbtools
from nbtools import traces
from nbtools.core.deprecation import warn_deprecated

if TYPE_CHECKING:
    from nbtools.core.secret_search import Secret
    from nbtools.traces.explorer.nesting import LineRow
    from nbtools.traces.reviews.records import Label, Signal
    from nbtools.traces.reviews.review import Review, Where
    from nbtools.traces.rows import Rows


class DeprecatedMethods:
    """The methods, as aliases of the functions."""

    def to_html(self: Any, path: str | Path, **options: Any) -> Path:
        """``traces.share(trace, path)``."""
        warn_deprecated("trace.to_html(path)", "traces.share(trace, path)")
        return traces.share(self, path, **options)

    def to_notebook(self: Any, path: str | Path, **options: Any) -> Path:
        """``nbtools.to_notebook(trace, path)``."""
        warn_deprecated("trace.to_notebook(path)", "nbtools.to_notebook(trace, path)")
        return nbtools.to_notebook(self, path, **options)

    def find_secrets(self: Any, **options: Any) -> tuple[Secret, ...]:
        """``traces.find_secrets(trace)``."""
        warn_deprecated("trace.find_secrets()", "traces.find_secrets(trace)")
        return traces.find_secrets(self, **options)

    def filter(self: Any, name: str) -> list[LineRow]:
        """``traces.filter(trace, name)``."""
        warn_deprecated("trace.filter(name)", "traces.filter(trace, name)")
        return traces.filter(self, name)

    @property
    def review(self: Any) -> Review:
        """``traces.review(trace)``."""
        warn_deprecated("trace.review", "traces.review(trace)")
        return traces.review(self)

    @property
    def labels(self: Any) -> Rows[Label]:
        """``traces.review(trace).labels``."""
        warn_deprecated("trace.labels", "traces.review(trace).labels")
        return traces.review(self).labels

    @property
    def signals(self: Any) -> Rows[Signal]:
        """``traces.review(trace).signals``."""
        warn_deprecated("trace.signals", "traces.review(trace).signals")
        return traces.review(self).signals

    def label(self: Any, where: Where, code: str, span: str = "") -> Label:
        """``traces.review(trace).label(where, code)``."""
        warn_deprecated("trace.label(where, code)", "traces.review(trace).label(where, code)")
        return traces.review(self).label(where, code, span)

    def note(self: Any, where: Where, text: str, span: str = "") -> Label:
        """``traces.review(trace).note(where, text)``."""
        warn_deprecated("trace.note(where, text)", "traces.review(trace).note(where, text)")
        return traces.review(self).note(where, text, span)

    def verdict(self: Any, where: Where, value: str, span: str = "") -> Label:
        """``traces.review(trace).verdict(where, value)``."""
        warn_deprecated("trace.verdict(where, value)", "traces.review(trace).verdict(where, value)")
        return traces.review(self).verdict(where, value, span)
