"""Registry of the explorers, lists of sessions and comparisons in this process, whose methods pages call."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Protocol
from weakref import WeakValueDictionary

_MOST = 20
_MOST_LINES = 500_000
"""Explorers kept alive although only a page shows them, and the most lines they may have in total:
each run of a cell adds one.
"""


class Responder(Protocol):
    """An explorer, a list of sessions or a comparison as the registry uses it.

    ``methods`` has the methods that its page calls; without it, it has them itself.
    """

    id: str

    @property
    def size(self) -> int:
        """The number of its lines."""


class ExplorerRegistry:
    """Explorers by id.  An older one is found as long as something else keeps a reference to it."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[str, Responder] = WeakValueDictionary()
        self._recent: OrderedDict[str, Responder] = OrderedDict()
        self._lock = Lock()

    def add(self, explorer: Responder) -> None:
        with self._lock:
            self._known[explorer.id] = self._recent[explorer.id] = explorer
            self._recent.move_to_end(explorer.id)
            while len(self._recent) > 1 and (
                len(self._recent) > _MOST or sum(one.size for one in self._recent.values()) > _MOST_LINES
            ):
                self._recent.popitem(last=False)

    def find(self, identity: object) -> object | None:
        """Returns what has the methods of the explorer with an id; None if there is none any more.
        What a page uses is kept alive, as a list from which others are opened one after the other.
        """
        with self._lock:
            found = self._known.get(identity) if isinstance(identity, str) else None
            if found is not None and found.id in self._recent:
                self._recent.move_to_end(found.id)
        return getattr(found, "methods", found)


EXPLORERS = ExplorerRegistry()
