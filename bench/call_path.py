"""Follows one approved edit through the code:
the modules and functions that it enters, and how often it changes between modules.

A transition is a call from a function of one module into a function of another one.  Calls are followed in
all threads; a package is the first name below ``nbtools``.  One call of the same kind runs before, so that
what is loaded lazily is loaded.

python bench/call_path.py [trace | modules]
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

from report import Figure, table

from nbtools import Answer, Confirmation, Session, ToolConfirmationOutcome

_MONITORED = "nbtools."
_GENERATED = "<string>"
"""The file name of methods that ``dataclasses`` generates."""


class Approver:
    """Approves every call once."""

    async def ask(self, confirmation: Confirmation) -> Answer:
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE, by="the benchmark")


class CallPath:
    """Records the functions of nbtools that run while it is active."""

    def __init__(self) -> None:
        self.functions: Counter[CodeType] = Counter()
        self.transitions: list[tuple[str, str, CodeType]] = []
        """Calling module, called module and called function, in order."""
        self._started: set[int] = set()
        self._frames: list[FrameType] = []

    def __enter__(self) -> Self:
        threading.setprofile(self._notice)
        sys.setprofile(self._notice)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _notice(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not _module(frame).startswith(_MONITORED) or id(frame) in self._started:
            return
        self._started.add(id(frame))  # a coroutine that continues is no new call
        self._frames.append(frame)  # as long as it is kept, its id is its own
        self.functions[frame.f_code] += 1
        caller = frame.f_back
        while caller is not None and not _module(caller).startswith(_MONITORED):
            caller = caller.f_back
        if caller is not None and _module(caller) != _module(frame):
            self.transitions.append((_module(caller), _module(frame), frame.f_code))

    @property
    def modules(self) -> Counter[str]:
        """The modules that were entered, in order of the first entry, with the number of calls in each."""
        entered: Counter[str] = Counter()
        for frame in self._frames:
            entered[_module(frame)] += 1
        return entered

    def constructions(self) -> int:
        """The transitions that only create a record: a dataclass of another module."""
        return sum(code.co_filename == _GENERATED for _, _, code in self.transitions)

    def between_packages(self) -> int:
        return sum(_package(caller) != _package(called) for caller, called, _ in self.transitions)


def _module(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name


def _package(module: str) -> str:
    return module.split(".")[1]


async def follow(folder: Path) -> CallPath:
    """Returns the path of an edit that a person approves."""
    async with Session(folder, confirmer=Approver()) as session:
        await _edit(session, "one", "two")
        with CallPath() as path:
            await _edit(session, "two", "three")
        return path


async def _edit(session: Session, old: str, new: str) -> None:
    result = await session.call("edit", {"path": "notes.txt", "old": old, "new": new})
    if result.error is not None:
        raise RuntimeError(result.error.message)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nbtools-path-") as name:
        os.environ["NBTOOLS_STATE"] = str(Path(name, "state"))
        folder = Path(name, "workspace").resolve()
        folder.mkdir()
        (folder / "notes.txt").write_text("zero\none\nfour\n")
        path = asyncio.run(follow(folder))
    table(
        "an edit that is approved",
        [
            Figure("modules", [len(path.modules)], "modules", "≤ 30 modules"),
            Figure("functions", [len(path.functions)], "functions"),
            Figure("calls", [sum(path.functions.values())], "calls"),
            Figure(
                "transitions between modules", [len(path.transitions)], "transitions", "≤ 120 transitions"
            ),
            Figure("… that create a record", [path.constructions()], "transitions"),
            Figure("… between packages", [path.between_packages()], "transitions"),
        ],
    )
    if "modules" in sys.argv:
        for module, calls in path.modules.items():
            entered = sum(called == module for _, called, _ in path.transitions)
            print(f"  {module:45} {calls:4} calls, entered {entered:3} times")
    if "trace" in sys.argv:
        for caller, called, code in path.transitions:
            print(f"  {caller:45} {called}:{code.co_qualname}")


if __name__ == "__main__":
    main()
