"""Explorers answer their pages: who is asked."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any, Protocol
from weakref import WeakValueDictionary

from pydantic import ValidationError

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.wire import (
    TraceAnswer,
    TraceProblem,
    TraceReply,
    TraceRequest,
    TraceTask,
)

_KEPT = 20
_LINES = 500_000
"""Explorers that live on though nothing but a page shows them, and the most lines that they may have together: a run of a cell makes
another one."""


class Asked(Protocol):
    """An explorer."""

    id: str

    @property
    def size(self) -> int:
        """Its lines."""

    def answer(self, task: TraceTask) -> TraceReply: ...


class Explorers:
    """Those of this process that pages may ask, by their ids.  Older ones are known as long as somebody else keeps them."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[str, Asked] = WeakValueDictionary()
        self._kept: OrderedDict[str, Asked] = OrderedDict()
        self._lock = Lock()

    def remember(self, explorer: Asked) -> None:
        with self._lock:
            self._known[explorer.id] = self._kept[explorer.id] = explorer
            self._kept.move_to_end(explorer.id)
            while len(self._kept) > 1 and (len(self._kept) > _KEPT or sum(one.size for one in self._kept.values()) > _LINES):
                self._kept.popitem(last=False)

    def answered(self, data: Any) -> TraceAnswer:
        """The answer to a request as it came from a page.  There is always one."""
        try:
            request = TraceRequest.model_validate(data)
        except ValidationError as error:
            number = data.get("id") if isinstance(data, dict) else None
            return TraceAnswer(id=number if isinstance(number, int) else 0, reply=_misunderstood(error))
        with self._lock:
            explorer = self._known.get(request.explorer)
        return TraceAnswer(id=request.id, gone=True) if explorer is None else TraceAnswer(id=request.id, reply=_reply(explorer, request))


EXPLORERS = Explorers()


def _reply(explorer: Asked, request: TraceRequest) -> TraceReply:
    try:
        return explorer.answer(request.task)
    except TraceError as error:
        return TraceProblem(text=str(error))
    except Exception as error:  # noqa: BLE001 - a page waits: what is wrong with us is said where it is seen
        return TraceProblem(text=f"nbtools could not answer; this is a bug of it: {type(error).__name__}: {error}")


def _misunderstood(error: ValidationError) -> TraceProblem:
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return TraceProblem(text=f"The page asked for something that this kernel does not know ({where}: {first['msg']}). Reload the page.")
