"""Analyses a command line: every program that it starts, directly or through another program."""

from __future__ import annotations

import posixpath
import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from nbtools.core.shell_syntax import Redirect, SimpleCommand, parse_shell
from nbtools.shell.act import Act, Acts
from nbtools.shell.characters import hidden_character
from nbtools.shell.critical import critical_removal, critical_write
from nbtools.shell.places import Places
from nbtools.shell.programs import effects_of
from nbtools.shell.reader import read_strictly
from nbtools.shell.started import Effects, Script, Started, dashes_of
from nbtools.shell.table import Table, reviewed
from nbtools.shell.variables import exported_risk, variable_risk

_DEEPEST = 12
"""How many programs may start one another before it is a doubt."""
_MOST = 20_000
"""How many acts a line may have."""
_HERE = re.compile(r"(?:\./+)*\.?")
_LOOP = re.compile(r"\b(?:for|while|until)\b")
_MOVES = re.compile(r"\b(?:cd|pushd|popd)\b")
_SAME_SHELL = frozenset({"eval", "trap", "source", "."})
_CONNECTION = re.compile(r"/+dev/+(?:tcp|udp)/")


@lru_cache(maxsize=512)
def understand(command: str, table: Table | None = None) -> Acts:
    """Returns everything that a command line does.  Never raises: what is not understood is reported in the result."""
    walk = _Walk(table or reviewed(), command)
    walk.doubted(hidden_character(command))
    walk.line(command, _Around())
    acts = walk.acts
    if walk.links and _LOOP.search(command):  # what stands before a link comes behind it in the next round
        found = ([path for path in (*act.reads, *act.writes) if _behind(path, walk.links)] for act in acts)
        acts = [act._replace(unclear=tuple(dict.fromkeys((*act.unclear, *paths)))) for act, paths in zip(acts, found, strict=True)]
    return Acts(tuple(acts), walk.doubt, walk.unverified, walk.of_names)


@dataclass(frozen=True, slots=True)
class _Around:
    """The programs that start a part of the line, and whether its places are not the line's own."""

    via: tuple[str, ...] = ()
    elsewhere: str = ""

    def inside(self, name: str, folder: str) -> _Around:
        return _Around((*self.via, name), folder or self.elsewhere)


class _Head(NamedTuple):
    """What an act is called, before it is known what it does."""

    text: str
    words: tuple[str, ...]
    assignments: tuple[str, ...]
    dynamic: tuple[int, ...]
    via: tuple[str, ...]
    critical: str = ""
    launched: tuple[str, ...] = ()
    piped: bool = False


class _Walk:
    def __init__(self, table: Table, text: str) -> None:
        self.table = table
        self.text = text
        self.acts: list[Act] = []
        self.doubt = ""
        self.unverified = ""
        self.of_names = False
        self.places = Places(loops=bool(_LOOP.search(text)))
        self.links: list[str] = []
        """Where an earlier act of the line may have made links that lead elsewhere."""
        self.names = False
        """Whether what the last command prints is names of files, and nothing else."""

    def doubted(self, why: str) -> None:
        self.doubt = self.doubt or why

    def line(self, text: str, around: _Around) -> None:
        """The commands of a text that a shell reads: by the strict reader, or where that gives up, as far as the grammar sees them."""
        reading = read_strictly(text)
        commands, bomb = reading.commands, ""
        if reading.problem:
            self.unverified = self.unverified or reading.problem
            parsed = parse_shell(text)
            commands = parsed.commands
            bomb = next((f"{name} starts itself again and again" for name in parsed.functions if _starts_itself(name, text)), "")
        for name in reading.variables:
            if risk := variable_risk(name):
                self._add(_Head(f"{name}=…", (), (f"{name}=",), (), around.via), Effects(risk=risk, transparent=True), ())
        for command in commands:
            self._simple(command, around, bomb)

    def _simple(self, command: SimpleCommand, around: _Around, critical: str) -> None:
        self.places.before(command)
        head = _Head(command.text, command.argv, command.assignments, command.dynamic, around.via, critical, piped=command.operator == "|")
        if not command.argv:
            risk = next((risk for risk in map(variable_risk, command.assignments) if risk), "")
            self._add(head, Effects(risk=risk, transparent=True), command.redirects)
            return
        fed = command.operator in ("|", "|&") or any(redirect.operator[0] == "<" for redirect in command.redirects)
        if command.dynamic:
            dynamic = frozenset(command.dynamic)
            dashes = dashes_of(command.argv, dynamic)
            started = Started(command.argv, dynamic, frozenset(command.splits), dashes, command.assignments, fed)
        else:
            started = Started(command.argv, assignments=command.assignments, fed=fed)
        if self.names and command.operator == "|" and not command.redirects:
            started = started._replace(names=True)
        self._program(head, started, command.redirects, around)
        self.names = self.names and not command.nested  # what a group prints is not only what its last command prints
        self.doubted(self.places.after(command))

    def _program(self, head: _Head, started: Started, redirects: tuple[Redirect, ...], around: _Around) -> None:
        effects = effects_of(started, self.table)
        given = [redirect for redirect in redirects if redirect.operator[0] == "<"] if redirects else ()
        bodies = tuple(filter(None, map(_fed_text, given))) if effects.reads_commands and len(given) == 1 and not head.piped else ()
        if bodies:
            effects = effects._replace(starts=(*effects.starts, *bodies), risk="", transparent=True)
        if around.elsewhere:
            self.doubted(_needs_its_folder(started, effects) or "where its paths lead is not clear")
        self._add(head, effects, redirects)
        for start in effects.starts:
            self._start(start, around.inside(started.words[0], effects.folder), effects.launched)
        self.names = effects.lists and not around.via and not redirects
        self.of_names = self.of_names or effects.of_names

    def _start(self, start: Started | Script, around: _Around, launched: tuple[str, ...]) -> None:
        if len(around.via) > _DEEPEST or len(self.acts) > _MOST:
            self.doubted("too many programs start one another")
        elif isinstance(start, Script):
            self.doubted("" if start.known else f"what {around.via[-1]} runs is only known when it runs")
            if around.via[-1] == "trap" and _MOVES.search(self.text):
                self.doubted("it is not known in which folder a trap runs")
            places = self.places
            if around.via[-1] not in _SAME_SHELL:
                self.places = places.child()
            self.line(start.text if start.known else re.sub(r'(?<!\S)"|"(?!\S)', "", start.text), around)
            self.places = places
        elif start.words:
            head = _Head(shown(start), start.words, start.assignments, tuple(sorted(start.dynamic)), around.via, launched=launched)
            self._program(head, start, (), around)

    def _add(self, head: _Head, effects: Effects, redirects: tuple[Redirect, ...]) -> None:
        places, hazy = self.places, set(effects.unclear)
        folder = "" if _HERE.fullmatch(effects.folder) else effects.folder
        reads, writes = places.seen(effects.reads, folder), places.seen(effects.writes, folder)
        redirected: tuple[str, ...] = ()
        if redirects:  # the shell opens these, where the line is
            opened = [redirect for redirect in redirects if redirect.writes]
            given = [redirect for redirect in redirects if redirect.operator in ("<", "<>")]
            redirected = places.seen(tuple([_path_of(redirect) for redirect in opened]))
            reads, writes = (*reads, *places.seen(tuple([_path_of(redirect) for redirect in given]))), (*writes, *redirected)
            hazy.update([redirect.target for redirect in (*opened, *given) if redirect.dynamic])
        hazy.update([head.words[place] for place in head.dynamic])
        if effects.project and self.links:
            earlier = [link for link in self.links if link != "."]
            named = (*places.led(folder), *places.seen(head.words[1:], folder))
            brought = any(_behind(path, earlier) for path in named if path)
            effects = effects._replace(risk=effects.risk or ("it runs what the line itself has brought there" if brought else ""))
        risk = effects.risk
        if head.assignments and head.words:
            risk = risk or exported_risk(head.assignments, project=effects.project)
        if (reads or writes) and any(map(_CONNECTION.match, (*reads, *writes))):
            risk = risk or "it opens a connection"
        critical = head.critical or effects.critical
        if effects.removes or writes:
            critical = critical or self._critical(head, effects, writes)
        unclear = tuple([path for path in dict.fromkeys((*reads, *writes)) if _hazy(path, hazy)]) if hazy else ()
        if self.links and (reads or writes):
            unclear = tuple(dict.fromkeys((*unclear, *[path for path in (*reads, *writes) if _behind(path, self.links)])))
        links = places.seen(effects.links, folder)
        self.acts.append(
            Act(
                head.text,
                head.words,
                head.assignments,
                head.dynamic,
                head.via,
                effects.transparent and not risk,
                risk,
                effects.spelled if risk == effects.risk else 0,
                reads,
                writes,
                places.seen(effects.removes, folder),
                redirected,
                places.seen(effects.named, folder),
                effects.rewrites,
                links,
                unclear,
                places.led(folder),
                critical,
                effects.harmless and not (risk or writes or critical),
                head.launched,
                effects.plain,
                effects.entry,
                _needs_its_folder(head, effects) if head.words else "",
                effects.edits,
                effects.note or ("runs another command inside" if effects.starts else ""),
                effects.warn or (not effects.note and bool(effects.starts)),
            )
        )
        self.links.extend(links)

    def _critical(self, head: _Head, effects: Effects, writes: tuple[str, ...]) -> str:
        dynamic = {head.words[place] for place in head.dynamic}.union(effects.unclear) if effects.removes else set()
        for path in effects.removes:
            for seen in {path, *self.places.seen((path,))}:
                why = critical_removal(seen, dynamic=path in dynamic)
                if why:
                    return why
        return next((why for why in map(critical_write, writes) if why), "")


def _behind(path: str, links: list[str]) -> bool:
    """Whether the path may lead through a link that the line itself has made."""
    path = posixpath.normpath(path)
    return any(link in (".", path) or path.startswith(f"{link}/") for link in map(posixpath.normpath, links))


def _needs_its_folder(started: Started | _Head, effects: Effects) -> str:
    """Why the program is another one, or runs others, in another folder; empty for one that does not depend on that."""
    program = started.words[0]
    if "/" in program and not program.startswith("/"):
        return f"{program} is another program in another folder"
    return f"{program} trusts the configuration of the folder it is started in" if effects.repository else ""


def shown(started: Started) -> str:
    words = (word if place in started.dynamic else shlex.quote(word) for place, word in enumerate(started.words))
    return " ".join((*started.assignments, *words))


def _path_of(redirect: Redirect) -> str:
    """To the shell, ``-`` is a file like any other."""
    return "./-" if redirect.target == "-" else redirect.target


def _hazy(path: str, hazy: set[str]) -> bool:
    return any(path == word or path.endswith("/" + word) for word in hazy)


def _fed_text(redirect: Redirect) -> Script | None:
    """The text that a shell reads from a here-document or a here-string."""
    if redirect.operator in ("<<", "<<-"):
        return Script(redirect.body, not redirect.expands)
    return Script(redirect.target, not redirect.dynamic) if redirect.operator == "<<<" else None


def _starts_itself(name: str, text: str) -> bool:
    word = re.escape(name)
    return "&" in text and bool(re.search(rf"{word}\s*\|&?\s*{word}(?![\w-])", text))
