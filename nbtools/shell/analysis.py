"""Analyses a command line: every program that it starts, also through others, and hidden characters."""

from __future__ import annotations

import re
import shlex
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from nbtools.shell.command_model import (
    AnalysedCommand,
    CommandAnalysis,
    Effects,
    Script,
    StartedProgram,
    dashes_of,
)
from nbtools.shell.critical import critical_removal, critical_write
from nbtools.shell.grammar import Redirect, SimpleCommand, parse_shell
from nbtools.shell.options import word_set
from nbtools.shell.path_text import normal_path
from nbtools.shell.program_effects import derive_effects
from nbtools.shell.program_table import ProgramTable, included_table
from nbtools.shell.reader import ParsedLine, parse_strictly
from nbtools.shell.values import Values
from nbtools.shell.variables import (
    evaluated_value,
    exported_risk,
    literal_value,
    names_evaluated_variable,
    variable_risk,
)
from nbtools.shell.working_directory import WorkingDirectories

_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp", "Zs"}
_BLANK_LOOKING = (
    "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f"
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"
)
_SUSPECT = re.compile(rf"[^\x20-\x7e\n\t\w]|[{_BLANK_LOOKING}]")


def hidden_character(text: str) -> str:
    """Names the first control, zero-width, bidirectional, tag or unusual blank character; "" without."""
    if text.isascii() and text.isprintable():
        return ""
    for found in _SUSPECT.finditer(text):
        letter = found[0]
        if unicodedata.category(letter) in _HIDDEN or re.match(f"[{_BLANK_LOOKING}]", letter):
            name = unicodedata.name(letter, "a control character")
            return f"it contains an invisible character, U+{ord(letter):04X} ({name})"
    return ""


_DEEPEST = 12
"""The deepest chain of programs that start one another; a longer one is not analysed."""
_MOST = 20_000
"""The most commands of a line."""
_HERE = re.compile(r"(?:\./+)*\.?")
_LOOP = re.compile(r"\b(?:for|while|until)\b")
_MOVES = re.compile(r"\b(?:cd|pushd|popd)\b")
_SAME_SHELL = frozenset({"eval", "trap", "source", "."})
_READING = ("<", "<>")
_REOPENED = re.compile(r"[1-9]<(?!<)")
_STANDARD = re.compile(r"/+dev/+std(?:out|err)")
_CONNECTION = re.compile(r"/+dev/+(?:tcp|udp)/")


@lru_cache(maxsize=512)
def analyse(command: str, table: ProgramTable | None = None) -> CommandAnalysis:
    """Analyses a command line.  Never raises: what is not understood is reported in the result."""
    walk = _Walk(table or included_table(), command)
    walk.add_doubt(hidden_character(command))
    walk.line(command, _Context())
    acts = walk.acts
    if walk.links and _LOOP.search(command):
        # In a loop, commands before a link run after it in the next iteration.
        for place, act in enumerate(acts):
            linked = (path for path in (*act.reads, *act.writes) if _is_through_link(path, walk.links))
            acts[place] = act._replace(unclear=tuple(dict.fromkeys((*act.unclear, *linked))))
    return CommandAnalysis(tuple(acts), walk.doubt, walk.unverified, walk.of_names)


_SETTERS = word_set("declare export getopts let local mapfile printf read readarray readonly typeset wait")
"""Builtins that set the variables that their words name."""


@dataclass(frozen=True, slots=True)
class _Context:
    """The programs that start a part of the line, and the folder if it runs in another one than the line."""

    via: tuple[str, ...] = ()
    elsewhere: str = ""
    text: str = ""
    """The here-documents that the started programs inherit as their input."""

    def inside(self, name: str, folder: str, text: str) -> _Context:
        return _Context((*self.via, name), folder or self.elsewhere, text)


class _Head(NamedTuple):
    """The words of a command, before its effects are known."""

    text: str
    words: tuple[str, ...]
    assignments: tuple[str, ...]
    dynamic: tuple[int, ...]
    via: tuple[str, ...]
    critical: str = ""
    launched: tuple[str, ...] = ()
    piped: bool = False
    found: tuple[str, ...] = ()
    """Patterns of the file names that ``{}`` stands for."""


class _Walk:
    def __init__(self, table: ProgramTable, text: str) -> None:
        self.table = table
        self.text = text
        self.acts: list[AnalysedCommand] = []
        self.doubt = ""
        self.unverified = ""
        self.of_names = False
        self.reopens = _REOPENED.search(text) is not None
        """Whether writing to ``/dev/stdout`` may open a file again that the line has opened for reading."""
        self.places = WorkingDirectories(loops=bool(_LOOP.search(text)))
        self.links: list[str] = []
        """Paths at which an earlier command of the line may have created links."""
        self.names: tuple[str, ...] = ()
        """Patterns of the file names that the last command prints, if it prints nothing else."""
        self.values = Values(ParsedLine())
        self.at = 0
        """The position of the current command in the line that ``values`` is about."""

    def add_doubt(self, why: str) -> None:
        self.doubt = self.doubt or why

    def line(self, text: str, context: _Context) -> None:
        """Adds the commands of a shell text, from the strict reader or, if that fails, from the grammar."""
        reading = parse_strictly(text)
        commands, fork_bomb = reading.commands, ""
        if reading.problem:
            self.unverified = self.unverified or reading.problem
            self.add_doubt("it opens a file for reading and writing with <>" if "<>" in text else "")
            parsed = parse_shell(text)
            commands = commands or parsed.commands
            endless = next((name for name in parsed.functions if _starts_itself(name, text)), "")
            fork_bomb = f"{endless} starts itself endlessly" if endless else ""
        for name in reading.variables:
            if names_evaluated_variable(name):
                self.add_doubt(f"bash evaluates the value of {name}, which is only known when it runs")
            if risk := variable_risk(name):
                head = _Head(f"{name}=…", (), (f"{name}=",), (), context.via)
                self._add(head, Effects(risk=risk, transparent=True), ())
        outer = self.values, self.at
        self.values = Values(reading)
        for self.at, command in enumerate(commands):
            self._simple(command, context, fork_bomb)
        self.values, self.at = outer

    def _simple(self, command: SimpleCommand, context: _Context, critical: str) -> None:
        self.places.prepare(command)
        words = (command.text, command.argv, command.assignments, command.dynamic)
        head = _Head(*words, context.via, critical, piped=command.operator == "|")
        for assignment in command.assignments:
            if found := evaluated_value(assignment):
                self._evaluate(found[0], literal_value(found[1]), context)
        if not command.argv:
            risk = next((risk for risk in map(variable_risk, command.assignments) if risk), "")
            self._add(head, Effects(risk=risk, transparent=True), command.redirects)
            return
        redirected = any(redirect.operator[0] == "<" for redirect in command.redirects)
        fed = redirected or command.operator in ("|", "|&")
        started = StartedProgram(command.argv, assignments=command.assignments, has_input=fed)
        if command.dynamic:
            dynamic, splits = frozenset(command.dynamic), frozenset(command.splits)
            dashes = dashes_of(command.argv, dynamic)
            started = started._replace(dynamic=dynamic, splits=splits, dashes=dashes)
        if self.names and command.operator == "|" and not command.redirects:
            started = started._replace(input_names=self.names)
        self._program(head, started, command.redirects, context)
        self.names = () if command.nested else self.names  # a group prints more than its last command
        self.add_doubt(self.places.follow(command))

    def _evaluate(self, name: str, text: str | None, context: _Context) -> None:
        """Adds what bash runs when it evaluates the value of a variable such as ``PS4``; None: not known."""
        if text is None:
            self.add_doubt(f"bash evaluates the value of {name}, which is only known when it runs")
        elif "$(" in text or "`" in text or name == "PROMPT_COMMAND":
            self._start(Script(text), context.inside(name, "", ""), ())

    def _evaluated_words(self, head: _Head, effects: Effects, context: _Context) -> None:
        """Adds what bash runs when it evaluates the variables that the words set,
        as in ``export PS4=…`` and ``read PS4``.
        """
        for place, word in enumerate(head.words[1:] if not effects.harmless else (), 1):
            if found := evaluated_value(word):
                self._evaluate(found[0], None if place in head.dynamic else found[1], context)
            elif head.words[0] in _SETTERS and names_evaluated_variable(word):
                self._evaluate(word, None, context)

    def _program(
        self, head: _Head, started: StartedProgram, redirects: tuple[Redirect, ...], context: _Context
    ) -> None:
        effects = derive_effects(started, self.table)
        inputs = [redirect for redirect in redirects if redirect.operator[0] == "<"]
        reads_text = effects.reads_commands and len(inputs) == 1 and not head.piped
        if reads_text and (body := _input_text(inputs[0])):
            effects = effects._replace(starts=(*effects.starts, body), risk="", transparent=True)
        self._evaluated_words(head, effects, context)
        if context.elsewhere:
            unknown = "the folder that its paths are relative to is not known"
            self.add_doubt(_needs_its_folder(started, effects) or unknown)
        texts = [one.body or one.target for one in inputs if one.operator[:2] == "<<"]
        text = "\n".join(texts) or context.text
        self._add(head, effects, redirects, text if effects.language else "")
        for start in effects.starts:
            self._start(start, context.inside(started.words[0], effects.folder, text), effects.launched)
        self.names = () if context.via or redirects else self.places.resolve(effects.lists, effects.folder)
        self.of_names = self.of_names or effects.of_names

    def _start(self, start: StartedProgram | Script, context: _Context, launched: tuple[str, ...]) -> None:
        if len(context.via) > _DEEPEST or len(self.acts) > _MOST:
            self.add_doubt("too many programs start one another")
        elif isinstance(start, Script):
            self.add_doubt("" if start.known else f"what {context.via[-1]} runs is only known when it runs")
            if context.via[-1] == "trap" and _MOVES.search(self.text):
                self.add_doubt("the folder in which a trap runs is not known")
            places = self.places
            if context.via[-1] not in _SAME_SHELL:
                self.places = places.child()
            self.line(start.text if start.known else re.sub(r'(?<!\S)"|"(?!\S)', "", start.text), context)
            self.places = places
        elif start.words:
            words = (command_text(start), start.words, start.assignments, tuple(sorted(start.dynamic)))
            head = _Head(*words, context.via, launched=launched, found=start.found)
            self._program(head, start, (), context)

    def _add(self, head: _Head, effects: Effects, redirects: tuple[Redirect, ...], code: str = "") -> None:
        folder = "" if _HERE.fullmatch(effects.folder) else effects.folder
        if any(word[:1] == "~" or "=~" in word for word in head.words):
            effects = _with_quoted_tildes(effects, head)
        reads, writes, redirected = self._paths(effects, redirects, folder)
        if effects.project and self.links and not effects.risk and self._runs_created_files(head, folder):
            effects = effects._replace(risk="it runs files that the line itself creates")
        values = self._values(head, effects, redirects, folder)
        risk = _risk(head, effects, (*reads, *writes)) or self._connection_risk(redirects)
        critical = head.critical or effects.critical
        if effects.removes or writes:
            critical = critical or self._critical(head, effects, writes, dict(values))
        links = self.places.resolve(effects.links, folder)
        self.acts.append(
            AnalysedCommand(
                *head[:5],
                effects.transparent and not risk,
                risk,
                effects.spelled if risk == effects.risk else 0,
                reads,
                writes,
                self.places.resolve(effects.removes, folder),
                redirected,
                self.places.resolve(effects.named, folder),
                effects.rewrites,
                links,
                self._unclear((*reads, *writes), head, effects, redirects),
                values,
                self.places.resolve_folder(folder),
                critical,
                effects.harmless and not (risk or writes or critical),
                head.launched,
                effects.plain,
                effects.entry,
                _needs_its_folder(head, effects) if head.words else "",
                effects.edits,
                effects.note or ("runs another command inside" if effects.starts else ""),
                effects.warn or (not effects.note and bool(effects.starts)),
                effects.language,
                code,
            )
        )
        self.links.extend(links)

    def _paths(
        self, effects: Effects, redirects: tuple[Redirect, ...], folder: str
    ) -> tuple[tuple[str, ...], ...]:
        """Returns the paths that it reads, those that it writes, and those that redirects write."""
        reads = self.places.resolve(effects.reads, folder)
        writes = self.places.resolve(effects.writes, folder)
        if writes and self.reopens:
            writes = tuple([_STANDARD.sub("/dev/fd/1", path) for path in writes])
        if not redirects:
            return reads, writes, ()
        # The shell opens these in the line's folder.
        written = [_path_of(redirect) for redirect in redirects if redirect.writes]
        if self.reopens:
            written += ["/dev/fd/1" for redirect in redirects if _STANDARD.fullmatch(redirect.target)]
        redirected = self.places.resolve(tuple(written))
        inputs = [_path_of(redirect) for redirect in redirects if redirect.operator in _READING]
        reads = (*reads, *self.places.resolve(tuple(inputs)))
        return reads, (*writes, *redirected), redirected

    def _unclear(
        self, paths: tuple[str, ...], head: _Head, effects: Effects, redirects: tuple[Redirect, ...]
    ) -> tuple[str, ...]:
        """Returns the paths known only at run time, or that may lead through a link that the line creates."""
        if not paths:
            return ()
        words = {*effects.unclear, *[head.words[place] for place in head.dynamic]}
        words.update([one.target for one in redirects if _opens_unknown(one)])
        unclear = [path for path in paths if _is_dynamic(path, words)] if words else []
        linked = [path for path in paths if _is_through_link(path, self.links)] if self.links else []
        return tuple(dict.fromkeys((*unclear, *linked)))

    def _values(
        self, head: _Head, effects: Effects, redirects: tuple[Redirect, ...], folder: str
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Returns the possible values of paths known only at run time, as far as the line says them."""
        words = {*effects.unclear, *[head.words[place] for place in head.dynamic]}
        all_paths = (*effects.reads, *effects.writes, *effects.removes) if words else ()
        paths = [(path, folder) for path in all_paths if _is_dynamic(path, words)]
        paths += [(one.target, "") for one in redirects if _opens_unknown(one)]
        found = {}
        for path, inside in paths:
            resolved = self.places.resolve((path,), inside)
            if self.links and any(_is_through_link(one, self.links) for one in resolved):
                continue
            if (values := self._possible(path, head)) is not None:
                found.update(dict.fromkeys(resolved, self.places.resolve(values, inside)))
        return tuple(found.items())

    def _possible(self, path: str, head: _Head) -> tuple[str, ...] | None:
        if "{}" not in path:
            return self.values.of_word(path, self.at)
        if not head.found or re.search(r"[$`]", path):
            return None
        return tuple(path.replace("{}", name) for name in head.found)

    def _connection_risk(self, redirects: tuple[Redirect, ...]) -> str:
        """Returns that a redirect may open a network connection;
        empty where its literal beginning or its possible values exclude that.
        """
        for redirect in redirects:
            if _opens_unknown(redirect) and _may_begin_like_a_device(redirect.target):
                values = self.values.of_word(redirect.target, self.at)
                if values is None or any(map(_may_begin_like_a_device, values)):
                    return f"{redirect.target} is only known when it runs, and may be a network connection"
        return ""

    def _runs_created_files(self, head: _Head, folder: str) -> bool:
        """Whether the command's files may lie behind a link that an earlier command creates."""
        earlier = [link for link in self.links if link != "."]
        named = (*self.places.resolve_folder(folder), *self.places.resolve(head.words[1:], folder))
        return any(_is_through_link(path, earlier) for path in named if path)

    def _critical(
        self, head: _Head, effects: Effects, writes: tuple[str, ...], values: dict[str, tuple[str, ...]]
    ) -> str:
        dynamic = {*effects.unclear, *[head.words[place] for place in head.dynamic]}
        for path in effects.removes:
            for resolved in dict.fromkeys((path, *self.places.resolve((path,)))):
                if why := critical_removal(resolved, dynamic=path in dynamic):
                    return why
                for value in values.get(resolved, ()):
                    if why := critical_removal(value, dynamic=True):
                        return f"{path} may be {value}: {why}"
        return next((why for why in map(critical_write, writes) if why), "")


def _risk(head: _Head, effects: Effects, paths: tuple[str, ...]) -> str:
    """Returns why only a rule with exactly this command may allow it; empty if an open-ended rule may."""
    risk = effects.risk
    if not risk and head.assignments and head.words:
        risk = exported_risk(head.assignments, project=effects.project)
    return risk or ("it opens a network connection" if paths and any(map(_CONNECTION.match, paths)) else "")


def _is_through_link(path: str, links: list[str]) -> bool:
    """Whether the path may lead through a link that the line itself creates."""
    path = normal_path(path)
    return any(link in (".", path) or path.startswith(f"{link}/") for link in map(normal_path, links))


def _needs_its_folder(started: StartedProgram | _Head, effects: Effects) -> str:
    """Returns why the program may be another one, or run others, in another folder;
    empty if it does not depend on the folder.
    """
    program = started.words[0]
    if "/" in program and not program.startswith("/"):
        return f"{program} may be another program in another folder"
    return f"{program} trusts the configuration of the folder it is started in" if effects.repository else ""


def command_text(started: StartedProgram) -> str:
    """Returns the command as text for people."""
    words = enumerate(started.words)
    spelled = (word if place in started.dynamic else shlex.quote(word) for place, word in words)
    return " ".join((*started.assignments, *spelled))


def _opens_unknown(redirect: Redirect) -> bool:
    """Whether it opens a file whose name is only known at run time."""
    return redirect.dynamic and (redirect.writes or redirect.operator in _READING)


def _path_of(redirect: Redirect) -> str:
    """Returns the path of a redirect.  To the shell, ``-`` and a quoted ``~`` are ordinary file names."""
    literal = redirect.target == "-" or (redirect.target.startswith("~") and not redirect.dynamic)
    return f"./{redirect.target}" if literal else redirect.target


def _with_quoted_tildes(effects: Effects, head: _Head) -> Effects:
    """Returns the effects with ``./~`` for a tilde that was quoted:
    the shell expands only one that is not, and the word is dynamic.
    """
    literal = [word for place, word in enumerate(head.words) if place not in head.dynamic]

    def spelled(path: str) -> str:
        quoted = path[:1] == "~" and any(word.endswith(path) for word in literal)
        return f"./{path}" if quoted else path

    kinds = ("reads", "writes", "named", "removes", "links")
    changed: dict[str, Any] = {kind: tuple(map(spelled, getattr(effects, kind))) for kind in kinds}
    return effects._replace(**changed)


def _is_dynamic(path: str, dynamic_words: set[str]) -> bool:
    return any(path == word or path.endswith("/" + word) for word in dynamic_words)


def _may_begin_like_a_device(target: str) -> bool:
    """Whether the target of a redirect may be a connection of bash (``/dev/tcp/host/port``),
    judging by its literal beginning.
    """
    begin = re.sub(r"""["'\\]""", "", re.split(r"[$`*?\[]", target.lstrip("\"'"), maxsplit=1)[0])
    if begin == target:
        return _CONNECTION.match(begin) is not None
    return "/dev/tcp/".startswith(begin[:9]) or "/dev/udp/".startswith(begin[:9])


def _input_text(redirect: Redirect) -> Script | None:
    """Returns the text that a shell reads from a here-document or here-string, None for other redirects."""
    if redirect.operator in ("<<", "<<-"):
        return Script(redirect.body, not redirect.expands)
    return Script(redirect.target, not redirect.dynamic) if redirect.operator == "<<<" else None


def _starts_itself(name: str, text: str) -> bool:
    word = re.escape(name)
    return "&" in text and bool(re.search(rf"{word}\s*\|&?\s*{word}(?![\w-])", text))
