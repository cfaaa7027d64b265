"""The records of our own session logs, version 1: one JSON object per line, with its kind in ``type``.

A record ``session`` starts a session; each finished call is a record ``call``. The log of an agent
(``nbtools.Agent``) has the calls that the agent made, and also records ``said`` (a prompt, or text or
thinking of the model), ``request`` (the token usage of an answered model request) and ``end`` (a run ended
before the model's final answer). Fields with their default value are omitted. Times are seconds since the
epoch.

A text of more than ``LONGEST_TEXT`` characters is stored in a file of the folder ``<name of the log>.texts``
beside the log, named after the hash of its content, and replaced with
``{"$text": "<file>", "chars": …, "start": "…"}``. A field whose JSON is long because it has many parts is
stored there as JSON: ``{"$json": "<file>", "chars": …}``. A key that itself begins with ``$`` gets another
``$``. Messages are stored in their record, up to ``LONGEST_MESSAGE`` characters. Secrets are replaced: see
``nbtools.core.redaction``.

A reader must ignore fields and record types that it does not know.
``version`` changes when that would be misleading.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Raw, Struct

VERSION = 1
LONGEST_TEXT = 32_768
"""Maximum number of characters of a text in a record."""
BEGINNING_LENGTH = 300
"""Number of characters of a long text that its record repeats."""
LONGEST_MESSAGE = 2_000_000
"""Maximum number of characters of a message in its record."""
NULL = Raw(b"null")


def texts_folder(log: Path) -> Path:
    """Returns the folder of a log's long texts, which need not exist."""
    return log.with_name(f"{log.stem}.texts")


class SessionRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="session"):
    """The header of a session.

    ``workspace`` is an absolute path; ``commit`` and ``branch`` are those of its git checkout when the
    session began.

    ``calls_of`` is the session in which an agent made its calls: that session's log contains them, too.
    ``notebook`` is the name of the notebook whose kernel made the calls.
    """

    format: str
    version: int
    id: str
    at: float
    nbtools: str = ""
    workspace: str = ""
    dialect: str = ""
    branch: str = ""
    commit: str = ""
    calls_of: str = ""
    notebook: str = ""


class DecisionRecord(Struct, frozen=True, omit_defaults=True):
    """The policy's decision about a call: ``core.decision.Decision``."""

    action: str
    reason: str = ""
    rule: str = ""
    part: str = ""
    source: str = ""


class ApprovalRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to an approval request; ``at`` is 0 where the call ended with it."""

    outcome: str
    question: str = ""
    by: str = ""
    reason: str = ""
    save: bool = False
    at: float = 0


class ChangeRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that a call changed."""

    path: str
    kind: str
    added: int | None = None
    removed: int | None = None


class CallRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="call"):
    """A finished call.

    ``number`` counts the session's calls from 0 in the order of their requests;
    records are in the order in which calls ended.

    ``asked`` is the time of the request, ``started`` of the execution (0 for a call that never ran),
    ``ended`` of the end. ``state`` is success, error or cancelled. ``arguments`` are those requested; ``ran``
    those executed, where a person or a hook changed them. ``content`` is what the model read (text, or a list
    of parts), ``display`` what was displayed, an object whose ``type`` names its class; ``data`` is the data
    for programs. ``size`` counts the characters of ``content``. ``unwritten`` says why the record is
    incomplete.
    """

    session: str
    number: int
    id: str
    name: str
    spoken: str
    kind: str = ""
    subject: str = ""
    command: str = ""
    directory: str = ""
    paths: tuple[str, ...] = ()
    asked: float
    started: float = 0
    ended: float
    state: str
    error: str = ""
    message: str = ""
    exit_code: int | None = None
    size: int = 0
    summary: str = ""
    decision: DecisionRecord | None = None
    approval: ApprovalRecord | None = None
    changes: tuple[ChangeRecord, ...] = ()
    arguments: Raw = NULL
    ran: Raw = NULL
    content: Raw = NULL
    display: Raw = NULL
    data: Raw = NULL
    notes: Raw = NULL
    unwritten: str = ""


class MessageRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="said"):
    """A message. ``kind`` is user, assistant_text or thinking;
    ``step`` the model request, from 1 in each run, and 0 for a prompt.

    ``number`` is in the same sequence as that of calls.
    ``size`` is the number of characters of the whole message where ``text`` has only its beginning.
    """

    session: str
    number: int
    at: float
    kind: str
    text: str
    step: int = 0
    size: int = 0


class RequestRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="request"):
    """Token usage of a model request; ``input`` excludes cached tokens.

    ``cost`` is in US dollars, None where the price of ``model`` is not known.
    """

    session: str
    at: float
    step: int
    model: str
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost: float | None = None


class EndRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="end"):
    """The end of a run before the model's final answer.
    ``why`` is the reason; ``failed``: because of an error, not a person or a limit.
    """

    session: str
    number: int
    at: float
    why: str
    failed: bool = False


class FullRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="full"):
    """The last record of a log that reached its size limit."""

    session: str
    at: float
