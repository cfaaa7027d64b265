"""A login as it is kept."""

from __future__ import annotations

import time

from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, Field, ValidationError

from nbtools.sources.mcp.login.tokens import Tokens

_EARLY = 30.0
"""Seconds before its end at which a token is renewed."""


class Kept(BaseModel):
    """A login as it is kept: with what is needed to renew it later, in another process."""

    tokens: OAuthToken = Field(repr=False)
    ends: float | None = None
    client: OAuthClientInformationFull | None = Field(None, repr=False)
    service: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    challenge: str = ""
    """How the server asked for more rights than these; the next login asks for them, too."""

    @property
    def over(self) -> bool:
        return self.ends is not None and time.time() > self.ends - _EARLY


def read(tokens: Tokens) -> Kept | None:
    """What is kept; what cannot be read is none.  May wait for a keyring."""
    text = tokens.read()
    try:
        return None if text is None else Kept.model_validate_json(text)
    except ValidationError:
        return None
