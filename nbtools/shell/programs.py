"""Derives the effects of a program from its words and its entry in the table of programs."""

from __future__ import annotations

import posixpath
import re

from nbtools.shell.options import Given, Option, read_options
from nbtools.shell.special import SPECIAL
from nbtools.shell.started import NOTHING, RUNS_INPUT, Effects, Script, Started, is_input
from nbtools.shell.table import Entry, Table

_FETCHES = "it fetches a program and runs it"
_INFORMS = frozenset({"--version", "--help", "-V", "-v", "-h"})
_AWAY = re.compile(r"[/~]|(?:.*/)?\.\.(?:/|\Z)", re.DOTALL)
_ASSIGNMENT = re.compile(r"[^=]+=", re.DOTALL)
"""What ``env`` takes for one: any word with an equals sign."""
_STARTING = frozenset({"program", "assignments", "line", "package", "script"})
_MODULES = frozenset(
    """pytest ruff mypy black isort autopep8 docformatter autoflake yapf codespell flake8 pylint coverage pip pre_commit tox nox build
    venv json.tool http.server zipfile tarfile compileall py_compile unittest doctest site sysconfig calendar this""".split()  # noqa: SIM905
)
"""Modules of Python that the table knows as programs."""
_LOADERS = re.compile(r"ld-linux|ld\.so|ld-musl")


def effects_of(started: Started, table: Table) -> Effects:
    """What the program does with its words; of a program that stands in no table, nothing is known."""
    if 0 in started.dynamic:
        unknown = "which program it is shows only when it runs"
        return Effects(risk=unknown, note=unknown, warn=True)
    entry = table.find(started.words[0])
    if entry is None:
        loader = _LOADERS.match(started.name)
        return Effects(risk="it is the loader and starts any program") if loader else NOTHING
    return _of_command(entry, started, table) if entry.commands else _of_entry(entry, started, 1, table)


def _of_command(entry: Entry, started: Started, table: Table) -> Effects:
    """The sub-command behind the global options, and what those options do."""
    given = read_options(started, entry, stop=True)
    risk = _odd(entry, started, given, 1)
    if not given.operands:
        return _of_entry(entry, started, 1, table)
    place = given.operands[0]
    word = started.words[place]
    command = entry.commands.get(word)
    if not started.fixed(place):
        return Effects(risk="which of its commands it is shows only when it runs", entry=entry.name)
    if command is None:
        if entry.operands and not risk:
            return _of_entry(entry, started, 1, table)
        unlisted = f"{entry.name} {word} is not in the table of programs"
        return Effects(
            risk=risk or entry.asks or unlisted, spelled=0 if risk else place + 1, entry=entry.name, plain=_plain(started, place)
        )
    first = place + 1
    while command.commands and first < len(started.words) and started.fixed(first):
        word = started.words[first]
        if (deeper := command.commands.get(word)) is None:
            if not command.operands and word[:1] != "-":
                unlisted = f"{command.name} {word} is not in the table of programs"
                spelled = 0 if risk else first + 1
                return Effects(risk=risk or unlisted, spelled=spelled, entry=command.name, plain=_plain(started, place))
            break
        command, first = deeper, first + 1
    effects = _of_entry(command, started, first, table)
    folder = ""
    for option in given.values(entry.folder) if given.options else ():
        folder = posixpath.join(folder, option.value or "")
        risk = risk or ("" if started.fixed(option.position) else "the folder it works in is only known when it runs")
    launched = started.words if not _STARTING.isdisjoint(command.operands) else ()
    effects = effects._replace(launched=launched, plain=_plain(started, place), repository=entry.repository)
    if folder or risk or entry.project:
        effects = effects._replace(
            risk=risk or effects.risk,
            spelled=0 if risk else effects.spelled,
            transparent=effects.transparent and not risk,
            harmless=effects.harmless and not risk,
            folder=posixpath.join(folder, effects.folder),
            project=entry.project or effects.project,
        )
    return effects


def _of_module(found: Effects, table: Table) -> Effects:
    """``python -m module``: a module that is a program, too, does what that does; one that nobody knows has to be named by a rule."""
    module = found.starts[0]
    if isinstance(module, Script) or module.words[0] not in _MODULES or module.words[0] not in table:
        named = "" if isinstance(module, Script) else module.words[0]
        return Effects(risk=f"the module {named} is not in the table of programs", spelled=found.spelled, entry="python", project=True)
    effects = effects_of(module, table)
    return effects._replace(transparent=False, plain=(), launched=(), spelled=0, project=True)


def _plain(started: Started, place: int) -> tuple[str, ...]:
    return (started.words[0], *started.words[place:]) if place > 1 else ()


def _odd(entry: Entry, started: Started, given: Given, first: int) -> str:
    """Why the options are not known to be harmless."""
    if given.strange:
        return f"{given.strange} is not a known harmless option of {entry.name}"
    if given.unclear:
        where = "an option" if first == 1 else f"an option of {entry.name}"
        return f"{given.unclear} is only known when it runs, and may be {where}"
    if elsewhere := _from_elsewhere(entry, started, given, first):
        return elsewhere
    for option in given.options if entry.only else ():
        pattern = entry.only.get(option.name)
        if pattern and not _fits(pattern, option.value or "", fixed=started.fixed(option.position)):
            return f"{option.name} with {option.value} is not known to be harmless"
    return ""


def _from_elsewhere(entry: Entry, started: Started, given: Given, first: int) -> str:
    """Why the words bring options, commands or code from somewhere else."""
    if entry.responses and (file := next((word for word in started.words[first:] if word[:1] == "@"), "")):
        return f"its options stand in {file[1:]}"
    if entry.editor and started.fed and not given.has(entry.editor):
        return "what it is given to read may be commands for an editor"
    if entry.project and (away := next((word for place in given.operands if _AWAY.match(word := started.words[place])), "")):
        return f"what {away} holds is not the project's"
    return ""


def _fits(pattern: re.Pattern[str], word: str, *, fixed: bool) -> bool:
    r"""Whether a word is as the table wants it; one that is only known when it runs, where the table speaks of such (``"\$\w+"``)."""
    return (fixed or r"\$" in pattern.pattern) and pattern.fullmatch(word) is not None


def _of_entry(entry: Entry, started: Started, first: int, table: Table) -> Effects:
    if entry.special:
        found = SPECIAL[entry.special](started, entry, first)
        if entry.special == "python" and found.starts:
            return _of_module(found, table)
        return found._replace(entry=entry.name, note=found.note or entry.note, warn=found.warn or entry.warn, risk=entry.asks or found.risk)
    given = read_options(started, entry, first, stop=not _STARTING.isdisjoint(entry.operands))
    return _EffectsBuilder(entry, started, first, given).effects()


class _EffectsBuilder:
    """Collects the effects of one program from its options and operands."""

    __slots__ = (
        "entry",
        "first",
        "folder",
        "given",
        "named",
        "reads",
        "removes",
        "rewriting",
        "risk",
        "spelled",
        "started",
        "starts",
        "unclear",
        "writes",
    )

    def __init__(self, entry: Entry, started: Started, first: int, given: Given) -> None:
        self.entry, self.started, self.first, self.given = entry, started, first, given
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.named: list[str] = []
        self.removes: list[str] = []
        self.starts: list[Started | Script] = []
        self.unclear: list[str] = []
        self.rewriting: tuple[str, ...] = ()
        self.folder = ""
        self.spelled = 0
        self.risk = entry.asks or _odd(entry, started, given, first)

    def effects(self) -> Effects:
        entry, given = self.entry, self.given
        self._by_role()
        if given.options:
            self._by_options()
        if entry.unpacks:
            self.named += self.writes
        writes = tuple(dict.fromkeys((*self.writes, *self.named)) if self.named else self.writes)
        return Effects(
            starts=tuple(self.starts),
            reads=tuple(self.reads),
            writes=writes,
            named=tuple(self.named),
            rewrites=self.rewriting,
            removes=tuple(self.removes),
            links=(tuple(self.writes) or (".",)) if entry.links and given.has(entry.links) else (),
            lists=bool(entry.lists) and self._lists(),
            risk=self.risk,
            spelled=self.spelled,
            transparent=(bool(self.starts) or entry.idle) and not self.risk,
            harmless=entry.harmless and not (self.risk or writes or self.starts),
            folder=self.folder,
            unclear=tuple(self.unclear),
            launched=self.started.words if "package" in entry.operands else (),
            entry=entry.name,
            repository=entry.repository,
            project=entry.project,
            edits=entry.edits,
            note="changes files in place" if self.rewriting else entry.note,
            warn=entry.warn or given.has(entry.alarms),
        )

    def _lists(self) -> bool:
        """Whether it prints the names of files; an option that nobody knows may make it print anything."""
        listing = self.given.has(self.entry.lists) and not self.given.has(self.entry.prints)
        return listing and not self.risk and not any(map(self.started.may_be_option, self.started.dynamic))

    def _by_options(self) -> None:
        """What the options name, and what they make of the operands."""
        entry, given, started = self.entry, self.given, self.started
        self.named += [path for option in given.values(entry.writes) if (path := self._path(option)) != "-"]
        self.reads += [self._path(option) for option in given.values(entry.reads)]
        self.starts += [Script(option.value or "", started.fixed(option.position)) for option in given.values(entry.shell_options)]
        for option in given.values(entry.folder):
            self.folder = posixpath.join(self.folder, self._path(option))
            self.risk = self.risk or ("" if started.fixed(option.position) else "the folder it works in is only known when it runs")
        if entry.rewrites and not given.has(entry.shows):
            self.rewriting = tuple([started.words[option.position] for option in given.options if option.name in entry.rewrites])
            self.named += self.writes if self.rewriting else []
        if given.has(entry.empties):
            self.removes += self.writes
        emptied = [*[self._path(option) for option in given.values(entry.removes)], *(self.reads if given.has(entry.takes) else ())]
        self.removes += emptied
        self.named += emptied

    def _path(self, option: Option) -> str:
        value = option.value or ""
        if option.position in self.started.dynamic:
            self.unclear.append(value)
        return value

    def _by_role(self) -> None:
        entry, given = self.entry, self.given
        roles = entry.operands or ("text",)
        if entry.instead and given.has(entry.instead):
            roles = roles[1:] or roles
        places = given.operands
        if roles[-1] in ("copy", "move"):
            self._copies(places, moves=roles[-1] == "move")
            return
        for at, place in enumerate(places):
            role = roles[min(at, len(roles) - 1)]
            if role in _STARTING:
                self._starts(str(role), places[at:])
                return
            self._one(role, place)
            if (
                place in self.started.splits
                and at < len(roles) - 1
                and {"output", "write", "remove"}.intersection(map(str, roles[at + 1 :]))
            ):
                self._doubt(f"{self.started.words[place]} may be several words, and a later one is written")
            if at < len(roles) - 1 and place in self.started.splits and set(roles[at:]) & _STARTING:
                self._doubt(f"where the words of {entry.name} end is only known when it runs")
        if len(places) < len(roles) and set(roles) & _STARTING and not (self.starts or given.has(entry.shell_options)):
            self._nothing_to_start(roles)
        if not any(roles[min(at, len(roles) - 1)] in ("read", "write", "remove") for at in range(len(places))):
            self._default(roles)

    def _default(self, roles: tuple[str | re.Pattern[str], ...]) -> None:
        if not self.entry.default or (self.entry.fed and self.started.fed):
            return
        path_roles = [role for role in roles if role in ("read", "write", "remove")]
        self._file(str(path_roles[0]) if path_roles else "read", self.entry.default)

    def _one(self, role: str | re.Pattern[str], place: int) -> None:
        word = self.started.words[place]
        if isinstance(role, re.Pattern):
            if not _fits(role, word, fixed=self.started.fixed(place)):
                self._doubt(f"{word} is not known to be harmless there")
        elif role == "none":
            self._doubt(f"{word} is not known to be harmless there")
        elif role != "text":
            self._file(role, word)

    def _file(self, role: str, word: str) -> None:
        entry, given = self.entry, self.given
        shown = bool(entry.shows) and given.has(entry.shows)
        written = (role in ("write", "remove") or (bool(entry.rewrites) and given.has(entry.rewrites))) and not shown
        if role == "read" or shown:
            self.reads.append(word)
        if role == "output" and word != "-":
            self.named.append(word)
            self.unclear += [word] if entry.prefixes else []
        if written:
            self.writes += [word, *(self._beside(word) if entry.beside else ())]
        if role == "remove" and not shown:
            self.removes.append(word)

    def _beside(self, word: str) -> list[str]:
        """``a.gz`` for ``a`` and the other way around: suffixes with a plus are added, the others stripped."""
        suffixes = self.entry.beside.split()
        stems = [word[: -len(suffix)] for suffix in suffixes if word.lower().endswith(suffix.lower())]
        packed = [f"{stem}.tar" for stem in stems if word.lower().startswith(".t", len(stem))]
        made = [*(word + suffix[1:] for suffix in suffixes if suffix[0] == "+"), *stems, *packed] if word.strip("./-") else []
        if any(self.started.words[place] == word for place in self.started.dynamic):
            self.unclear += made
        return made

    def _copies(self, places: list[int], *, moves: bool) -> None:
        """The last operand is written; a folder gets each of the others by its name."""
        words = self.started.words
        operands = [words[place] for place in places]
        into = next((option.value or "" for option in self.given.values(frozenset({"-t", "--target-directory"}))), "")
        sources, target = (operands, into) if into else (operands[:-1], operands[-1] if operands else "")
        if not sources and target:  # ln target
            sources, target = [target], "."
        self.reads.extend(sources)
        hazy = {words[place] for place in self.started.dynamic}
        for path in (target, *(f"{target.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}" for source in sources)) if target else ():
            self.writes.append(path)
            if any(word in path for word in hazy):
                self.unclear.append(path)
        whole = next((source for source in sources if re.search(r"(?:\A|/)\.{1,2}/*\Z", source)), "")
        if whole and not moves and self.entry.name != "ln":
            self._doubt(f"what {whole} holds, hidden files too, is written")
        if moves:
            self.writes.extend(sources)
            self.removes.extend(sources)

    def _starts(self, role: str, places: list[int]) -> None:
        started, words = self.started, self.started.words
        assignments, places = self._set_here(role, places)
        if not places:
            return
        place = places[0]
        if words[place] in self.entry.shell_options and len(places) > 1:  # flock file -c 'line'
            self.starts.append(Script(words[places[1]], started.fixed(places[1])))
            return
        if role == "script":
            self._script(place)
            return
        if role == "line":
            self.starts.append(Script(" ".join(words[at] for at in places), all(map(started.fixed, places))))
            return
        if role == "program" and started.fixed(place) and re.search(r"[@:]", words[place]):
            self.risk, self.spelled = self.risk or f"{self.entry.name} decides what {words[place]} is", 0 if self.risk else place + 1
        if role in ("program", "assignments") and is_input(words[place]):
            self._doubt(RUNS_INPUT)
        if role == "package":
            named = started.fixed(place) and re.fullmatch(r"[\w@][\w./@-]*", words[place])
            self.risk, self.spelled = self.risk or _FETCHES, place + 1 if named and not self.risk else 0
        if not started.one_word(place) and started.fixed(place):
            self._doubt("where its own words end is only known when it runs")
        self.starts.append(started.part(place, assignments=tuple(assignments)))

    def _set_here(self, role: str, places: list[int]) -> tuple[list[str], list[int]]:
        """The assignments before a program, and the places behind them; ``!`` is a word of the shell, as time is."""
        words, assignments = self.started.words, list[str]()
        while places and ((assigns := role == "assignments" and _ASSIGNMENT.match(words[places[0]])) or words[places[0]] == "!"):
            assignments += [words[places[0]]] if assigns else []
            if places[0] in self.started.splits:
                self._doubt(f"where the words of {self.entry.name} end is only known when it runs")
            places = places[1:]
        return assignments, places

    def _script(self, place: int) -> None:
        word = self.started.words[place]
        if is_input(word):
            self._doubt(RUNS_INPUT)
        elif not self.started.fixed(place):
            self._doubt("which code it runs is only known when it runs")
        else:
            self.reads.append(word)

    def _nothing_to_start(self, roles: tuple[str | re.Pattern[str], ...]) -> None:
        if "script" in roles and not (self.given.has(_INFORMS) and len(self.started.words) == self.first + 1):
            self._doubt(RUNS_INPUT)

    def _doubt(self, why: str) -> None:
        self.risk = self.risk or why
