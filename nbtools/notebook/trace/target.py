"""The comm target on which pages ask about explorers: light, for every kernel with nbtools has it."""

from __future__ import annotations

import sys
from threading import Thread
from typing import Any

TRACE_TARGET = "nbtools_trace"
"""The kernel's comm target: a page opens one comm for all its explorers, sends ``TraceRequest`` and gets a ``TraceAnswer`` for each."""


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
        from nbtools.notebook.trace.serving import EXPLORERS  # noqa: PLC0415 - readers of logs are not loaded before there is one

        comm.send({"answer": EXPLORERS.answered(data["request"]).model_dump(mode="json")})
