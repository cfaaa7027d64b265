"""``%tools program``: what the table of programs knows, and programs that a person adds to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import did_you_mean
from nbtools.notebook.layer_commands import with_files
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.sub_commands import SubCommand, inside, refused, said, without_flags
from nbtools.policy.coverage import coverage, entries_of
from nbtools.policy.layers import SESSION, Layer, Policy
from nbtools.policy.own_programs import is_pair, keys, program_of

if TYPE_CHECKING:
    from nbtools.notebook.workbench import Workbench
    from nbtools.session import Session
    from nbtools.shell import Table
    from nbtools.shell.table import Entry

_OPTIONS = {
    "flags": "options without a value",
    "values": "options with a value",
    "optional": "options whose value is attached",
    "reads": "options that name what it reads",
    "writes": "options that name a file it writes: asked",
    "removes": "options that name what it removes",
    "folder": "options that name the folder it works in",
    "shell_options": "options with a command line for a shell",
    "rewrites": "options that change the operands in place: asked",
    "shows": "options with which nothing is written",
    "takes": "options that remove what it reads",
}
_IN_VALUES = ("reads", "writes", "folder", "removes", "shell_options")
_IN_FLAGS = ("rewrites", "shows", "takes")
_ROLES = {
    "text": "a text, no file",
    "read": "a file or folder that it reads",
    "write": "a file or folder that it writes",
    "remove": "a file or folder that it removes",
    "copy": "what it copies, and last where to",
    "move": "what it moves, and last where to",
    "output": "a file that it writes: asked",
    "script": "a file that it runs; what follows is for that file",
    "program": "a program that it starts with all that follows",
    "package": "a package that it fetches and runs: a rule must name it",
    "assignments": "NAME=VALUE, any number of them",
    "line": "a command line for a shell",
    "none": "nothing: an operand is asked",
}
_TRUE = {
    "harmless": "it changes nothing and sends nothing",
    "edits": "mode auto_edit lets it change files inside the workspace",
    "project": "it runs the project's own code or configuration",
    "repository": "it takes configuration from the repository that it is started in",
    "free": "none of its options can do harm, so words that are only known when it runs may be options",
}
_HOW = '%tools program NAME flags="-v --verbose" operands=read harmless=true adds one for this session, with --save for later ones.'


class ProgramCommands:
    """The sub-command.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.commands = {
            "program": SubCommand(
                "[--save|--remove] [NAME [KEY=VALUE …]]", "what is known of a program; add one to the table of programs", self._program
            ),
        }

    @property
    def _session(self) -> Session:
        return self._bench.session

    def _program(self, rest: list[str]) -> Sheet:
        words, flags = without_flags(rest, "program", "--save", "--remove")
        name = " ".join(word for word in words if not is_pair(word))
        pairs = [word for word in words if is_pair(word)]
        save, remove = "--save" in flags, "--remove" in flags
        if (save and remove) or (save and not pairs) or (remove and pairs) or (flags and not name) or (pairs and not name):
            example = 'mytool flags="-v --verbose" operands=read'
            raise refused(f"%tools program takes a name and what the program does, as in %tools program --save {example}.")
        if remove:
            return self._remove(name)
        if pairs:
            return self._add(name, program_of(pairs), save=save)
        return self._known(name) if name else self._own()

    def _own(self) -> Sheet:
        session = self._session
        layers = (*session.layers, Layer(SESSION, session.policy))
        rows = tuple((name, spelled(raw), _stands(layer)) for layer in layers for name, raw in layer.policy.programs.items())
        if not rows:
            return said("The table of programs is the one that nbtools brings: you have added none.", _HOW)
        head = ("program", "what it does", "stands in")
        return Sheet("", rows, ("%tools program NAME shows what is known of one.",), head, frozenset({0, 1}))

    def _known(self, name: str) -> Sheet:
        table = _table(self._session)
        entries, known = entries_of(name.split(), table)
        if not entries or known != name:
            unknown = known if not entries else name
            names = [one for one in table.names() if one.count(" ") == unknown.count(" ")]
            why = f"{unknown} is not in the table of programs: a rule for it would allow whatever it does."
            return said(f"{why}{did_you_mean(unknown, names)}", _HOW)
        rule = f"shell({name}:*)"
        return Sheet(name, tuple(_rows(entries[-1])), coverage(rule, table).sentences, code=frozenset())

    def _add(self, name: str, program: Mapping[str, Any], *, save: bool) -> Sheet:
        added = Policy(programs={name: program})
        replaces = _table(self._session).find(name) is not None and program.get("like") != name

        def there(session: Session) -> None:
            others = {one: raw for one, raw in session.policy.programs.items() if one != name}
            if save:
                session.store.add(session.store.user_path, added)
                session.policy = replace(session.policy, programs=others)
                session.layers = with_files(session)
            else:
                session.policy = replace(session.policy, programs={**others, name: program})

        inside(self._bench, there)
        kept = f"from now on: it stands in {self._session.store.user_path}"
        how_long = kept if save else "for this session; with --save for later ones, too"
        instead = f"This replaces what nbtools knows of {name}. like={_quoted(name)} adds to it instead."
        covered = coverage(f"shell({name}:*)", self._session.programs).sentences
        return said(f"{name} is in the table of programs {how_long}.", *([instead] if replaces else []), *covered)

    def _remove(self, name: str) -> Sheet:
        session = self._session
        if name not in session.policy.programs:
            own = session.store.user()
            there = f" It stands in {own.path}: take [programs.{_quoted(name)}] out of it." if name in own.policy.programs else ""
            raise PolicyError(f"{name} is no program that was added for this session.{there}")
        others = {one: raw for one, raw in session.policy.programs.items() if one != name}
        inside(self._bench, lambda there: setattr(there, "policy", replace(there.policy, programs=others)))
        return said(f"{name} is what it was in the table of programs before.")


def offered(session: Session, given: list[str]) -> list[str]:
    """The words that may follow: names of programs, sub-commands of one, and what there is to say of it."""
    words = [word for word in given if not word.startswith("--")]
    said_of = [f"{key}=" for key in keys() if not any(word.startswith(f"{key}=") for word in words)] if words else []
    if any(map(is_pair, words)):
        return said_of
    beginning = "".join(f"{word} " for word in words)
    names = (name.removeprefix(beginning) for name in _table(session).names() if name.startswith(beginning))
    return [*dict.fromkeys(name.partition(" ")[0] for name in names), *said_of]


def spelled(program: Mapping[str, Any]) -> str:
    """An entry as it is typed: ``flags="-v --verbose" harmless=true``."""
    return " ".join(f"{key}={_value(value)}" for key, value in program.items())


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"'{{ {', '.join(f'{option} = {pattern}' for option, pattern in value.items())} }}'"
    return _quoted(" ".join(str(value).split()))


def _quoted(text: str) -> str:
    return f'"{text}"' if re.search(r"[\s'\"]", text) or not text else text


def _table(session: Session) -> Table:
    from nbtools.shell.table import reviewed  # noqa: PLC0415 - knows hundreds of programs: only commands pay for it

    return session.programs or reviewed()


def _stands(layer: Layer) -> str:
    return layer.name if layer.trusted else f"{layer.name}; does not count: not trusted"


def _rows(entry: Entry) -> Iterator[tuple[str, str]]:
    for key, says in _OPTIONS.items():
        options = getattr(entry, key) - {"always"}
        for part in _IN_VALUES if key == "values" else _IN_FLAGS if key == "flags" else ():
            options -= getattr(entry, part)
        if options:
            yield says, " ".join(sorted(options, key=lambda one: (one.startswith("--"), one.lower(), one)))
    for option, pattern in entry.only.items():
        yield f"the value of {option} must fit", pattern.pattern
    if entry.operands:
        yield "operands", "; then ".join(map(_role, entry.operands))
    if entry.default:
        yield "without operands", entry.default
    yield from (("", says) for key, says in _TRUE.items() if getattr(entry, key))
    if entry.special:
        yield "judged by", f"code for {entry.special}, beside these lists"
    if entry.asks:
        yield "asked, as", entry.asks
    if entry.commands:
        yield "sub-commands", " ".join(sorted(entry.commands))


def _role(role: str | re.Pattern[str]) -> str:
    return _ROLES[role] if isinstance(role, str) else f"a text that fits {role.pattern}"
