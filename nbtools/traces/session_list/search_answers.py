"""Answers a page that searches all sessions: in parts, each with what was found since the one before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from threading import Lock

from nbtools.traces.columns import ColumnBlock, Columns
from nbtools.traces.session_index.content_search import ContentHit, ContentQuery, ContentSearch
from nbtools.traces.session_index.contents import ContentStore
from nbtools.traces.session_index.index import session_id
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery
from nbtools.traces.session_list.rows import SessionChanges
from nbtools.traces.session_list.session_messages import FoundSessions, SearchSessionsParams
from nbtools.traces.session_list.session_text import excerpt_of

_FIRST_SECONDS = 0.08
"""Seconds of the first answer, which a person who types waits for."""
_NEXT_SECONDS = 0.25
_BEFORE_HIT = 20
"""Characters of an excerpt before the hit, so that the hit is in view where the list is narrow."""
_MAX_SEARCHES = 4
"""Searches whose results are kept: pages that show the same list may search for different texts."""
_numbers = count(1)


@dataclass(frozen=True)
class _Search:
    number: int
    contents: ContentSearch
    lock: Lock


class SearchAnswers:
    """The searches of one list's pages.  Thread-safe."""

    def __init__(self, catalog: SessionCatalog, changes: SessionChanges) -> None:
        self._catalog = catalog
        self._changes = changes
        self._searches: OrderedDict[int, _Search] = OrderedDict()
        self._lock = Lock()

    def find(self, params: SearchSessionsParams) -> tuple[FoundSessions, Sequence[bytes]]:
        """Searches titles and prompts with the first request, then more of the contents with each."""
        search, is_new = self._search(params)
        keys = self._changes.all_keys()
        wanted = SessionQuery(text=params.text)
        titles = self._catalog.ids(wanted) if params.titles or is_new else []
        numbers = [number for number in self._catalog.numbers(SessionQuery()) if session_id(number) in keys]
        missing = changed = 0
        problems: dict[str, str] = {}
        with search.lock:
            if self._catalog.index.lasting:
                search.contents.search(numbers, _FIRST_SECONDS if is_new else _NEXT_SECONDS)
                missing, changed, problems = ContentStore(self._catalog.index).missing(numbers)
            # Other requests of this search may find more as soon as it is unlocked.
            end, left = len(search.contents.found), search.contents.left
            known = 0 if is_new else min(params.known, end)
            hits = [hit for hit in search.contents.found[known:] if session_id(hit.number) in keys]
        block, data = _block(hits, keys, params.text)
        return FoundSessions(
            search=search.number,
            known=end,
            keys=tuple(keys[one] for one in titles if one in keys),
            block=block,
            left=left,
            missing=missing,
            changed=changed,
            incomplete=len(problems),
            has_contents=self._catalog.index.lasting,
        ), [data]

    def _search(self, params: SearchSessionsParams) -> tuple[_Search, bool]:
        """Returns the search that a page continues, or a new one, and whether it is new."""
        with self._lock:
            search = self._searches.get(params.search)
            is_new = search is None or search.contents.query.text != params.text
            if search is None or is_new:
                contents = ContentSearch(self._catalog.index, ContentQuery(params.text))
                search = _Search(next(_numbers), contents, Lock())
            self._searches[search.number] = search
            self._searches.move_to_end(search.number)
            while len(self._searches) > _MAX_SEARCHES:
                self._searches.popitem(last=False)
            return search, is_new


def _block(hits: Sequence[ContentHit], keys: Mapping[str, int], text: str) -> tuple[ColumnBlock, bytes]:
    columns = Columns(len(hits))
    columns.numbers("key", "u32", [keys[session_id(hit.number)] for hit in hits])
    columns.numbers("hits", "u32", [len(hit.steps) for hit in hits])
    columns.texts("excerpt", [excerpt_of(hit.surroundings, text, before=_BEFORE_HIT) for hit in hits])
    return columns.finish()
