"""Lets pages follow the state of a kernel, over their channels with it (``nbtools.notebook.channel``).

``%load_ext nbtools`` announces itself with an event whose comm stays open: a page that loads later finds it
with a ``comm_info_request``.  So no page opens a channel to a kernel without nbtools.

A page that follows gets nothing, and nothing is loaded for it, until there is a session.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbtools.notebook import channel

if TYPE_CHECKING:
    from nbtools.notebook.channel import PageChannel
    from nbtools.notebook.frontend import Kernel
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.notebook.state.publisher import StatePublisher

LOADED_EVENT, UNLOADED_EVENT = "loaded", "unloaded"
"""The events of the extension: a page can follow, and the state has ended."""
_MAX_WAITING = 16
_log = logging.getLogger(__name__)


class StateComm:
    """Serves pages, and announces it until ``close``."""

    def __init__(self, runtime: NotebookRuntime, frontend: Kernel, shell: Any) -> None:
        self._runtime = runtime
        self._frontend = frontend
        self._shell = shell
        self._lock = threading.Lock()
        self._end_announcement: Callable[[], None] | None = None
        self._publisher: StatePublisher | None = None
        self._waiting: dict[str, PageChannel] = {}
        self._stop_watching: Callable[[], None] = lambda: None

    def open(self) -> None:
        channel.serve("state", self._follower)
        channel.serve("panel", self._page)
        self._announce()
        self._shell.events.register("post_run_cell", self._on_cell_end)
        self._stop_watching = self._runtime.watch(self._on_session)

    def _announce(self) -> None:
        """Announces the extension, unless a console has sent the request: nobody there would follow."""
        if self._end_announcement is None and not self._frontend.is_console:
            self._end_announcement = channel.broadcast(LOADED_EVENT)

    def close(self) -> None:
        """Ends the state; a page then knows that nbtools is no longer loaded."""
        self._stop_watching()
        self._shell.events.unregister("post_run_cell", self._on_cell_end)
        channel.withdraw("state", self._follower)
        channel.withdraw("panel", self._page)
        pages = list(self._waiting.values())
        if self._publisher is not None:
            pages += self._publisher.close()
        for page in pages:
            page.notify(UNLOADED_EVENT)
        if self._end_announcement is not None:
            self._end_announcement()

    def _on_cell_end(self, _: object = None) -> None:
        """Publishes what a cell may have changed: rules, the folder, changes of files."""
        self._announce()
        if self._publisher is not None:
            self._publisher.touch()

    def _on_session(self) -> None:
        """Starts to publish when there is a session;
        in a thread, because the first call should not wait for it.
        """
        if self._publisher is None and self._waiting:
            threading.Thread(target=self._publish, name="nbtools-state", daemon=True).start()

    def _publish(self) -> StatePublisher:
        from nbtools.notebook.state.publisher import (  # noqa: PLC0415 - loaded when a page follows a session
            StatePublisher,
        )

        with self._lock:
            if self._publisher is None:
                self._publisher = StatePublisher(self._runtime)
            waiting, self._waiting = self._waiting, {}
        for page in waiting.values():
            try:
                self._publisher.follow(page)
            except Exception:  # noqa: BLE001 - the display edge: the other pages must not lose their state
                _log.exception("A page could not be added")
        return self._publisher

    def follow(self, page: PageChannel) -> None:
        page.on_close(lambda: self.leave(page))
        if self._runtime.opened_bridge is not None:
            self._publish().follow(page)
            return
        self._waiting = dict([*self._waiting.items(), (page.id, page)][-_MAX_WAITING:])

    def leave(self, page: PageChannel) -> None:
        self._waiting.pop(page.id, None)
        if self._publisher is not None:
            self._publisher.leave(page)

    def _follower(self, page: PageChannel, _params: object) -> object:
        from nbtools.notebook.state.follower import Follower  # noqa: PLC0415 - not needed to load the extension

        return Follower(self, page)

    def _page(self, page: PageChannel, _params: object) -> object:
        """Returns what a page requests with.  The first request creates the session."""
        _ = self._runtime.bridge
        return self._publish().page(page)
