"""A stored OAuth login, with what is needed to renew it in another process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, Field, ValidationError

if TYPE_CHECKING:
    from nbtools.mcp.auth.token_store import LoginStore

_RENEW_EARLY_SECONDS = 30.0
"""Seconds before its expiry at which a token is renewed."""


class StoredLogin(BaseModel):
    """A stored login, with what renews it in another process. ``ends``: in seconds since the epoch."""

    tokens: OAuthToken = Field(repr=False)
    ends: float | None = None
    client: OAuthClientInformationFull | None = Field(None, repr=False)
    service: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    challenge: str = ""
    """The server's challenge for more scopes; the next login requests them, too."""

    @property
    def is_expired(self) -> bool:
        return self.ends is not None and time.time() > self.ends - _RENEW_EARLY_SECONDS


def read_login(tokens: LoginStore) -> StoredLogin | None:
    """Returns the stored login; None if there is none or it is invalid.  May block for the keyring."""
    text = tokens.read()
    try:
        return None if text is None else StoredLogin.model_validate_json(text)
    except ValidationError:
        return None
