"""Parses ``mcpServers`` as Claude Code, Gemini CLI and Cursor write them, into server settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.schema.documented_model import DocumentedModel

_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}|\$(\w+)|%(\w+)%")


def variables_in(text: str) -> list[str]:
    """Returns the names of the variables in ``text``, each once."""
    found = (match[1] or match[3] or match[4] for match in _VARIABLE.finditer(text))
    return list(dict.fromkeys(name for name in found if not name.isdigit()))


def expand_variables(text: str, environ: Mapping[str, str]) -> str:
    """Replaces ``$NAME``, ``${NAME}``, ``${NAME:-default}``, Cursor's ``${env:NAME}`` and ``%NAME%``.

    ``$1`` and a ``%NAME%`` that is not set stay unchanged.
    Raises ``KeyError`` with the name of a variable that is not set.
    """

    def value(match: re.Match[str]) -> str:
        name, default, plain, percent = match[1], match[2], match[3], match[4]
        if name is not None:
            return environ.get(name) or default if default is not None else environ[name]
        if percent is not None:
            return environ.get(percent, match[0])
        return match[0] if plain.isdigit() else environ[plain]

    return _VARIABLE.sub(value, text)


class Login(DocumentedModel):
    """OAuth settings of a server; empty ones are discovered, and nbtools registers itself there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    client_id: str = ""
    """The id of a client that is registered already."""
    client_secret: str = Field("", repr=False)
    private_key: str = Field("", repr=False)
    """A PEM key with which the client signs instead of sending a secret."""
    algorithm: str = "RS256"
    scopes: tuple[str, ...] = ()
    """Scopes to request instead of those that the server names."""
    redirect: str = ""
    """The registered redirect URI; empty: a free port of this machine."""
    issuer: str = ""
    """The issuer at which the client is registered; its secret is sent nowhere else."""
    alone: bool = False
    """Client credentials: the client logs in by itself, without a person."""


def _split_words(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


class DeclaredLogin(BaseModel):
    """The ``oauth`` (Claude Code, Gemini CLI) or ``auth`` (Cursor) part of an entry.

    ``grantType``, ``privateKey``, ``signingAlgorithm`` and ``issuer`` are extensions of nbtools.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    client_id: str = Field("", validation_alias=AliasChoices("clientId", "CLIENT_ID"))
    client_secret: str = Field("", validation_alias=AliasChoices("clientSecret", "CLIENT_SECRET"), repr=False)
    private_key: str = Field("", alias="privateKey", repr=False)
    algorithm: str = Field("RS256", alias="signingAlgorithm")
    scopes: Annotated[tuple[str, ...], BeforeValidator(_split_words)] = ()
    redirect: str = Field("", alias="redirectUri")
    port: int = Field(0, alias="callbackPort", ge=0, le=65535)
    issuer: str = ""
    grant: Literal["authorization_code", "client_credentials"] = Field(
        "authorization_code", alias="grantType"
    )

    def login(self, expand: Callable[[str], str]) -> Login:
        """Returns the settings; ``full`` expands variables. Raises ``ValueError`` if a key is missing."""
        alone = self.grant == "client_credentials"
        if alone and not (self.client_id and self.issuer and (self.client_secret or self.private_key)):
            raise ValueError("client_credentials needs clientId, issuer, and clientSecret or privateKey")
        return Login(
            client_id=expand(self.client_id),
            client_secret=expand(self.client_secret),
            private_key=expand(self.private_key),
            algorithm=self.algorithm,
            scopes=self.scopes,
            redirect=self.redirect or (f"http://localhost:{self.port}/callback" if self.port else ""),
            issuer=expand(self.issuer),
            alone=alone,
        )


CONNECT_SECONDS = 60.0
CALL_SECONDS = 600.0


class _FrozenModel(DocumentedModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Program(_FrozenModel):
    """A server that is started as a subprocess and uses stdin and stdout."""

    command: str
    args: tuple[str, ...] = Field((), repr=False)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    """Environment variables in addition to the few harmless ones that every server gets. May hold secrets."""
    cwd: str = ""
    """The working directory relative to the workspace; empty: the workspace itself."""


class Address(_FrozenModel):
    """A server at a URL; ``sse`` selects the older HTTP+SSE transport."""

    url: str = Field(repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    sse: bool = False
    login: Login = Login()


Transport: TypeAlias = Program | Address


class ServerSettings(_FrozenModel):
    """The settings of one server.  ``name`` is part of its tools' names."""

    name: str
    transport: Transport
    connect_seconds: float = CONNECT_SECONDS
    call_seconds: float = CALL_SECONDS
    """Timeout of a call; each progress notification restarts it."""
    trust: bool = False
    """Whether calls run without approval, where the file may decide that.  Deny rules still apply."""
    include: tuple[str, ...] | None = None
    """The only tools to use, by the server's names; None: all."""
    exclude: tuple[str, ...] = ()
    description: str = ""
    disabled: bool = False

    def includes_tool(self, tool: str) -> bool:
        return tool not in self.exclude and (self.include is None or tool in self.include)

    @property
    def location(self) -> str:
        """The command, or the URL without credentials, query and fragment."""
        match self.transport:
            case Program(command=command, args=args):
                return " ".join((command, *args))
            case Address(url=url):
                return _SECRET_PART.sub("", url)


_SECRET_PART = re.compile(r"(?<=//)[^/@]*@|[?#].*")


class _DeclaredServer(BaseModel):
    """An entry as any of the three programs writes it; unknown keys are ignored."""

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


def parse_server(name: str, declared: Any, environ: Mapping[str, str]) -> ServerSettings:
    """Converts an entry of ``mcpServers``. Raises ``ToolFailure`` with the server and the problem.

    Variables in commands, addresses, headers and environments are replaced from ``environ``.  ``timeout`` is
    in milliseconds, as Gemini CLI and Claude Code write it.
    """
    if not _NAME.fullmatch(name):
        raise _invalid(
            name,
            "a server's name consists of letters, digits, - . and _, without two of . and _ in a row or one"
            " at the end",
        )
    try:
        entry = _DeclaredServer.model_validate(declared)
    except ValidationError as error:
        first = error.errors()[0]
        raise _invalid(
            name, f"{'.'.join(map(str, first['loc'])) or 'its entry'}: {first['msg'].lower()}"
        ) from None
    seconds = CALL_SECONDS if entry.timeout is None else entry.timeout / 1000
    return ServerSettings(
        name=name,
        transport=_transport(name, entry, environ),
        call_seconds=seconds,
        connect_seconds=min(CONNECT_SECONDS, seconds),
        trust=entry.trust,
        include=None if entry.include is None else tuple(map(_tool_name, entry.include)),
        exclude=tuple(map(_tool_name, entry.exclude)),
        description=entry.description,
        disabled=entry.disabled,
    )


_NAME = re.compile(r"(?!.*[_.]{2})[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9-])?")
"""Names for which the rule of one server (``mcp__shop__*``) cannot match another server's tools."""


def _tool_name(entry: str) -> str:
    """Returns the tool's name without the parameters that Gemini CLI allows: ``read(path)``."""
    return entry.partition("(")[0].strip()


def _transport(name: str, entry: _DeclaredServer, environ: Mapping[str, str]) -> Transport:
    url = entry.url or entry.http_url
    if bool(entry.command) == bool(url):
        raise _invalid(name, "it needs either a command or a url")

    def expand(text: str) -> str:
        try:
            return expand_variables(text, environ)
        except KeyError as error:
            raise _invalid(
                name,
                f"the variable {error.args[0]} is not set. Set it before Jupyter starts, or write"
                " ${NAME:-default}",
            ) from None

    if entry.command:
        env = {key: expand(value) for key, value in entry.env.items()}
        return Program(
            command=expand(entry.command), args=tuple(map(expand, entry.args)), env=env, cwd=expand(entry.cwd)
        )
    sse = entry.type == "sse" or (not entry.type and not entry.http_url and url.rstrip("/").endswith("/sse"))
    try:
        login = entry.login.login(expand)
    except ValueError as error:
        raise _invalid(name, f"oauth: {error}") from None
    return Address(
        url=expand(url),
        headers={key: expand(value) for key, value in entry.headers.items()},
        sse=sse,
        login=login,
    )


def _invalid(name: str, why: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"MCP server {name!r}: {why}.")
