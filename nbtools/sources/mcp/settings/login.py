"""How one logs in to a server, as ``oauth`` (Claude Code, Gemini CLI) and ``auth`` (Cursor) say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field


class Login(BaseModel):
    """Empty: what is needed is asked of the server, and nbtools registers itself there."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    client_id: str = ""
    """Of a client that was registered beforehand."""
    client_secret: str = Field("", repr=False)
    private_key: str = Field("", repr=False)
    """PEM: the client signs instead of showing a secret."""
    algorithm: str = "RS256"
    scopes: tuple[str, ...] = ()
    """What to ask for instead of what the server names."""
    redirect: str = ""
    """Where the page sends one back to, as registered; empty: a free port of this machine."""
    issuer: str = ""
    """Whose client it is; a secret goes nowhere else."""
    alone: bool = False
    """The client logs in for itself (client credentials), and nobody is asked."""


def _words(given: Any) -> Any:
    return given.split() if isinstance(given, str) else given


class DeclaredLogin(BaseModel):
    """An entry as any of the three may write it; ``grantType``, ``privateKey``, ``signingAlgorithm`` and ``issuer`` are our own words."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    client_id: str = Field("", validation_alias=AliasChoices("clientId", "CLIENT_ID"))
    client_secret: str = Field("", validation_alias=AliasChoices("clientSecret", "CLIENT_SECRET"), repr=False)
    private_key: str = Field("", alias="privateKey", repr=False)
    algorithm: str = Field("RS256", alias="signingAlgorithm")
    scopes: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()
    redirect: str = Field("", alias="redirectUri")
    port: int = Field(0, alias="callbackPort", ge=0, le=65535)
    issuer: str = ""
    grant: Literal["authorization_code", "client_credentials"] = Field("authorization_code", alias="grantType")

    def login(self, full: Callable[[str], str]) -> Login:
        """``full`` replaces variables.  Raises ``ValueError`` where it lacks something."""
        alone = self.grant == "client_credentials"
        if alone and not (self.client_id and self.issuer and (self.client_secret or self.private_key)):
            raise ValueError("client_credentials needs clientId, issuer, and clientSecret or privateKey")
        return Login(
            client_id=full(self.client_id),
            client_secret=full(self.client_secret),
            private_key=full(self.private_key),
            algorithm=self.algorithm,
            scopes=self.scopes,
            redirect=self.redirect or (f"http://localhost:{self.port}/callback" if self.port else ""),
            issuer=full(self.issuer),
            alone=alone,
        )
