"""The manifest of a corpus: which logs it contains, from which bytes, in which parts.

Each ingest adds files with changes, under unique names; nothing is overwritten. Of the changes to a log, the
one from the latest reading counts, so that any order of the files gives the same manifest, and processes that
ingest at the same time lose nothing. A part that is not listed does not count.
"""

from __future__ import annotations

import gzip
import io
import re
import time
import uuid
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from nbtools.core.decoders import decoder_of
from nbtools.core.errors import TraceError
from nbtools.traces.corpus.plan import Log
from nbtools.traces.corpus.storage import MANIFEST, Storage

VERSION = 5
"""Version of the manifest and of the contents of parts; a corpus of another version cannot be opened."""
_NAME = re.compile(MANIFEST + r"/\d{20}-[0-9a-f]{32}\.v(\d+)\.json\.gz")
PartName: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
"""The name of a part's folder in the corpus.
No other name is read or deleted, because a manifest may come from someone else.
"""
_MAX_FILES = 16
"""Number of files from which on they are replaced by one."""
_THREADS = 8
_MAX_BYTES = 256 << 20
"""Bytes that a file of the manifest may unpack to: an entry has a few hundred."""


class Entry(Struct, frozen=True, omit_defaults=True):
    """The corpus contains this of a log since the reading that began at ``read`` (nanoseconds since 1970).

    ``rows`` counts the rows of each table in ``part``, which changes when parts are merged (``merges``).
    ``gone``: the log was removed. An entry without a key tells of a reading that failed.
    """

    path: str
    read: int
    files: tuple[str, ...] = ()
    key: str = ""
    size: int = 0
    format: str = ""
    why: str = ""
    rows: dict[str, int] = {}
    part: PartName | Literal[""] = ""
    merges: int = 0
    gone: bool = False

    @property
    def log(self) -> Log:
        return Log(self.path, self.files, self.key, self.size, self.format, self.why)

    @property
    def order(self) -> tuple[int, int, str, str]:
        return self.read, self.merges, self.part, self.key

    @property
    def failed(self) -> bool:
        return not self.key and not self.gone


class PartFiles(Struct, frozen=True):
    """The logs that a part has rows of, and its files with their sizes in bytes."""

    logs: tuple[str, ...]
    files: dict[str, int]


class Change(Struct):
    """The contents of a file of the manifest."""

    entries: list[Entry] = []
    parts: dict[PartName, PartFiles] = {}


@dataclass(frozen=True)
class Part:
    """A part: its logs, their size in bytes, its tables, its files,
    and the logs whose rows in it are outdated (``dead``).
    """

    name: str
    logs: tuple[Entry, ...]
    size: int
    tables: frozenset[str]
    files: Mapping[str, int]
    dead: tuple[str, ...]


@dataclass
class Manifest:
    """The manifest as far as this process has read it; ``refresh`` reads what others have added."""

    storage: Storage
    entries: dict[str, Entry] = field(default_factory=dict)
    failures: dict[str, Entry] = field(default_factory=dict)
    _part_files: dict[str, PartFiles] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    """The files that are left out, with the reason;
    the logs that only they list are read again by the next ingest.
    """
    _known: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @property
    def version(self) -> int:
        """A number that grows with every change."""
        return len(self._known)

    def refresh(self) -> None:
        """Reads the changes that are new. Warns of damaged ones, and leaves them out.
        Raises ``TraceError`` for another version.
        """
        with self._lock:
            previous: set[str] | None = None
            # While files are replaced, a listing may miss the new one and the old ones;
            # then the next listing differs.
            while (names := self._names()) != previous:
                new = sorted(names - self._known - self.damaged.keys())
                if not new and self._known:
                    return
                with ThreadPoolExecutor(_THREADS) as threads:
                    for name, change in zip(new, threads.map(self._read, new), strict=True):
                        if change is not None:
                            self._apply(change)
                            self._known.add(name)
                previous = names

    def add(self, change: Change) -> None:
        """Stores a change."""
        with self._lock:
            self._known.add(self._write(msgspec.json.encode(change)))
            self._apply(change)

    def compact(self) -> None:
        """Replaces the files by one where there are many, unless it would be too large to be read."""
        with self._lock:
            names = self._names() & self._known
            if len(names) < _MAX_FILES:
                return
            live = self._live_parts()
            parts = {name: files for name, files in self._part_files.items() if name in live}
            content = msgspec.json.encode(Change([*self.entries.values(), *self.failures.values()], parts))
            if len(content) > _MAX_BYTES:
                return
            self._known.add(self._write(content))
            self.storage.delete(sorted(names))

    def logs(self) -> dict[str, Entry]:
        """Returns the logs by path: those with rows, and those that cannot be read."""
        found = {path: entry for path, entry in self.entries.items() if not entry.gone}
        for path, failure in self.failures.items():
            latest = self.entries.get(path)
            if latest is None or (not latest.part and latest.read < failure.read):
                found[path] = failure
        return found

    def counts(self) -> tuple[int, int]:
        """Returns the number of logs in the corpus, and their total size in bytes."""
        sizes = [entry.size for entry in self.entries.values() if entry.part]
        return len(sizes), sum(sizes)

    def parts(self) -> dict[str, Part]:
        """Returns the parts by name."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries.values():
            if entry.part:
                found.setdefault(entry.part, []).append(entry)
        return {name: _part(name, entries, self._part_files[name]) for name, entries in found.items()}

    def unused_parts(self) -> set[str]:
        """Returns parts that no log is in any more."""
        return self._part_files.keys() - self._live_parts()

    def part_of(self, path: str) -> str:
        """Returns the part with the rows of a log; empty where there are none."""
        return self.entries[path].part if path in self.entries else ""

    def next_reading(self) -> int:
        """Returns the time now, later than every reading so far even where a clock was put back."""
        return max(time.time_ns(), max((entry.read for entry in self.entries.values()), default=0) + 1)

    def _live_parts(self) -> set[str]:
        return {entry.part for entry in self.entries.values() if entry.part}

    def _names(self) -> set[str]:
        return {name for name in self.storage.files(MANIFEST) if self._is_change(name)}

    def _is_change(self, name: str) -> bool:
        found = _NAME.fullmatch(name)
        if found is not None and int(found[1]) != VERSION:
            raise other_version(self.storage.address, int(found[1]))
        return found is not None

    def _read(self, name: str) -> Change | None:
        """Returns None where the file has been replaced since it was listed."""
        try:
            packed = self.storage.read(name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TraceError(f"{self.storage.address}/{name} cannot be read: {error}.") from error
        try:
            return decoder_of(Change).decode(_unpacked(packed))
        except (OSError, EOFError, ValueError, zlib.error, msgspec.MsgspecError) as error:
            self.damaged[name] = str(error)
            message = f"{self.storage.address}/{name} is damaged and left out: {error}."
            warnings.warn(f"{message} Ingest the logs again, then delete this file.", stacklevel=2)
            return None

    def _write(self, content: bytes) -> str:
        name = f"{MANIFEST}/{time.time_ns():020}-{uuid.uuid4().hex}.v{VERSION}.json.gz"
        self.storage.write(name, gzip.compress(content, 3))
        return name

    def _apply(self, change: Change) -> None:
        self._part_files.update(change.parts)
        for entry in change.entries:
            kept = self.failures if entry.failed else self.entries
            if entry.path not in kept or kept[entry.path].order < entry.order:
                kept[entry.path] = entry


def _unpacked(packed: bytes) -> bytes:
    """Returns the content of a file of the manifest.
    Raises an error, with little memory, if it is damaged or too large.
    """
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it unpacks to more than {_MAX_BYTES:,} bytes")
    return content


def other_version(address: str, version: int) -> TraceError:
    age = "a newer" if version > VERSION else "an older"
    return TraceError(
        f"{address} is a corpus of {age} nbtools with other tables. Ingest the logs into a new folder."
    )


def _part(name: str, entries: Sequence[Entry], files: PartFiles) -> Part:
    tables = frozenset(table for entry in entries for table in entry.rows)
    alive = {entry.path for entry in entries}
    dead = tuple(sorted(set(files.logs) - alive))
    return Part(
        name,
        tuple(sorted(entries, key=lambda entry: entry.path)),
        sum(e.size for e in entries),
        tables,
        files.files,
        dead,
    )


def removed(entries: Iterable[Entry], read: int) -> list[Entry]:
    """Returns the entries with which these logs are removed."""
    return [Entry(entry.path, read, gone=True) for entry in entries]
