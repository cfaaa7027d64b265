"""Assigns the records of a rollout to sessions, and collects their facts.

The log of a fork, or of a sub-agent that received its parent's history, begins with copies of the parent's records, after the parent's
head.  The copies may have the time of copying, but their turn ids are older than the fork: a turn belongs to the youngest session
that existed when it began.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from nbtools.traces.json_access import epoch_seconds
from nbtools.traces.model import NOWHERE, PREVIEW, Ref, Session, Tokens
from nbtools.traces.readers.codex.records import Payload, object_of, string_of

_BURST = 1.0
"""Longest time in seconds that copying takes, used if only the records' times show where it ends."""
_NAMES = {
    "input": "input_tokens",
    "cache_read": "cached_input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_output_tokens",
    "total": "total_tokens",
}


class SessionBuilder(msgspec.Struct):
    """A session under construction.  ``copied``: its records are copies in the log of another."""

    id: str
    created: float | None = None
    parent: str = ""
    copied: bool = False
    version: str = ""
    generation: str = ""
    title: str = ""
    cwd: str = ""
    git: dict[str, Any] = {}
    models: dict[str, None] = {}
    started: float | None = None
    ended: float | None = None
    records: int = 0
    flags: dict[str, None] = {}
    usage: dict[str, Any] = {}
    hosted: int = 0
    compactions: int = 0
    ref: Ref = NOWHERE

    def see_time(self, at: float) -> None:
        if self.ended is None or at > self.ended:
            self.ended = at
        if self.started is None or at < self.started:
            self.started = at

    def head(self, payload: Payload, at: float | None, ref: Ref) -> None:
        """Reads the head record.  A resumed session has a second one; the first counts."""
        if self.ref is not NOWHERE:
            return
        self.ref = ref
        self.created = epoch_seconds(payload.timestamp) or _uuid_time(self.id) or at
        self.parent = _parent(payload)
        self.version = string_of(payload.cli_version)
        self.cwd = string_of(payload.cwd)
        self.git = object_of(payload.git)

    def set_usage(self, info: Any) -> None:
        """Stores token totals.  They are cumulative, so the largest is kept."""
        usage = object_of(object_of(info).get("total_token_usage"))
        if _count(usage, "total_tokens") >= _count(self.usage, "total_tokens"):
            self.usage = usage

    def row(self, before: dict[str, Any], native: dict[str, Any], counts: dict[str, Any]) -> Session:
        """Returns the row.  ``before`` are the totals at the beginning of the session; ``native`` those at its end."""
        own = {} if self.copied else {name: _count(native, name) - _count(before, name) for name in native}
        cached, written = own.get("cached_input_tokens"), own.get("cache_write_input_tokens")
        return Session(
            id=self.id,
            format="codex",
            format_version=self.generation,
            agent="codex",
            agent_version=self.version,
            parent=self.parent,
            title=self.title,
            cwd=self.cwd,
            repository=string_of(self.git.get("repository_url")),
            branch=string_of(self.git.get("branch")),
            commit=string_of(self.git.get("commit_hash")),
            models=tuple(self.models),
            started=self.started,
            ended=self.ended,
            records=self.records,
            tokens=Tokens(
                input=max(0, own["input_tokens"] - (cached or 0) - (written or 0)) if "input_tokens" in own else None,
                cache_read=cached,
                cache_write=written,
                output=own.get("output_tokens"),
                reasoning=own.get("reasoning_output_tokens"),
            ),
            native_tokens={} if self.copied else {key: _count(native, name) for key, name in _NAMES.items() if name in native},
            flags=tuple(self.flags),
            counts=counts,
            ref=self.ref,
        )


class SessionAssigner:
    """The sessions of a log, and the one that current records belong to."""

    def __init__(self, otherwise: str) -> None:
        self.fallback_id = otherwise
        self.all: dict[str, SessionBuilder] = {}
        self.current = SessionBuilder("")
        self._copying: float | None = None
        self._forked = False

    @property
    def uncertain(self) -> bool:
        """Whether the next record may belong to another session than the last."""
        return self._copying is not None or not self.all

    @property
    def first(self) -> SessionBuilder:
        return next(iter(self.all.values()))

    def ensure(self) -> SessionBuilder:
        if not self.all:
            self._begin(self.fallback_id)
        return self.current

    def head(self, payload: Payload, at: float | None, ref: Ref) -> None:
        name = string_of(payload.id) or self.fallback_id
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
        self.current = self.all[name] = SessionBuilder(name, git={}, models={}, flags={}, usage={})

    def turn(self, payload: Payload) -> None:
        """Handles the beginning of a turn."""
        if not self._forked:
            return
        began = _number(payload.started_at) or _uuid_time(string_of(payload.turn_id))
        there = [
            session for session in self.all.values() if began is not None and session.created is not None and int(session.created) <= began
        ]
        if there:
            self.current = max(there, key=lambda session: session.created or 0)
            self._copying = None

    def record(self, at: float | None) -> SessionBuilder:
        """Returns the session that a record of this time belongs to."""
        if self._copying is None:
            return self.ensure()
        if self.current.copied and at is not None and at > self._copying + _BURST:
            self.current = self.first
        return self.current

    def rows(self, counts: dict[str, Any]) -> list[Session]:
        """Returns the rows of all sessions.  The totals of a fork include its parent's."""
        self.ensure()
        before: dict[str, Any] = {}
        for session in self.all.values():
            if session.copied and _count(session.usage, "total_tokens") > _count(before, "total_tokens"):
                before = session.usage
        own = self.first.usage
        continues = _count(own, "total_tokens") >= _count(before, "total_tokens")
        return [
            session.row(before if session is self.first and continues else {}, session.usage, counts if session is self.first else {})
            for session in self.all.values()
        ]


def _older(one: SessionBuilder, other: SessionBuilder) -> bool:
    return one.created is not None and other.created is not None and one.created < other.created


def _parent(payload: Payload) -> str:
    spawned = object_of(object_of(object_of(payload.source).get("subagent")).get("thread_spawn"))
    return string_of(payload.parent_thread_id) or string_of(spawned.get("parent_thread_id")) or string_of(payload.forked_from_id)


def _uuid_time(uuid: str) -> float | None:
    """Returns the creation time of a version 7 UUID."""
    if len(uuid) != 36 or uuid[14] != "7":
        return None
    try:
        return int(uuid[:8] + uuid[9:13], 16) / 1000
    except ValueError:
        return None


def _number(found: Any) -> float | None:
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) and 0 < found < 1e11 else None


def _count(usage: dict[str, Any], name: str) -> int:
    found = usage.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<collaboration_mode>",
    "<multi_agent_mode>",
    "<apps_instructions>",
    "<app-context>",
    "<skill",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
)
"""Prefixes of messages that the agent inserts in the user's name."""
_REQUEST = "## My request for Codex:"
_CWD = re.compile(r"<cwd>(.*?)</cwd>", re.DOTALL)
_MAX_SEARCH = 4000


def is_injected(message: str) -> bool:
    return message.lstrip().startswith(_INJECTED)


def title(message: str) -> str:
    """Returns the first line of the request."""
    return message.rpartition(_REQUEST)[2].strip().split("\n", 1)[0][:PREVIEW]


def working_directory(message: str) -> str:
    """Returns the working directory, which early logs name only in a message about the environment."""
    found = _CWD.search(message, 0, _MAX_SEARCH)
    return found[1].strip() if found else ""


def permission_text(approval: Any, sandbox: Any) -> str:
    return ", ".join(filter(None, map(_policy_name, (approval, sandbox))))


def _policy_name(policy: Any) -> str:
    """Returns the name of a policy: a text, or an object that has it as ``type`` (sandbox) or only key (approval)."""
    if isinstance(policy, dict):
        return string_of(policy.get("type")) or string_of(policy.get("mode")) or ", ".join(map(str, policy))
    return string_of(policy)
