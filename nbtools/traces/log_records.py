"""The log of our own sessions, version 1: one JSON object a line, told apart by ``type``.

A line ``session`` opens a session; each finished call is a line ``call``.  The log of an agent (``nbtools.Agent``) has the calls that
it made, and beside them lines ``said`` (a prompt, what the model wrote or thought), ``request`` (what an answered request to the model
used) and ``end`` (a run was over before the model had its last word).  Fields at their default are left out.  Times are seconds since the
epoch.  A text of more than ``LONGEST`` characters stands in a file of the folder ``<name of the log>.texts`` beside the log, named after
what it holds; in its place stands ``{"$text": "<file>", "chars": …, "start": "…"}``.  A field that is long for its many parts stands there
as JSON: ``{"$json": "<file>", "chars": …}``.  An object's own key that begins with ``$`` has another ``$`` before it.  What was said stands
in its line, up to ``SAID`` characters.  Secrets are marks: see ``nbtools.core.redact``.

Whoever reads it passes over fields and types of lines that it does not know.  ``version`` changes when that would mislead.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Raw, Struct

VERSION = 1
LONGEST = 32_768
"""Characters of a text in a line."""
START = 300
SAID = 2_000_000
"""Characters of what was said that a line has."""
NONE = Raw(b"null")


def texts_folder(log: Path) -> Path:
    """Where the long texts of a log are, or would be."""
    return log.with_name(f"{log.stem}.texts")


class SessionRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="session"):
    """``workspace`` is an absolute path; ``commit`` and ``branch`` are what git had there when the session began.

    ``calls_of`` is the session that an agent's calls were made in: its log has them, too.
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


class Decided(Struct, frozen=True, omit_defaults=True):
    """What policy said: ``core.decision.Decision``."""

    action: str
    reason: str = ""
    rule: str = ""
    part: str = ""
    source: str = ""


class Answered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person said; ``at`` is 0 where the call ended with it."""

    outcome: str
    question: str = ""
    by: str = ""
    reason: str = ""
    save: bool = False
    at: float = 0


class Changed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that a call changed."""

    path: str
    kind: str
    added: int | None = None
    removed: int | None = None


class CallRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="call"):
    """``number`` counts the session's calls from 0 as they were asked for: lines stand in the order in which they ended.

    ``asked`` ``started`` ``ended``: when; ``started`` is 0 for a call that never ran.  ``state`` is success, error or cancelled.
    ``arguments`` are those asked for; ``ran`` those that were run, where a person or a hook changed them.  ``content`` is what a model read
    (text, or a list of parts), ``display`` what a person saw, an object whose ``type`` names the class; ``data`` what a program got.
    ``size`` counts the characters of ``content``.  ``unwritten`` says why the record has less than it should.
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
    decision: Decided | None = None
    approval: Answered | None = None
    changes: tuple[Changed, ...] = ()
    arguments: Raw = NONE
    ran: Raw = NONE
    content: Raw = NONE
    display: Raw = NONE
    data: Raw = NONE
    notes: Raw = NONE
    unwritten: str = ""


class SaidRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="said"):
    """``kind`` is user, assistant_text or thinking; ``step`` the request to the model, from 1 in each run, 0 for a prompt.

    ``number`` is of the same count as that of calls.  ``size`` are the characters of the whole where ``text`` has only its beginning.
    """

    session: str
    number: int
    at: float
    kind: str
    text: str
    step: int = 0
    size: int = 0


class RequestRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="request"):
    """Tokens, ``input`` without those from a cache; ``cost`` in US dollars, None where the price of ``model`` is not known."""

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
    """``why`` a run ended before the model's last word; ``failed``: by an error, not by a person or a limit."""

    session: str
    number: int
    at: float
    why: str
    failed: bool = False


class FullRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="full"):
    """The last line of a log that reached its size."""

    session: str
    at: float
