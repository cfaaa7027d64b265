"""The methods of a trace that export it; what they need is loaded when one of them is called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from nbtools.traces.export.formats import FormatName
    from nbtools.traces.export.removal import Patterns


class ExportMethods:
    """Each writes the session with its sub-agents, without secrets, and returns the path: ``path``, or where
    that exists the next free name beside it.

    ``redact`` are regular expressions of further secrets, ``keep`` the ids of those that stay
    (``traces.find_secrets`` lists them); with ``home``, home folders and the names of their owners become
    ``~``. All raise ``TraceError``. ``traces.share`` and ``nbtools.to_notebook`` write for people.
    """

    def to_atif(self, path: str | Path, *, labels: bool = False, **options: Any) -> Path:
        """Writes ATIF 1.8; with ``labels``, also the review's. Lost: the tokens of single requests."""
        return self._export("atif", path, notes=labels, **options)

    def to_claude(self, path: str | Path, **options: Any) -> Path:
        """Writes the layout of Claude Code. Lost: all tokens and costs."""
        return self._export("claude", path, **options)

    def to_scout(self, path: str | Path) -> Path:
        """Writes the labels of the review as a validation set of Inspect Scout, without any text."""
        return self._export("scout", path)

    def to_csv(self, folder: str | Path, **options: Any) -> Path:
        """Writes the tables of ``sql`` as CSV files in a new folder."""
        return self._export("csv", folder, **options)

    def to_parquet(self, folder: str | Path, **options: Any) -> Path:
        """Writes the tables of ``sql`` as Parquet files in a new folder."""
        return self._export("parquet", folder, **options)

    def _export(
        self: Any,
        name: FormatName,
        path: str | Path,
        *,
        redact: Patterns = (),
        keep: Collection[str] = (),
        home: bool = True,
        notes: bool = False,
    ) -> Path:
        from nbtools.traces.export.formats import (  # noqa: PLC0415 - loaded on first use
            ExportOptions,
            write_export,
        )

        return write_export(self, name, path, ExportOptions(redact, keep, home, notes))
