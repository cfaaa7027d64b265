"""Applies a saved filter in Python: ``traces.filter``.  A page filters the rows that it has by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.chips import FACETS, Chips, StepChips

if TYPE_CHECKING:
    from nbtools.traces.explorer.explorer import Explorer
    from nbtools.traces.explorer.saved_filters import SavedFilter


def filtered_lines(explorer: Explorer, query: SavedFilter) -> list[int]:
    """Returns the lines that match the text and one chip of each facet that the filter names, in its order,
    after searching the whole log.  Raises ``TraceError``, also for a chip of a facet that does not exist.
    """
    answers = explorer.answers
    lines = list(range(explorer.size))
    for matching in _by_facet(explorer, query):
        lines = [line for line in lines if line in matching]
    if query.text.strip():
        while (found := answers.search.find(query.text)).indexed < 100:
            answers.search.finish()
        hits = set(found.lines)
        lines = [line for line in lines if line in hits]
    if query.order:
        requests = answers.requests
        amounts: Mapping[int, float] = requests.tokens if query.order == "tokens" else requests.seconds
        lines.sort(key=lambda line: -amounts.get(line, -1))
    return lines


def _by_facet(explorer: Explorer, query: SavedFilter) -> list[Container[int]]:
    """Returns the lines of each facet of which the filter names chips."""
    chosen: dict[str, list[str]] = defaultdict(list)
    added = {facet.name: facet for facet in explorer.facets.added}
    for chip in query.chips:
        name, _, key = chip.partition(":")
        if name not in FACETS and name not in added:
            raise TraceError(f"Unknown filter: {chip}. Available: {', '.join((*FACETS, *added))}.")
        chosen[name].append(key)
    chips = Chips()
    steps = StepChips(chips, explorer.lines, explorer.answers.files)
    found: list[Container[int]] = []
    for name, keys in chosen.items():
        if name in added:
            by_key = added[name].lines()
            found.append({line for key in keys for line in by_key.get(key, ())})
        else:
            ids = {chips.id_of(name, key) for key in keys}
            found.append({line for line in range(explorer.size) if not ids.isdisjoint(steps.ids_at(line))})
    return found
