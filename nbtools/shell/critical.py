"""Detects critical deletions and writes: the root folder, the home folder, the working directory, devices."""

from __future__ import annotations

import re

from nbtools.shell.path_text import normal_path

_HOME = re.compile(r"(?:~[\w.-]*|\$HOME|\$\{HOME\})(?P<rest>/.*)?\Z", re.DOTALL)
_HERE = re.compile(
    r"(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`|\$OLDPWD|\$\(git rev-parse --show-toplevel\))(?P<rest>/.*)?\Z",
    re.DOTALL,
)
_BELOW_VARIABLE = re.compile(r"(?:\$\w+|\$\{\w+\}|\$\{\w+:?-\})+/", re.DOTALL)
_BRACKETS = re.compile(r"\[[^]/]*\]")
_DEVICE = re.compile(
    r"/+dev/+(?!null\Z|zero\Z|full\Z|u?random\Z|std(?:in|out|err)\Z|tty\Z|fd/|pts/|shm/|ptmx\Z|tcp/|udp/)"
)


def critical_removal(path: str, *, dynamic: bool) -> str:
    """Returns why deleting the path needs approval in every mode; empty for an ordinary path."""
    written = path
    if dynamic:
        path = path.replace('"', "").replace("'", "").replace("\\", "")
        if _BELOW_VARIABLE.match(path) and not _HOME.match(path) and not _HERE.match(path):
            return f"{written} is {path[path.index('/') :]} when the variable is empty"
    for anchor, name in ((_HOME, "your home folder"), (_HERE, "the working directory")):
        found = anchor.match(path) if dynamic or path.startswith("~") else None
        if found:
            rest = normal_path("." + (found["rest"] or ""))
            is_whole = rest.startswith("..") or rest == "." or _all_of(rest)
            return f"{written} is {name} or everything in it" if is_whole else ""
    return _plain(path, written, dynamic=dynamic)


def _plain(path: str, written: str, *, dynamic: bool) -> str:
    clean = normal_path(path) if path else ""
    parts = [part for part in clean.split("/") if part]
    if clean.startswith("/"):
        is_home = len(parts) == 2 and (parts[0] in ("home", "Users") or (dynamic and _all_of(parts[1])))
        if len(parts) <= 1 or is_home:
            return f"{written} is the root or a folder right below it"
        begins = dynamic and re.search(r"[*?\[{]", parts[0])
        return f"{written} begins with a pattern right below the root" if begins else ""
    if clean in ("", ".") or set(parts) == {".."}:
        return f"{written} is the working directory or a folder above it" if path else ""
    if dynamic and parts and _all_of(parts[-1]) and set(parts[:-1]) <= {".."}:
        return f"{written} is everything there"
    return ""


def _all_of(part: str) -> bool:
    """Whether a name is nothing but wildcards."""
    bare = _BRACKETS.sub("*", part)
    return bool(re.search(r"[*?]", bare)) and not re.search(r"[^*?.{},()!@+|]", bare)


def critical_write(path: str) -> str:
    """Returns why writing the path needs approval in every mode; empty for an ordinary file."""
    return f"{path} is a device" if path and _DEVICE.match(normal_path(path)) else ""
