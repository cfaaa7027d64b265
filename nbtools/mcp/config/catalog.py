"""Catalog of a workspace's MCP servers, with the person's choices: which are trusted, which are on."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.message import did_you_mean
from nbtools.core.secret_variables import is_secret
from nbtools.mcp.client.server_requests import Ask
from nbtools.mcp.config.entries import Address, Login, Program, ServerSettings, variables_in
from nbtools.mcp.config.files import ConfigProblem, ConfiguredServer, read_servers, write_atomically
from nbtools.storage.folder_lock import folder_lock
from nbtools.storage.state_folder import private_folder, state_path, workspace_key


class ServerChoices(BaseModel):
    """Choices by server name: ``trusted`` digests of entries, ``on`` overrides a file's ``disabled``."""

    model_config = ConfigDict(frozen=True)

    trusted: dict[str, str] = {}
    on: dict[str, bool] = {}


class ServerChoicesFile:
    """Stores the choices in the state folder; an unreadable file is empty: no project server is trusted."""

    def __init__(self, root: Path) -> None:
        self._path = state_path() / workspace_key(root) / "mcp.json"

    def read(self) -> ServerChoices:
        try:
            return ServerChoices.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return ServerChoices()

    def trust(self, name: str, digest: str) -> None:
        """Trusts the entry with that digest; "" revokes trust. Raises ``ToolFailure``."""

        def change(choices: ServerChoices) -> ServerChoices:
            trusted = {key: value for key, value in choices.trusted.items() if key != name}
            return choices.model_copy(update={"trusted": {**trusted, name: digest} if digest else trusted})

        self._change(change)

    def switch(self, name: str, on: bool) -> None:
        """Turns a server on or off.  Raises ``ToolFailure`` if the file cannot be written."""
        self._change(lambda choices: choices.model_copy(update={"on": {**choices.on, name: on}}))

    def _change(self, change: Callable[[ServerChoices], ServerChoices]) -> None:
        try:
            private_folder(self._path.parent)
            with folder_lock(self._path.parent):
                write_atomically(self._path, change(self.read()).model_dump_json(indent=2) + "\n")
        except OSError as error:
            raise from_os_error(error, str(self._path), ErrorCode.FILE_WRITE_FAILURE) from None


class TrustState(StrEnum):
    """Whether a server may be started: all but project servers that are unknown or changed."""

    OWN = "the person's own"
    TRUSTED = "trusted"
    UNKNOWN = "not trusted"
    CHANGED = "changed since it was trusted"


class ServerCatalog:
    """The configured servers of a workspace. ``ask`` asks once whether to trust a project's entry."""

    def __init__(self, root: Path, ask: Ask) -> None:
        self._root = root
        self._ask = ask
        self._choices = ServerChoicesFile(root)
        self._lock = asyncio.Lock()
        self._refused: set[str] = set()
        self.servers: dict[str, ConfiguredServer] = {}
        self.problems: tuple[ConfigProblem, ...] = ()

    def read(self) -> None:
        """Reads the configuration files again."""
        found, on = read_servers(self._root), self._choices.read().on
        self.servers = {one.server.name: _with_state(one, on.get(one.server.name)) for one in found.servers}
        self.problems = found.problems

    def trust_state(self, named: ConfiguredServer) -> TrustState:
        if not named.origin.project:
            return TrustState.OWN
        trusted = self._choices.read().trusted.get(named.server.name)
        if trusted is None:
            return TrustState.UNKNOWN
        return TrustState.TRUSTED if trusted == named.digest else TrustState.CHANGED

    def trust(self, named: ConfiguredServer) -> None:
        """Lets a project's server start from now on, until its entry changes.  Raises ``ToolFailure``."""
        self._choices.trust(named.server.name, named.digest)
        self._refused.discard(named.digest)

    def distrust(self, name: str) -> None:
        self._choices.trust(name, "")

    def switch(self, name: str, on: bool) -> None:
        """Turns a server on or off in this workspace, overriding the file.  Raises ``ToolFailure``."""
        self._choices.switch(name, on)

    def get(self, name: str) -> ConfiguredServer:
        """Returns a server. Raises ``ToolFailure`` with the entry's problem or a similar name."""
        if name in self.servers:
            return self.servers[name]
        raise self.not_found(name, self.servers)

    def not_found(self, name: str, known: Iterable[str]) -> ToolFailure:
        """Returns the failure that explains why no server has that name."""
        problem_text = next((problem.text for problem in self.problems if problem.name == name), "")
        hint = did_you_mean(name, known) or " %tools mcp add NAME -- COMMAND adds one."
        why = problem_text or f"There is no MCP server {name!r}.{hint}"
        return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, why)

    async def ensure_trusted(self, named: ConfiguredServer) -> None:
        """Asks for trust if needed, one at a time. Raises ``ToolFailure`` if it may not start."""
        async with self._lock:
            if self.trust_state(named) in (TrustState.OWN, TrustState.TRUSTED):
                return
            if named.digest not in self._refused and await self._ask_trust(named):
                self.trust(named)
                return
        raise ToolFailure(
            ErrorCode.MCP_TOOL_ERROR,
            f"it is not trusted yet. %tools mcp trust {named.server.name} shows what it would run",
        )

    async def _ask_trust(self, named: ConfiguredServer) -> bool:
        result = await self._ask(
            {"questions": [{"text": self.trust_question(named), "header": "Start it?", "kind": "yesno"}]}
        )
        if not result.ok:
            return False
        agreed = bool(result.data.answers == ("yes",))
        if not agreed:
            self._refused.add(named.digest)
        return agreed

    def trust_question(self, named: ConfiguredServer) -> str:
        lines = "\n".join(f"{label}: {text}" for label, text in start_summary(named))
        changed = (
            " It has changed since you trusted it." if self.trust_state(named) is TrustState.CHANGED else ""
        )
        where = named.origin.path.relative_to(self._root).as_posix()
        risk = (
            "it runs with your rights"
            if isinstance(named.server.transport, Program)
            else "it receives all calls' arguments"
        )
        return (
            f"This project's {where} configures the MCP server {named.server.name}. If started,"
            f" {risk}.{changed}\n{lines}"
        )


def start_summary(named: ConfiguredServer) -> tuple[tuple[str, str], ...]:
    """Returns what starting the server does, as configured: variables unexpanded, secrets masked."""
    entry: dict[str, Any] = json.loads(named.declared)
    address = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl") or ""
    command = [entry["command"], *map(str, entry.get("args") or ())] if entry.get("command") else []
    variables = (entry.get("env") or {}).items()
    login = named.server.transport.login if isinstance(named.server.transport, Address) else Login()
    alone = f", with client credentials, at {login.issuer}" if login.alone else ""
    rows = [
        ("runs", shlex.join(command)),
        ("reaches", address),
        ("in folder", entry.get("cwd") or ""),
        ("with", " ".join(f"{name}={_masked(name, str(value))}" for name, value in variables)),
        ("sends", ", ".join(entry.get("headers") or {})),
        ("passes", _variables(named, entry)),
        ("logs in", f"as {login.client_id}{alone}" if login.client_id else ""),
        ("then", "its calls run without approval" if entry.get("trust") else ""),
    ]
    return tuple((label, _LINE_BREAK.sub("⏎", text)) for label, text in rows if text)


_LINE_BREAK = re.compile(r"[\r\n\v\f\x85\u2028\u2029]")
"""Line separators, replaced so that a file cannot forge lines of the question."""


def _variables(named: ConfiguredServer, entry: dict[str, Any]) -> str:
    """Returns which of the person's variables are passed where, because they may be secrets."""
    names = ", ".join(variables_in(json.dumps(entry, ensure_ascii=False)))
    match named.server.transport:
        case Address(url=url):
            return names and f"your {names} to {urlsplit(url).hostname}"
        case Program():
            return names and f"your {names} to the program"


def _masked(name: str, value: str) -> str:
    return value if "$" in value or not is_secret(name, value) else "…"


def _with_state(named: ConfiguredServer, on: bool | None) -> ConfiguredServer:
    if on is None or named.server.disabled is not on:
        return named
    changed: ServerSettings = named.server.model_copy(update={"disabled": not on})
    return ConfiguredServer(changed, named.origin, named.declared)
