"""Names the programs of a command line."""

from __future__ import annotations

import re
from functools import lru_cache

from nbtools import shell

_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"$`\\\n]*\"")
_SIMPLE = re.compile(r"[\w\s./:=@%+,~^*?-]*(?:(?:&&|\|\|?|;)[\w\s./:=@%+,~^*?-]+)*")
"""A command line in which only operators between commands have a meaning for the shell."""
_OPERATOR = re.compile(r"&&|\|\|?|;|\n")
_ASSIGNMENT = re.compile(r"\w+\+?=")
_SILENT = {"cd", "export", "set", "source", ".", "pushd", "popd", "true", ":"}
"""Programs without output, which are left out if there are others."""


@lru_cache(maxsize=1 << 14)
def programs_of(command: str) -> str:
    """Returns the programs of a command line in order, each once, without their folders: ``pytest, tail``.
    Empty where there is none.
    """
    plain = _QUOTED.sub("Q", command)
    names = _first_words(plain) if _SIMPLE.fullmatch(plain) else _parsed(command)
    found = dict.fromkeys(name.rpartition("/")[2] for name in names if name)
    return ", ".join(name for name in found if name not in _SILENT) or ", ".join(found)


def _first_words(command: str) -> list[str]:
    parts = (part.split() for part in _OPERATOR.split(command))
    return [next((word for word in words if not _ASSIGNMENT.match(word)), "") for words in parts]


def _parsed(command: str) -> tuple[str, ...]:
    return tuple(root for root in shell.parse_shell(command).roots if not root.startswith(("$", "`")))
