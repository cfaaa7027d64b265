"""Defines what a log reader is, and finds the reader of a file's format."""

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
from nbtools.traces.json_access import mapping
from nbtools.traces.json_document import open_document
from nbtools.traces.line_reading import LineReading
from nbtools.traces.lineage import Lineage
from nbtools.traces.model import NOWHERE, Call, Detail, Event, Origin, Problem, Ref, Row, Session
from nbtools.traces.source import BYTE_ORDER_MARK, DECODE_ERRORS, Source, open_regular

HEAD_BYTES = 64 << 10
"""Bytes from which a file's format is recognised."""
_HEAD_RECORDS = 40
NO_KNOWN_STEPS = "it contains no step that the reader of this format knows"
_QWEN_MESSAGE = re.compile(rb'"message"\s*:\s*\{\s*(?:"role"\s*:\s*"\w+"\s*,\s*)?"parts"\s*:')
_OPENHANDS = re.compile(
    rb'"kind"\s*:\s*"(?:SystemPrompt|Message|Action|Observation|AgentError|ConversationStateUpdate)Event"'
)
NO_MESSAGES = "it contains neither a message nor a call that the reader of this format knows"
_MESSAGES = {"user", "assistant_text", "thinking", "tool_call", "tool_result", "error", "compaction"}
_SQLITE = b"SQLite format 3\x00"
_OPENCODE = "opencode (a database; `opencode export` writes a session as JSON)"
_CODEX = "Codex (a database; its sessions are the rollout-*.jsonl files in sessions/)"
_DATABASE_FILES = {
    "opencode.db": _OPENCODE,
    "state_*.sqlite": _CODEX,
    "thread_history_*.sqlite": _CODEX,
    "*.db": "",
    "*.vscdb": "",
}
"""Databases by the pattern of their file names; without a name, their tables tell.
A new one has its tables in a file beside it.
"""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_DATABASES = {
    "Cursor (a database)": ("cursorDiskKV",),
    "VS Code, Cursor or Windsurf (a database of the editor's state)": ("ItemTable",),
    "Cursor CLI (a database)": ("blobs", "meta"),
    "Crush (a database)": ("goose_db_version", "messages"),
    _OPENCODE: ("session", "message", "part"),
    "Zed (a database)": ("threads",),
    "Goose or Hermes (a database)": ("sessions", "messages"),
}
"""Databases of agents by their tables; the first that has all of them."""
_AGENTS = {
    "Claude Code (only the result of a run; `--verbose` adds its messages)": (
        "result",
        {"subtype", "num_turns", "session_id"},
    ),
    "Cline (displayed messages; open the api_conversation_history.json beside them)": ("say", {"ts", "say"}),
    "Cline (displayed questions; open the api_conversation_history.json beside them)": ("ask", {"ts", "ask"}),
    "opencode (a single message or part; open the file of its session)": ("", {"id", "sessionID"}),
    "Copilot CLI in its first format": ("", {"sessionId", "chatMessages", "timeline"}),
    "Continue": ("", {"sessionId", "workspaceDirectory", "history"}),
    "Goose": ("", {"working_dir", "message_count"}),
    "Amp": ("", {"v", "id", "created", "messages", "env"}),
    "Droid": ("session_start", {"id", "title", "owner"}),
    "Kimi Code": ("metadata", {"protocol_version"}),
    "Antigravity": ("", {"step_index", "source", "type", "status"}),
    "Kiro or Amazon Q": ("", {"conversation_id", "history", "transcript"}),
}
"""Agents by the ``type`` of the first object of their logs, if it matters, and its keys."""
_AIDER = re.compile(rb"\s*# aider chat started at \d")
FALLBACK_FORMAT = "messages"
"""The name of the generic format for any log with messages in it;
there, records alone do not prove that the format was recognised.
"""
ENTRY_POINT_GROUP = "nbtools.traces"
"""The entry point group for ``Format`` objects of other packages;
they take precedence over the built-in ones.
"""


_JSON_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*(?:["}]|\Z)|\[\s*(?:[\[{"\]]|\Z))')


@dataclass(frozen=True)
class Head:
    """The beginning of a file, from which its format is recognised; empty for a folder.

    Do not judge by the file's name: people rename logs.
    """

    path: Path
    start: bytes

    @cached_property
    def first(self) -> Any:
        """The first line decoded, or the whole file where it is short; None where that is not JSON."""
        for text in (self.start.split(b"\n", 1)[0], self.start):
            try:
                return msgspec.json.decode(text)
            except DECODE_ERRORS:
                continue
        return None

    @cached_property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The complete JSON objects among the first lines."""
        lines = self.start.split(b"\n")
        return tuple(msgspec.json.decode(line) for line in lines[:_HEAD_RECORDS] if _is_object(line))

    def has(self, *keys: str) -> bool:
        """Returns whether the file is JSON and these occur in it as keys of objects, at any depth."""
        return self.is_json and all(
            f'"{key}"'.encode() in self.start and _key(key).search(self.start) for key in keys
        )

    @cached_property
    def is_json(self) -> bool:
        """Whether the file begins like JSON, or, as the first line may be cut,
        the lines after it are objects.

        Keys alone are not enough: source code and text may contain all the keys of a log.
        """
        next_lines = self.start.split(b"\n")[1:-1][:3]
        return _JSON_START.match(self.start) is not None or (
            bool(next_lines) and all(map(_is_object, next_lines))
        )


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except DECODE_ERRORS:
        return False


@cache
def _key(name: str) -> re.Pattern[bytes]:
    return re.compile(rb'"%s"\s*:' % re.escape(name.encode()))


class Format(Protocol):
    """A reader of one agent's log format; readers may inherit the defaults.

    ``read`` yields rows in reading order; each call once, when its result is known or at the end of the log;
    each session at its end. It raises ``TraceError`` where the file cannot be opened, but never because of
    its content: that yields a ``Problem``. ``tells_errors`` is False where the format does not record whether
    a call failed.
    """

    name: str
    tells_errors: bool = True

    def recognises(self, head: Head) -> bool: ...

    def files(self, path: Path) -> Sequence[Path]:
        """Returns the files that belong to the log besides ``path``."""
        return ()

    def begin(self, source: Source, origin: Origin) -> LineReading | None:
        """Returns a reading that can continue when the log grows;
        None for a log that can only be read as a whole.
        """
        return None

    def lineage(self, head: Head) -> Lineage | None:
        """Returns the ids of the log's session and of those that it continues;
        None where the format does not record them.
        """
        return None

    def read(self, source: Source, origin: Origin) -> Iterator[Row]: ...

    def detail(self, source: Source, call: Call) -> Detail: ...

    def record(self, source: Source, ref: Ref) -> Any:
        """Returns the record at ``ref``, with the texts that it refers to.
        Raises ``TraceError`` where it cannot be read.
        """
        return source.record(ref)

    def texts(self, source: Source, call: Call) -> Detail:
        """Like ``detail``, but may leave out the display and the changes."""
        return self.detail(source, call)


@dataclass(frozen=True)
class LogFile(Origin):
    """A log file with its format; the origin of its rows."""

    source: Source
    format: Format

    def rows(self) -> Iterator[Row]:
        """Yields the rows of the format's reader, and a problem where it finds nothing that it knows,
        or neither messages nor calls.
        """
        rows, problem = iter(self.format.read(self.source, self)), NO_KNOWN_STEPS
        for row in rows:
            yield row
            if is_step(row):
                break
            if not isinstance(row, Session):
                problem = "" if problem == NO_KNOWN_STEPS else problem
            elif row.records and self.format.name != FALLBACK_FORMAT:
                problem = f"The log is read as {self.format.name}, but {NO_MESSAGES}."
        else:
            if problem:
                yield Problem(NOWHERE, problem)
        yield from rows

    def detail(self, call: Call) -> Detail:
        return self.format.detail(self.source, call)

    def texts(self, call: Call) -> Detail:
        read = getattr(self.format, "texts", self.format.detail)  # a reader of others need not have it
        found: Detail = read(self.source, call)
        return found

    def record(self, ref: Ref) -> Any:
        """Returns the record of a row, with the texts that it refers to."""
        read = getattr(self.format, "record", None)  # a reader of others need not have it
        return read(self.source, ref) if read else self.source.record(ref)

    def begin(self) -> LineReading | None:
        """Returns a reading that can continue when the log grows;
        None where the log can only be read as a whole.
        """
        begin = getattr(self.format, "begin", None)  # a reader of others need not have it
        reading: LineReading | None = begin(self.source, self) if begin else None
        return reading

    def strict(self) -> LogFile:
        """Returns the same log, read without recovering records from malformed lines."""
        first, *others = self.source.files
        return LogFile(Source(first, others, recover=False), self.format)


def is_step(row: Row) -> bool:
    """Returns whether it is a call or a message, which shows that a log was understood."""
    return isinstance(row, Call) or (isinstance(row, Event) and row.kind in _MESSAGES)


def open_log(path: Path) -> LogFile:
    """Opens the log at ``path`` with the reader that recognises it.
    A folder may be a log, where a format writes one file per event.

    Raises ``TraceError`` where the log cannot be opened or no reader recognises it.
    """
    try:
        return _open_log(path)
    except FileNotFoundError as error:
        raise TraceError(
            f"{path}: {error.strerror}. Name a log or its folder; %trace and nbtools.traces.sessions() list"
            " the logs on this machine."
        ) from error
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}.") from error


def _open_log(path: Path) -> LogFile:
    head = Head(path, b"" if path.is_dir() else _read_head(path))
    names = ", ".join(candidate.name for candidate in formats())
    for candidate in formats():
        if candidate.name == FALLBACK_FORMAT and (agent := _unsupported_agent(head)):
            raise TraceError(
                f"{path} looks like a log of {agent}, which is not supported yet. Supported formats: {names}."
            )
        if candidate.recognises(head):
            return LogFile(Source(path, candidate.files(path)), candidate)
    if head.start.startswith(_UTF_16):
        how = (
            "iconv -f UTF-16 -t UTF-8 LOG > NEW, or in PowerShell: Get-Content LOG | Set-Content -Encoding"
            " utf8 NEW"
        )
        raise TraceError(
            f"{path} is encoded in UTF-16, as PowerShell writes output into a file. Convert it to UTF-8:"
            f" {how}."
        )
    if found := _database_in(path):
        raise TraceError(
            f"{path} contains {found[0].name}, which looks like a log of {found[1]} and is not supported yet."
        )
    raise TraceError(f"{path} is not recognised as a session log. Supported formats: {names}.")


def is_qwen_code(head: Head) -> bool:
    """Returns whether it is a chat of Qwen Code:
    records with the fields of Claude Code's, around messages of Gemini's API.
    """
    if not head.has("parentUuid"):
        return False
    if head.records:
        return any(_is_qwen_code(record) for record in head.records if "parentUuid" in record)
    return _QWEN_MESSAGE.search(head.start) is not None


def _is_qwen_code(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    parts = isinstance(message, dict) and isinstance(message.get("parts"), list) and "content" not in message
    return parts or "systemPayload" in record or "toolCallResult" in record


def _unsupported_agent(head: Head) -> str:
    """Returns the name of the unsupported agent whose log it looks like, with what the file is;
    empty for others.
    """
    if head.start.startswith(_SQLITE):
        return next(
            (
                name
                for name, tables in _DATABASES.items()
                if all(f"CREATE TABLE {one}".encode() in _tables(head) for one in tables)
            ),
            "",
        )
    if _AIDER.match(head.start):
        return "Aider (its chat history)"
    first = _first_object(head)
    if first.keys() == {"role", "message"}:
        return "Cursor (a transcript)"
    if head.is_json and _OPENHANDS.search(head.start):
        return "OpenHands in an unknown variant"
    return next((name for name, (kind, keys) in _AGENTS.items() if _has_keys(head, first, kind, keys)), "")


def _database_in(folder: Path) -> tuple[Path, str] | None:
    """Returns the first database of an agent in a folder, with the agent's name; None where there is none."""
    for pattern, agent in _DATABASE_FILES.items() if folder.is_dir() else ():
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and (name := agent or _unsupported_agent(Head(path, _read_head(path)))):
                return path, name
    return None


def _has_keys(head: Head, first: Mapping[str, Any], kind: str, keys: set[str]) -> bool:
    """Returns whether the first object has the type and the keys;
    where nothing of it can be decoded, whether the keys are there.
    """
    if first:
        return keys <= first.keys() and (not kind or first.get("type") == kind)
    return not kind and head.has(*keys)


def _first_object(head: Head) -> Mapping[str, Any]:
    """Returns the first object of a file, or what its beginning has of it; empty where it has none."""
    value = head.first
    if value is None and head.is_json:
        value = open_document(head.start, Any).value
    return mapping(next(iter(value), None) if isinstance(value, list) else value)


def _tables(head: Head) -> bytes:
    """Returns the beginning of a database, with the names of its tables unquoted."""
    return re.sub(rb"CREATE TABLE (?:IF NOT EXISTS )?[`\"\[]?(\w+)", rb"CREATE TABLE \1", head.start)


def _read_head(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(HEAD_BYTES).removeprefix(BYTE_ORDER_MARK)


def formats() -> tuple[Format, ...]:
    """Returns the readers of installed packages, followed by the built-in ones."""
    from nbtools.traces.readers import FORMATS  # noqa: PLC0415 - the formats' modules import this one

    return (*_installed_formats(), *FORMATS)


@cache
def _installed_formats() -> tuple[Format, ...]:
    """Loads the readers of installed packages, once per process:
    searching all packages takes longer than reading a small log.
    """
    return tuple(point.load() for point in entry_points(group=ENTRY_POINT_GROUP))
