"""Where logins are kept: in the system's keyring, and where there is none in files that only this user can read."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from nbtools.workspace.folder_lock import folder_lock
from nbtools.workspace.state import private_folder, state_folder

_SERVICE = "nbtools mcp"


class Place(Protocol):
    """Keeps texts by names.  Its methods may wait for the person, who unlocks a keyring, and raise ``OSError``."""

    def where(self, name: str) -> str:
        """In words, for a sentence that ends with it."""

    def read(self, name: str) -> str | None: ...

    def write(self, name: str, text: str) -> None: ...

    def forget(self, name: str) -> None: ...


class Keyring:
    """The system's.  Whatever goes wrong with it is an ``OSError``."""

    def where(self, name: str) -> str:
        return "the system's keyring"

    def read(self, name: str) -> str | None:
        with _asked() as keyring:
            found: str | None = keyring.get_password(_SERVICE, name)
            return found

    def write(self, name: str, text: str) -> None:
        with _asked() as keyring:
            keyring.set_password(_SERVICE, name, text)

    def forget(self, name: str) -> None:
        with _asked() as keyring:
            if keyring.get_password(_SERVICE, name) is not None:
                keyring.delete_password(_SERVICE, name)


class Files:
    """In the state folder, one for each name, with mode 0600."""

    def where(self, name: str) -> str:
        return f"{self._path(name)}, which only you can read: no keyring of the system can be used here"

    def read(self, name: str) -> str | None:
        try:
            return self._path(name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        path = self._path(name)
        new = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return _folder() / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"


class Tokens:
    """What is kept for one server, known by its name and its address: the same name elsewhere has nothing of it."""

    def __init__(self, server: str, url: str) -> None:
        self._name = f"{server} {url}"
        self._places: tuple[Place, ...] = (Keyring(), Files())

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
        """Keeps it in the first place that takes it, and nowhere else: where, in words.  Raises ``OSError`` where none takes it."""
        problem = OSError("it can be kept nowhere")
        for at, place in enumerate(self._places):
            try:
                place.write(self._name, text)
            except OSError as error:
                problem = error
                continue
            self._forget(self._places[at + 1 :])
            return place.where(self._name)
        raise problem

    def forget(self) -> None:
        self._forget(self._places)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other session that works here renews a login meanwhile: some services take a second use of a renewal for theft."""
        with folder_lock(_folder()):
            yield

    def _forget(self, places: tuple[Place, ...]) -> None:
        for place in places:
            try:
                place.forget(self._name)
            except OSError:
                continue


def _folder() -> Path:
    return private_folder(state_folder() / "mcp-logins")


@contextmanager
def _asked() -> Iterator[_Backend]:
    """The keyring's backend.  Loaded when a login is looked for: it takes a tenth of a second and looks for D-Bus."""
    try:
        import keyring  # noqa: PLC0415 - an extra, as said above
        from keyring.errors import KeyringError  # noqa: PLC0415 - as above
    except ImportError as error:
        raise OSError("keyring is not installed") from error
    try:
        backend = keyring.get_keyring()
        if backend.priority <= 0:  # "fail" and "null", which keep nothing
            raise OSError("there is no keyring")
        yield backend
    except KeyringError as error:
        raise OSError(f"the keyring: {error}") from error


class _Backend(Protocol):
    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...
