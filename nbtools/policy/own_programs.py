"""Programs that a policy adds to the table of programs: checked, and read from words such as ``flags="-v --verbose"``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import did_you_mean

_STYLES = ("getopt", "first", "words", "text")
_OTHER_KEYS = ("also", "like")
_NOT_WRITTEN = frozenset({"name", "commands"})
_NAME = re.compile(r"[^\s/=-][^\s/=]*(?: [^\s=]+)*")
_PAIR = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)
_SWITCHES = {"true": True, "false": False}


def checked(programs: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises ``PolicyError`` for what the format of the table does not know: such a mistake must not loosen anything."""
    from nbtools.shell.table import Table  # noqa: PLC0415 - few have programs of their own

    try:
        for name, raw in programs.items():
            _check(name, raw)
        table = Table(programs)
        for name in programs:
            table.find(name)
    except (ValueError, re.error) as error:
        raise PolicyError(f"The table of programs cannot be read: {error}.") from None


def _check(name: str, raw: Mapping[str, Any]) -> None:
    from nbtools.shell.special import SPECIAL  # noqa: PLC0415 - as above

    if not _NAME.fullmatch(name):
        raise ValueError(f"[{name}] is no name of a program: it is written without its folder, with a blank before each sub-command")
    for key, known in (("style", _STYLES), ("special", tuple(SPECIAL))):
        if raw.get(key, known[0]) not in known:
            raise ValueError(f"[{name}] {key} cannot be {raw[key]!r}: it is {' or '.join(known)}")
    only = raw.get("only", {})
    if not (isinstance(only, Mapping) and all(isinstance(pattern, str) for pattern in only.values())):
        raise ValueError(f"[{name}] only is no table of regular expressions by option")
    for key in _lists() if raw.get("style") != "words" else ():
        words = raw.get(key, "").split() if isinstance(raw.get(key), str) else ()
        if strange := next((word for word in words if word[:1] != "-" and word != "always"), ""):
            raise ValueError(f"[{name}] {key} has {strange}, which begins with no dash; only style words has such options")


def program_of(pairs: Iterable[str]) -> dict[str, Any]:
    """The entry that words such as ``flags=-v --verbose`` and ``harmless=true`` spell.  Raises ``PolicyError``."""
    return dict(_pair(word) for word in pairs)


def is_pair(word: str) -> bool:
    return _PAIR.fullmatch(word) is not None


def _pair(word: str) -> tuple[str, Any]:
    key, text = word.split("=", 1)
    if key not in keys():
        raise PolicyError(f"The table of programs has no {key!r}.{did_you_mean(key, keys())}")
    if keys()[key] is bool:
        if text not in _SWITCHES:
            raise PolicyError(f"{key} cannot be {text!r}: it is true or false.")
        return key, _SWITCHES[text]
    if key == "only":
        try:
            return key, tomllib.loads(f"only = {text}")["only"]
        except ValueError:
            raise PolicyError(f"""only cannot be {text!r}: it is a table, as in only='{{ "-n" = "[0-9]+" }}'.""") from None
    return key, text


@cache
def keys() -> dict[str, type]:
    """The keys of an entry and what their values are: a text, a switch, or for ``only`` a table."""
    from nbtools.shell.table import Entry  # noqa: PLC0415 - as above

    kinds = {field.name: bool if field.default is False else dict if field.name == "only" else str for field in fields(Entry)}
    return {**{key: kind for key, kind in kinds.items() if key not in _NOT_WRITTEN}, **dict.fromkeys(_OTHER_KEYS, str)}


@cache
def _lists() -> tuple[str, ...]:
    """The keys whose values are options."""
    from nbtools.shell.table import Entry  # noqa: PLC0415 - as above

    return tuple(field.name for field in fields(Entry) if field.default is not MISSING and isinstance(field.default, frozenset))
