"""Replays a range of calls step by step in one copy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nbtools.core.confirmation import Confirmer
from nbtools.core.errors import ErrorCode, TraceError
from nbtools.policy.layers import Policy
from nbtools.replay.canonical_call import CanonicalCall, canonical_call
from nbtools.replay.copy import Copy, temporary_copy
from nbtools.replay.replay import open_session, replay_in_copy
from nbtools.replay.replayed import Replayed, Skipped
from nbtools.replay.working_directory import WorkingDirectory, folder_to_copy, working_directory_of
from nbtools.session import Session as ToolSession
from nbtools.traces.model import Call, Session


class Steps:
    """A range of calls: ``done`` are the results so far, ``next`` is the next call.
    ``copy.root`` can be inspected.

    ``await run()`` continues until a result differs;
    ``await step(arguments)`` runs one call, optionally with changed arguments.
    """

    def __init__(
        self, calls: Iterable[Call], ground: WorkingDirectory, copy: Copy, session: ToolSession
    ) -> None:
        self.calls = tuple(calls)
        self.copy = copy
        self.done: list[Replayed | Skipped] = []
        self._ground = ground
        self._session = session

    @property
    def cwd(self) -> str:
        """The session's folder as recorded."""
        return self._ground.cwd

    @property
    def next(self) -> Call | None:
        return self.calls[len(self.done)] if len(self.done) < len(self.calls) else None

    @property
    def meaning(self) -> CanonicalCall:
        """The tool and arguments of the next call.
        Raises ``TraceError`` if it has no equivalent or no call is left.
        """
        return canonical_call(self._next_call(), self._ground, str(self.copy.root))

    async def step(
        self,
        arguments: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002
    ) -> Replayed | Skipped:
        """Runs the next call, with ``arguments`` changed and the others as recorded.
        A call without an equivalent is skipped.

        ``id`` is as for ``Session.call``.
        A call that is cancelled, or rejects the changed ``arguments``, remains the next one.
        """
        call = self._next_call()
        detail = call.detail
        try:
            meaning = canonical_call(call, self._ground, str(self.copy.root), detail)
        except TraceError as error:
            return self.skip(str(error))
        edited = CanonicalCall(meaning.tool, {**meaning.arguments, **(arguments or {})}, meaning.word_result)
        replayed = await replay_in_copy(
            call, self._ground, self.copy, self._session, detail=detail, meaning=edited, id=id
        )
        if not _is_open(replayed, edited=bool(arguments)):
            self.done.append(replayed)
        return replayed

    async def again(
        self,
        arguments: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002
    ) -> Replayed | Skipped:
        """Runs the last call again, like ``step``, and replaces its result; its effects on the copy stay."""
        if not self.done:
            raise TraceError("no call has been run yet.")
        last = self.done.pop()
        try:
            new = await self.step(arguments, id=id)
        except BaseException:
            self.done.append(last)
            raise
        if not self.done or self.done[-1] is not new:
            self.done.append(last)
        return new

    def skip(self, why: str = "skipped by the user") -> Skipped:
        skipped = Skipped(self._next_call(), why)
        self.done.append(skipped)
        return skipped

    async def run(self) -> Replayed | None:
        """Runs until the first result that differs from the recorded one and returns it;
        None if all are the same.
        """
        while self.next is not None:
            result = await self.step()
            if isinstance(result, Replayed) and not result.same:
                return result
        return None

    def _next_call(self) -> Call:
        if self.next is None:
            raise TraceError("all calls of the range have been run. Select another range.")
        return self.next


def _is_open(replayed: Replayed, *, edited: bool) -> bool:
    """Returns whether the call must still be run: it was cancelled, or rejected edited arguments."""
    code = replayed.result.error.code if replayed.result.error else None
    return code is ErrorCode.CANCELLED or (edited and code is ErrorCode.INVALID_TOOL_PARAMS)


def select_calls(calls: Sequence[Call], known: Mapping[str, Session] | None = None) -> list[Call]:
    """Returns the calls to replay, without duplicates and without calls on rewound branches.

    Duplicates are nested calls that their parent makes again, and copies of a sub-agent's calls.  ``known``
    are the log's sessions; without them the log is read again.
    """
    by_id = {(call.session, call.id): call for call in calls}
    sessions = {call.session for call in calls}
    return [
        call
        for call in calls
        if call.live and not _is_repeated(by_id.get((call.session, call.parent)), call, sessions, known)
    ]


def _is_repeated(
    parent: Call | None, call: Call, sessions: set[str], known: Mapping[str, Session] | None
) -> bool:
    if parent is None or call.level != "nested":
        return False
    if parent.child in sessions:
        return True
    try:
        canonical_call(parent, working_directory_of(parent, sessions=known))
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
    """Opens a temporary copy to step through ``calls`` (``trace.calls[10:20]``);
    the parameters are as for ``replay``.

    The session's folder is that of the first call.
    """
    to_replay = tuple(select_calls(tuple(calls)))
    if not to_replay:
        raise TraceError("the range contains no calls to replay.")
    ground = working_directory_of(to_replay[0], cwd)
    async with (
        temporary_copy(folder_to_copy(ground, folder), commit, ground.commit) as copy,
        open_session(copy, policy, confirmer) as session,
    ):
        yield Steps(to_replay, ground.in_copy(copy), copy, session)
