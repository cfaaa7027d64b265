"""Lets notebook pages call the methods of explorers, lists of sessions and comparisons."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from nbtools.core.background import run_in_background
from nbtools.core.browser import IN_BROWSER
from nbtools.notebook import channel


def register_target(comms: Any) -> None:
    """Registers the target with ``comms``, the kernel's comm manager, for the methods of explorers."""
    for word in ("trace", "sessions", "comparison"):
        channel.serve(word, _explorer, takes_long=True)
    channel.register(comms)


def _explorer(_page: object, params: Mapping[str, Any]) -> object | None:
    """Returns the explorer, the list of sessions or the comparison that a request is about."""
    from nbtools.traces.explorer.registry import EXPLORERS  # noqa: PLC0415 - log readers load on first use

    _begin_warm_up()
    return EXPLORERS.find(params.get("explorer"))


def register_in_kernel() -> None:
    """Registers the target if this process is a kernel, whether or not the extension is loaded."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None:
        import comm  # noqa: PLC0415 - part of a kernel; a terminal has no use for it

        register_target(comm.get_comm_manager())


def unregister_target(comms: Any) -> None:
    channel.unregister(comms)


@cache
def _begin_warm_up() -> None:
    if not IN_BROWSER:
        run_in_background(_warm_up, "nbtools-warm-up")


def _warm_up() -> None:
    """Loads what the first opened step needs:
    the dialects and their tools, which takes some tenths of a second.
    """
    from nbtools.notebook.traces.call_cells import load_dialects  # noqa: PLC0415 - loaded in the background
    from nbtools.traces.explorer import step_detail  # noqa: F401, PLC0415 - imported to load it

    load_dialects()
