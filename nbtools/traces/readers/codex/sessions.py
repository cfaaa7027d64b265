"""Assigns the records of a rollout to sessions, and collects their facts.

The log of a fork, or of a sub-agent that received its parent's history, begins with copies of the parent's
records, after the parent's head.  The copies may have the time of copying, but their turn ids are older than
the fork: a turn belongs to the youngest session that existed when it began.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from nbtools.traces.conversation import tokens_of
from nbtools.traces.json_access import epoch_seconds, mapping, string
from nbtools.traces.model import NOWHERE, Ref, RequestUsage
from nbtools.traces.readers.codex.records import Payload
from nbtools.traces.session_builder import LogBuilder, SessionBuilder

_BURST = 1.0
"""Longest time in seconds that copying takes, used if only the records' times show where it ends."""
_NAMES = {
    "input": "input_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cache_write_input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_output_tokens",
    "total": "total_tokens",
}


class TokenCount(NamedTuple):
    """The running totals after a request, whose answer are the steps ``first`` … ``last``;
    ``id`` is the provider's, where recorded.
    """

    total: Mapping[str, Any]
    latest: Mapping[str, Any]
    model: str
    at: float | None
    turn: int
    live: bool
    first: int | None
    last: int
    ref: Ref
    id: str = ""


class CodexSession(SessionBuilder):
    """A session under construction.

    ``copied``: its records are copies in the log of another.
    ``forked``: its totals include those of the session that it goes on from.
    """

    def __init__(self, log: LogBuilder, name: str) -> None:
        super().__init__(log, name)
        self.created: float | None = None
        self.copied = self.forked = False
        self.parent = self.version = self.generation = self.title = self.cwd = ""
        self.git: Mapping[str, Any] = {}
        self.usage: Mapping[str, Any] = {}
        self.totals: list[TokenCount] = []
        self.answer: int | None = None
        """The first step of the answer whose token count has not come yet."""
        self.ref = NOWHERE

    def head(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """Reads the head record.  A resumed session has a second one; the first counts."""
        if self.ref is not NOWHERE:
            return
        self.ref = ref
        self.created = epoch_seconds(payload.timestamp) or _uuid_time(self.id) or at
        self.parent = _parent(payload)
        self.forked = bool(string(payload.forked_from_id))
        self.version = string(payload.cli_version)
        self.cwd = string(payload.cwd)
        self.git = mapping(payload.git)

    def set_usage(
        self,
        usage: Mapping[str, Any],
        latest: Mapping[str, Any],
        model: str,
        at: float | None,
        ref: Ref,
        id: str = "",  # noqa: A002 - the field's name
    ) -> None:
        """Stores token totals.  They are cumulative, so the largest is kept."""
        if not usage:  # no request: the limits of the account, for example
            return
        if _size(usage) != _size(self.totals[-1].total if self.totals else {}):
            self.totals.append(
                TokenCount(usage, latest, model, at, self.turn, self.live, self.answer, self.log.seq, ref, id)
            )
            self.answer = None
        if _size(usage) >= _size(self.usage):
            self.usage = usage

    def finish(self, before: Mapping[str, Any], counts: Mapping[str, Any]) -> None:
        """Adds the row.  ``before`` are the token totals at the beginning of the session."""
        used = {} if self.copied else self.usage
        native = {kind: _count(used, name) for kind, name in _NAMES.items() if name in used}
        native.pop("cache_write", None)
        if not self.copied:
            self._add_requests(before)
        self.end(
            tokens_of(_grown(before, self.totals[-1].total)) if self.totals and not self.copied else None,
            format_version=self.generation,
            agent="codex",
            agent_version=self.version,
            parent=self.parent,
            title=self.title,
            cwd=self.cwd,
            repository=string(self.git.get("repository_url")),
            branch=string(self.git.get("branch")),
            commit=string(self.git.get("commit_hash")),
            tokens=self.spent,
            native_tokens=native,
            counts=counts,
            ref=self.ref,
        )

    def _add_requests(self, before: Mapping[str, Any]) -> None:
        """Adds a request for each growth of the totals."""
        self.requests = []
        counts: list[TokenCount | None] = [*self.totals, None]
        for count, following in pairwise(counts):
            if count is None:
                break
            if _size(count.total) < _size(before):
                base = self._base(count, following, before)
                if base is None:
                    continue
                before = base
            grown = _grown(before, count.total)
            several = bool(count.latest) and _size(count.latest) < _size(count.total) - _size(before)
            first = count.first if count.first is not None and count.first <= count.last else None
            self.requests.append(
                RequestUsage(
                    self.id,
                    first,
                    None if first is None else count.last,
                    "request",
                    count.id,
                    count.model,
                    count.at,
                    count.turn,
                    count.live,
                    tokens_of({kind: max(size, 0) for kind, size in grown.items()}),
                    None,
                    ("several",) if several else (),
                    count.ref,
                )
            )
            before = count.total

    def _base(
        self, count: TokenCount, following: TokenCount | None, before: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """Returns what a total that is smaller than the one ``before`` has grown from;
        None if it is outdated.

        It is outdated if the total before grows on, or the log does not say what the request used. Otherwise
        a new counter begins, as after a resume: at 0, or at what the resumed history is counted as.
        """
        if not count.latest:
            return None
        if following is not None and _size(following.total) - _size(following.latest) == _size(before) != 0:
            return None if _size(count.latest) != _size(count.total) else {}
        return _before(count)


def _before(count: TokenCount) -> Mapping[str, Any]:
    """Returns the totals before a request; nothing where the log does not say what it used."""
    if not count.latest:
        return {}
    return {name: _count(count.total, name) - _count(count.latest, name) for name in _NAMES.values()}


def _grown(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, int]:
    """Returns by how much each kind of tokens has grown."""
    kinds = {kind: name for kind, name in _NAMES.items() if name in after and kind != "total"}
    return {kind: _count(after, name) - _count(before, name) for kind, name in kinds.items()}


class SessionAssigner:
    """The sessions of a log, and the one that current records belong to."""

    def __init__(self, log: LogBuilder, otherwise: str) -> None:
        self.log, self.fallback_id = log, otherwise
        self.all: dict[str, CodexSession] = {}
        self.current = CodexSession(log, "")
        self._copying: float | None = None
        self._forked = False

    @property
    def uncertain(self) -> bool:
        """Whether the next record may belong to another session than the last."""
        return self._copying is not None or not self.all

    @property
    def first(self) -> CodexSession:
        return next(iter(self.all.values()))

    def ensure(self) -> CodexSession:
        if not self.all:
            self._begin(self.fallback_id)
        return self.current

    def head(self, payload: Payload, at: float | None, ref: Ref) -> None:
        name = string(payload.id) or self.fallback_id
        if name not in self.all:
            self._begin(name)
            self._copying = None
        self.all[name].head(payload, at, ref)
        session, origin = self.all[name], self.first.parent
        if origin and session is not self.first and (origin == name or _older(session, self.first)):
            session.copied = self._forked = True
            self._copying = at
            session.flags["repeated"] = None

    def _begin(self, name: str) -> None:
        self.current = self.all[name] = CodexSession(self.log, name)

    def turn(self, payload: Payload) -> None:
        """Handles the beginning of a turn."""
        if not self._forked:
            return
        began = _uuid_time(string(payload.turn_id))
        if began is None and (started := _number(payload.started_at)) is not None:
            began = started + 1  # whole seconds, and the session may have begun later in the same one
        if began is None:
            return
        there = [session for session in self.all.values() if (session.created or math.inf) <= began]
        if there:
            self.current = max(there, key=lambda session: session.created or 0)
            self._copying = None

    def record(self, at: float | None) -> CodexSession:
        """Returns the session that a record of this time belongs to."""
        if self._copying is None:
            return self.ensure()
        if self.current.copied and at is not None and at > self._copying + _BURST:
            self.current = self.first
        return self.current

    def finish(self, counts: Mapping[str, Any]) -> None:
        """Adds the rows of all sessions.  The totals of a fork include its parent's."""
        self.ensure()
        before: Mapping[str, Any] = {}
        for session in self.all.values():
            if session.copied and _size(session.usage) > _size(before):
                before = session.usage
        if not before and self.first.forked and self.first.totals:
            # The parent's records are in its own log only.
            before = _before(self.first.totals[0])
        continues = _size(self.first.usage) >= _size(before)
        for session in self.all.values():
            is_first = session is self.first
            session.finish(before if is_first and continues else {}, counts if is_first else {})


def _older(one: CodexSession, other: CodexSession) -> bool:
    return one.created is not None and other.created is not None and one.created < other.created


def _parent(payload: Payload) -> str:
    spawned = mapping(mapping(mapping(payload.source).get("subagent")).get("thread_spawn"))
    parent = string(payload.parent_thread_id) or string(spawned.get("parent_thread_id"))
    return parent or string(payload.forked_from_id)


def _uuid_time(uuid: str) -> float | None:
    """Returns the creation time of a version 7 UUID."""
    if len(uuid) != 36 or uuid[14] != "7":
        return None
    try:
        return int(uuid[:8] + uuid[9:13], 16) / 1000
    except ValueError:
        return None


def _number(found: Any) -> float | None:
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if is_number and 0 < found < 1e11 else None


def _size(usage: Mapping[str, Any]) -> int:
    """Returns the total of a usage, which early versions do not record."""
    return _count(usage, "total_tokens") or _count(usage, "input_tokens") + _count(usage, "output_tokens")


def _count(usage: Mapping[str, Any], name: str) -> int:
    found = usage.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def permission_text(approval: Any, sandbox: Any) -> str:
    return ", ".join(filter(None, map(_policy_name, (approval, sandbox))))


def _policy_name(policy: Any) -> str:
    """Returns a policy's name: a text, or an object's ``type`` (sandbox) or only key (approval)."""
    if isinstance(policy, dict):
        return string(policy.get("type")) or string(policy.get("mode")) or ", ".join(map(str, policy))
    return string(policy)
