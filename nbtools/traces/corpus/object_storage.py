"""Corpora on object stores: ``s3://bucket/prefix``, ``gs://…``, ``abfss://…``, with ``pyarrow.fs``.

Credentials come from where the stores' own tools look for them: environment variables, profile files, roles
of the machine. No request needs conditional writes, which some S3-compatible servers lack.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from nbtools.core.errors import TraceError
from nbtools.storage.state_folder import private_folder, state_folder
from nbtools.traces.corpus.storage import PARTS, Stored, explain_damage
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.sql import Database
from nbtools.traces.query.tables import schema

T = TypeVar("T")
SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss")
_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_SETTINGS = ("AWS_", "GOOGLE_", "AZURE_")
"""Beginnings of the names of environment variables with credentials."""
_THREADS = 8
"""Requests at a time."""
_ERRORS = {
    r"NO_SUCH_BUCKET|bucket does not exist|NoSuchBucket": (
        "the bucket does not exist. Create it, or correct the address."
    ),
    r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|InvalidAccessKeyId|SignatureDoesNotMatch|AuthFailure|HTTP"
    r" status 40[13]"
    r"|UNAUTHENTICATED|PERMISSION_DENIED": (
        "access is denied. Check the credentials (for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
        "AWS_PROFILE, or the machine's role), and whether they allow to list, read, write and delete there."
    ),
    r"EXPIRED_TOKEN|ExpiredToken|token.*expired": "the credentials have expired. Log in again.",
    r"NETWORK_CONNECTION|curlCode|REQUEST_TIMEOUT|timed? ?out|Connection (refused|reset)|resolve host": (
        "the server cannot be reached, or "
        "the connection broke. Check the network and AWS_ENDPOINT_URL, then try again."
    ),
}


def is_url(address: str | Path) -> bool:
    return isinstance(address, str) and _URL.match(address) is not None


@dataclass(frozen=True)
class ObjectStorage:
    """A corpus below a prefix of a bucket. The search indexes of its parts are cached in the state folder."""

    address: str

    @classmethod
    def of(cls, url: str) -> ObjectStorage:
        """Raises ``TraceError`` where the URL is not understood, or contains credentials."""
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        is_account = scheme.startswith("abfs") and "@" in parts.netloc and ":" not in parts.netloc
        if "@" in parts.netloc and not is_account:
            message = (
                "The address of a corpus must not contain credentials. Put them into the environment or a"
                " profile file."
            )
            raise TraceError(message)
        if scheme not in SCHEMES:
            raise TraceError(
                f"{scheme}:// is not supported. Use a folder, or one of:"
                f" {', '.join(f'{one}://' for one in SCHEMES)}."
            )
        if not parts.netloc:
            raise TraceError(f"{url} names no bucket. Write {scheme}://bucket/prefix.")
        return cls(f"{scheme}://{url.split('://', 1)[1].rstrip('/')}")

    def create(self) -> None:
        """Checks that the bucket exists; prefixes need not be created."""
        bucket = self._path("").partition("/")[0]
        with self._translated():
            (found,) = self._file_system.get_file_info([bucket])
            if found.type == import_library("pyarrow.fs").FileType.NotFound:
                message = f"NoSuchBucket: {bucket}"
                raise OSError(message)

    def files(self, folder: str) -> dict[str, Stored]:
        fs = import_library("pyarrow.fs")
        start = self._path(folder)
        with self._translated():
            found = self._file_system.get_file_info(
                fs.FileSelector(start, recursive=True, allow_not_found=True)
            )
        return {
            folder + info.path[len(start) :]: Stored(info.size, info.mtime_ns / 1e9 if info.mtime_ns else 0.0)
            for info in found
            if info.type == fs.FileType.File
        }

    def read(self, name: str) -> bytes:
        with self._translated(), self._file_system.open_input_file(self._path(name)) as file:
            return bytes(file.read())

    def write(self, name: str, data: bytes) -> None:
        with self._new_object(name) as file:
            file.write(data)

    @contextmanager
    def new_part(self, name: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="nbtools-part-") as temporary:
            folder = Path(temporary)
            yield folder
            self._each(
                lambda file: self._upload(file, f"{PARTS}/{name}/{file.name}"), sorted(folder.iterdir())
            )

    def delete(self, names: Iterable[str]) -> None:
        def delete(name: str) -> None:
            is_folder = "." not in name.rpartition("/")[2]
            with suppress(FileNotFoundError), self._translated():
                (self._file_system.delete_dir if is_folder else self._file_system.delete_file)(
                    self._path(name)
                )

        self._each(delete, names)

    def local_file(self, name: str) -> Path:
        cached = self._cache() / hashlib.sha256(name.encode()).hexdigest()[:32]
        if not cached.exists():
            temporary = cached.with_name(f".{uuid.uuid4().hex}")
            try:
                with (
                    self._translated(),
                    self._file_system.open_input_file(self._path(name)) as file,
                    temporary.open("wb") as copy,
                ):
                    shutil.copyfileobj(file, copy, 1 << 20)
                temporary.rename(cached)
            finally:
                temporary.unlink(missing_ok=True)
        return cached

    def drop_copies(self, names: Iterable[str]) -> None:
        wanted = {hashlib.sha256(name.encode()).hexdigest()[:32] for name in names}
        for file in self._cache().iterdir():
            if file.name not in wanted and not file.name.startswith("."):
                file.unlink(missing_ok=True)

    def source(self, name: str) -> tuple[str, Any]:
        return self._path(name), self._file_system

    def relation(self, db: Database, names: Sequence[str], kind: type) -> str:
        dataset = import_library("pyarrow.dataset")
        paths = [self._path(name) for name in names]
        found = dataset.FileSystemDataset.from_paths(
            paths, schema=schema(kind), format=dataset.ParquetFileFormat(), filesystem=self._file_system
        )
        name = f"parts_{uuid.uuid4().hex}"
        db.add_table(name, found)
        return name

    def explain(self, error: str) -> str:
        known = _known_error(error)
        return f"{self.address}: {known}" if known else explain_damage(error)

    @property
    def _file_system(self) -> Any:
        with self._translated():
            return _file_system(self.address.split(":")[0], self._bucket, _endpoint(), _settings())

    @property
    def _bucket(self) -> str:
        return self.address.split("/")[2]

    def _path(self, name: str) -> str:
        place = self.address.split("://", 1)[1]
        bucket, _, prefix = place.partition("/")
        return "/".join(filter(None, (bucket.partition("@")[0], prefix, name)))

    def _cache(self) -> Path:
        place = f"{_endpoint()} {self.address}"
        return private_folder(
            state_folder() / "corpora" / hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:32]
        )

    def _upload(self, file: Path, name: str) -> None:
        with file.open("rb") as data, self._new_object(name) as stored:
            shutil.copyfileobj(data, stored, 8 << 20)

    @contextmanager
    def _new_object(self, name: str) -> Iterator[Any]:
        with (
            self._translated(),
            self._file_system.open_output_stream(self._path(name), compression=None) as file,
        ):
            yield file

    @staticmethod
    def _each(work: Callable[[T], None], items: Iterable[T]) -> None:
        with ThreadPoolExecutor(_THREADS) as threads:
            for _ in threads.map(work, items):
                pass

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Converts the errors of the library to ``TraceError``;
        a file that does not exist stays a ``FileNotFoundError``.
        """
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise TraceError(f"{self.address}: {_known_error(str(error)) or error}") from error


def _known_error(error: str) -> str:
    """Returns what happened and what to do, for an error message of the library;
    empty where it is not in the table.
    """
    return next((text for pattern, text in _ERRORS.items() if re.search(pattern, error, re.IGNORECASE)), "")


def _endpoint() -> str:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def _settings() -> tuple[tuple[str, str], ...]:
    """Returns what the stores' credentials depend on, so that a change takes effect at once."""
    return tuple((name, value) for name, value in sorted(os.environ.items()) if name.startswith(_SETTINGS))


@cache
def _file_system(scheme: str, bucket: str, endpoint: str, settings: object) -> Any:  # noqa: ARG001 - what was made with other settings is not used
    fs = import_library("pyarrow.fs")
    try:
        if scheme != "s3":
            return fs.FileSystem.from_uri(f"{scheme}://{bucket}")[0]
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if endpoint:
            return fs.S3FileSystem(endpoint_override=endpoint, region=region, allow_delayed_open=True)
        return fs.S3FileSystem(region=region or fs.resolve_s3_region(bucket), allow_delayed_open=True)
    except (ImportError, NotImplementedError, TypeError) as error:
        message = (
            f"This installation of pyarrow cannot open {scheme}://. Install it: pip install"
            ' "nbtools-agent[object-stores]"'
        )
        raise TraceError(message) from error
