"""Sends the state of a kernel to the pages that follow it, at most every ``INTERVAL`` seconds."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet

from nbtools.cards.card import head_of
from nbtools.cards.phrases import DONE, FAILED
from nbtools.core.call import FINISHED, AwaitingApprovalCall, CallEvent, OutputEvent
from nbtools.core.errors import NbtoolsError
from nbtools.notebook.live_display import INTERVAL
from nbtools.notebook.state import snapshot
from nbtools.notebook.state.requests import Page
from nbtools.notebook.state.state_messages import (
    MAX_ENDED,
    EndedCall,
    KernelState,
    RunningCall,
)

if TYPE_CHECKING:
    from nbtools.notebook.call_bridge import Bridge
    from nbtools.notebook.channel import PageChannel
    from nbtools.notebook.runtime import CallSource, NotebookRuntime
    from nbtools.workspace.processes.background import BackgroundCommand

_MAX_PAGES = 16
"""Pages that follow one kernel; the oldest is forgotten, since pages that are closed cannot say so."""

_log = logging.getLogger(__name__)


class StatePublisher:
    """Builds snapshots when something has changed and a page is ready for one.  Thread-safe.

    A page gets its next snapshot only after it has reported the one before (``panel.seen``): a slow page gets
    fewer, a closed one none.  A snapshot has only the parts that differ from what the page has.
    """

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self._pages: dict[str, Page] = {}
        self._lock = threading.RLock()
        self._version = 0
        self._scheduled = False
        self._last = 0.0
        self._bridge: Bridge | None = None
        self._watches_servers = False
        self._detach: list[Callable[[], object]] = []
        self._sources: dict[str, CallSource] = {}
        self._ended: deque[EndedCall] = deque(maxlen=MAX_ENDED)
        self._ended_commands: WeakSet[BackgroundCommand] = WeakSet()
        self._stop_watching = [
            runtime.watch(self.touch),
            runtime.questions.subscribe(lambda: self.touch(0.0)),
        ]

    def follow(self, channel: PageChannel) -> Page:
        """Sends the state to a page, from now on and from the beginning."""
        page = Page(self._runtime, channel, self)
        with self._lock:
            self._pages.pop(channel.id, None)
            self._pages[channel.id] = page
            while len(self._pages) > _MAX_PAGES:
                self._pages.pop(next(iter(self._pages)))
        self.touch(0.0)
        return page

    def leave(self, channel: PageChannel) -> None:
        self._pages.pop(channel.id, None)

    def page(self, channel: PageChannel) -> Page:
        """Returns what a page requests with; one that does not follow yet does from now on."""
        return self._pages.get(channel.id) or self.follow(channel)

    def on_seen(self, page: Page) -> None:
        """The page has drawn a snapshot.  What has changed since goes out at once: the wait is over."""
        if page.version != self._version:
            self.touch(0.0)

    def close(self) -> list[PageChannel]:
        """Ends the state; returns the pages that have followed it."""
        for stop in (*self._stop_watching, *self._detach):
            stop()
        pages = [page.channel for page in self._pages.values()]
        self._pages.clear()
        return pages

    def touch(self, delay: float = INTERVAL) -> None:
        """Sends a snapshot after ``delay`` seconds at the latest allowed time,
        if a page follows and anything differs.
        """
        self._version += 1
        # A page that is drawing asks again itself, when it reports its snapshot and the version has changed.
        if not any(page.is_ready for page in tuple(self._pages.values())):
            return
        with self._lock:
            if self._scheduled:
                return
            self._scheduled = True
        # A delay, not an immediate snapshot: a call passes through its states within milliseconds.
        work = self._publish(max(delay, self._last + INTERVAL - time.monotonic()))
        try:
            self._runtime.blocking.submit(work)
        except NbtoolsError:  # the session is closed; a new one causes another call
            self._scheduled = False

    def notice(self, event: CallEvent) -> None:
        """Observes the session's calls."""
        if isinstance(event, OutputEvent):
            return
        if (
            isinstance(event, FINISHED)
            and self._bridge is not None
            and self._bridge.is_background(event.request.id)
        ):
            head = head_of(event, ".")
            failed = not event.result.ok
            status = FAILED[event.result.error.code] if event.result.error else DONE
            self._ended.append(
                EndedCall(
                    id=head["id"],
                    type="background",
                    tool=head["tool"],
                    subject=head["subject"],
                    status=status,
                    failed=failed,
                )
            )
        if not isinstance(event, AwaitingApprovalCall):  # the question itself is published when it is open
            self.touch()

    def _on_command(self, job: BackgroundCommand) -> None:
        """Handles a background command that has started or ended."""
        # A short command has ended before its start is handled, so both events find it ended.
        if job.state().has_ended and job not in self._ended_commands:
            self._ended_commands.add(job)
            self._ended.append(snapshot.ended_command(job))
        self.touch()

    async def _publish(self, delay: float) -> None:
        if delay > 0:
            await asyncio.sleep(delay)
        # Before the state is read: what changes from here on needs another snapshot.
        self._scheduled = False
        self._last = time.monotonic()
        try:
            self._send_all(self._runtime.bridge)
        except Exception:  # noqa: BLE001 - the display edge: no page may break a session
            _log.exception("The state could not be read")

    def _send_all(self, bridge: Bridge) -> None:
        with self._lock:
            ready = [page for page in self._pages.values() if page.is_ready]
            if not ready:
                return
            version = self._version
            state = self._build(bridge, detailed=any(page.is_detailed for page in self._pages.values()))
            for page in ready:
                page.version = version
                try:
                    page.show(state)
                except Exception:  # noqa: BLE001 - the display edge: the other pages must not wait
                    _log.exception("The state could not be sent to a page")

    def _build(self, bridge: Bridge, *, detailed: bool) -> KernelState:
        self._attach(bridge)
        session = bridge.blocking.session
        # Loading the servers takes some 0.3 s: not before the session has done so, or a page shows details.
        if (session.mcp_is_loaded or detailed) and not self._watches_servers:
            self._watches_servers = True
            self._detach.append(session.mcp.watch(lambda _: self.touch()))
        return KernelState(
            number=0,
            now=time.time(),
            folder=snapshot.display_path(session.workspace.root),
            root=self._runtime.root,
            questions=snapshot.waiting_questions(self._runtime.questions),
            running=(*self._runs(), *snapshot.running_calls(bridge), *snapshot.background_commands(bridge)),
            ended=tuple(self._ended),
            changes=snapshot.file_changes(session),
            rules=snapshot.rules_state(session),
            servers=snapshot.server_rows(session) if session.mcp_is_loaded else (),
        )

    def _attach(self, bridge: Bridge) -> None:
        """Observes the session, in place of the one before."""
        if bridge is self._bridge:
            return
        for detach in self._detach:
            detach()
        self._bridge = bridge
        self._watches_servers = False
        listeners = bridge.blocking.session.workspace.job_listeners
        listeners.append(self._on_command)
        self._detach = [bridge.blocking.session.observe(self), lambda: listeners.remove(self._on_command)]

    def _runs(self) -> tuple[RunningCall, ...]:
        """Returns the agent runs in progress, and remembers those that have ended."""
        sources = {
            work.id: source
            for source in tuple(self._runtime.call_sources)
            if (work := source.work()) is not None
        }
        for source in [source for identity, source in self._sources.items() if identity not in sources]:
            work = source.work()
            if work is not None:
                ended = EndedCall(
                    id=work.id,
                    type="run",
                    tool="agent",
                    subject=work.subject,
                    status=work.status or "Ended",
                    failed=work.failed,
                )
                self._ended.append(ended)
        self._sources = sources
        works = [work for source in sources.values() if (work := source.work()) is not None]
        return tuple(
            RunningCall(
                id=work.id,
                type="run",
                tool="agent",
                icon="agent",
                subject=work.subject,
                started=work.started,
                cell=work.cell_id,
            )
            for work in works
        )
