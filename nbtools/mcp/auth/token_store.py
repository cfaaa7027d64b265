"""Stores logins in the system's keyring or, without one, in files that only this user can read."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from nbtools.storage.folder_lock import folder_lock
from nbtools.storage.state_folder import private_folder, state_folder

_SERVICE = "nbtools mcp"


class StorageBackend(Protocol):
    """Stores texts by name.  Methods may block while the person unlocks a keyring, and raise ``OSError``."""

    def where(self, name: str) -> str:
        """Describes the place, for the end of a sentence."""

    def read(self, name: str) -> str | None: ...

    def write(self, name: str, text: str) -> None: ...

    def forget(self, name: str) -> None: ...


class KeyringBackend:
    """The system's keyring.  All its errors are raised as ``OSError``."""

    def where(self, name: str) -> str:
        return "the system's keyring"

    def read(self, name: str) -> str | None:
        with _backend() as keyring:
            found: str | None = keyring.get_password(_SERVICE, name)
            return found

    def write(self, name: str, text: str) -> None:
        with _backend() as keyring:
            keyring.set_password(_SERVICE, name, text)

    def forget(self, name: str) -> None:
        with _backend() as keyring:
            if keyring.get_password(_SERVICE, name) is not None:
                keyring.delete_password(_SERVICE, name)


class FileBackend:
    """One file per name in the state folder, with mode 0600."""

    def where(self, name: str) -> str:
        return f"{self._path(name)}, which only you can read (the system's keyring is not available)"

    def read(self, name: str) -> str | None:
        try:
            return self._path(name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        path = self._path(name)
        new = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            with os.fdopen(
                os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
            ) as file:
                file.write(text)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return _folder() / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"


class LoginStore:
    """The stored login of one server, identified by both its name and its URL."""

    def __init__(self, server: str, url: str) -> None:
        self._name = f"{server} {url}"
        self._places: tuple[StorageBackend, ...] = (KeyringBackend(), FileBackend())

    def read(self) -> str | None:
        for place in self._places:
            try:
                text = place.read(self._name)
            except OSError:
                continue
            if text is not None:
                return text
        return None

    def write(self, text: str) -> str:
        """Stores the text in the first place that works; returns its description. Raises ``OSError``."""
        problem = OSError("it could not be stored")
        for at, place in enumerate(self._places):
            try:
                place.write(self._name, text)
            except OSError as error:
                problem = error
                continue
            self._forget(self._places[at + 1 :])
            return place.where(self._name)
        raise problem

    def delete(self) -> None:
        self._forget(self._places)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds a lock across processes: some services treat a second use of a refresh token as theft."""
        with folder_lock(_folder()):
            yield

    def _forget(self, places: tuple[StorageBackend, ...]) -> None:
        for place in places:
            try:
                place.forget(self._name)
            except OSError:
                continue


def _folder() -> Path:
    return private_folder(state_folder() / "mcp-logins")


@contextmanager
def _backend() -> Iterator[_Backend]:
    """Yields the keyring's backend; its errors become ``OSError``."""
    try:
        import keyring  # noqa: PLC0415 - an extra; takes 100 ms and looks for D-Bus
        from keyring.errors import KeyringError  # noqa: PLC0415 - as above
    except ImportError as error:
        raise OSError("keyring is not installed") from error
    try:
        backend = keyring.get_keyring()
        if backend.priority <= 0:  # the backends "fail" and "null", which store nothing
            raise OSError("no keyring is available")
        yield backend
    except KeyringError as error:
        raise OSError(f"the keyring: {error}") from error


class _Backend(Protocol):
    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...
