"""What is known of a server before it is connected to: the entries of ``mcpServers``, as Claude Code, Gemini CLI and Cursor write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.sources.mcp.settings.expansion import expanded
from nbtools.sources.mcp.settings.login import DeclaredLogin, Login

CONNECT_SECONDS = 60.0
CALL_SECONDS = 600.0


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Program(_Frozen):
    """A server that is started and spoken to over its standard input and output."""

    command: str
    args: tuple[str, ...] = Field((), repr=False)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    """What it finds besides the few harmless variables that every server gets.  It may hold secrets."""
    cwd: str = ""
    """Seen from the workspace; empty: the workspace itself."""


class Address(_Frozen):
    """A server that runs already; ``sse``: by the older transport, with one long answer."""

    url: str = Field(repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    sse: bool = False
    login: Login = Login()


Transport: TypeAlias = Program | Address


class ServerSettings(_Frozen):
    """One server.  ``name`` is a part of its tools' names."""

    name: str
    transport: Transport
    connect_seconds: float = CONNECT_SECONDS
    call_seconds: float = CALL_SECONDS
    """A call may take this long; each progress that the server tells begins it anew."""
    trust: bool = False
    """Calls are not asked, where the folder may say so.  A deny rule holds all the same."""
    include: tuple[str, ...] | None = None
    """The only tools that are taken, by the server's names; None: all."""
    exclude: tuple[str, ...] = ()
    description: str = ""
    disabled: bool = False

    def takes(self, tool: str) -> bool:
        return tool not in self.exclude and (self.include is None or tool in self.include)

    @property
    def where(self) -> str:
        """The command line or the address, without what may be secret."""
        match self.transport:
            case Program(command=command, args=args):
                return " ".join((command, *args))
            case Address(url=url):
                return _SECRET_PART.sub("", url)


_SECRET_PART = re.compile(r"(?<=//)[^/@]*@|[?#].*")


class _Declared(BaseModel):
    """An entry as any of the three may write it; what none of them knows is let be."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = Field("", validation_alias=AliasChoices("url", "serverUrl"))
    http_url: str = Field("", alias="httpUrl")
    type: Literal["", "stdio", "http", "sse", "streamable-http", "streamableHttp"] = Field(
        "", validation_alias=AliasChoices("type", "transport")
    )
    headers: dict[str, str] = {}
    login: DeclaredLogin = Field(DeclaredLogin(), validation_alias=AliasChoices("oauth", "auth"))
    timeout: Annotated[float, Field(gt=0)] | None = None
    trust: bool = False
    description: str = ""
    include: tuple[str, ...] | None = Field(None, alias="includeTools")
    exclude: tuple[str, ...] = Field((), alias="excludeTools")
    disabled: bool = False


def settings_of(name: str, declared: Any, environ: Mapping[str, str]) -> ServerSettings:
    """One entry of ``mcpServers``.  Raises ``ToolFailure`` in one line that names the server and says what it lacks.

    Variables in commands, addresses, headers and environments are those of ``environ``.  ``timeout`` is in milliseconds, as Gemini CLI
    and Claude Code write it.
    """
    if not _NAME.fullmatch(name):
        raise _wrong(name, "a server's name consists of letters, digits, - and _, has no two _ in a row and none at its end")
    try:
        read = _Declared.model_validate(declared)
    except ValidationError as error:
        first = error.errors()[0]
        raise _wrong(name, f"{'.'.join(map(str, first['loc'])) or 'its entry'}: {first['msg'].lower()}") from None
    seconds = CALL_SECONDS if read.timeout is None else read.timeout / 1000
    return ServerSettings(
        name=name,
        transport=_transport(name, read, environ),
        call_seconds=seconds,
        connect_seconds=min(CONNECT_SECONDS, seconds),
        trust=read.trust,
        include=None if read.include is None else tuple(map(_bare, read.include)),
        exclude=tuple(map(_bare, read.exclude)),
        description=read.description,
        disabled=read.disabled,
    )


_NAME = re.compile(r"(?!.*[_.]{2})[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9-])?")
"""No two names may be such that the rule of one (``mcp__shop__*``) speaks of the other's tools."""


def _bare(entry: str) -> str:
    """Gemini CLI allows the parameters behind a tool's name: ``read(path)``."""
    return entry.partition("(")[0].strip()


def _transport(name: str, read: _Declared, environ: Mapping[str, str]) -> Transport:
    url = read.url or read.http_url
    if bool(read.command) == bool(url):
        raise _wrong(name, "it needs either a command to start or a url to reach")

    def full(text: str) -> str:
        try:
            return expanded(text, environ)
        except KeyError as error:
            raise _wrong(
                name, f"the variable {error.args[0]} is not set; set it before Jupyter starts, or write ${{NAME:-a default}}"
            ) from None

    if read.command:
        env = {key: full(value) for key, value in read.env.items()}
        return Program(command=full(read.command), args=tuple(map(full, read.args)), env=env, cwd=full(read.cwd))
    sse = read.type == "sse" or (not read.type and not read.http_url and url.rstrip("/").endswith("/sse"))
    try:
        login = read.login.login(full)
    except ValueError as error:
        raise _wrong(name, f"oauth: {error}") from None
    return Address(url=full(url), headers={key: full(value) for key, value in read.headers.items()}, sse=sse, login=login)


def _wrong(name: str, why: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"MCP server {name!r}: {why}.")
