"""Carries out what a page requests of a kernel: answers, undo, changes of rules and servers.

A request that loosens the policy, starts a program of the project, or undoes several calls is not carried out
at once: the reply states the consequence, with a token.  A second request with that token, which the page
sends when the person confirms, carries it out, once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import clock
from nbtools.core.errors import ErrorCode, NbtoolsError, ToolFailure
from nbtools.core.message import counted
from nbtools.core.result_data import UndoData
from nbtools.mcp.config.catalog import start_summary
from nbtools.notebook.state.change_diff import change_card
from nbtools.notebook.state.snapshot import MODE_MEANINGS, command_id, is_looser
from nbtools.notebook.state.state_messages import (
    AnswerTask,
    ConfirmTask,
    Consequence,
    DiffTask,
    KernelState,
    ModeTask,
    RevokeTask,
    ServerTask,
    StartTask,
    StateMessage,
    StateReply,
    StateRequest,
    StopCallTask,
    UndoTask,
)
from nbtools.notebook.subshells import answer_on_subshell
from nbtools.policy.modes import Mode

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session
    from nbtools.workspace.history.store import JournalEntry
    from nbtools.workspace.history.undo import UndoMerge

_PARTS = ("questions", "running", "ended", "changes", "rules", "servers")
_MAX_TOKENS = 20
_MAX_NAMED = 30
_NOT_OPEN = "This question is no longer open: it was answered elsewhere, or its call has ended."


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a request; all empty: it is done."""

    problem: str = ""
    confirm: Consequence | None = None
    diff: Any = None


Action = Callable[[], Awaitable[Reply]]


class Page:
    """A page that follows the state: what it has, what it has been sent,
    and the consequences that it was asked to confirm.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.seen = 0
        self.sent = 0
        self.version = -1
        self.is_detailed = False
        self._state: dict[str, Any] = {}
        self._actions: dict[str, Action] = {}

    @property
    def is_ready(self) -> bool:
        """Whether the page has reported its last snapshot."""
        return self.seen >= self.sent

    def send(self, message: StateMessage) -> None:
        self.comm.send(message.model_dump(mode="json"))
        answer_on_subshell(self.comm)

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
        self.send(StateMessage(state=state.model_copy(update={**same, "number": self.sent})))

    def ask_first(self, title: str, lines: tuple[str, ...], accept: str, action: Action) -> Reply:
        """Returns a reply that asks the person to confirm ``action``."""
        token = secrets.token_urlsafe(16)
        self._actions[token] = action
        while len(self._actions) > _MAX_TOKENS:
            self._actions.pop(next(iter(self._actions)))
        return Reply(confirm=Consequence(token=token, title=title, lines=lines, accept=accept))

    def confirmed(self, token: str) -> Action:
        """Returns the action to carry out.
        Raises ``ToolFailure`` for an unknown token, or one that has been used.
        """
        action = self._actions.pop(token, None)
        if action is None:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, "This confirmation is not valid any more. Request it again."
            )
        return action


class StateRequests:
    """Carries out requests; ``handle`` can be called in any thread and does not wait for the end."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime

    def handle(self, page: Page, request: StateRequest) -> None:
        match request.task:
            case AnswerTask(answer=answer):  # at once: the call waits
                self._reply(page, request.id, self._answer(answer.model_dump(mode="json")))
            case StopCallTask(call=call):
                if self._runtime.opened_bridge is not None:
                    self._stop(call)
                self._reply(page, request.id, Reply())
            case _:
                try:
                    self._runtime.blocking.submit(self._perform(page, request))
                except NbtoolsError as error:
                    self._reply(page, request.id, Reply(str(error)))

    def _stop(self, call: str) -> None:
        jobs = self._runtime.blocking.session.workspace.started_jobs
        job = next((job for job in jobs if command_id(job) == call), None)
        if job is None:
            self._runtime.cancel(call)
        else:
            self._runtime.blocking.submit(job.kill())

    def _answer(self, answer: dict[str, Any]) -> Reply:
        try:
            return Reply() if self._runtime.questions.answer(answer["question"], answer) else Reply(_NOT_OPEN)
        except NbtoolsError as error:
            return Reply(str(error))

    def _reply(self, page: Page, identity: int, reply: Reply) -> None:
        page.send(
            StateMessage(
                reply=StateReply(id=identity, problem=reply.problem, confirm=reply.confirm, diff=reply.diff)
            )
        )

    async def _perform(self, page: Page, request: StateRequest) -> None:
        try:
            reply = await self._outcome(page, request)
        except NbtoolsError as error:
            reply = Reply(str(error))
        except Exception as bug:  # noqa: BLE001 - the display edge: the page must not wait for ever
            reply = Reply(f"nbtools failed: {type(bug).__name__}: {bug}")
        self._reply(page, request.id, reply)

    async def _outcome(self, page: Page, request: StateRequest) -> Reply:  # noqa: PLR0911 - one for each request
        session = self._runtime.session
        match request.task:
            case StartTask():
                page.is_detailed = True
                await asyncio.to_thread(lambda: session.mcp)
                session.mcp.load()
                return Reply()
            case ConfirmTask(token=token):
                return await page.confirmed(token)()
            case UndoTask(call=call, later=True):
                return self._undo_later(page, session, call)
            case UndoTask(call=call):
                return await self._undo(page, call, merge=False)
            case DiffTask(call=call):
                return Reply(diff=await asyncio.to_thread(change_card, session, call, self._runtime.root))
            case ModeTask(mode=mode):
                return await self._set_mode(page, session, mode)
            case RevokeTask(rule=rule):
                return (
                    Reply()
                    if session.revoke(rule)
                    else Reply(f"There is no grant {one_line(rule, 200)} any more.")
                )
            case ServerTask() as task:
                return await self._change_server(page, session, task)
            case _:
                return Reply()

    # --- changes

    async def _undo(self, page: Page, call: str, *, merge: UndoMerge) -> Reply:
        result = await asyncio.wrap_future(self._undo_at_card(call, merge=merge))
        if result.error is None:
            return Reply()
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
            return page.ask_first(
                "Take back lines that were changed since?",
                explained,
                "Take back",
                lambda: self._undo(page, call, merge="take_back"),
            )
        if merge or not hindered or any(file.outcome == "conflict" for file in hindered):
            return Reply(result.error.message)
        lines = tuple(f"{one_line(file.path, 300)}: {file.why}" for file in hindered[:_MAX_NAMED])
        explained = (*lines, "The later changes stay; only those of this call are undone.")
        return page.ask_first(
            "Undo and keep later changes?", explained, "Undo", lambda: self._undo(page, call, merge=True)
        )

    def _undo_at_card(self, call: str, *, merge: UndoMerge) -> Future[Any]:
        return self._runtime.bridge.undo_at_card(call, merge=merge)

    def _undo_later(self, page: Page, session: Session, call: str) -> Reply:
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
            return Reply("All these changes are undone already.")
        title = f"Undo {counted(len(later), 'change')}?"
        more = (f"and {len(later) - _MAX_NAMED:,} more",) if len(later) > _MAX_NAMED else ()
        lines = (*map(_line_of, later[:_MAX_NAMED]), *more)
        return page.ask_first(title, lines, "Undo", lambda: self._undo_each([one.id for one in later]))

    async def _undo_each(self, calls: list[str]) -> Reply:
        for done, call in enumerate(calls):
            result = await asyncio.wrap_future(self._undo_at_card(call, merge=False))
            if result.error is not None:
                return Reply(
                    f"{done:,} of {counted(len(calls), 'change')} undone. The next one is not:"
                    f" {result.error.message}"
                )
        return Reply()

    # --- rules

    async def _set_mode(self, page: Page, session: Session, name: str) -> Reply:
        if name not in list(Mode):
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"There is no mode {one_line(name, 50)!r}.")
        mode = Mode(name)

        async def change() -> Reply:
            session.policy = replace(session.policy, mode=mode.value)
            if session.mode is mode:
                return Reply()
            return Reply(f"The mode stays {session.mode.value}, because the project's rules are stricter.")

        if not is_looser(mode, session.mode):
            return await change()
        lines = (MODE_MEANINGS[mode], f"This replaces mode {session.mode.value} until the kernel ends.")
        return page.ask_first(f"Switch to mode {mode.value}?", lines, f"Switch to {mode.value}", change)

    # --- servers

    async def _change_server(self, page: Page, session: Session, task: ServerTask) -> Reply:
        mcp, name = session.mcp, task.name
        connection = mcp.get(name)
        match task.verb:
            case "connect":
                await mcp.connect(name)
            case "disconnect":
                await connection.close()
            case "enable" | "disable":
                await mcp.switch(name, on=task.verb == "enable")
            case "distrust":
                mcp.catalogue.distrust(name)
                await connection.close()
            case "trust":
                return self._trust_server(page, session, name)
        return Reply(
            one_line(connection.problem, 1_000)
            if task.verb == "connect" and connection.state == "failed"
            else ""
        )

    def _trust_server(self, page: Page, session: Session, name: str) -> Reply:
        """Asks about the entry as it is now:
        if the file changes before the answer, the changed entry is not trusted.
        """
        named = session.mcp.catalogue.get(name)

        async def trust() -> Reply:
            session.mcp.catalogue.trust(named)
            with suppress(ToolFailure):  # its failure appears as its state
                await session.mcp.connect(name)
            return Reply()

        lines = tuple(f"{label} {one_line(text, 1_000)}" for label, text in start_summary(named))
        return page.ask_first(f"Trust and start {one_line(name, 100)}?", lines, "Trust and start", trust)


def _line_of(change: JournalEntry) -> str:
    files = ", ".join(one_line(path, 200) for path in change.files[:3])
    more = f" and {len(change.files) - 3:,} more" if len(change.files) > 3 else ""
    unsaved = " (may have changed more)" if change.unsaved else ""
    return f"{clock(change.at)} {one_line(change.tool, 50) or 'change'}: {files}{more}{unsaved}"
