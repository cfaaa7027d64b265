"""Routes calls to the notebook that serves the workspace, else to a standalone session.

If several notebooks serve, the latest gets the calls.
In a standalone session the rules decide, and what would need approval is denied.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    answer_unavailable_message,
    confirmation_unavailable_message,
)
from nbtools.core.errors import ErrorCode, SessionError, ToolFailure
from nbtools.core.schema.json_schema import Json
from nbtools.core.settings import Settings
from nbtools.dialects import Dialect
from nbtools.mcp.server.endpoint_client import EndpointClient
from nbtools.mcp.server.endpoint_registry import EndpointEntry, endpoint_entries, remove_entry
from nbtools.mcp.server.tool_provider import ClientCall, ProgressCallback, ToolProvider
from nbtools.policy.grants import can_be_allowed
from nbtools.session.session import Session

_SEARCH_SECONDS = 1.0
"""Seconds between two searches for a notebook; each request of a client searches, too."""
_RETRY_SECONDS = 20.0
"""Seconds after which a notebook that did not answer is retried."""


class ToolRouter:
    """Provides a notebook's tools, or without one those of ``open_standalone``,
    which is called when first needed.
    """

    def __init__(self, root: Path, dialect: Dialect, open_standalone: Callable[[], ToolProvider]) -> None:
        self._root = root
        self._dialect = dialect
        self._open_standalone = open_standalone
        self._standalone: ToolProvider | None = None
        self._notebook: EndpointClient | None = None
        self._previous: list[EndpointClient] = []
        self._retry_at: dict[EndpointEntry, float] = {}
        self._watchers: list[Callable[[], None]] = []
        self._lock = asyncio.Lock()

    async def start(self) -> None:
        """Searches for a notebook now and periodically until ``close``."""
        await self._search()
        self._watch = asyncio.ensure_future(self._search_periodically())

    async def close(self) -> None:
        self._watch.cancel()
        with suppress(asyncio.CancelledError):
            await self._watch
        for offer in (*self._previous, *([self._notebook] if self._notebook else [])):
            await offer.close()

    @property
    def about(self) -> str:
        return self._offer.about

    async def tools(self) -> list[Json]:
        await self._search()
        return await self._offer.tools()

    async def call(self, request: ClientCall, on_progress: ProgressCallback) -> Json:
        await self._search()
        return await self._offer.call(request, on_progress)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    @property
    def _offer(self) -> ToolProvider:
        if self._notebook is not None and not self._notebook.is_gone:
            return self._notebook
        if self._standalone is None:
            self._standalone = self._open_standalone()
            self._standalone.watch(self._notify)
        return self._standalone

    async def _search_periodically(self) -> None:
        while True:
            await asyncio.sleep(_SEARCH_SECONDS)
            await self._search()

    async def _search(self) -> None:
        async with self._lock:
            found = endpoint_entries(self._root)
            self._leave_if_stopped({entry.pid for entry in found})
            for entry in found:
                if self._notebook is not None and entry.since <= self._notebook.entry.since:
                    return
                if self._retry_at.get(entry, 0) <= time.monotonic() and await self._try_connect(entry):
                    return

    async def _try_connect(self, entry: EndpointEntry) -> bool:
        try:
            offer = await EndpointClient.connect(entry, self._dialect.name)
        except (ConnectionRefusedError, FileNotFoundError):  # it ended without removing its entry
            remove_entry(self._root, entry)
            return False
        except (OSError, SessionError) as error:
            self._retry_at[entry] = (
                math.inf if isinstance(error, SessionError) else time.monotonic() + _RETRY_SECONDS
            )
            _log(f"Cannot connect to the notebook {entry.notebook}: {error or 'it does not answer'}")
            return False
        self._use(offer)
        return True

    def _use(self, offer: EndpointClient) -> None:
        if self._notebook is not None:
            self._previous.append(self._notebook)  # its running calls still finish
        self._notebook = offer
        offer.watch(self._notify)
        _log(f"Calls now go to the notebook {offer.entry.notebook}")
        self._notify()

    def _leave_if_stopped(self, serving: set[int]) -> None:
        """Stops using a notebook that no longer serves, even if its connection is still open."""
        offer = self._notebook
        if offer is None or (not offer.is_gone and offer.entry.pid in serving):
            return
        self._previous.append(offer)
        self._notebook = None
        _log(
            f"The notebook {offer.entry.notebook} stopped serving; calls that need approval are denied until"
            " one serves"
        )
        self._notify()

    def _notify(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()


def _log(line: str) -> None:
    """Writes to stderr, which clients log; stdout carries the protocol."""
    sys.stderr.write(f"nbtools: {line}.\n")
    sys.stderr.flush()


NO_NOTEBOOK_NOTE = (
    "No notebook serves this workspace, so nobody can approve calls: a call runs if the user's or the"
    " project's rules allow it, and is denied with a reason otherwise."
)


def open_standalone_session(root: Path) -> Session:
    """Opens a session on ``root`` with its stored rules.
    Raises ``NbtoolsError`` if ``root`` is not a folder.
    """
    session = Session(root, confirmer=DenyingConfirmer(root), settings=Settings(plugins=True, record=True))
    session.layers = session.store.layers()
    return session


class DenyingConfirmer:
    """Denies every request at once and explains how the call could be allowed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def ask(self, confirmation: Confirmation) -> Answer:
        raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, f"{_why(confirmation)} {self._how(confirmation)}")

    def _how(self, confirmation: Confirmation) -> str:
        serve = f"To approve calls, the user can run %tools serve in a notebook on {self._root}"
        if confirmation.type == "ask" or not can_be_allowed(confirmation.decision):
            return f"{serve}."
        rules = " ".join(f'"{rule}"' for rule in confirmation.offers or (confirmation.tool,))
        return f"{serve}; to allow this one without approval, %tools allow --save {rules} there."


def _why(confirmation: Confirmation) -> str:
    tool, decision = confirmation.tool, confirmation.decision
    if confirmation.type == "ask":
        return answer_unavailable_message(tool)
    if not can_be_allowed(decision):
        return confirmation_unavailable_message(tool, decision)
    return f"{tool} needs approval and no notebook is open to ask in ({decision.reason}). It was not run."
