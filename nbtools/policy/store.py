"""Stores policy files: the person's, the project's, saved grants, and which projects are trusted.

A policy file that cannot be read may deny anything, so every call then needs approval.  Files are read and
written atomically; a broken file of grants or trust is renamed before it is replaced.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError, field_validator

from nbtools.core.decision import Action
from nbtools.core.errors import ErrorCode, PolicyError, from_os_error
from nbtools.core.schema.parameters import describe_errors
from nbtools.policy.grants import Grant
from nbtools.policy.layers import SAVED, Layer, Policy, as_rule, grant_policy
from nbtools.policy.policy_file import add_policy, read_policy

M = TypeVar("M", bound=BaseModel)

_MOST = 1_000_000
"""The most bytes of a policy file."""


def read(path: Path) -> bytes | None:
    """Returns a file's bytes, or None. Raises ``OSError``; ``PolicyError`` if large or not regular."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PolicyError(f"{path} is not a regular file.")
        data = file.read(_MOST + 1)
    if len(data) > _MOST:
        raise PolicyError(f"{path} is too large: policy files have at most {_MOST:,} bytes.")
    return data


def parse_file(path: Path, model: type[M]) -> M:
    """Parses a TOML file by ``model``; a missing one is empty. Raises ``PolicyError`` if unreadable."""
    try:
        data = read(path)
        return model.model_validate(tomllib.loads((data or b"").decode()))
    except ValidationError as error:
        raise PolicyError(f"{describe_errors(str(path), model, error)}.") from None
    except (ValueError, RecursionError, OSError) as error:
        raise PolicyError(f"{path} cannot be read: {error}.") from None


def rename_if_broken(path: Path, model: type[BaseModel]) -> None:
    """Renames a file that cannot be read, so that it is not overwritten."""
    try:
        parse_file(path, model)
    except PolicyError:
        path.rename(path.with_name(f"{path.name}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S}"))


@contextmanager
def locked(path: Path) -> Iterator[str | None]:
    """Locks the folder, returns the file's text or None. ``OSError`` becomes ``ToolFailure``."""
    with _translated(path), ExitStack() as cleanup:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        cleanup.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        data = read(path)
        yield None if data is None else data.decode(errors="replace")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise from_os_error(error, str(path), ErrorCode.FILE_WRITE_FAILURE) from None


def write(path: Path, text: str) -> None:
    """Replaces the file atomically, also in case of a power failure.  A symbolic link remains one."""
    real = path.resolve()
    temporary = real.with_name(f".{real.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if real.exists():
            shutil.copymode(real, temporary)
        temporary.replace(real)
    finally:
        temporary.unlink(missing_ok=True)


_GRANTS = "Grants saved for one workspace.  %tools grants lists them there, and %tools revoke removes one."
_TRUST = (
    "Trusted projects, whose own rules may allow calls.  Trust ends when the project's policy file changes."
)


class Trust(StrEnum):
    """The trust state of the project's policy file."""

    ABSENT = "there is none"
    TRUSTED = "trusted"
    UNKNOWN = "not trusted"
    CHANGED = "changed since it was trusted"


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy file, with its bytes' ``digest``; ``problem``: unreadable, so every call needs approval."""

    layer: str
    path: Path
    policy: Policy
    digest: str = ""
    problem: str = ""

    @property
    def absent(self) -> bool:
        return not self.digest and not self.problem


class PolicyStore:
    """The policy files of the workspace ``root`` (a real path), named ``key`` in the ``state`` folder."""

    def __init__(self, root: Path, config: Path, state: Path, key: str) -> None:
        self.user_path = config / "policy.toml"
        self.project_path = root / ".nbtools" / "policy.toml"
        self._grants_path = state / key / "grants.toml"
        self._trust_path = state / "trusted.toml"
        self._root = str(root)

    # --- rules

    def user(self) -> StoredPolicy:
        return _read_layer("user", self.user_path)

    def project(self) -> StoredPolicy:
        return _read_layer("project", self.project_path)

    def add(self, path: Path, policy: Policy) -> None:
        """Adds rules to the user's or the project's file. Raises ``PolicyError`` where it cannot be read.

        A trusted project stays trusted, as the person has just made the change.
        """
        trusted = self.trust() is Trust.TRUSTED
        with locked(path) as before:
            text = before or ""
            read_policy(text, path.name)
            write(path, add_policy(text, policy))
        if trusted and path == self.project_path:
            self.set_trust(self.project().digest)

    def layers(self) -> tuple[Layer, ...]:
        """Returns the layers of the existing files.  ``problems`` returns what is wrong with them."""
        project = self.project()
        trusted = self.trust(project.digest) is Trust.TRUSTED
        saved = grant_policy(grant.rule for grant in self.grants())
        user = self.user()
        layers = [] if user.absent else [Layer(user.layer, user.policy)]
        layers += [] if project.absent else [Layer(project.layer, project.policy, trusted)]
        return (*layers, Layer(SAVED, saved)) if saved.allow else tuple(layers)

    def problems(self) -> tuple[str, ...]:
        """Returns a message for each file that cannot be read."""
        found = [one.problem for one in (self.user(), self.project()) if one.problem]
        for path, model, consequence in (
            (self._grants_path, _GrantsFile, "No saved grant applies"),
            (self._trust_path, _TrustFile, "No project is trusted"),
        ):
            try:
                parse_file(path, model)
            except PolicyError as error:
                found.append(f"{error} {consequence} until the file is repaired or rewritten.")
        return tuple(found)

    # --- grants

    def grants(self) -> tuple[Grant, ...]:
        """Returns the saved grants, oldest first; none where the file cannot be read."""
        try:
            return tuple(one.grant for one in parse_file(self._grants_path, _GrantsFile).grant)
        except PolicyError:
            return ()

    def save(self, grant: Grant) -> None:
        """Saves a grant for later sessions and replaces one for the same rule.  Raises ``ToolFailure``."""
        saved_grant = replace(grant, saved=True)
        self._rewrite_grants(lambda grants: (*(one for one in grants if one.rule != grant.rule), saved_grant))

    def remove(self, rule: str) -> bool:
        """Removes a saved grant. Returns False where there is none for this rule. Raises ``ToolFailure``."""
        if rule not in (grant.rule for grant in self.grants()):
            return False
        self._rewrite_grants(lambda grants: tuple(one for one in grants if one.rule != rule))
        return True

    def _rewrite_grants(self, change: Callable[[tuple[Grant, ...]], tuple[Grant, ...]]) -> None:
        with locked(self._grants_path):
            rename_if_broken(self._grants_path, _GrantsFile)
            rows = [
                {"rule": one.rule, "at": _to_datetime(one.at), "by": one.by} for one in change(self.grants())
            ]
            write(self._grants_path, _toml(_GRANTS, {"grant": rows}))

    # --- trust

    def trust(self, digest: str | None = None) -> Trust:
        """Returns the trust state of the project's file, or of a file with the given digest."""
        digest = self.project().digest if digest is None else digest
        if not digest:
            return Trust.ABSENT
        known = self._trusted().get(self._root)
        if known is None:
            return Trust.UNKNOWN
        return Trust.TRUSTED if known.digest == digest else Trust.CHANGED

    def set_trust(self, digest: str) -> None:
        """Trusts the project's file with that digest; "" revokes trust. Raises ``ToolFailure``."""
        with locked(self._trust_path):
            rename_if_broken(self._trust_path, _TrustFile)
            folders = {name: one for name, one in self._trusted().items() if name != self._root}
            if digest:
                folders[self._root] = _Trusted(digest=digest, at=_to_datetime(time.time()))
            write(
                self._trust_path,
                _toml(_TRUST, {"folders": {name: one.model_dump() for name, one in folders.items()}}),
            )

    def _trusted(self) -> Mapping[str, _Trusted]:
        try:
            return parse_file(self._trust_path, _TrustFile).folders
        except PolicyError:
            return {}


class _GrantRow(BaseModel):
    model_config = ConfigDict(frozen=True)

    rule: str
    at: AwareDatetime
    by: str = ""

    @field_validator("rule")
    @classmethod
    def _is_a_rule(cls, rule: str) -> str:
        try:
            as_rule(rule, Action.ALLOW)
        except PolicyError as error:
            raise ValueError(str(error)) from None
        return rule

    @property
    def grant(self) -> Grant:
        return Grant(self.rule, True, self.at.timestamp(), self.by)


class _GrantsFile(BaseModel):
    model_config = ConfigDict(frozen=True)

    grant: tuple[_GrantRow, ...] = ()


class _Trusted(BaseModel):
    model_config = ConfigDict(frozen=True)

    digest: str
    at: AwareDatetime


class _TrustFile(BaseModel):
    model_config = ConfigDict(frozen=True)

    folders: dict[str, _Trusted] = {}


def _read_layer(layer: str, path: Path) -> StoredPolicy:
    """Reads a policy file.  One that cannot be read may deny anything, so its policy asks for everything."""
    try:
        data = read(path)
        if data is None:
            return StoredPolicy(layer, path, Policy())
        return StoredPolicy(
            layer, path, read_policy(data.decode(), path.name), hashlib.sha256(data).hexdigest()
        )
    except (PolicyError, UnicodeDecodeError, OSError) as error:
        problem = f"The {layer}'s rules in {path} cannot be read, so every call needs approval: {error}"
        return StoredPolicy(layer, path, Policy(ask=("*",)), problem=problem)


def _toml(head: str, content: Mapping[str, Any]) -> str:
    import tomlkit  # noqa: PLC0415 - 60 ms: loaded only to save

    return f"# {head}\n\n{tomlkit.dumps(content)}"


def _to_datetime(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC).replace(microsecond=0)
