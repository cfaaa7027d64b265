"""The data model of session logs: sessions, events, calls and file changes,
in one vocabulary for every agent.

Rows are small: they hold what a list shows and a query needs. Large contents (arguments, output, texts before
and after) stay in the log and are read on demand (``Call.detail``). Every row names the bytes it was made
from. Times are seconds since the epoch, and None where the log records none.
"""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

import nbtools
from nbtools.core.deprecation import warn_deprecated
from nbtools.core.result import FileDiff, Media, ToolResultDisplay

PREVIEW = 300
"""Maximum number of characters of a text in a row."""
SAMPLE_TEXT = 2_000
"""Maximum number of characters of a text of a sample in its row."""

EventKind: TypeAlias = Literal[
    "user",
    "assistant_text",
    "thinking",
    "tool_call",
    "tool_result",
    "system",
    "compaction",
    "error",
    "attachment",
    "progress",
    "scorer",
]
"""``scorer`` is what a scorer of an evaluation sent to a model, and what this model wrote."""
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
"""Where a status was read from: a field of the log, a command's exit code, the wording of a result,
or nowhere.
"""


# Rows are many and never in a reference cycle: gc=False keeps the garbage collector from scanning them.
# array_like: they are sent between processes without the names of their fields.
class Ref(Struct, frozen=True, array_like=True, gc=False):
    """A position in a log: bytes ``offset`` … ``offset + length`` of the source's file number ``file``.

    ``line`` is 1-based, and 0 where lines do not apply.
    ``member`` is the file inside an archive to which offset and length apply.
    """

    offset: int
    length: int
    line: int = 0
    file: int = 0
    member: str = ""


NOWHERE = Ref(0, 0)
"""The position of a result that does not exist."""


class Tokens(Struct, frozen=True):
    """Token usage of a session. ``input`` excludes tokens read from or written to a cache,
    whatever the format counts. None: not recorded.
    """

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


class SampleResult(Struct, frozen=True, kw_only=True):
    """The result of a sample of an evaluation.
    The session ``session`` is the attempt ``epoch`` at the sample ``id``.

    ``scores`` are the values by scorer, ``error`` what failed, ``limit_reached`` the kind of limit that ended
    it. ``answer`` and ``explanation`` are those of the first scorer that has one. Of ``input``, ``target``,
    ``answer`` and ``explanation`` a row has the beginning, at most ``SAMPLE_TEXT`` characters.
    ``scorer_tokens`` are those of ``total_tokens`` that the requests of scorers used. ``duration`` and
    ``working_time`` are seconds, with and without waiting. None: not recorded.
    """

    session: str
    id: str
    epoch: int | None = None
    input: str | None = None
    target: str | None = None
    answer: str | None = None
    explanation: str | None = None
    scores: dict[str, Any] | None = None
    error: str | None = None
    limit_reached: str | None = None
    total_tokens: int | None = None
    scorer_tokens: int | None = None
    duration: float | None = None
    working_time: float | None = None


class Metric(Struct, frozen=True, kw_only=True):
    """A metric of an evaluation over the scores of all samples, such as accuracy, from the header of its log.

    ``scorer`` is the name of the scores, ``reducer`` how those of several epochs became one. ``params`` are
    the parameters of the metric, ``scorer_params`` those of the scorer. ``samples`` is the number of samples
    that were scored. None: not recorded.
    """

    scorer: str
    name: str
    value: float | None = None
    reducer: str = ""
    params: dict[str, Any] = {}
    scorer_params: dict[str, Any] = {}
    samples: int | None = None


class Session(Struct, frozen=True, kw_only=True):
    """A session, or a sub-agent's session (``parent``: the session that started it, ``parent_call``:
    the call in that session).

    ``flags`` name what is doubtful: ``tokens_placeholder malformed truncated redacted
    unknown_records``; ``tokens_differ``: the log's total is not the sum over its requests, as
    ``counts["tokens_differ"]`` says; ``repeated``: it is part of another session, repeated in the log of a
    fork; ``repeats``: ``counts["repeats"]`` of its records are in another log of the trace, and count there.
    ``native_tokens`` are the numbers as the format
    defines them; ``counts`` is what only this format records (``compactions``, ``exit_status`` …).
    ``sample``: it is an attempt at a sample of an evaluation. ``metrics`` are those of the evaluation, which
    the first session of its log has.
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
    native_tokens: dict[str, int | None] = {}
    cost: float | None = None
    flags: tuple[str, ...] = ()
    counts: dict[str, Any] = {}
    sample: SampleResult | None = None
    metrics: tuple[Metric, ...] = ()
    ref: Ref = NOWHERE


class Event(Struct, frozen=True, array_like=True, gc=False):
    """A message or another entry of a session.
    ``seq`` is its position in reading order, from 0, shared with calls.

    ``text`` is its beginning (at most ``PREVIEW`` characters), ``size`` the number of characters of the whole
    text. ``live`` is False on a branch that was rewound, and for what a fork's log repeats of its parent's.
    ``key`` is the provider's id of the message it belongs to; ``type`` is the format's name for the record.
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
    """Everything recorded about a call. ``display`` is the result as a live call would display it,
    ``result`` the text that the model read.

    ``changes`` are the files before and after, as far as they are recorded or follow from the arguments.
    ``full`` is the path of a file with the whole output where the log has only a part, ``truncated`` the
    number of characters that the log has of it.
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
        """Names the parts with their sizes, because a result may be megabytes long."""
        parts = ((name, getattr(self, name)) for name in ("result", "stdout", "stderr", "changes", "media"))
        sizes = ", ".join(f"{name}: {len(value):,}" for name, value in parts if value)
        return f"<Detail of {reprlib.repr(dict(self.args))}{f', {sizes}' if sizes else ''}>"


class Origin(ABC):
    """Reads the details of the calls that came from it."""

    @property
    def first_line(self) -> int:
        """The number that the agent's tools give the first line of a file."""
        return 1

    @abstractmethod
    def detail(self, call: Call) -> Detail:
        """Reads the detail of ``call`` from the log.
        Raises ``TraceError`` where the file has changed or gone since it was loaded.
        """

    def texts(self, call: Call) -> Detail:
        """Like ``detail``, but may leave out the display and the changes,
        which take longer than reading the texts.
        """
        return self.detail(call)


class Call(Struct, frozen=True, array_like=True, gc=False):
    """A tool call. ``id`` is unique in its session even where the format's own id (``native_id``) is not.

    ``level`` is ``nested`` for calls that the model did not make itself: calls of a script it wrote, of a
    scorer of an evaluation, or (``by_sub_agent``) a sub-agent's calls in its parent's log; ``parent`` is then
    the id of the enclosing call, if there is one.
    ``subject`` is one line that names the call's target. ``child`` is the session of the sub-agent that the
    call started. ``result_size`` counts the characters of the text that the model read, in every format;
    images and the like count as nothing. ``permission`` is what the log says about its approval. ``counted``
    is False where the counting rules of the format exclude it from ``facts()``: on a branch that was rewound,
    or in a notation that the rules do not know.
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
    by_sub_agent: bool = False

    @property
    def has_failed(self) -> bool | None:
        """Whether the call failed, or its command ended with an exit code other than 0; None where it is not
        among the counted calls (``counts.DEFINITIONS``): nested, or on a rewound branch.
        """
        if not self.live or (self.level != "model" and not self.by_sub_agent):
            return None
        return self.is_failure

    @property
    def is_failure(self) -> bool:
        """Whether the call failed, or its command ended with an exit code other than 0."""
        return self.status == "error" or (self.status == "ok" and bool(self.exit_code))

    @property
    def detail(self) -> Detail:
        """Arguments, output and changes, read from the log now."""
        return self.origin.detail(self)

    def replay(self, folder: str | Path | None = None, commit: str = "", **how: Any) -> Any:
        """``nbtools.replay.replay_sync(call)``; it goes with the next release."""
        warn_deprecated("call.replay()", "nbtools.replay.replay_sync(call)")
        return nbtools.replay.replay_sync(self, folder, commit, **how)

    def replay_async(self, folder: str | Path | None = None, commit: str = "", **how: Any) -> Any:
        """``nbtools.replay.replay(call)``; it goes with the next release."""
        warn_deprecated("call.replay_async()", "nbtools.replay.replay(call)")
        return nbtools.replay.replay(self, folder, commit, **how)


class FileChange(Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """A path that a call changed.

    ``path`` is as recorded, and empty where the log does not name it. ``applied``: the change took effect, as
    far as the log records. ``basis`` is what the line counts are derived from.
    """

    session: str
    call: str
    path: str
    kind: Literal["add", "modify", "delete", "rename", "unknown"] = "unknown"
    added: int | None = None
    removed: int | None = None
    basis: Literal["recorded_patch", "recorded_texts", "arguments", "none"] = "none"
    applied: bool = True


UsageScope: TypeAlias = Literal["request", "turn", "rest"]


PartKind: TypeAlias = Literal[
    "unlogged",
    "prompt",
    "tools",
    "system",
    "person",
    "attachment",
    "summary",
    "thinking",
    "text",
    "arguments",
    "file",
    "command",
    "result",
]


class SentPart(Struct, frozen=True, array_like=True, gc=False):
    """A part of a request as it was sent. ``call`` is the provider's id of the call whose arguments or result
    it is, ``name`` that of a tool whose definition it is, ``seq`` the step that added it, if one did.
    ``characters`` is None for images and the like.
    """

    part: PartKind
    characters: int | None
    name: str = ""
    call: str = ""
    seq: int | None = None


class SentRequest(Struct, frozen=True, array_like=True, gc=False):
    """Describes what was sent with a request by how it differs from the session's request before it.

    ``fixed`` are its system prompt and definitions of tools, None where they are the same. Of the messages'
    parts the first ``kept`` are the same, and ``added`` follow.
    """

    fixed: tuple[SentPart, ...] | None
    kept: int
    added: tuple[SentPart, ...]


class RequestUsage(Struct, frozen=True, array_like=True, gc=False):
    """Token usage of one request to a model:
    the steps ``seq`` … ``last`` are its answer, None where the log does not connect them.

    ``scope`` is ``turn`` where the log has one number for all requests of a turn, and ``rest`` for the part
    of the session's total that the log attributes to no request; a rest is negative where the requests exceed
    the total. ``id`` is the provider's id of the answer. ``flags``: ``placeholder``, the output count was
    recorded at the start of the answer; ``several``, it covers more than one request; ``after_compaction``;
    ``cache_break``, fewer tokens were read from the cache than in the session's previous request to this
    model; ``scorer``, a scorer of an evaluation made it, and not the agent. ``sent`` is the request itself
    where the log has the whole of it.
    """

    session: str
    seq: int | None = None
    last: int | None = None
    scope: UsageScope = "request"
    id: str = ""
    model: str = ""
    at: float | None = None
    turn: int = 0
    live: bool = True
    tokens: Tokens = Tokens()
    cost: float | None = None
    flags: tuple[str, ...] = ()
    ref: Ref = NOWHERE
    sent: SentRequest | None = None


class ContextPart(Struct, frozen=True, array_like=True, gc=False):
    """Something that was added to a model's context, and for how long requests contained it.

    ``part`` is where it comes from: ``unlogged`` is what the first request contained and the log does not
    have (system prompt and tool definitions), ``prompt`` the system prompt and ``tools`` the definition of a
    tool where the log has them, ``system`` what it has of the agent's own messages, ``summary`` the text of a
    compaction; ``file`` (``name``: its path), ``command`` (its programs) and ``result`` (the tool) are
    results of calls. ``characters`` are exact, or None where the log does not have the text as it was sent.
    The tokens are from ``tokens_min`` to ``tokens_max``; None where the log allows no bound.
    ``tokens_estimate`` is what the input has grown by, divided among what was added by characters.

    ``requests`` is the number of later requests that contained it, until the next compaction or the end of
    its branch; ``cached_requests`` the number of those, after the first, until the cache was lost. None where
    the log does not connect its requests to steps.

    ``proven``: the log has all requests of the session as they were sent, so that part, characters and
    requests are those that were sent.
    """

    session: str
    seq: int | None
    part: PartKind
    name: str = ""
    call: str = ""
    characters: int | None = None
    tokens_min: int | None = None
    tokens_max: int | None = None
    requests: int | None = None
    cached_requests: int | None = None
    turn: int = 0
    live: bool = True
    tokens_estimate: int | None = None
    proven: bool = False


class Problem(Struct, frozen=True):
    """Bytes that could not be read as expected.
    ``recovered`` counts the records that were found in them nevertheless.
    """

    ref: Ref
    why: str
    recovered: int = 0


Row: TypeAlias = Session | Event | Call | FileChange | RequestUsage | Problem
