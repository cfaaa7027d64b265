"""Validates the programs that a policy adds to the table; parses words like ``flags="-v --verbose"``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from nbtools import shell
from nbtools.core.errors import PolicyError
from nbtools.core.message import did_you_mean

_STYLES = ("getopt", "first", "words", "text")
_OTHER_KEYS = ("also", "like")
_NOT_WRITTEN = frozenset({"name", "commands"})
_NAME = re.compile(r"[^\s/=-][^\s/=]*(?: [^\s=]+)*")
_PAIR = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)
_SWITCHES = {"true": True, "false": False}


def check_programs(programs: Mapping[str, Mapping[str, Any]]) -> None:
    """Validates entries. Raises ``PolicyError`` for anything unknown: no mistake loosens the policy."""
    try:
        for name, raw in programs.items():
            _check(name, raw)
        table = shell.ProgramTable(programs)
        for name in programs:
            table.find(name)
    except (ValueError, re.error) as error:
        raise PolicyError(f"The table of programs cannot be read: {error}.") from None


def _check(name: str, raw: Mapping[str, Any]) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"[{name}] is not a valid program name; write it without a folder, with a blank before each"
            " sub-command"
        )
    for key, known in (("style", _STYLES), ("special", tuple(shell.SPECIAL))):
        if raw.get(key, known[0]) not in known:
            raise ValueError(f"[{name}] {key} cannot be {raw[key]!r}; use {' or '.join(known)}")
    only = raw.get("only", {})
    if not (isinstance(only, Mapping) and all(isinstance(pattern, str) for pattern in only.values())):
        raise ValueError(f"[{name}] only must be a table of regular expressions by option")
    for key in _lists() if raw.get("style") != "words" else ():
        words = raw.get(key, "").split() if isinstance(raw.get(key), str) else ()
        if strange := next((word for word in words if word[:1] != "-" and word != "always"), ""):
            raise ValueError(
                f"[{name}] {key} has {strange}, which does not begin with a dash; only style words allows"
                " such options"
            )


def parse_program(pairs: Iterable[str]) -> dict[str, Any]:
    """Parses an entry from words like ``flags=-v --verbose``, ``harmless=true``. Raises ``PolicyError``."""
    return dict(_pair(word) for word in pairs)


def is_pair(word: str) -> bool:
    return _PAIR.fullmatch(word) is not None


def _pair(word: str) -> tuple[str, Any]:
    key, text = word.split("=", 1)
    if key not in entry_keys():
        raise PolicyError(f"The table of programs has no {key!r}.{did_you_mean(key, entry_keys())}")
    if entry_keys()[key] is bool:
        if text not in _SWITCHES:
            raise PolicyError(f"{key} cannot be {text!r}: it is true or false.")
        return key, _SWITCHES[text]
    if key == "only":
        try:
            return key, tomllib.loads(f"only = {text}")["only"]
        except ValueError:
            raise PolicyError(
                f"""only cannot be {text!r}: it is a table, as in only='{{ "-n" = "[0-9]+" }}'."""
            ) from None
    return key, text


@cache
def entry_keys() -> dict[str, type]:
    """Returns an entry's keys and types: a text, a boolean, or a table for ``only``."""
    kinds: dict[str, type] = {
        field.name: bool if field.default is False else str for field in fields(shell.Entry)
    }
    kinds["only"] = dict
    return {
        **{key: kind for key, kind in kinds.items() if key not in _NOT_WRITTEN},
        **dict.fromkeys(_OTHER_KEYS, str),
    }


@cache
def _lists() -> tuple[str, ...]:
    """Returns the keys whose values are lists of options."""
    return tuple(
        field.name
        for field in fields(shell.Entry)
        if field.default is not MISSING and isinstance(field.default, frozenset)
    )
