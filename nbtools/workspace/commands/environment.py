"""What commands and terminals find around them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from functools import lru_cache

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.redact import secret_shape


def environment(outer: Mapping[str, str], *, secrets: bool = True) -> dict[str, str]:
    """The environment of commands: the kernel's, without what a kernel sets for itself, and with ``secrets`` only if wanted.

    Pagers print at once.  ``TERM`` is that of a capable terminal, but colours are the program's choice: ipykernel's ``FORCE_COLOR`` and
    ``CLICOLOR_FORCE`` would put them into redirected files too.  Its matplotlib backend works in a kernel only.  The window in which it
    was started is not the terminal's.  git does not take a folder for a repository because of what lies in it, unless it is ``.git``:
    whoever can write files could make one whose settings start programs.  Programs are found by whole paths only: what is named relative
    to a folder, or not at all, would be another program in each folder.
    """
    dropped = {"COLUMNS", "LINES", "FORCE_COLOR", "CLICOLOR_FORCE", "JPY_PARENT_PID", "JPY_INTERRUPT_EVENT", "JPY_SESSION_NAME"}
    kept = {name: value for name, value in outer.items() if name not in dropped and (secrets or not is_secret(name, value))}
    if "inline" in kept.get("MPLBACKEND", ""):
        del kept["MPLBACKEND"]
    if "PATH" in kept:
        kept["PATH"] = os.pathsep.join(folder for folder in kept["PATH"].split(os.pathsep) if os.path.isabs(folder))
    return {**kept, **_git_setting(outer, "safe.bareRepository", "explicit"), "PAGER": "cat", "GIT_PAGER": "cat", "TERM": "xterm-256color"}


def _git_setting(outer: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    """The variables that add a setting to those that git gets by variables already."""
    count = outer.get("GIT_CONFIG_COUNT") or "0"
    if not count.isascii() or not count.isdigit():  # git refuses to start
        return {}
    return {"GIT_CONFIG_COUNT": str(int(count) + 1), f"GIT_CONFIG_KEY_{int(count)}": name, f"GIT_CONFIG_VALUE_{int(count)}": value}


def secret_variables(outer: Mapping[str, str]) -> dict[str, str]:
    """Those that commands do not get unless the person wants it: by their names, or because of what they hold."""
    return {name: value for name, value in outer.items() if is_secret(name, value)}


@lru_cache(maxsize=2_000)
def is_secret(name: str, value: str) -> bool:
    """Whether a variable is taken for one.  Numbers and switches are none, nor is a file's name, except that of credentials.

    What git is configured with stays, and the way to the person's ssh agent: it signs, and gives no key away.
    """
    if not value or name.startswith(_GIT) or name in _NONE:
        return False
    if secret_shape(value):
        return True
    words = _WORDS.split(_CAMEL.sub("_", name).upper())
    if _ALWAYS.intersection(words) or _ENDS.search(name.upper()):
        return True
    return bool(_MAYBE.intersection(words)) and not _PUBLIC.intersection(words) and not _is_plain(value)


def _is_plain(value: str) -> bool:
    return bool(_SWITCH.fullmatch(value)) or os.path.exists(value)


_GIT = ("GIT_CONFIG_", "GIT_AUTHOR_", "GIT_COMMITTER_")
_NONE = frozenset({"SSH_AUTH_SOCK", "GPG_KEY", "XAUTHORITY", "XDG_SESSION_COOKIE", "NBTOOLS_TERMINAL_KEY"})
"""The images of Python tell in ``GPG_KEY`` whose signature is theirs."""
_ALWAYS = frozenset("SECRET SECRETS PASSWORD PASSWORDS PASSWD PASSPHRASE CREDENTIAL CREDENTIALS DSN".split())  # noqa: SIM905
_ENDS = re.compile(
    r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?|MYSQL_PWD|(?:API|SECRET|ACCESS|PRIVATE|AUTH|SIGNING)KEY"
    r"|CONN(?:ECTION)?_?STR(?:ING)?)$"
)
_MAYBE = frozenset(
    "TOKEN TOKENS KEY KEYS PASS PWD PAT PASSCODE AUTH AUTHORIZATION BEARER CERT CERTIFICATE PRIVATE COOKIE COOKIES JWT MNEMONIC".split()  # noqa: SIM905
)
_PUBLIC = frozenset({"PUBLIC", "PUBLISHABLE", "MAX"})
_SWITCH = re.compile(r"[\d.,]*|true|false|yes|no|on|off|none|null|auto|basic|default", re.IGNORECASE)
_WORDS = re.compile(r"[_\W\d]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def shell_name() -> str:
    """The name of the shell that runs command lines, for those who are asked about one; empty where there is none."""
    try:
        return os.path.basename(shell())
    except ToolFailure:
        return ""


def shell() -> str:
    """The path of bash: command lines are judged as bash reads them, so no other shell runs them.  Raises ``ToolFailure``."""
    found = shutil.which("bash")
    if found is None:
        raise ToolFailure(ErrorCode.SHELL_EXECUTE_ERROR, "There is no bash on PATH. Install it, or add its folder to PATH.")
    return found
