"""How far something is that takes a while: one line in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from nbtools.notebook.phrases import counted

Tell: TypeAlias = Callable[[int, int], None]
"""So many calls are done, of so many."""
_FIRST = 1.0
"""Seconds after which it says anything at all."""
_BETWEEN = 0.5


@contextmanager
def telling(what: str) -> Iterator[Tell]:
    """The line is empty at the end."""
    due = time.monotonic() + _FIRST
    handle: Any = None

    def tell(done: int, total: int) -> None:
        nonlocal due, handle
        if time.monotonic() < due or not _in_kernel():
            return
        from IPython.display import display  # noqa: PLC0415 - programs do without it

        due = time.monotonic() + _BETWEEN
        line = {"text/plain": f"{what}: {done:,} of {counted(total, 'call')}"}
        if handle is None:
            handle = display(line, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            handle.update(line, raw=True)

    try:
        yield tell
    finally:
        if handle is not None:
            handle.update({"text/plain": ""}, raw=True)


def _in_kernel() -> bool:
    """Without loading one."""
    shell = sys.modules.get("IPython.core.interactiveshell")
    return shell is not None and hasattr(shell.InteractiveShell._instance, "kernel")  # noqa: SLF001 - ``instance()`` would make one
