"""The comm target through which pages follow the state of a kernel.

``%load_ext nbtools`` announces itself with a comm of this target, which stays open: a page that loads later
finds it with a ``comm_info_request``.  A page that wants the state opens a comm of its own.  So no page ever
opens a comm to a kernel without nbtools.

A page that follows gets nothing, and nothing is loaded for it, until there is a session.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.notebook.frontend import Kernel
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.notebook.state.publisher import StatePublisher

STATE_TARGET = "nbtools.state"
"""Name of the comm target.  A page sends ``StateRequest`` and gets ``StateMessage``."""
_MAX_WAITING = 16
_log = logging.getLogger(__name__)


class StateComm:
    """Registers the target, and announces it to pages until ``close``."""

    def __init__(self, runtime: NotebookRuntime, frontend: Kernel, shell: Any) -> None:
        self._runtime = runtime
        self._frontend = frontend
        self._shell = shell
        self._lock = threading.Lock()
        self._announcement: Any = None
        self._publisher: StatePublisher | None = None
        self._waiting: list[Any] = []
        self._stop_watching: Callable[[], None] = lambda: None

    def open(self) -> None:
        import comm  # noqa: PLC0415 - only available in a kernel

        comm.get_comm_manager().register_target(STATE_TARGET, self._on_open)
        self._announce()
        self._shell.events.register("post_run_cell", self._on_cell_end)
        self._stop_watching = self._runtime.watch(self._on_session)

    def _announce(self) -> None:
        """Announces the target, unless a console has sent the current request: nobody there would follow."""
        if self._announcement is None and not self._frontend.is_console:
            import comm  # noqa: PLC0415 - as above

            self._announcement = comm.create_comm(target_name=STATE_TARGET)

    def close(self) -> None:
        """Closes the comms; a page then knows that nbtools is no longer loaded."""
        import comm  # noqa: PLC0415 - as above

        self._stop_watching()
        self._shell.events.unregister("post_run_cell", self._on_cell_end)
        comm.get_comm_manager().unregister_target(STATE_TARGET, self._on_open)
        if self._publisher is not None:
            self._publisher.close()
        for one in filter(None, (self._announcement, *self._waiting)):
            one.close()

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
            waiting, self._waiting = self._waiting, []
        for page in waiting:
            try:
                self._publisher.add_page(page)
            except Exception:  # noqa: BLE001 - the display edge: the other pages must not lose their state
                _log.exception("A page could not be added")
        return self._publisher

    def _on_open(self, comm: Any, _: Any) -> None:
        """Handles a page's comm; its messages may arrive in any of the kernel's threads."""
        if self._runtime.opened_bridge is not None:
            self._publish().add_page(comm)
            return
        self._waiting = [*self._waiting[-_MAX_WAITING:], comm]
        comm.on_msg(lambda message: self._on_early_message(comm, message))
        comm.on_close(lambda _: self._waiting.remove(comm) if comm in self._waiting else None)

    def _on_early_message(self, comm: Any, message: Any) -> None:
        """Handles a request before there is a session, which it creates."""
        _ = self._runtime.bridge
        self._publish().add_page(comm, message["content"].get("data") or {})
