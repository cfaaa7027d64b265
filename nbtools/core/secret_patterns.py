"""The forms of secrets, from ``secret_patterns.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

Place: TypeAlias = Literal["run", "word", "lines", "address"]


@dataclass(frozen=True)
class SecretPattern:
    """The form of a secret, which contains one of ``words``.
    Group 1 of the expression, if there is one, is the secret itself.

    ``place`` and ``only_shared`` say where it is looked for, as the table does.
    """

    name: str
    words: tuple[str, ...]
    source: str
    place: Place = "run"
    only_shared: bool = False

    @property
    def expression(self) -> re.Pattern[str]:
        """The compiled ``source``.  Few texts have the words of a secret,
        and compiling all expressions takes 10 ms.
        """
        return compiled(self.source)


@cache
def compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


@cache
def secret_patterns() -> tuple[SecretPattern, ...]:
    """Returns the forms of secrets, in the order in which they are looked for."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(
        SecretPattern(
            row["name"],
            tuple(row["words"]),
            row["expression"],
            row.get("place", "run"),
            row.get("only_shared", False),
        )
        for row in table["patterns"]
    )


@cache
def shown_patterns() -> tuple[SecretPattern, ...]:
    """Returns the forms that are looked for in each display."""
    return tuple(one for one in secret_patterns() if not one.only_shared)


def secret_kind(value: str) -> str:
    """Returns the kind of secret in ``value``, such as ``GitHub token``; empty where there is none."""
    for pattern in shown_patterns():
        if any(word in value for word in pattern.words) and pattern.expression.search(value):
            return pattern.name
    return ""
