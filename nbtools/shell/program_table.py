"""The table of programs: reviewed data on what each program does with its options and operands.

``docs/programs.md`` describes the format of ``tables/*.toml``.
A person's own entries and a trusted project's extend or replace them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from nbtools.shell.options import word_set

_FOLDER = Path(__file__).parent / "tables"
_OTHERS = ("also", "like", "only", "operands")
_ROLES = word_set("text read write remove copy move output script program assignments line package none")
_SYSTEM = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/")


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of a program or sub-command.
    ``values`` are all options with a value, including ``reads``, ``writes`` and ``folder``.
    """

    name: str
    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    folder: frozenset[str] = frozenset()
    instead: frozenset[str] = frozenset()
    rewrites: frozenset[str] = frozenset()
    shows: frozenset[str] = frozenset()
    empties: frozenset[str] = frozenset()
    removes: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()
    configures: frozenset[str] = frozenset()
    unsets: frozenset[str] = frozenset()
    clears: frozenset[str] = frozenset()
    alarms: frozenset[str] = frozenset()
    editor: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    prints: frozenset[str] = frozenset()
    shell_options: frozenset[str] = frozenset()
    stdout: frozenset[str] = frozenset()
    only: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    operands: tuple[str | re.Pattern[str], ...] = ()
    style: str = "getopt"
    default: str = ""
    beside: str = ""
    asks: str = ""
    note: str = ""
    special: str = ""
    language: str = ""
    numbers: bool = False
    fed: bool = False
    harmless: bool = False
    idle: bool = False
    free: bool = False
    edits: bool = False
    project: bool = False
    warn: bool = False
    repository: bool = False
    unpacks: bool = False
    responses: bool = False
    prefixes: bool = False
    pathspecs: bool = False
    through: bool = False
    commands: dict[str, Entry] = field(default_factory=dict, compare=False)


def _fields_of_type(kind: str) -> tuple[str, ...]:
    return tuple(one.name for one in fields(Entry) if one.type == kind and one.name != "name")


_LISTS = _fields_of_type("frozenset[str]")
_TRUE = _fields_of_type("bool")
_TEXTS = _fields_of_type("str")


class ProgramTable:
    """Entries by program name.  A later table replaces programs of earlier ones, with all their sub-commands.

    An entry that is ``like`` its own name extends the earlier one instead.
    Raises ``ValueError`` for an invalid entry.
    """

    def __init__(self, *tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._raw: dict[str, Mapping[str, Any]] = {}
        self._entries: dict[str, Entry | None] = {}
        self._also: dict[str, str] = {}
        for table in tables:
            self._add_table(table)

    def _add_table(self, table: Mapping[str, Mapping[str, Any]]) -> None:
        added: dict[str, Mapping[str, Any]] = {}
        for name, raw in table.items():
            check_entry(name, raw)
            whole = self._merged(name, raw) if raw.get("like") == name else raw
            names = _names(name, raw)
            added.update(dict.fromkeys(names, whole))
            if " " not in name:
                self._also.update(dict.fromkeys(names[1:], name))
        replaced = {name for name, raw in added.items() if " " not in name and raw.get("like") != name}
        stay = {name: raw for name, raw in self._raw.items() if name.partition(" ")[0] not in replaced}
        self._raw = stay | added

    def find(self, program: str) -> Entry | None:
        """Returns the entry of a program, or None. The program may be in a system folder."""
        folder, slash, name = program.rpartition("/")
        if slash and f"{folder}/" not in _SYSTEM:
            return None
        if name not in self._entries:
            self._entries[name] = self._entry(name) if name in self._raw or self._below(name) else None
        return self._entries[name]

    def __contains__(self, program: str) -> bool:
        return program in self._raw

    def names(self) -> list[str]:
        return sorted(self._raw)

    def _below(self, name: str) -> list[str]:
        first, _, rest = name.partition(" ")
        names = [name, *([f"{self._also[first]} {rest}".strip()] if first in self._also else [])]
        words = name.count(" ") + 1
        deeper = [other for other in self._raw if other.count(" ") == words]
        return [other for other in deeper if other.rpartition(" ")[0] in names]

    def _entry(self, name: str) -> Entry:
        entry = _compiled(name, self._whole(name))
        entry.commands.update({other.rpartition(" ")[2]: self._entry(other) for other in self._below(name)})
        return entry

    def _whole(self, name: str, seen: tuple[str, ...] = ()) -> Mapping[str, Any]:
        """Returns the raw entry merged with the one that it is ``like``."""
        raw = self._raw.get(name, {})
        like = raw.get("like", "")
        return self._merged(like, raw, (*seen, name)) if like and like not in (*seen, name) else raw

    def _merged(self, like: str, raw: Mapping[str, Any], seen: tuple[str, ...] = ()) -> Mapping[str, Any]:
        base = self._whole(like, seen)
        lists = {key: f"{base.get(key, '')} {raw.get(key, '')}" for key in _LISTS}
        return {**base, **raw, **lists, "only": {**base.get("only", {}), **raw.get("only", {})}}


@cache
def included_tables() -> tuple[Mapping[str, Any], ...]:
    return tuple(tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(_FOLDER.glob("*.toml")))


@cache
def included_table() -> ProgramTable:
    """Returns the table that nbtools includes."""
    return ProgramTable(*included_tables())


def check_entry(name: str, raw: Mapping[str, Any]) -> None:
    """Validates an entry.  Raises ``ValueError`` for unknown keys and roles:
    a misspelled key must not loosen the policy.
    """
    unknown = set(raw) - {*_LISTS, *_TRUE, *_TEXTS, *_OTHERS}
    if unknown:
        raise ValueError(f"[{name}] has unknown keys: {', '.join(sorted(unknown))}")
    for key, value in raw.items():
        kind = bool if key in _TRUE else str
        if key != "only" and not isinstance(value, kind):
            raise ValueError(f"[{name}] {key} must be {'a text' if kind is str else 'true or false'}")
    for role in _roles(raw.get("operands", "text")):
        if isinstance(role, str) and role not in _ROLES:
            raise ValueError(f"[{name}] operands has an unknown role: {role}")


def _names(name: str, raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the name and the others that ``also`` has, which for sub-commands are separated by commas."""
    also = raw.get("also", "")
    others = re.split(r"\s*,\s*", also.strip()) if " " in name else also.split()
    return (name, *filter(None, others))


def _compiled(name: str, raw: Mapping[str, Any]) -> Entry:
    lists = {key: _options(raw.get(key, ""), raw.get("style", "")) for key in _LISTS}
    rewriting = lists["rewrites"] - lists["optional"]
    values_by_field: dict[str, Any] = {**lists, **{key: raw[key] for key in (*_TEXTS, *_TRUE) if key in raw}}
    only = {option: re.compile(pattern, re.DOTALL) for option, pattern in raw.get("only", {}).items()}
    entry = Entry(name, only=only, operands=_roles(raw.get("operands", "")), **values_by_field)
    values = entry.values | entry.reads | entry.writes | entry.folder | entry.removes | entry.shell_options
    values |= entry.unsets | entry.configures
    flags = (entry.flags | rewriting | entry.shows | entry.empties | entry.takes | entry.clears) - values
    return replace(entry, values=values, flags=flags, commands={})


ALWAYS = frozenset({"always"})


def _options(text: str, style: str) -> frozenset[str]:
    if "always" in text.split():
        return ALWAYS
    if style.startswith("words"):
        return word_set(text)
    names: set[str] = set()
    for word in text.split():
        names.update([word] if word[:2] == "--" else ["-" + letter for letter in word[1:]])
    return frozenset(names)


_ROLE = re.compile(r"/((?:[^/\\]|\\.)+)/(?=\s|\Z)|(\S+)")


def _roles(text: str) -> tuple[str | re.Pattern[str], ...]:
    return tuple(
        re.compile(found[1].replace("\\/", "/"), re.DOTALL) if found[1] else found[2]
        for found in _ROLE.finditer(text)
    )
