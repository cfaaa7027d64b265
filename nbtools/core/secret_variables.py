"""Environment variables that are secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

from nbtools.core.secret_patterns import secret_kind


def secret_variables(outer: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that look like secrets; commands get them only if the settings say so."""
    return {name: value for name, value in outer.items() if is_secret(name, value)}


@lru_cache(maxsize=2_000)
def is_secret(name: str, value: str) -> bool:
    """Returns whether a variable is treated as a secret.
    Numbers, switches and file names are not, except names of credentials files.

    git's configuration is not a secret, nor is the socket of the ssh agent,
    which signs but never reveals a key.
    """
    if not value or name.startswith(_GIT) or name in _NONE:
        return False
    if secret_kind(value):
        return True
    words = _WORDS.split(_CAMEL.sub("_", name).upper())
    if _ALWAYS.intersection(words) or _ENDS.search(name.upper()):
        return True
    return bool(_MAYBE.intersection(words)) and not _PUBLIC.intersection(words) and not _is_plain(value)


def _is_plain(value: str) -> bool:
    return bool(_SWITCH.fullmatch(value)) or os.path.exists(value)  # noqa: PTH110 - Path.exists raises for a value that is too long for a path


_GIT = ("GIT_CONFIG_", "GIT_AUTHOR_", "GIT_COMMITTER_")
_NONE = frozenset({"SSH_AUTH_SOCK", "GPG_KEY", "XAUTHORITY", "XDG_SESSION_COOKIE", "NBTOOLS_TERMINAL_KEY"})
"""``GPG_KEY``: Python's container images have the id of a public key in it."""
_ALWAYS = frozenset("SECRET SECRETS PASSWORD PASSWORDS PASSWD PASSPHRASE CREDENTIAL CREDENTIALS DSN".split())  # noqa: SIM905
_ENDS = re.compile(
    r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?|MYSQL_PWD|(?:API|SECRET|ACCESS|PRIVATE|AUTH|SIGNING)KEY"
    r"|CONN(?:ECTION)?_?STR(?:ING)?)$"
)
_MAYBE = frozenset(
    "TOKEN TOKENS KEY KEYS PASS PWD PAT PASSCODE AUTH AUTHORIZATION BEARER CERT CERTIFICATE PRIVATE COOKIE"  # noqa: SIM905
    " COOKIES JWT MNEMONIC".split()
)
_PUBLIC = frozenset({"PUBLIC", "PUBLISHABLE", "MAX"})
_SWITCH = re.compile(r"[\d.,]*|true|false|yes|no|on|off|none|null|auto|basic|default", re.IGNORECASE)
_WORDS = re.compile(r"[_\W\d]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
