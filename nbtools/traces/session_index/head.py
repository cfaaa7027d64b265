"""Reads what a list shows about a log from its beginning and its end, with the reader of its format."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.traces.formats import beginning_of, database_agent, formats, open_log, unsupported_agent
from nbtools.traces.model import Event, Session
from nbtools.traces.prompts import FirstPrompt, bare_command, title_of, typed_text
from nbtools.traces.reader import FALLBACK_FORMAT, HEAD_BYTES, Format, Head, LogFile
from nbtools.traces.readers.inspect.log import run_of_archive
from nbtools.traces.session_index.places import OTHER, Place
from nbtools.traces.session_index.scan import LogStat
from nbtools.traces.source import Source
from nbtools.traces.stored_sessions import stored_path

_SIZES = (8 << 10, 40 << 10, 1 << 20)
"""Bytes of the beginning: more are read only where the first real prompt is not among the first ones."""
_TAIL = 4 << 10
_EVENT_FILES = 12
"""Files read of a log that is a folder."""
_MAX_TEXT = 2_000
_MAX_NAME = 300
_MAX_ROWS = 20_000


class LogHead(Struct, frozen=True):
    """Facts from the beginning and the end of a log; empty or None: not recorded there.

    ``project`` is the working directory, ``text`` what the person typed. ``first`` identifies the first
    prompt by its time and text: logs that have it in common may be forks. ``parent`` is the id of the session
    that started this one, which has the id ``session``. ``problem`` says why the log cannot
    be read.
    """

    format: str = ""
    agent: str = ""
    title: str = ""
    model: str = ""
    project: str = ""
    branch: str = ""
    text: str = ""
    started: float | None = None
    parent: str = ""
    first: str = ""
    problem: str = ""
    session: str = ""


class _HeadPath(type(Path())):  # type: ignore[misc]
    """A path whose ``open`` returns ``content``:
    the beginning and the end of the file, so that its reader reads only those.
    """

    content = b""

    def open(self, *_: Any, **__: Any) -> IO[bytes]:
        return io.BytesIO(self.content)


def read_head(log: LogStat) -> LogHead:
    """Reads a log's head. Never raises because of the log: ``problem`` says what is wrong."""
    try:
        return _of_folder(log) if log.place.folders else _of_file(log)
    except (OSError, TraceError) as error:
        return LogHead(problem=str(error.strerror or error) if isinstance(error, OSError) else str(error))
    except (ValueError, RecursionError, MemoryError, LookupError, TypeError, AttributeError) as error:
        return LogHead(problem=f"Its beginning cannot be read: {type(error).__name__}.")


def _of_file(log: LogStat) -> LogHead:
    path = Path(log.path)
    if stored_path(path) is not path:  # a session in a database is read as a whole anyway
        return _facts(open_log(path))
    head = LogHead()
    for size in _SIZES:
        content = _beginning_and_end(log.path, size)
        if size == _SIZES[0] == len(content) and b"\n" not in content:
            continue  # not even the first line, as in Codex's logs, which begin with its instructions
        head = _head_of(log, content)
        has_title = head.title and not bare_command(head.title)
        if (head.text and has_title) or head.problem or log.size <= size:
            break
    return head


def _head_of(log: LogStat, content: bytes) -> LogHead:
    path = _HeadPath(log.path)
    path.content = content
    usual = _usual_format(log)
    if usual is not None and content[:1] == b"{" and (found := _facts(LogFile(Source(path), usual))).text:
        return found  # its reader found a prompt, so it needs no recognition, which takes a third of the time
    reader = _format_of(Head(path, content), log.place)
    if reader is None and len(content) < min(log.size, HEAD_BYTES):
        # Some formats are recognised only by as much as ``open_log`` reads, as a first prompt may be long.
        reader = _format_of(Head(path, beginning_of(Path(log.path))), log.place)
    if reader is None:
        return LogHead(problem=_unread(Head(path, content)) if content.strip() else "It is empty.")
    if reader.name == "inspect" and content.startswith(b"PK"):
        return _of_archive(Path(log.path))
    return _facts(LogFile(Source(path), reader))


def _unread(head: Head) -> str:
    agent = unsupported_agent(head)
    return f"It looks like a log of {agent}, which is not read." if agent else "It is in no known format."


def _usual_format(log: LogStat) -> Format | None:
    """Returns the reader of the logs in a place, if they all have one format."""
    return (
        next((one for one in formats() if one.name == log.place.formats[0]), None)
        if len(log.place.formats) == 1
        else None
    )


def _of_folder(log: LogStat) -> LogHead:
    path = Path(log.path)
    found = _format_of(Head(path, b""), log.place)
    if found is None:
        return LogHead(problem="It is in no known format.")
    return _facts(LogFile(Source(path, islice(sorted(found.files(path)), _EVENT_FILES)), found))


def _of_archive(path: Path) -> LogHead:
    run = run_of_archive(path)
    return LogHead("inspect", "inspect", run.task, run.model, "", "", run.text[:_MAX_TEXT], run.created)


def _format_of(head: Head, place: Place) -> Format | None:
    """Returns the reader that recognises the log: one of those of its place, else any.

    The one for any messages reads only logs in folders that the person added: those of agents have other
    files, too.
    """
    known = formats()
    first = [one for name in place.formats for one in known if one.name == name]
    others = [one for one in known if one.name != FALLBACK_FORMAT and one.name not in place.formats]
    found = next((one for one in (*first, *others) if one.recognises(head)), None)
    if found is None and place.agent == OTHER and not (database_agent(head) or unsupported_agent(head)):
        found = next((one for one in known if one.name == FALLBACK_FORMAT and one.recognises(head)), None)
    return found


def _facts(log: LogFile) -> LogHead:
    """Reads the rows of a head. The reader sees a log that ends in the middle,
    which every reader survives.
    """
    session: Session | None = None
    texts: list[str] = []
    models: dict[str, None] = {}
    first, prompts = "", defaultdict[str, FirstPrompt](FirstPrompt)
    for row in islice(log.rows(), _MAX_ROWS):
        if isinstance(row, Session):
            if session is None and not row.parent:
                session = row
            session = session or row
            models |= dict.fromkeys(row.models)
        elif isinstance(row, Event) and row.kind == "user" and row.live and (text := typed_text(row.text)):
            texts.append(text)
            prompts[row.session].add(row, log)
            if not first and row.at is not None:
                first = hashlib.sha256(
                    f"{log.format.name} {row.at} {row.text}".encode("utf-8", "replace")
                ).hexdigest()[:32]
    if session is None:
        return LogHead(format=log.format.name, problem="Its beginning names no session.")
    return LogHead(
        log.format.name,
        session.agent,
        one_line_title(session.title, prompts[session.id].text),
        next(reversed(models), "")[:_MAX_NAME],
        session.cwd[:4096],
        session.branch[:_MAX_NAME],
        "\n".join(texts)[:_MAX_TEXT],
        session.started,
        session.parent[:_MAX_NAME] if session.parent != session.id else "",
        first,
        session=session.id[:_MAX_NAME],
    )


def one_line_title(recorded: str, prompt: str) -> str:
    """Returns the title of a session (``title_of``) on one line of at most ``_MAX_NAME`` characters."""
    return " ".join(title_of(recorded, prompt)[: 2 * _MAX_NAME].split())[:_MAX_NAME]


def _beginning_and_end(path: str, size: int) -> bytes:
    """Returns the whole lines among the first bytes of a file, and those among its last ones.
    Raises ``OSError``.

    It is opened without waiting for what may have taken its place since it was listed, such as a pipe.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "It is not a file.")
        start = os.pread(descriptor, size, 0)
        if status.st_size <= size:
            return start
        end = os.pread(descriptor, _TAIL, max(status.st_size - _TAIL, size))
    finally:
        os.close(descriptor)
    cut = start.rfind(b"\n") + 1
    return start[:cut] + end[end.find(b"\n") + 1 :] if cut and _LINE.match(start) else start


_LINE = re.compile(rb"\s*\{[^\n]*\}\s*\n")
"""The first line of a log of lines is a whole document."""
