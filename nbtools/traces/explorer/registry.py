"""Registry of the explorers in this process; passes page requests to the right one."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any, Protocol
from weakref import WeakValueDictionary

from pydantic import ValidationError

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.explorer_messages import TraceAnswer, TraceProblem, TraceReply, TraceRequest

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
        """Returns what has the methods of the explorer with an id; None if there is none any more."""
        found = self._find(identity)
        return getattr(found, "methods", found)

    def _find(self, identity: object) -> Responder | None:
        with self._lock:
            return self._known.get(identity) if isinstance(identity, str) else None

    def respond(self, data: Any) -> TraceAnswer:
        """Returns the answer to a request as it came from a page.  Never raises."""
        try:
            request = TraceRequest.model_validate(data)
        except ValidationError as error:
            number = data.get("id") if isinstance(data, dict) else None
            return TraceAnswer(id=number if isinstance(number, int) else 0, reply=_invalid_request(error))
        explorer = self._find(request.explorer)
        if explorer is None:
            return TraceAnswer(id=request.id, gone=True)
        return TraceAnswer(id=request.id, reply=_reply(explorer, request))


EXPLORERS = ExplorerRegistry()


def _reply(explorer: Any, request: TraceRequest) -> TraceReply:
    try:
        return explorer.answer(request.task)  # type: ignore[no-any-return]
    except TraceError as error:
        return TraceProblem(text=str(error))
    except Exception as error:  # noqa: BLE001 - the page waits for a reply, so a bug is reported there
        return TraceProblem(
            text=f"Internal error in nbtools, please report it: {type(error).__name__}: {error}"
        )


def _invalid_request(error: ValidationError) -> TraceProblem:
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return TraceProblem(
        text=(
            f"The page sent a request that this kernel does not support ({where}: {first['msg']}). Reload the"
            " page."
        )
    )
