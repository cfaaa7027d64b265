"""The walk over a command line: every program in it, and those that these start, each as one act."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import NamedTuple

from nbtools.core.shell_acts import assignments as variables
from nbtools.core.shell_acts.act import Act, Acts
from nbtools.core.shell_acts.characters import hidden_character
from nbtools.core.shell_acts.critical import critical_removal, critical_write
from nbtools.core.shell_acts.places import Places
from nbtools.core.shell_acts.plain import plain_command
from nbtools.core.shell_acts.programs import effects_of
from nbtools.core.shell_acts.reckoning import reckons_with_unknown
from nbtools.core.shell_acts.started import Effects, Script, Started, dashes_of
from nbtools.core.shell_syntax import Redirect, SimpleCommand, parse_shell

_DEEPEST = 12
"""How many programs may start one another before it is a doubt."""
_CONNECTION = re.compile(r"/+dev/+(?:tcp|udp)/")
_MOST = 20_000
"""How many acts a line may have."""


def acts_of(command: str) -> Acts:
    """Every act of the line, in the order written; each stands before those that it starts."""
    walk = _Walk()
    walk.doubted(hidden_character(command))
    walk.line(command, _Around())
    return Acts(tuple(walk.acts), walk.doubt)


@dataclass(frozen=True, slots=True)
class _Around:
    """What a part of the line stands in: the programs that start it, and whether its places are not the line's own."""

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


class _Walk:
    def __init__(self) -> None:
        self.acts: list[Act] = []
        self.doubt = ""
        self.places = Places()
        self.functions: set[str] = set()

    def doubted(self, why: str) -> None:
        self.doubt = self.doubt or why

    def line(self, text: str, around: _Around) -> None:
        """The commands of a text that a shell reads."""
        plain = plain_command(text)
        if plain is not None:
            self._simple(plain, around)
            return
        parsed = parse_shell(text)
        self.doubted(parsed.parse_error or _strange_expansion(text) or reckons_with_unknown(text, parsed.commands))
        self.functions.update(parsed.functions)
        bomb = next((f"{name} starts itself again and again" for name in parsed.functions if _starts_itself(name, text)), "")
        for position, command in enumerate(parsed.commands):
            fed = position > 0 and command.operator in ("|", "|&")
            self._simple(command, around, fed=fed, critical=bomb)

    def _simple(self, command: SimpleCommand, around: _Around, *, fed: bool = False, critical: str = "") -> None:
        self.places.before(command)
        fed = fed or any(redirect.operator.startswith("<") for redirect in command.redirects)
        dynamic = frozenset(command.dynamic)
        dashes = dashes_of(command.argv, dynamic)
        started = Started(command.argv, dynamic, frozenset(command.splits), dashes, command.assignments, fed)
        head = _Head(command.text, command.argv, command.assignments, command.dynamic, around.via, critical)
        if not command.argv:
            risk = next((risk for risk in map(_variable_risk, command.assignments) if risk), "")
            self._add(head, Effects(risk=risk, transparent=True), command.redirects)
            return
        self._program(head, started, command.redirects, around)
        self.doubted(self.places.after(command))

    def _program(self, head: _Head, started: Started, redirects: tuple[Redirect, ...], around: _Around) -> None:
        effects = effects_of(started)
        bodies = tuple(filter(None, (_fed_text(effects, redirect) for redirect in redirects)))
        if bodies:
            effects = replace(effects, starts=(*effects.starts, *bodies), risk="", transparent=True)
        if started.name in self.functions:
            effects = replace(effects, risk=f"{started.name} is a function of this very line", transparent=False, harmless=False)
        if around.elsewhere or self.places.moved:
            self.doubted(self._moved_program(started, around))
        self._add(head, effects, redirects)
        self._backquoted(redirects, around)
        for start in effects.starts:
            self._start(start, around.inside(started.words[0], effects.folder), effects.launched)

    def _backquoted(self, redirects: tuple[Redirect, ...], around: _Around) -> None:
        """The grammar does not see backquotes in a here-document; bash does."""
        for redirect in redirects:
            if redirect.expands and "`" in redirect.body and len(around.via) <= _DEEPEST:
                self.doubted("a here-document holds backquotes")
                for found in re.finditer(r"`([^`]+)`?", redirect.body):
                    self.line(found[1], _Around((*around.via, "`"), around.elsewhere))

    def _start(self, start: Started | Script, around: _Around, launched: tuple[str, ...]) -> None:
        if len(around.via) > _DEEPEST or len(self.acts) > _MOST:
            self.doubted("too many programs start one another")
        elif isinstance(start, Script):
            self.doubted("" if start.known else f"what {around.via[-1]} runs is only known when it runs")
            self.line(start.text if start.known else re.sub(r'(?<!\S)"|"(?!\S)', "", start.text), around)
        elif start.words:
            head = _Head(shown(start), start.words, start.assignments, tuple(sorted(start.dynamic)), around.via, launched=launched)
            self._program(head, start, (), around)

    def _moved_program(self, started: Started, around: _Around) -> str:
        if "/" in started.words[0] and not started.words[0].startswith("/"):
            return f"{started.words[0]} is another program in another folder"
        if started.name == "git":
            return "git trusts the configuration of the folder it is started in"
        return "where its paths lead is not clear" if around.elsewhere and not started.name.startswith("env") else ""

    def _add(self, head: _Head, effects: Effects, redirects: tuple[Redirect, ...]) -> None:
        opened = [redirect for redirect in redirects if redirect.writes] if redirects else []
        given = [redirect for redirect in redirects if redirect.operator in ("<", "<>")] if redirects else []
        redirected = tuple([redirect.target for redirect in opened])
        hazy = {redirect.target for redirect in (*opened, *given) if redirect.dynamic}
        hazy.update([head.words[place] for place in head.dynamic], effects.unclear)
        reads = self.places.seen((*effects.reads, *[redirect.target for redirect in given]))
        writes = self.places.seen((*effects.writes, *redirected))
        risk = effects.risk or _program_risk(head) or variables.exported_risk(head.assignments if head.words else ())
        risk = risk or ("it opens a connection" if any(map(_CONNECTION.match, (*reads, *writes))) else "")
        critical = head.critical or effects.critical or self._critical(head, effects, writes)
        self.acts.append(
            Act(
                head.text,
                head.words,
                head.assignments,
                head.dynamic,
                head.via,
                transparent=effects.transparent and not risk,
                risk=risk,
                spelled=effects.spelled if risk == effects.risk else 0,
                reads=reads,
                writes=writes,
                redirected=self.places.seen(redirected),
                unclear=tuple(path for path in dict.fromkeys((*reads, *writes)) if _hazy(path, hazy)) if hazy else (),
                folders=self.places.folders,
                critical=critical,
                harmless=effects.harmless and not (risk or writes or critical),
                launched=head.launched,
            )
        )

    def _critical(self, head: _Head, effects: Effects, writes: tuple[str, ...]) -> str:
        dynamic = {head.words[place] for place in head.dynamic}.union(effects.unclear) if effects.removes else set()
        for path in effects.removes:
            for seen in {path, *self.places.seen((path,))}:
                why = critical_removal(seen, dynamic=path in dynamic)
                if why:
                    return why
        return next((why for why in map(critical_write, writes) if why), "") if writes else ""


def shown(started: Started) -> str:
    words = (word if place in started.dynamic else shlex.quote(word) for place, word in enumerate(started.words))
    return " ".join((*started.assignments, *words))


def _hazy(path: str, hazy: set[str]) -> bool:
    return any(path == word or path.endswith("/" + word) for word in hazy)


def _program_risk(head: _Head) -> str:
    return "which program it is shows only when it runs" if 0 in head.dynamic else ""


def _variable_risk(assignment: str) -> str:
    value = assignment.partition("=")[2]
    return variables.variable_risk(assignment) or ("its value holds a command" if "'" in value and variables.holds_command(value) else "")


def _fed_text(effects: Effects, redirect: Redirect) -> Script | None:
    """The text that a shell reads from a here-document or a here-string."""
    if effects.risk != "it runs what it is given to read":
        return None
    if redirect.operator in ("<<", "<<-"):
        return Script(redirect.body, not redirect.expands)
    return Script(redirect.target, not redirect.dynamic) if redirect.operator == "<<<" else None


def _strange_expansion(text: str) -> str:
    """Expansions that run what a variable holds."""
    found = re.search(r"\$\{!|@[PEAKak]\}", text)
    if found:
        return f"{found[0]} may run what a variable holds"
    return next((risk for name in re.findall(r"\$\{(\w+):?=", text) if (risk := variables.variable_risk(name))), "")


def _starts_itself(name: str, text: str) -> bool:
    word = re.escape(name)
    return "&" in text and bool(re.search(rf"{word}\s*\|&?\s*{word}(?![\w-])", text))
