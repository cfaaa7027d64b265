"""Calls one after the other in one copy, as far as they go as recorded, and on by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.core.confirmation import Confirmer
from nbtools.core.errors import ErrorCode, TraceError
from nbtools.policy.layers import Policy
from nbtools.replay.copying import Copy, copied
from nbtools.replay.ground import Ground, folder_of, ground_of
from nbtools.replay.meaning import Meaning, meaning_of
from nbtools.replay.replay import Replayed, run, session_in
from nbtools.session import Session as ToolSession
from nbtools.traces.model import Call, Session


@dataclass(frozen=True, slots=True)
class Skipped:
    """A call that was passed over, and why."""

    call: Call
    why: str


class Steps:
    """The calls of a range and what became of them: ``done`` in order, ``next`` is the one to come.  ``copy.root`` is open to look at.

    ``await run()`` goes on until results part; ``await step(arguments)`` runs one, with other arguments of our tool where they are given.
    """

    def __init__(self, calls: Iterable[Call], ground: Ground, copy: Copy, session: ToolSession) -> None:
        self.calls = tuple(calls)
        self.copy = copy
        self.done: list[Replayed | Skipped] = []
        self._ground = ground
        self._session = session

    @property
    def next(self) -> Call | None:
        return self.calls[len(self.done)] if len(self.done) < len(self.calls) else None

    @property
    def meaning(self) -> Meaning:
        """What ``next`` would run.  Raises ``TraceError`` where it means nothing here, or nothing is left."""
        return meaning_of(self._waiting(), self._ground, str(self.copy.root))

    async def step(self, arguments: Mapping[str, Any] | None = None, *, id: str | None = None) -> Replayed | Skipped:  # noqa: A002
        """Runs the next call.  ``arguments`` are those of ``meaning`` to change, the others stay.  What means nothing here is skipped.

        ``id`` is as for ``Session.call``.  A call stays the next one when it is stopped, and when it does not take ``arguments``.
        """
        call = self._waiting()
        detail = call.detail
        try:
            meaning = meaning_of(call, self._ground, str(self.copy.root), detail)
        except TraceError as error:
            return self.skip(str(error))
        edited = Meaning(meaning.tool, {**meaning.arguments, **(arguments or {})}, meaning.say)
        replayed = await run(call, self._ground, self.copy, self._session, detail=detail, meaning=edited, id=id)
        if not _is_open(replayed, edited=bool(arguments)):
            self.done.append(replayed)
        return replayed

    async def again(self, arguments: Mapping[str, Any] | None = None, *, id: str | None = None) -> Replayed | Skipped:  # noqa: A002
        """Runs the last call once more, as ``step`` runs one; what came of it before is forgotten, what it did stays done."""
        if not self.done:
            raise TraceError("no call has been run yet.")
        last = self.done.pop()
        try:
            found = await self.step(arguments, id=id)
        except BaseException:
            self.done.append(last)
            raise
        if not self.done or self.done[-1] is not found:
            self.done.append(last)
        return found

    def skip(self, why: str = "passed over by hand") -> Skipped:
        skipped = Skipped(self._waiting(), why)
        self.done.append(skipped)
        return skipped

    async def run(self) -> Replayed | None:
        """Goes on to the first result that is not the recorded one, which it returns; None where all went as recorded."""
        while self.next is not None:
            found = await self.step()
            if isinstance(found, Replayed) and not found.same:
                return found
        return None

    def _waiting(self) -> Call:
        if self.next is None:
            raise TraceError("all calls of the range have been run; take another range.")
        return self.next


def _is_open(replayed: Replayed, *, edited: bool) -> bool:
    """Whether it is still to be run."""
    code = replayed.result.error.code if replayed.result.error else None
    return code is ErrorCode.CANCELLED or (edited and code is ErrorCode.INVALID_TOOL_PARAMS)


def selected(calls: Sequence[Call], known: Mapping[str, Session] | None = None) -> list[Call]:
    """Without what would be run twice: calls that a call of the range made, which means something here, and echoes of a sub-agent's.

    Calls on branches that were rewound are left out too.  ``known`` are the log's sessions, which is read again without them.
    """
    by_id = {(call.session, call.id): call for call in calls}
    sessions = {call.session for call in calls}
    return [call for call in calls if call.live and not _is_repeated(by_id.get((call.session, call.parent)), call, sessions, known)]


def _is_repeated(parent: Call | None, call: Call, sessions: set[str], known: Mapping[str, Session] | None) -> bool:
    if parent is None or call.level != "nested":
        return False
    if parent.child in sessions:
        return True
    try:
        meaning_of(parent, ground_of(parent, sessions=known))
    except TraceError:
        return False
    return True


@asynccontextmanager
async def stepping(
    calls: Iterable[Call],
    folder: str | Path | None = None,
    commit: str = "",
    *,
    cwd: str = "",
    policy: Policy | None = None,
    confirmer: Confirmer | None = None,
) -> AsyncIterator[Steps]:
    """Steps through ``calls`` (``trace.calls[10:20]``) in one copy, gone at the end; what they are is as for ``replay``.

    The folder is that of the first call.
    """
    listed = tuple(selected(tuple(calls)))
    if not listed:
        raise TraceError("there is no call in this range.")
    ground = ground_of(listed[0], cwd)
    async with copied(folder_of(ground, folder), commit, ground.commit) as copy, session_in(copy, policy, confirmer) as session:
        yield Steps(listed, ground.on(copy), copy, session)
