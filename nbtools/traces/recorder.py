"""Writes down what a session does: an observer that appends a line a finished call (see ``log_records``)."""

from __future__ import annotations

import os
import secrets
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from nbtools import __version__
from nbtools.core.call import FINISHED, CallEvent, FinishedCall, ValidatingCall
from nbtools.core.redact import Redactor
from nbtools.traces.git_head import git_head
from nbtools.traces.log_records import VERSION, CallRecord, FullRecord, SessionRecord, texts_folder
from nbtools.traces.recording import recorded, scarcely
from nbtools.traces.written import Paper
from nbtools.workspace.commands.environment import secret_variables

LIMIT = 500_000_000
"""Bytes of a log and the texts beside it."""


class Recorder:
    """``Session(observers=[Recorder(path)])``: the log at ``path``, made with the first call, for this user's eyes only.

    A log that is there already goes on with another session.  ``session`` names it; ``workspace`` is its folder, by which paths are read
    later; ``limit`` is the most bytes it becomes, long texts beside it included; ``calls_of`` is the session that makes the calls, where
    that is another one.  With ``redact`` no secret that is known gets into it, not from arguments, and not from diffs.  A call never fails
    for its log: ``problem`` says why nothing more is written, or is empty.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        session: str = "",
        workspace: str | os.PathLike[str] = "",
        dialect: str = "",
        limit: int = LIMIT,
        redact: bool = True,
        calls_of: str = "",
    ) -> None:
        self.path = Path(path).expanduser().absolute()
        self.session = session or secrets.token_hex(3)
        self.problem = ""
        self._workspace = os.path.realpath(workspace) if workspace else ""
        self._dialect = dialect
        self._calls_of = calls_of
        self._limit = limit
        self._paper = Paper(texts_folder(self.path), Redactor.of(secret_variables(os.environ)) if redact else None)
        self._asked: dict[str, tuple[int, float]] = {}
        self._count = 0
        self._bytes = 0
        self._file: int | None = None
        self._closed: weakref.finalize[[int], Recorder] | None = None

    def notice(self, event: CallEvent) -> None:
        if isinstance(event, ValidatingCall):
            self._asked[event.request.id] = (self._next(), event.at)
        elif isinstance(event, FINISHED):
            self._finished(event)

    def close(self) -> None:
        """Nothing is written any more."""
        self.problem = self.problem or "It is closed."
        if self._closed is not None:
            self._closed()

    def _finished(self, call: FinishedCall) -> None:
        number, asked = self._asked.pop(call.request.id, (self._count, call.last.at))
        self._add(lambda: self._record(call, number, asked))

    def _add(self, record: Callable[[], Struct]) -> None:
        if self.problem:
            return
        try:
            self._append(record())
        except OSError as error:
            self.problem = f"{error.filename or self.path}: {error.strerror or error}"

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _record(self, call: FinishedCall, number: int, asked: float) -> CallRecord:
        try:
            return recorded(call, self._paper, self.session, number, asked)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - tools are anybody's: what they return may be made of anything
            return scarcely(call, self._paper, self.session, number, asked, repr(error))

    def _append(self, record: Struct) -> None:
        line = msgspec.json.encode(record)
        if self._bytes + len(line) + self._paper.bytes > self._limit:
            self._write(msgspec.json.encode(FullRecord(session=self.session, at=time.time())))
            self.problem = f"The log has its {self._limit:,} bytes."
            return
        self._write(line)

    def _write(self, line: bytes) -> None:
        """In one piece at the end, whoever else appends: it is there for others when this returns."""
        file = self._opened() if self._file is None else self._file
        rest = memoryview(line + b"\n")
        self._bytes += len(rest)
        while rest:
            rest = rest[os.write(file, rest) :]

    def _opened(self) -> int:
        self._file = file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._closed = weakref.finalize(self, os.close, file)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":  # the last line of a session that was killed
            os.write(file, b"\n")
        branch, commit = git_head(Path(self._workspace)) if self._workspace else ("", "")
        header = SessionRecord(
            format="nbtools",
            version=VERSION,
            id=self.session,
            at=time.time(),
            nbtools=__version__,
            workspace=self._workspace,
            dialect=self._dialect,
            branch=branch,
            commit=commit,
            calls_of=self._calls_of,
        )
        self._write(msgspec.json.encode(header))
        return file
