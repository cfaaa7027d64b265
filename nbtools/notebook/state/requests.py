"""Carries out what a page requests of a kernel: answers, undo, changes of rules and servers.

A request that loosens the policy, starts a program of the project, or undoes several calls is not carried out
at once: the outcome states the consequence, with a token.  A second request with that token, which the page
sends when the person confirms, carries it out, once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import clock
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import counted
from nbtools.core.methods import NoParams, method
from nbtools.core.result_data import UndoData
from nbtools.mcp.config.catalog import start_summary
from nbtools.notebook.approval.question_messages import AnswerMessage
from nbtools.notebook.state.change_diff import change_card
from nbtools.notebook.state.snapshot import MODE_MEANINGS, command_id, is_looser
from nbtools.notebook.state.state_messages import (
    STATE_EVENT,
    CallParams,
    ConfirmParams,
    Consequence,
    GrantParams,
    KernelState,
    ModeParams,
    SeenParams,
    ServerParams,
    StateOutcome,
    UndoParams,
)
from nbtools.policy.modes import Mode

if TYPE_CHECKING:
    from nbtools.notebook.channel import PageChannel
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.notebook.state.publisher import StatePublisher
    from nbtools.session import Session
    from nbtools.workspace.history.store import JournalEntry
    from nbtools.workspace.history.undo import UndoMerge

_PARTS = ("questions", "running", "ended", "changes", "rules", "servers")
_MAX_TOKENS = 20
_MAX_NAMED = 30
_NOT_OPEN = "This question is no longer open: it was answered elsewhere, or its call has ended."


Action = Callable[[], Awaitable[StateOutcome]]
_DONE = StateOutcome()


class Page:
    """A page that follows the state: what it has, what it has been sent, what it requests,
    and the consequences that it was asked to confirm.
    """

    def __init__(self, runtime: NotebookRuntime, channel: PageChannel, publisher: StatePublisher) -> None:
        self._runtime = runtime
        self.channel = channel
        self._publisher = publisher
        self.seen = 0
        self.sent = 0
        self.version = -1
        self.is_detailed = False
        self._state: dict[str, Any] = {}
        self._actions: dict[str, Action] = {}

    # --- snapshots

    @property
    def is_ready(self) -> bool:
        """Whether the page has reported its last snapshot."""
        return self.seen >= self.sent

    def show(self, state: KernelState) -> None:
        """Sends what the page does not have yet; nothing if it has everything."""
        parts = {
            name: getattr(state, name) for name in KernelState.model_fields if name not in ("number", "now")
        }
        changed = {
            name: value
            for name, value in parts.items()
            if name not in self._state or self._state[name] != value
        }
        if not changed:
            return
        self._state, self.sent = parts, self.sent + 1
        same = dict.fromkeys(name for name in _PARTS if name not in changed)
        self.channel.notify(STATE_EVENT, state.model_copy(update={**same, "number": self.sent}))

    @method("panel.seen")
    def has_seen(self, params: SeenParams) -> None:
        self.seen = params.number
        self._publisher.on_seen(self)

    # --- requests

    def _begin(self, work: Coroutine[Any, Any, StateOutcome]) -> Future[StateOutcome]:
        """Begins a request in the session's thread.  Raises ``NbtoolsError`` if the session is closed."""
        begun = self._runtime.blocking.submit(work)
        self._publisher.touch()
        return begun

    def _ask_first(self, title: str, lines: tuple[str, ...], accept: str, action: Action) -> StateOutcome:
        """Asks the person to confirm ``action``."""
        token = secrets.token_urlsafe(16)
        self._actions[token] = action
        while len(self._actions) > _MAX_TOKENS:
            self._actions.pop(next(iter(self._actions)))
        return StateOutcome(confirm=Consequence(token=token, title=title, lines=lines, accept=accept))

    @method("panel.confirm")
    def confirm(self, params: ConfirmParams) -> Future[StateOutcome]:
        """Carries out what the person has confirmed, once."""
        action = self._actions.pop(params.token, None)
        if action is None:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, "This confirmation is not valid any more. Request it again."
            )

        async def act() -> StateOutcome:
            return await action()

        return self._begin(act())

    @method("panel.start")
    def start(self, _: NoParams) -> Future[StateOutcome]:
        """Creates the session, so that rules and servers can be shown before the first call."""
        self.is_detailed = True
        session = self._runtime.session

        async def load() -> StateOutcome:
            await asyncio.to_thread(lambda: session.mcp)
            session.mcp.load()
            return _DONE

        return self._begin(load())

    @method("panel.answer")
    def answer(self, answer: AnswerMessage) -> StateOutcome:
        """Answers a question; at once, because the call waits."""
        if not self._runtime.questions.answer(answer.question, answer.model_dump(mode="json")):
            raise ToolFailure(ErrorCode.CONFLICT, _NOT_OPEN)
        self._publisher.touch()
        return _DONE

    @method("panel.stop")
    def stop(self, params: CallParams) -> StateOutcome:
        """Cancels a call, ends a background command, or stops an agent run."""
        if self._runtime.opened_bridge is not None:
            jobs = self._runtime.session.workspace.started_jobs
            job = next((job for job in jobs if command_id(job) == params.call), None)
            if job is None:
                self._runtime.cancel(params.call)
            else:
                self._runtime.blocking.submit(job.kill())
        self._publisher.touch()
        return _DONE

    @method("panel.diff")
    def diff(self, params: CallParams) -> Future[StateOutcome]:
        """Returns the card with the changes of a call."""
        session = self._runtime.session

        async def read() -> StateOutcome:
            card = await asyncio.to_thread(change_card, session, params.call, self._runtime.root)
            return StateOutcome(diff=card)

        return self._begin(read())

    @method("panel.revoke")
    def revoke(self, params: GrantParams) -> Future[StateOutcome]:
        """Removes a grant."""

        async def remove() -> StateOutcome:
            if not self._runtime.session.revoke(params.rule):
                raise ToolFailure(
                    ErrorCode.INVALID_TOOL_PARAMS, f"There is no grant {one_line(params.rule, 200)} any more."
                )
            return _DONE

        return self._begin(remove())

    @method("panel.undo")
    def undo(self, params: UndoParams) -> Future[StateOutcome]:
        if params.later:
            return self._begin(self._undo_later(self._runtime.session, params.call))
        return self._begin(self._undo(params.call, merge=False))

    @method("panel.mode")
    def mode(self, params: ModeParams) -> Future[StateOutcome]:
        """Switches the permission mode."""
        return self._begin(self._set_mode(self._runtime.session, params.mode))

    @method("panel.server")
    def server(self, params: ServerParams) -> Future[StateOutcome]:
        """Connects or disconnects an MCP server, trusts it or not, enables or disables it."""
        return self._begin(self._change_server(self._runtime.session, params))

    # --- changes

    async def _undo(self, call: str, *, merge: UndoMerge) -> StateOutcome:
        result = await asyncio.wrap_future(self._undo_at_card(call, merge=merge))
        if result.error is None:
            return _DONE
        data = result.data
        hindered = data.hindered if isinstance(data, UndoData) else ()
        if not merge and isinstance(data, UndoData) and data.has_same_lines:
            lines = tuple(f"{one_line(file.path, 300)}: {file.why}" for file in hindered[:_MAX_NAMED])
            explained = (
                *lines,
                (
                    "These lines get the text that they had before the call; other later changes stay. It can"
                    " be undone."
                ),
            )
            return self._ask_first(
                "Take back lines that were changed since?",
                explained,
                "Take back",
                lambda: self._undo(call, merge="take_back"),
            )
        if merge or not hindered or any(file.outcome == "conflict" for file in hindered):
            raise ToolFailure(result.error.code, result.error.message)
        lines = tuple(f"{one_line(file.path, 300)}: {file.why}" for file in hindered[:_MAX_NAMED])
        explained = (*lines, "The later changes stay; only those of this call are undone.")
        return self._ask_first(
            "Undo and keep later changes?", explained, "Undo", lambda: self._undo(call, merge=True)
        )

    def _undo_at_card(self, call: str, *, merge: UndoMerge) -> Future[Any]:
        return self._runtime.bridge.undo_at_card(call, merge=merge)

    async def _undo_later(self, session: Session, call: str) -> StateOutcome:
        journal = session.workspace.journal
        changes = [
            one
            for one in journal.changes(session.workspace.relative, session=journal.session)
            if not one.undoes
        ]
        position = next((i for i, one in enumerate(changes) if one.id == call), None)
        if position is None:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, "This change is not in the journal of this session any more."
            )
        later = [one for one in reversed(changes[position:]) if not one.undone]
        if not later:
            raise ToolFailure(ErrorCode.CONFLICT, "All these changes are undone already.")
        title = f"Undo {counted(len(later), 'change')}?"
        more = (f"and {len(later) - _MAX_NAMED:,} more",) if len(later) > _MAX_NAMED else ()
        lines = (*map(_line_of, later[:_MAX_NAMED]), *more)
        return self._ask_first(title, lines, "Undo", lambda: self._undo_each([one.id for one in later]))

    async def _undo_each(self, calls: list[str]) -> StateOutcome:
        for done, call in enumerate(calls):
            result = await asyncio.wrap_future(self._undo_at_card(call, merge=False))
            if result.error is not None:
                undone = f"{done:,} of {counted(len(calls), 'change')} undone"
                raise ToolFailure(result.error.code, f"{undone}. The next one is not: {result.error.message}")
        return _DONE

    # --- rules

    async def _set_mode(self, session: Session, name: str) -> StateOutcome:
        if name not in list(Mode):
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"There is no mode {one_line(name, 50)!r}.")
        mode = Mode(name)

        async def change() -> StateOutcome:
            session.policy = replace(session.policy, mode=mode.value)
            if session.mode is mode:
                return _DONE
            why = f"The mode stays {session.mode.value}, because the project's rules are stricter."
            raise ToolFailure(ErrorCode.POLICY_VIOLATION, why)

        if not is_looser(mode, session.mode):
            return await change()
        lines = (MODE_MEANINGS[mode], f"This replaces mode {session.mode.value} until the kernel ends.")
        return self._ask_first(f"Switch to mode {mode.value}?", lines, f"Switch to {mode.value}", change)

    # --- servers

    async def _change_server(self, session: Session, params: ServerParams) -> StateOutcome:
        mcp, name = session.mcp, params.name
        connection = mcp.get(name)
        match params.verb:
            case "connect":
                await mcp.connect(name)
            case "disconnect":
                await connection.close()
            case "enable" | "disable":
                await mcp.switch(name, on=params.verb == "enable")
            case "distrust":
                mcp.catalogue.distrust(name)
                await connection.close()
            case "trust":
                return self._trust_server(session, name)
        if params.verb == "connect" and connection.state == "failed":
            raise ToolFailure(ErrorCode.MCP_TOOL_ERROR, one_line(connection.problem, 1_000))
        return _DONE

    def _trust_server(self, session: Session, name: str) -> StateOutcome:
        """Asks about the entry as it is now:
        if the file changes before the answer, the changed entry is not trusted.
        """
        named = session.mcp.catalogue.get(name)

        async def trust() -> StateOutcome:
            session.mcp.catalogue.trust(named)
            with suppress(ToolFailure):  # its failure appears as its state
                await session.mcp.connect(name)
            return _DONE

        lines = tuple(f"{label} {one_line(text, 1_000)}" for label, text in start_summary(named))
        return self._ask_first(f"Trust and start {one_line(name, 100)}?", lines, "Trust and start", trust)


def _line_of(change: JournalEntry) -> str:
    files = ", ".join(one_line(path, 200) for path in change.files[:3])
    more = f" and {len(change.files) - 3:,} more" if len(change.files) > 3 else ""
    unsaved = " (may have changed more)" if change.unsaved else ""
    return f"{clock(change.at)} {one_line(change.tool, 50) or 'change'}: {files}{more}{unsaved}"
