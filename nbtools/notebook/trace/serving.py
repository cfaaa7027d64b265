"""Explorers answer their pages: the comm target, and who is asked."""

from __future__ import annotations

import sys
from collections import OrderedDict
from threading import Lock, Thread
from typing import Any, Protocol
from weakref import WeakValueDictionary

from pydantic import ValidationError

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.wire import (
    TRACE_TARGET,
    OpenTask,
    PageTask,
    PlaceTask,
    RawTask,
    TraceAnswer,
    TraceOpened,
    TracePage,
    TracePlace,
    TraceProblem,
    TraceRaw,
    TraceRequest,
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

    def answer(self, task: PageTask | PlaceTask | OpenTask | RawTask) -> TracePage | TracePlace | TraceOpened | TraceRaw: ...


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


def serve(comms: Any) -> None:
    """Pages may ask from now on; ``comms`` is the kernel's manager of comms."""
    comms.register_target(TRACE_TARGET, _on_open)


def serve_here() -> None:
    """The same where this is a kernel, the extension loaded or not."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None:
        import comm  # noqa: PLC0415 - part of a kernel; a terminal has no use for it

        serve(comm.get_comm_manager())


def stop_serving(comms: Any) -> None:
    if comms.targets.get(TRACE_TARGET) is _on_open:
        comms.unregister_target(TRACE_TARGET, _on_open)


def _on_open(comm: Any, message: Any) -> None:
    """Of a page; what it asks may arrive in any of the kernel's threads."""
    Thread(target=_warm_up, name="nbtools-warm-up", daemon=True).start()
    comm.on_msg(lambda asked: _on_message(comm, asked))
    _on_message(comm, message)


def _warm_up() -> None:
    """All tools are loaded for the first step that is opened, which takes a second: it begins while the list is looked at."""
    from nbtools.notebook.trace import opened  # noqa: F401, PLC0415 - as said above


def _on_message(comm: Any, message: Any) -> None:
    data = message["content"].get("data") or {}
    if "request" in data:
        comm.send({"answer": EXPLORERS.answered(data["request"]).model_dump(mode="json")})


def _reply(explorer: Asked, request: TraceRequest) -> TracePage | TracePlace | TraceOpened | TraceRaw | TraceProblem:
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
