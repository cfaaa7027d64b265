"""The environment variables and the shell of commands and terminals."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.secret_variables import is_secret

_OF_KERNEL = "COLUMNS LINES FORCE_COLOR CLICOLOR_FORCE JPY_PARENT_PID JPY_INTERRUPT_EVENT JPY_SESSION_NAME"
_REMOVED = frozenset(_OF_KERNEL.split())


def environment(outer: Mapping[str, str], *, secrets: bool = True) -> dict[str, str]:
    """Returns the environment of commands: without the kernel's own variables, secrets if ``secrets``.

    - Pagers print everything at once.
    - ``TERM`` names a capable terminal, but ``FORCE_COLOR`` and ``CLICOLOR_FORCE``, which ipykernel sets, are
      removed: they would put colours into redirected files.  So are its matplotlib backend, which works in a
      kernel only, and the size of its window.
    - git treats only ``.git`` folders as repositories:
      anyone who can write files could create a bare repository whose settings start programs.
    - ``PATH`` is that of ``program_folders``.
    - Characters are those of UTF-8, as the analysis reads a command line.
      In other multi-byte encodings a backslash may be a part of one.
    """
    result = {
        name: value
        for name, value in outer.items()
        if name not in _REMOVED and (secrets or not is_secret(name, value))
    }
    if "inline" in result.get("MPLBACKEND", ""):
        del result["MPLBACKEND"]
    if "PATH" in result:
        result["PATH"] = os.pathsep.join(program_folders(result))
    git = _git_setting(outer, "safe.bareRepository", "explicit")
    return {**result, **git, **_utf8(outer), "PAGER": "cat", "GIT_PAGER": "cat", "TERM": "xterm-256color"}


def program_folders(outer: Mapping[str, str]) -> list[str]:
    """Returns the folders in which commands look for programs, in their order.

    The first is that of the kernel's own Python, so that ``python`` and ``pip`` are those of the notebook,
    unless ``PATH`` has it already. A relative folder is left out: it would name different programs in each
    folder.
    """
    listed = [folder for folder in outer.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    own = os.path.dirname(sys.executable)
    return [own, *listed] if os.path.isabs(own) and own not in listed else listed


_ASCII_OR_UTF8 = re.compile(r"C|POSIX|.*\.utf-?8(?:@.*)?", re.IGNORECASE)


def _utf8(outer: Mapping[str, str]) -> dict[str, str]:
    """Returns the variable that makes the encoding UTF-8 unless it is; ``C`` and ``POSIX`` stay."""
    active = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if outer.get(name)), "")
    if active and _ASCII_OR_UTF8.fullmatch(outer[active]):
        return {}
    locale = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"  # macOS has no C.UTF-8
    return {"LC_ALL" if active == "LC_ALL" else "LC_CTYPE": locale}


def _git_setting(outer: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    """Returns the variables that add a git setting to those already passed in variables."""
    count = outer.get("GIT_CONFIG_COUNT") or "0"
    if not count.isascii() or not count.isdigit():  # git refuses to start
        return {}
    return {
        "GIT_CONFIG_COUNT": str(int(count) + 1),
        f"GIT_CONFIG_KEY_{int(count)}": name,
        f"GIT_CONFIG_VALUE_{int(count)}": value,
    }


def shell_name() -> str:
    """Returns the name of the shell for approval requests; empty if there is none."""
    try:
        return os.path.basename(shell())
    except ToolFailure:
        return ""


def shell() -> str:
    """Returns the path of bash.  Raises ``ToolFailure`` if it is not installed.

    No other shell is used, because command analysis follows bash syntax.
    """
    found = shutil.which("bash")
    if found is None:
        raise ToolFailure(
            ErrorCode.SHELL_EXECUTE_ERROR,
            "bash was not found on PATH. Install it, or add its folder to PATH.",
        )
    return found
