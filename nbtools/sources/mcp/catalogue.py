"""The servers that files name, and what the person has said of them: which of the project's may start, which are on."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.parameters import did_you_mean
from nbtools.sources.mcp.asks.callbacks import Ask
from nbtools.sources.mcp.settings.choices import Choices
from nbtools.sources.mcp.settings.entries import Address, Program, ServerSettings
from nbtools.sources.mcp.settings.expansion import variables_in
from nbtools.sources.mcp.settings.login import Login
from nbtools.sources.mcp.settings.reading import Named, Problem, read_servers
from nbtools.workspace.commands.environment import is_secret


class Standing(StrEnum):
    """Whether a server may be started."""

    OWN = "the person's own"
    TRUSTED = "trusted"
    UNKNOWN = "not trusted"
    CHANGED = "changed since it was trusted"


class Catalogue:
    """Of one workspace; ``ask`` puts the question about trust to the person, who answers once for an entry as it stands."""

    def __init__(self, root: Path, ask: Ask) -> None:
        self._root = root
        self._ask = ask
        self._choices = Choices(root)
        self._asking = asyncio.Lock()
        self._refused: set[str] = set()
        self.named: dict[str, Named] = {}
        self.problems: tuple[Problem, ...] = ()

    def read(self) -> None:
        """Reads the files anew."""
        found, on = read_servers(self._root), self._choices.said().on
        self.named = {one.server.name: _switched(one, on.get(one.server.name)) for one in found.servers}
        self.problems = found.problems

    def standing(self, named: Named) -> Standing:
        if not named.origin.project:
            return Standing.OWN
        trusted = self._choices.said().trusted.get(named.server.name)
        return Standing.UNKNOWN if trusted is None else Standing.TRUSTED if trusted == named.digest else Standing.CHANGED

    def trust(self, named: Named) -> None:
        """Lets a project's server start from now on, as long as its entry stays as it is.  Raises ``ToolFailure``."""
        self._choices.trust(named.server.name, named.digest)
        self._refused.discard(named.digest)

    def distrust(self, name: str) -> None:
        self._choices.trust(name, "")

    def switch(self, name: str, on: bool) -> None:
        """On or off in this workspace, whatever the file says.  Raises ``ToolFailure``."""
        self._choices.switch(name, on)

    def get(self, name: str) -> Named:
        """Raises ``ToolFailure`` that says what is wrong with the entry, or names the nearest."""
        if name in self.named:
            return self.named[name]
        raise self.missing(name, self.named)

    def missing(self, name: str, known: Iterable[str]) -> ToolFailure:
        """Why there is no server of that name."""
        wrong = next((problem.says for problem in self.problems if problem.name == name), "")
        why = wrong or f"There is no MCP server {name!r}.{did_you_mean(name, known) or ' %tools mcp add NAME -- COMMAND adds one.'}"
        return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, why)

    async def may_start(self, named: Named) -> None:
        """Asks, where that is needed, one question after the other.  Raises ``ToolFailure`` where it may not."""
        async with self._asking:
            if self.standing(named) in (Standing.OWN, Standing.TRUSTED):
                return
            if named.digest not in self._refused and await self._agrees(named):
                self.trust(named)
                return
        raise ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"it is not trusted yet: %tools mcp trust {named.server.name} shows what it would run")

    async def _agrees(self, named: Named) -> bool:
        result = await self._ask({"questions": [{"text": self.question(named), "header": "Start it?", "kind": "yesno"}]})
        if not result.ok:
            return False
        agreed = bool(result.data.answers == ("yes",))
        if not agreed:
            self._refused.add(named.digest)
        return agreed

    def question(self, named: Named) -> str:
        lines = "\n".join(f"{about}: {what}" for about, what in would(named))
        changed = " It has changed since you trusted it." if self.standing(named) is Standing.CHANGED else ""
        where = named.origin.path.relative_to(self._root).as_posix()
        rights = "it has your rights if it starts" if isinstance(named.server.transport, Program) else "it learns what it is asked"
        return f"This project's {where} names the MCP server {named.server.name}; {rights}.{changed}\n{lines}"


def would(named: Named) -> tuple[tuple[str, str], ...]:
    """What starting it would do, as the file says it: variables by their names, secrets not at all."""
    entry: dict[str, Any] = json.loads(named.declared)
    address = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl") or ""
    rows = [
        ("runs", shlex.join([entry["command"], *map(str, entry.get("args") or ())]) if entry.get("command") else ""),
        ("reaches", address),
        ("in", entry.get("cwd") or ""),
        ("with", " ".join(f"{name}={_told(name, str(value))}" for name, value in (entry.get("env") or {}).items())),
        ("sends", ", ".join(entry.get("headers") or {})),
        ("hands over", _variables(named, entry)),
        ("logs in", _login(named)),
        ("then", "its calls run without being asked about" if entry.get("trust") else ""),
    ]
    return tuple((about, _BREAK.sub("⏎", what)) for about, what in rows if what)


_BREAK = re.compile(r"[\r\n\v\f\x85\u2028\u2029]")
"""What would begin a line that the file has made up."""


def _variables(named: Named, entry: dict[str, Any]) -> str:
    """Which of the person's variables go where: they may be keys."""
    names = ", ".join(variables_in(json.dumps(entry, ensure_ascii=False)))
    match named.server.transport:
        case Address(url=url):
            return names and f"your {names} to {urlsplit(url).hostname}"
        case Program():
            return names and f"your {names} to the program"


def _login(named: Named) -> str:
    """A client that the file names; one that logs in by itself shows its secret there."""
    login = named.server.transport.login if isinstance(named.server.transport, Address) else Login()
    return f"as {login.client_id}{f', by itself, at {login.issuer}' if login.alone else ''}" if login.client_id else ""


def _told(name: str, value: str) -> str:
    return value if "$" in value or not is_secret(name, value) else "…"


def _switched(named: Named, on: bool | None) -> Named:
    if on is None or named.server.disabled is not on:
        return named
    changed: ServerSettings = named.server.model_copy(update={"disabled": not on})
    return Named(changed, named.origin, named.declared)
