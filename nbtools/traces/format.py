"""What a reader of a format is, and which one reads a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.model import NOWHERE, Call, Detail, Origin, Problem, Row, Session
from nbtools.traces.source import UNREADABLE, Source

_START = 64 << 10
_RECORDS = 40
NOTHING_KNOWN = "nothing in it is a step that the reader of its format knows"
_QWEN_MESSAGE = re.compile(rb'"message"\s*:\s*\{\s*(?:"role"\s*:\s*"\w+"\s*,\s*)?"parts"\s*:')
_QWEN_TYPE = re.compile(rb'"type"\s*:\s*"qwen"')
_OPENHANDS = re.compile(rb'"kind"\s*:\s*"(?:SystemPrompt|Message|Action|Observation|AgentError|ConversationStateUpdate)Event"')
GUESSED = "messages"
"""The format of any log with messages in it: that it has records says nothing."""
GROUP = "nbtools.traces"
"""Entry points of this group are ``Format`` objects; they are asked before ours."""


_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*(?:["}]|\Z)|\[\s*(?:[\[{"\]]|\Z))')


@dataclass(frozen=True)
class Head:
    """The beginning of a file, by which its format is recognised; nothing of a folder.  Names say nothing: people rename logs."""

    path: Path
    start: bytes

    @cached_property
    def first(self) -> Any:
        """The first line decoded, or the whole where it is short; None where that is no JSON."""
        for text in (self.start.split(b"\n", 1)[0], self.start):
            try:
                return msgspec.json.decode(text)
            except UNREADABLE:
                continue
        return None

    @cached_property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The objects that the first lines are, those that are complete."""
        lines = self.start.split(b"\n")
        return tuple(msgspec.json.decode(line) for line in lines[:_RECORDS] if _is_object(line))

    def has(self, *keys: str) -> bool:
        """Whether it is JSON and these stand in it as keys of objects, at any depth."""
        return self.is_json and all(f'"{key}"'.encode() in self.start and _key(key).search(self.start) for key in keys)

    @cached_property
    def is_json(self) -> bool:
        """Whether it begins as JSON does or, as the first line may be cut, the next lines are objects.

        Source code and text may have all the keys of a log in them.
        """
        following = self.start.split(b"\n")[1:-1][:3]
        return _JSON.match(self.start) is not None or (bool(following) and all(map(_is_object, following)))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except UNREADABLE:
        return False


@cache
def _key(name: str) -> re.Pattern[bytes]:
    return re.compile(rb'"%s"\s*:' % re.escape(name.encode()))


class Format(Protocol):
    """One agent's way to write down what it did.

    ``read`` yields rows in reading order; each call once, when its result is known or at the end; each session at its end.  It raises
    ``TraceError`` where the file cannot be opened, and for nothing that stands in it: that is a ``Problem``.
    ``tells_errors`` is False where the format cannot say that a call failed.
    """

    name: str
    tells_errors: bool

    def recognises(self, head: Head) -> bool: ...

    def files(self, path: Path) -> Sequence[Path]:
        """The files besides ``path`` that belong to it."""

    def read(self, source: Source, origin: Origin) -> Iterator[Row]: ...

    def detail(self, source: Source, call: Call) -> Detail: ...


@dataclass(frozen=True)
class Reading:
    """A file and the format it is in: where its rows come from."""

    source: Source
    format: Format

    def rows(self) -> Iterator[Row]:
        """Those of the format's reader, and a problem where it knows nothing of what is there."""
        rows = iter(self.format.read(self.source, self))
        for row in rows:
            yield row
            if not isinstance(row, Session) or (row.records and self.format.name != GUESSED):
                break
        else:
            yield Problem(NOWHERE, NOTHING_KNOWN)
        yield from rows

    def detail(self, call: Call) -> Detail:
        return self.format.detail(self.source, call)

    def strict(self) -> Reading:
        """The same without what could be taken out of malformed lines."""
        first, *others = self.source.files
        return Reading(Source(first, others, recover=False), self.format)


def reading(path: Path) -> Reading:
    """Raises ``TraceError`` where it cannot be opened or no format knows it.  A folder is a log where a format keeps one file an event."""
    try:
        head = Head(path, b"" if path.is_dir() else _start(path))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}.") from error
    for known in formats():
        if known.recognises(head):
            return Reading(Source(path, known.files(path)), known)
    names = ", ".join(known.name for known in formats())
    if agent := _unsupported(head):
        raise TraceError(f"{path} is in no format that is known here: it looks like a log of {agent}. Known are {names}.")
    raise TraceError(f"{path} is in no format that is known here: {names}.")


def is_qwen_code(head: Head) -> bool:
    """Whether it is a log of Qwen Code: records with the fields of Claude Code's around the messages of Gemini's API.

    Its older versions wrote the sessions of Gemini CLI, with a type of message of its own.
    """
    if not head.has("parentUuid"):
        return head.has("projectHash") and _QWEN_TYPE.search(head.start) is not None
    if head.records:
        return any(_is_qwen_code(record) for record in head.records if "parentUuid" in record)
    return _QWEN_MESSAGE.search(head.start) is not None


def _is_qwen_code(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    parts = isinstance(message, dict) and isinstance(message.get("parts"), list) and "content" not in message
    return parts or "systemPayload" in record or "toolCallResult" in record


def _unsupported(head: Head) -> str:
    """The agent whose log it looks like, of those that are not read; empty for others."""
    if is_qwen_code(head):
        return "Qwen Code"
    if head.has("sessionID") or (head.has("projectID", "directory") and b'"ses_' in head.start):
        return "opencode"
    return "OpenHands, in a form that is not read" if head.is_json and _OPENHANDS.search(head.start) else ""


def _start(path: Path) -> bytes:
    with path.open("rb") as opened:
        return opened.read(_START)


def formats() -> tuple[Format, ...]:
    """Those of installed packages, then ours."""
    from nbtools.traces.formats import FORMATS  # noqa: PLC0415 - the formats' modules import this one

    return (*_installed(), *FORMATS)


@cache
def _installed() -> tuple[Format, ...]:
    """Asked once a process: looking through all packages takes longer than reading a small log."""
    return tuple(point.load() for point in entry_points(group=GROUP))
