"""Prints the sessions in which ``nbtools trace --search`` found a text."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping

from nbtools.cards.hidden_characters import one_line
from nbtools.core.message import counted
from nbtools.traces.session_index.content_search import SessionMatch, SessionMatches, matches_of
from nbtools.traces.session_index.index import session_id
from nbtools.traces.session_list.session_messages import SessionFilter
from nbtools.traces.session_list.session_text import excerpt_of, home_relative, session_row
from nbtools.traces.session_list.view import query_of, session_catalog

_INDEXING = 5.0
"""Seconds in which the contents that are not in the index yet are added to it before it is searched."""
_WHERE = "messages, arguments, outputs and names of files"


def matches_text(chosen: SessionFilter, rows: int, *, as_json: bool = False) -> str:
    """Returns the selected sessions whose contents contain the text of the filter, ``rows`` of them
    (-1: all), and what was searched; as lines, or as JSON.
    """
    catalog = session_catalog()
    catalog.refresh()
    query = query_of(chosen.model_copy(update={"text": ""}))
    found = matches_of(catalog, query, chosen.text, _INDEXING)
    printed = found.matches if rows < 0 else found.matches[:rows]
    if as_json:
        return _json(found, printed)
    numbers = {session_id(one): at for at, one in enumerate(catalog.numbers(query), 1)}
    return "\n".join(_lines(found, printed, numbers))


def _lines(
    found: SessionMatches, printed: tuple[SessionMatch, ...], numbers: Mapping[str, int]
) -> Iterator[str]:
    """Yields each session with its number in the list without a search, as a command line names it."""
    now = time.time()
    width = max((len(str(numbers.get(match.log.id, ""))) for match in printed), default=1)
    for match in printed:
        row = session_row(match.log, now)
        facts = " · ".join(filter(None, (row.agent, row.project, row.age, counted(match.hits, "hit"))))
        yield f"{numbers.get(match.log.id, ''):>{width}}  {row.title}  ({facts})"
        yield f"{'':{width}}  {excerpt_of(match.surroundings, found.query)}"
        yield f"{'':{width}}  {one_line(home_relative(match.source))}"
    if printed:
        yield ""
    total = sum(match.hits for match in found)
    steps = counted(total, "step")
    verb = "contains" if total == 1 else "contain"
    result = f"{steps} of {counted(len(found), 'session')} {verb}" if found else "No step contains"
    yield f"{result} {one_line(found.query)!r}. Searched: {_WHERE} of {counted(found.searched, 'session')}."
    more = len(found) - len(printed)
    if more:
        yield f"{counted(more, 'more session')}: --limit N or --all prints more."
    if found.missing:
        yield f"{counted(found.missing, 'session')} not searched, because not indexed yet: run it again."
    if found.changed:
        yield f"{counted(found.changed, 'session')} changed since the contents were indexed."
    for path, why in found.problems.items():
        yield f"Not searched completely: {one_line(home_relative(str(path)))} ({one_line(why)})."


def _json(found: SessionMatches, printed: tuple[SessionMatch, ...]) -> str:
    result = {
        "search": found.query,
        "searched": found.searched,
        "not_indexed": found.missing,
        "changed": found.changed,
        "problems": {str(path): why for path, why in found.problems.items()},
        "sessions": [
            {
                **match.log.as_json(),
                "hits": match.hits,
                "excerpt": excerpt_of(match.surroundings, found.query),
            }
            for match in printed
        ],
    }
    return json.dumps(result, indent=2)
