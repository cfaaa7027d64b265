"""Wire format of saved filters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nbtools.cards.model import Wire


class SavedFilter(Wire):
    """A filter with a name.  The other fields are those of ``TraceFilter`` that mean the same in
    every log.
    """

    name: str
    text: str = Field("", max_length=10_000)
    chips: tuple[Annotated[str, Field(max_length=10_000)], ...] = Field((), max_length=100)
    order: Literal["", "tokens", "duration"] = ""


class SavedFiltersTask(Wire):
    """Asks for the saved filters, or to save ``filter``,
    or to rename or delete the one with this name first.
    """

    type: Literal["saved_filters"] = "saved_filters"
    action: Literal["list", "save", "rename", "delete"] = "list"
    name: str = Field("", max_length=20_000)
    to: str = Field("", max_length=20_000)
    filter: SavedFilter | None = None


class SavedFilters(Wire):
    """Reply to ``SavedFiltersTask``: all saved filters, by name."""

    type: Literal["saved_filters"] = "saved_filters"
    filters: tuple[SavedFilter, ...]
