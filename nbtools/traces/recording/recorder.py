"""Writes a session's log: an observer that appends a record for each finished call (see ``log_records``).

The current branch and commit are read from git's files, without starting a process.
"""

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
from nbtools.core.redaction import Redactor
from nbtools.core.secret_variables import secret_variables
from nbtools.traces.recording.call_record import LogEncoder, full_record, minimal_record
from nbtools.traces.recording.log_records import VERSION, CallRecord, FullRecord, SessionRecord, texts_folder


def git_head(folder: Path) -> tuple[str, str]:
    """Returns the branch and the commit of the checkout that ``folder`` is in.

    Both are empty where there is none, or git stores them in an unknown way.
    """
    try:
        checkout = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
        return ("", "") if checkout is None else _read_head(_git_folder(checkout))
    except (OSError, UnicodeDecodeError):
        return "", ""


def _git_folder(checkout: Path) -> Path:
    """Returns the git folder of a checkout; a worktree's ``.git`` is a file that names it."""
    entry = checkout / ".git"
    return entry if entry.is_dir() else checkout / entry.read_text().strip().removeprefix("gitdir: ")


def _read_head(git: Path) -> tuple[str, str]:
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return "", head
    ref = head.removeprefix("ref: ")
    common = git / "commondir"
    shared = git / common.read_text().strip() if common.is_file() else git
    branch = ref.removeprefix("refs/heads/")
    return branch, (
        (shared / ref).read_text().strip() if (shared / ref).is_file() else _packed_commit(shared, ref)
    )


def _packed_commit(git: Path, ref: str) -> str:
    packed = git / "packed-refs"
    lines = packed.read_text().splitlines() if packed.is_file() else []
    return next((commit for commit, _, name in (line.partition(" ") for line in lines) if name == ref), "")


def _notebook_name() -> str:
    """Returns the name of this kernel's notebook; empty if there is none."""
    name = Path(os.environ.get("JPY_SESSION_NAME", "")).name
    return name if name.endswith(".ipynb") else ""


LIMIT = 500_000_000
"""Maximum size of a log with its text files, in bytes."""


class Recorder:
    """Records a session into the log at ``path``, which is created with the first call and readable by this
    user only: ``Session(observers=[Recorder(path)])``.

    An existing log is continued with another session. ``session`` is its id; ``workspace`` is its folder, to
    which paths are relative when the log is read; ``limit`` is the maximum size in bytes, including text
    files; ``calls_of`` is the session that makes the calls, where that is another one. With ``redact``, known
    secrets are removed from everything that is written, including arguments and diffs. A call never fails
    because of its log: ``problem`` is the reason why nothing more is written, or empty.
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
        self._encoder = LogEncoder(
            texts_folder(self.path), Redactor.of(secret_variables(os.environ)) if redact else None
        )
        self._requests: dict[str, tuple[int, float]] = {}
        self._count = 0
        self._bytes = 0
        self._file: int | None = None
        self._close_file: weakref.finalize[[int], Recorder] | None = None

    def notice(self, event: CallEvent) -> None:
        if isinstance(event, ValidatingCall):
            self._requests[event.request.id] = (self._next_number(), event.at)
        elif isinstance(event, FINISHED):
            number, requested_at = self._requests.pop(event.request.id, (self._count, event.last.at))
            self._write_record(lambda: self._record(event, number, requested_at))

    def close(self) -> None:
        """Stops recording and closes the file."""
        self.problem = self.problem or "The recorder is closed."
        if self._close_file is not None:
            self._close_file()

    def _write_record(self, record: Callable[[], Struct]) -> None:
        if self.problem:
            return
        try:
            self._append(record())
        except OSError as error:
            self.problem = f"{error.filename or self.path}: {error.strerror or error}"

    def _next_number(self) -> int:
        self._count += 1
        return self._count - 1

    def _record(self, call: FinishedCall, number: int, requested_at: float) -> CallRecord:
        try:
            return full_record(call, self._encoder, self.session, number, requested_at)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - tools are third-party code and may return any object
            return minimal_record(call, self._encoder, self.session, number, requested_at, repr(error))

    def _append(self, record: Struct) -> None:
        line = msgspec.json.encode(record)
        if self._bytes + len(line) + self._encoder.bytes_written > self._limit:
            self._write(msgspec.json.encode(FullRecord(session=self.session, at=time.time())))
            self.problem = f"The log reached its limit of {self._limit:,} bytes."
            return
        self._write(line)

    def _write(self, line: bytes) -> None:
        """Appends a line in one piece, even if other processes append, too;
        others can read it when this returns.
        """
        file = self._open() if self._file is None else self._file
        remaining = memoryview(line + b"\n")
        self._bytes += len(remaining)
        while remaining:
            remaining = remaining[os.write(file, remaining) :]

    def _open(self) -> int:
        self._file = file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._close_file = weakref.finalize(self, os.close, file)
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
            notebook=_notebook_name(),
        )
        self._write(msgspec.json.encode(header))
        return file
