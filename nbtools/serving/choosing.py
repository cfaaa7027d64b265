"""Where calls go: to the notebook that serves the workspace, the one that served last if there are several, else to a session alone."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nbtools.core.errors import SessionError
from nbtools.core.schema import Json
from nbtools.dialects import Dialect
from nbtools.serving.finding import Beacon, beacons, withdraw
from nbtools.serving.forwarding import NotebookOffer
from nbtools.serving.offer import Heard, Offer, Wanted

_BETWEEN = 1.0
"""Seconds between two looks for a notebook; a client's request looks, too."""
_AGAIN = 20.0
"""Seconds after which a notebook that did not answer is tried again."""


class Chosen:
    """Offers what the notebook offers or, with none, what ``alone`` does, which is opened when it is first needed."""

    def __init__(self, root: Path, dialect: Dialect, alone: Callable[[], Offer]) -> None:
        self._root = root
        self._dialect = dialect
        self._open_alone = alone
        self._alone: Offer | None = None
        self._notebook: NotebookOffer | None = None
        self._left: list[NotebookOffer] = []
        self._passed_over: dict[Beacon, float] = {}
        self._watchers: list[Callable[[], None]] = []
        self._looking = asyncio.Lock()

    async def start(self) -> None:
        """Looks, and goes on looking until ``close``."""
        await self._look()
        self._watch = asyncio.ensure_future(self._keep_looking())

    async def close(self) -> None:
        self._watch.cancel()
        with suppress(asyncio.CancelledError):
            await self._watch
        for offer in (*self._left, *([self._notebook] if self._notebook else [])):
            await offer.close()

    @property
    def about(self) -> str:
        return self._offer.about

    async def tools(self) -> list[Json]:
        await self._look()
        return await self._offer.tools()

    async def call(self, wanted: Wanted, heard: Heard) -> Json:
        await self._look()
        return await self._offer.call(wanted, heard)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    @property
    def _offer(self) -> Offer:
        if self._notebook is not None and not self._notebook.is_gone:
            return self._notebook
        if self._alone is None:
            self._alone = self._open_alone()
            self._alone.watch(self._tell)
        return self._alone

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_BETWEEN)
            await self._look()

    async def _look(self) -> None:
        async with self._looking:
            found = beacons(self._root)
            self._leave_if_ended({beacon.pid for beacon in found})
            for beacon in found:
                if self._notebook is not None and beacon.since <= self._notebook.beacon.since:
                    return
                if self._passed_over.get(beacon, 0) <= time.monotonic() and await self._connected(beacon):
                    return

    async def _connected(self, beacon: Beacon) -> bool:
        try:
            offer = await NotebookOffer.connect(beacon, self._dialect.name)
        except (ConnectionRefusedError, FileNotFoundError):  # it ended without a word, and left its file
            withdraw(self._root, beacon)
            return False
        except (OSError, SessionError) as error:
            self._passed_over[beacon] = math.inf if isinstance(error, SessionError) else time.monotonic() + _AGAIN
            _say(f"{beacon.notebook} serves, but calls cannot go there: {error or 'it does not answer'}")
            return False
        self._take(offer)
        return True

    def _take(self, offer: NotebookOffer) -> None:
        if self._notebook is not None:
            self._left.append(self._notebook)  # it finishes what it has under way
        self._notebook = offer
        offer.watch(self._tell)
        _say(f"Calls go to the notebook {offer.beacon.notebook}")
        self._tell()

    def _leave_if_ended(self, serving: set[int]) -> None:
        """A notebook that does not serve any more is left, before its connection has ended, too."""
        offer = self._notebook
        if offer is None or (not offer.is_gone and offer.beacon.pid in serving):
            return
        self._left.append(offer)
        self._notebook = None
        _say(f"The notebook {offer.beacon.notebook} is gone; what must be asked is denied until one serves")
        self._tell()

    def _tell(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()


def _say(line: str) -> None:
    """To the client's log: standard output belongs to the protocol."""
    sys.stderr.write(f"nbtools: {line}.\n")
    sys.stderr.flush()
