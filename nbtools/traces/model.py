"""What happened: sessions, their events, the calls in them, the files that calls changed.  One vocabulary for every agent's log.

A row is small: what a list shows and a query asks.  What is large (arguments, output, texts before and after) stays in the file that was
read and is fetched when it is wanted (``Call.detail``).  Every row says which bytes it was made of.  Times are seconds since the epoch and
never invented: None where none is recorded.  Rows are many and in no cycle: the garbage collector passes them over.
"""

from __future__ import annotations

import reprlib
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from nbtools.core.result import FileDiff, Media, ToolResultDisplay
from nbtools.traces.replaying import replaying, waited_for

if TYPE_CHECKING:
    from nbtools.replay import Replayed

PREVIEW = 300
"""Characters of a text that a row carries."""

EventKind: TypeAlias = Literal[
    "user", "assistant_text", "thinking", "tool_call", "tool_result", "system", "compaction", "error", "attachment", "progress"
]
Op: TypeAlias = Literal[
    "shell",
    "read",
    "write",
    "edit",
    "patch",
    "search",
    "list",
    "fetch",
    "web_search",
    "plan",
    "ask",
    "agent",
    "mcp",
    "notebook",
    "other",
]
"""What a call does, whatever its agent calls it."""
Status: TypeAlias = Literal["ok", "error", "cancelled", "denied", "interrupted", "unanswered", "unknown"]
StatusSource: TypeAlias = Literal["flag", "exit_code", "text", "none"]
"""Where a status was read: a field of the log, a command's exit code, the wording of a result, nowhere."""


class Ref(Struct, frozen=True, gc=False):
    """Bytes ``offset`` … ``offset + length`` of the source's file number ``file``; ``line`` is 1-based, 0 where lines mean nothing.

    ``member`` is the file inside an archive that offset and length speak of.
    """

    offset: int
    length: int
    line: int = 0
    file: int = 0
    member: str = ""


NOWHERE = Ref(0, 0)
"""Of a result that is not there."""


class Tokens(Struct, frozen=True):
    """Of a session.  ``input`` is without what was read from a cache or written to it, whatever the format counts; None: not recorded."""

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


class Session(Struct, frozen=True, kw_only=True):
    """A session, or one of a sub-agent (``parent``: the session that started it, ``parent_call``: the call in it).

    ``flags`` name what is doubtful: ``tokens_placeholder malformed truncated redacted unknown_records``; ``repeated``: it is a
    part of another session, told in the log of a fork.  ``native_tokens`` are the numbers as the format defines them; ``counts`` is what
    the format alone records (``compactions``, ``exit_status`` …).
    """

    id: str
    format: str
    format_version: str = ""
    agent: str = ""
    agent_version: str = ""
    parent: str = ""
    parent_call: str = ""
    title: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""
    commit: str = ""
    models: tuple[str, ...] = ()
    started: float | None = None
    ended: float | None = None
    records: int = 0
    tokens: Tokens = Tokens()
    native_tokens: dict[str, int] = {}
    cost: float | None = None
    flags: tuple[str, ...] = ()
    counts: dict[str, Any] = {}
    ref: Ref = NOWHERE


class Event(Struct, frozen=True, gc=False):
    """Something in a session, in reading order (``seq``, shared with calls, from 0).

    ``text`` is its beginning (``PREVIEW`` characters), ``size`` the characters of the whole.  ``live`` is False on a branch that was
    rewound, and of what a fork's log repeats of its parent's.  ``key`` is the provider's id of the message that it is part of; ``type``
    what the format calls the record.
    """

    session: str
    seq: int
    kind: EventKind
    text: str = ""
    size: int = 0
    at: float | None = None
    role: str = ""
    model: str = ""
    turn: int = 0
    live: bool = True
    key: str = ""
    parent: str = ""
    type: str = ""
    ref: Ref = NOWHERE


@dataclass(frozen=True, slots=True)
class Detail:
    """All that is recorded of a call.  ``display`` is the result as a live call would show it; ``result`` what the model read.

    ``changes`` are the files before and after, as far as they are recorded or follow from the arguments.  ``full`` is the path of a file
    that has the whole output where the log has a part, ``truncated`` how many characters the log has of it.
    """

    args: Mapping[str, Any]
    result: str = ""
    display: ToolResultDisplay = ""
    command: str = ""
    cwd: str = ""
    stdout: str = ""
    stderr: str = ""
    changes: tuple[FileDiff, ...] = ()
    media: tuple[Media, ...] = ()
    full: str = ""
    truncated: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Its parts and how much is in them: a result may be megabytes."""
        there = ((name, getattr(self, name)) for name in ("result", "stdout", "stderr", "changes", "media"))
        sizes = ", ".join(f"{name}: {len(value):,}" for name, value in there if value)
        return f"<Detail of {reprlib.repr(dict(self.args))}{f', {sizes}' if sizes else ''}>"


@runtime_checkable
class Origin(Protocol):
    """Where rows come from."""

    def detail(self, call: Call) -> Detail:
        """What the bytes say that ``call`` was made of.  Raises ``TraceError`` where the file has changed or gone since."""


class Call(Struct, frozen=True, gc=False):
    """A tool call.  ``id`` is unique in its session even where the format's own (``native_id``) is not.

    ``level`` is ``nested`` for what the model did not ask for itself: calls of a script it wrote, echoes of a sub-agent; ``parent`` is
    then the id of the call that it was made in.  ``subject`` says in one line what it is about.  ``child`` is the session of the sub-agent
    that it started.  ``result_size`` are the characters of the text that the model read, in every format; images and the like count
    nothing.  ``permission`` is what the log says about asking.  ``counted`` is False where the counting rules of its format leave
    it out of ``facts()``: on a branch that was rewound, or written in a way the rules do not know.
    """

    session: str
    id: str
    seq: int
    name: str
    op: Op
    origin: Origin
    native_id: str = ""
    level: Literal["model", "nested"] = "model"
    parent: str = ""
    subject: str = ""
    paths: tuple[str, ...] = ()
    at: float | None = None
    ended: float | None = None
    duration: float | None = None
    status: Status = "unknown"
    status_source: StatusSource = "none"
    exit_code: int | None = None
    answered: bool = False
    result_size: int = 0
    permission: str = ""
    child: str = ""
    turn: int = 0
    live: bool = True
    counted: bool = True
    ref: Ref = NOWHERE
    result_ref: Ref = NOWHERE

    @property
    def detail(self) -> Detail:
        """Arguments, output, changes: read from the log now."""
        return self.origin.detail(self)

    def replay(self, folder: str | Path | None = None, commit: str = "", **how: Any) -> Replayed:
        """Runs it again in a copy of ``folder`` that is thrown away (``nbtools.replay.replay``), and waits for it.

        ``how``: ``cwd``, ``policy``, ``confirmer``, which is asked in another thread.  Raises ``TraceError``.
        """
        return waited_for(replaying(self, folder, commit, **how))

    def replay_async(self, folder: str | Path | None = None, commit: str = "", **how: Any) -> Coroutine[Any, Any, Replayed]:
        """The same to be awaited; ``confirmer`` is asked in the running loop."""
        return replaying(self, folder, commit, **how)


class FileChange(Struct, frozen=True, kw_only=True, gc=False):
    """A path that a call changed.  ``applied``: it happened, as far as the log can say.  ``basis``: what the counted lines follow from.

    ``path`` is as recorded, empty where the log does not name it.
    """

    session: str
    call: str
    path: str
    kind: Literal["add", "modify", "delete", "rename", "unknown"] = "unknown"
    added: int | None = None
    removed: int | None = None
    basis: Literal["recorded_patch", "recorded_texts", "arguments", "none"] = "none"
    applied: bool = True


class Problem(Struct, frozen=True):
    """Bytes that could not be read as what they should be.  ``recovered``: records were found in them all the same."""

    ref: Ref
    why: str
    recovered: int = 0


Row: TypeAlias = Session | Event | Call | FileChange | Problem
