"""Tells from the beginning of a log whose session it is, and which session it continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.traces.json_access import string


@dataclass(frozen=True)
class Lineage:
    """``names`` are the ids of the log's own session,
    ``origins`` those of sessions that its records name as the ones it continues.

    ``first`` are id and time of the first record that has both;
    another log has them only if the record was copied.
    """

    names: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    first: tuple[str, str] | None = None


def lineage_of(
    names: Iterable[str], origins: Iterable[str], records: Iterable[Mapping[str, Any]], id_field: str
) -> Lineage:
    """Returns the lineage of a log whose records have an id in ``id_field`` and a ``timestamp``."""
    parents = frozenset(filter(None, origins))
    marks = ((string(record.get(id_field)), string(record.get("timestamp"))) for record in records)
    return Lineage(
        frozenset(filter(None, names)) - parents, parents, next((mark for mark in marks if all(mark)), None)
    )
