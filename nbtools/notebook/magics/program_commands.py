"""The sub-command ``%tools program``, which shows and extends the table of programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtools.cards.tables import Sheet
from nbtools.core.errors import PolicyError
from nbtools.core.message import did_you_mean
from nbtools.notebook.magics.flags import refused, switch, word_list
from nbtools.notebook.magics.policy_file_commands import with_files
from nbtools.notebook.magics.sub_commands import SubCommand, inside, sheet_of_lines
from nbtools.policy.coverage import coverage, find_entries
from nbtools.policy.layers import SESSION, Layer, Policy
from nbtools.policy.own_programs import entry_keys, is_pair, parse_program

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session
    from nbtools.shell import ProgramTable
    from nbtools.shell.program_table import Entry

_OPTIONS = {
    "flags": "options without a value",
    "values": "options with a value",
    "optional": "options whose value is attached",
    "reads": "options that name files it reads",
    "writes": "options that name a file it writes (require approval)",
    "removes": "options that name files it removes",
    "folder": "options that name its working directory",
    "shell_options": "options with a shell command",
    "rewrites": "options that change the operands in place (require approval)",
    "shows": "options that make it write nothing",
    "takes": "options that remove the files it reads",
}
_PARTS = {
    "values": ("reads", "writes", "folder", "removes", "shell_options"),
    "flags": ("rewrites", "shows", "takes"),
}
"""Keys whose options also have a row of their own."""
_ROLES = {
    "text": "a text, not a file",
    "read": "a file or folder it reads",
    "write": "a file or folder it writes",
    "remove": "a file or folder it removes",
    "copy": "what it copies, then the destination",
    "move": "what it moves, then the destination",
    "output": "a file it writes (requires approval)",
    "script": "a script it runs, followed by the script's arguments",
    "program": "a program it starts, followed by the program's arguments",
    "package": "a package it downloads and runs; a rule must name it",
    "assignments": "NAME=VALUE, any number of them",
    "line": "a shell command",
    "none": "none (an operand requires approval)",
}
_TRUE = {
    "harmless": "it changes nothing and sends nothing",
    "edits": "mode auto_edit lets it change files inside the workspace",
    "project": "it runs the project's own code or configuration",
    "repository": "it reads configuration from the repository it is started in",
    "free": "none of its options is harmful, so arguments known only at run time may be options",
}
_HINT = (
    "takes a name and properties of the program, as in %tools program --save mytool"
    ' flags="-v --verbose" operands=read.'
)
_HOW = (
    '%tools program NAME flags="-v --verbose" operands=read harmless=true adds one for this session; --save'
    " keeps it for later ones."
)


class ProgramCommands:
    """The sub-command ``program``."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self.commands = (
            SubCommand(
                "program",
                "shows what is known about a program, or adds one to the table of programs",
                self._program,
                (
                    switch("save"),
                    switch("remove"),
                    word_list(
                        "words", required=False, offers=lambda before, _: offered(self._session, before)
                    ),
                ),
                _HINT,
                usage="[--save|--remove] [NAME [KEY=VALUE …]]",
            ),
        )

    @property
    def _session(self) -> Session:
        return self._runtime.session

    def _program(self, words: Sequence[str] = (), *, save: bool = False, remove: bool = False) -> Sheet:
        name = " ".join(word for word in words if not is_pair(word))
        pairs = [word for word in words if is_pair(word)]
        if (save and (remove or not pairs)) or (remove and pairs) or ((save or remove or pairs) and not name):
            raise refused(f"%tools program {_HINT}")
        if remove:
            return self._remove(name)
        if pairs:
            return self._add(name, parse_program(pairs), save=save)
        return self._describe(name) if name else self._list_added()

    def _list_added(self) -> Sheet:
        session = self._session
        layers = (*session.layers, Layer(SESSION, session.policy))
        rows = tuple(
            (name, spelled(raw), layer.name if layer.trusted else f"{layer.name}; off: not trusted")
            for layer in layers
            for name, raw in layer.policy.programs.items()
        )
        if not rows:
            return sheet_of_lines("You have added no programs to the built-in table.", _HOW)
        head = ("program", "properties", "source")
        return Sheet("", rows, ("%tools program NAME describes a program.",), head, frozenset({0, 1}))

    def _describe(self, name: str) -> Sheet:
        table = _table(self._session)
        entries, known = find_entries(name.split(), table)
        if not entries or known != name:
            unknown = known if not entries else name
            names = [one for one in table.names() if one.count(" ") == unknown.count(" ")]
            why = (
                f"{unknown} is not in the table of programs, so a rule for it would allow everything it does."
            )
            return sheet_of_lines(f"{why}{did_you_mean(unknown, names)}", _HOW)
        rule = f"shell({name}:*)"
        return Sheet(name, tuple(_rows(entries[-1])), coverage(rule, table).sentences, code=frozenset())

    def _add(self, name: str, program: Mapping[str, Any], *, save: bool) -> Sheet:
        added = Policy(programs={name: program})
        replaces = _table(self._session).find(name) is not None and program.get("like") != name

        def add(session: Session) -> None:
            others = {one: raw for one, raw in session.policy.programs.items() if one != name}
            if save:
                session.store.add(session.store.user_path, added)
                session.policy = replace(session.policy, programs=others)
                session.layers = with_files(session)
            else:
                session.policy = replace(session.policy, programs={**others, name: program})

        inside(self._runtime, add)
        saved = f"for this and later sessions (in {self._session.store.user_path})"
        how_long = saved if save else "for this session; --save keeps it for later ones"
        instead = f"This replaces the built-in entry of {name}. like={_quoted(name)} extends it instead."
        covered = coverage(f"shell({name}:*)", self._session.programs).sentences
        return sheet_of_lines(
            f"Added {name} to the table of programs {how_long}.", *([instead] if replaces else []), *covered
        )

    def _remove(self, name: str) -> Sheet:
        session = self._session
        if name not in session.policy.programs:
            own = session.store.user()
            remedy = (
                f" It is defined in {own.path}; remove [programs.{_quoted(name)}] there."
                if name in own.policy.programs
                else ""
            )
            raise PolicyError(f"{name} was not added for this session.{remedy}")
        others = {one: raw for one, raw in session.policy.programs.items() if one != name}
        inside(self._runtime, lambda live: setattr(live, "policy", replace(live.policy, programs=others)))
        return sheet_of_lines(f"Removed {name}. The built-in table of programs applies again.")


def offered(session: Session, previous: list[str]) -> list[str]:
    """Returns completions for the next word: programs, their sub-commands, and the keys of an entry."""
    keys = entry_keys() if previous else ()
    remaining = [f"{key}=" for key in keys if not any(word.startswith(f"{key}=") for word in previous)]
    if any(map(is_pair, previous)):
        return remaining
    prefix = "".join(f"{word} " for word in previous)
    names = (name.removeprefix(prefix) for name in _table(session).names() if name.startswith(prefix))
    return [*dict.fromkeys(name.partition(" ")[0] for name in names), *remaining]


def spelled(program: Mapping[str, Any]) -> str:
    """Returns an entry as it is typed: ``flags="-v --verbose" harmless=true``."""
    return " ".join(f"{key}={_value(value)}" for key, value in program.items())


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"'{{ {', '.join(f'{option} = {pattern}' for option, pattern in value.items())} }}'"
    return _quoted(" ".join(str(value).split()))


def _quoted(text: str) -> str:
    return f'"{text}"' if re.search(r"[\s'\"]", text) or not text else text


def _table(session: Session) -> ProgramTable:
    from nbtools.shell.program_table import (  # noqa: PLC0415 - hundreds of programs: loaded when needed
        included_table,
    )

    return session.programs or included_table()


def _rows(entry: Entry) -> Iterator[tuple[str, str]]:
    for key, meaning in _OPTIONS.items():
        options = getattr(entry, key) - {"always"}
        for part in _PARTS.get(key, ()):
            options -= getattr(entry, part)
        if options:
            yield meaning, " ".join(sorted(options, key=lambda one: (one.startswith("--"), one.lower(), one)))
    for option, pattern in entry.only.items():
        yield f"the value of {option} must match", pattern.pattern
    if entry.operands:
        yield (
            "operands",
            "; then ".join(
                _ROLES[role] if isinstance(role, str) else f"a text that matches {role.pattern}"
                for role in entry.operands
            ),
        )
    if entry.default:
        yield "without operands", entry.default
    yield from (("", meaning) for key, meaning in _TRUE.items() if getattr(entry, key))
    if entry.special:
        yield "analysed by", f"code for {entry.special}, in addition to these lists"
    if entry.asks:
        yield "requires approval, because", entry.asks
    if entry.commands:
        yield "sub-commands", " ".join(sorted(entry.commands))
