"""Derives the effects of a program from its words and its entry in the table of programs."""

from __future__ import annotations

import posixpath
import re

from nbtools.shell.command_model import NOTHING, RUNS_INPUT, Effects, Script, StartedProgram, is_input
from nbtools.shell.options import Option, ParsedOptions, read_options, word_set
from nbtools.shell.program_table import Entry, ProgramTable
from nbtools.shell.search_programs import found_below
from nbtools.shell.special_programs import ANYWHERE_IN_REPOSITORY, SPECIAL, pathspec_reach
from nbtools.shell.variables import removed_risk

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_FETCHES_PACKAGE = "it fetches a program and runs it"
_INFO_OPTIONS = frozenset({"--version", "--help", "-V", "-v", "-h"})
_OUTSIDE = re.compile(r"[/~]|(?:.*/)?\.\.(?:/|\Z)", re.DOTALL)
_ASSIGNMENT = re.compile(r"[^=]+=", re.DOTALL)
"""What ``env`` treats as an assignment: any word with an equals sign."""
_STARTING = frozenset({"program", "assignments", "line", "package", "script"})
_PATH_ROLES = ("read", "write", "remove")
_MODULES = word_set(
    """pytest ruff mypy black isort autopep8 docformatter autoflake yapf codespell flake8 pylint coverage
    pip pre_commit tox nox build venv json.tool http.server zipfile tarfile compileall py_compile unittest
    doctest site sysconfig calendar this"""
)
"""Python modules that the table lists as programs."""
_HAS_CODE = word_set("-c --command -f --file -e --execute --eval --help --version")
"""Options with which a program that accepts code reads none from its input."""
_INTO = frozenset({"-t", "--target-directory"})
_NARROWING = frozenset({"--include"})
_LISTED_IN_A_FILE = frozenset({"--pathspec-from-file"})
_LISTED = "$(cat …)"
"""A file that is named in another file."""
_LOADERS = re.compile(r"ld-linux|ld\.so|ld-musl")


def derive_effects(started: StartedProgram, table: ProgramTable) -> Effects:
    """Returns the effects of a program with its words; none are known of one that is not in the table."""
    if 0 in started.dynamic:
        unknown = "which program it runs is only known when it runs"
        return Effects(risk=unknown, note=unknown, warn=True)
    entry = table.find(started.words[0])
    if entry is None:
        loader = _LOADERS.match(started.name)
        return Effects(risk="it is the dynamic loader, which can start any program") if loader else NOTHING
    return _of_command(entry, started, table) if entry.commands else _of_entry(entry, started, 1, table)


def _of_command(entry: Entry, started: StartedProgram, table: ProgramTable) -> Effects:
    """Returns the effects of the sub-command after the global options, including those of the options."""
    options = read_options(started, entry, stop=True)
    risk = _option_risk(entry, started, options, 1)
    if not options.operands:
        return _of_entry(entry, started, 1, table)
    place = options.operands[0]
    word = started.words[place]
    command = entry.commands.get(word)
    if not started.is_literal(place):
        return Effects(risk="its sub-command is only known when it runs", entry=entry.name)
    if command is None:
        if entry.operands and not risk:
            return _of_entry(entry, started, 1, table)
        return _unlisted(started, entry, place, place, risk or entry.asks, may_be_spelled=not risk)
    first = place + 1
    while command.commands and first < len(started.words) and started.is_literal(first):
        word = started.words[first]
        if (subcommand := command.commands.get(word)) is None:
            if not command.operands and word[:1] != "-":
                return _unlisted(started, command, first, place, risk, may_be_spelled=not risk)
            break
        command, first = subcommand, first + 1
    effects = _of_entry(command, started, first, table)
    folder = ""
    for option in options.values(entry.folder) if options.options else ():
        folder = posixpath.join(folder, option.value or "")
        risk = risk or _folder_risk(started, option)
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


def _unlisted(
    started: StartedProgram, entry: Entry, place: int, command: int, risk: str, *, may_be_spelled: bool
) -> Effects:
    """Returns the effects of a sub-command, the word at ``place``, that the table does not list.
    A rule that spells it out may allow it.
    """
    unlisted = f"{entry.name} {started.words[place]} is not in the table of programs"
    spelled, plain = place + 1 if may_be_spelled else 0, _plain(started, command)
    return Effects(risk=risk or unlisted, spelled=spelled, entry=entry.name, plain=plain)


def _folder_risk(started: StartedProgram, option: Option) -> str:
    unknown = "the folder it works in is only known when it runs"
    return "" if started.is_literal(option.position) else unknown


def _of_module(found: Effects, table: ProgramTable) -> Effects:
    """Returns the effects of ``python -m module``:
    those of the program of that name, if the table lists it.
    """
    module = found.starts[0]
    name = "" if isinstance(module, Script) else module.words[0]
    if isinstance(module, Script) or name not in _MODULES or name not in table:
        unlisted = f"the module {name} is not in the table of programs"
        return Effects(risk=unlisted, spelled=found.spelled, entry="python", project=True)
    effects = derive_effects(module, table)
    return effects._replace(transparent=False, plain=(), launched=(), spelled=0, project=True)


def _plain(started: StartedProgram, place: int) -> tuple[str, ...]:
    return (started.words[0], *started.words[place:]) if place > 1 else ()


def _option_risk(entry: Entry, started: StartedProgram, options: ParsedOptions, first: int) -> str:
    """Returns why the options are not known to be harmless; empty where they are."""
    if options.strange:
        return f"{options.strange} is not a known harmless option of {entry.name}"
    if options.unclear:
        where = "an option" if first == 1 else f"an option of {entry.name}"
        return f"{options.unclear} is only known when it runs, and may be {where}"
    if elsewhere := _external_risk(entry, started, options, first):
        return elsewhere
    for option in options.options if entry.only else ():
        pattern = entry.only.get(option.name)
        if pattern and not _fits(pattern, option.value or "", fixed=started.is_literal(option.position)):
            return f"{option.name} with {option.value} is not known to be harmless"
    return ""


def _external_risk(entry: Entry, started: StartedProgram, options: ParsedOptions, first: int) -> str:
    """Returns why the words bring in options, commands or code from elsewhere; empty where they do not."""
    if entry.responses and (file := next((word for word in started.words[first:] if word[:1] == "@"), "")):
        return f"it takes options from the file {file[1:]}"
    if entry.editor and started.has_input and not options.has(entry.editor):
        return "its input may contain commands of an editor"
    for place in options.operands if entry.project else ():
        if _OUTSIDE.match(started.words[place]):
            return f"{started.words[place]} may be outside the project"
    return ""


def _fits(pattern: re.Pattern[str], word: str, *, fixed: bool) -> bool:
    r"""Whether a word fits the table's pattern.
    A dynamic word fits only a pattern that allows variables (``"\$\w+"``).
    """
    return (fixed or r"\$" in pattern.pattern) and pattern.fullmatch(word) is not None


def _of_entry(entry: Entry, started: StartedProgram, first: int, table: ProgramTable) -> Effects:
    if entry.special:
        found = SPECIAL[entry.special](started, entry, first)
        if entry.special == "python" and found.starts:
            return _of_module(found, table)
        note, warn = found.note or entry.note, found.warn or entry.warn
        found = found._replace(entry=entry.name, note=note, warn=warn, risk=entry.asks or found.risk)
        return _with_language(found, entry) if found.risk == RUNS_INPUT or found.reads_commands else found
    options = read_options(started, entry, first, stop=not _STARTING.isdisjoint(entry.operands))
    effects = _EffectsBuilder(entry, started, first, options).effects()
    if effects.starts and not effects.risk:
        why = _removed_variables_risk(entry, options, effects.starts[0], table)
        effects = effects._replace(risk=why, transparent=False) if why else effects
    takes_code = bool(entry.language and entry.asks) and _HAS_CODE.isdisjoint(started.words)
    reads_code = effects.risk == RUNS_INPUT or takes_code
    return _with_language(effects, entry) if reads_code else effects


def _removed_variables_risk(
    entry: Entry, options: ParsedOptions, start: StartedProgram | Script, table: ProgramTable
) -> str:
    """Returns why the started program may do more without environment variables that ``entry`` removes;
    empty where it does not.
    """
    program = None if isinstance(start, Script) else table.find(start.words[0])
    if program and program.harmless and _STARTING.isdisjoint(program.operands):
        configured = program.commands or program.special or program.repository or program.project
        if not configured:
            return ""
    if options.has(entry.clears):
        return "it removes all variables, also those that keep git and pagers from starting programs"
    risks = (removed_risk(option.value or "") for option in options.values(entry.unsets))
    return next(filter(None, risks), "")


def _with_language(effects: Effects, entry: Entry) -> Effects:
    """Returns the effects of a program that runs its input as code of the entry's language."""
    return effects._replace(language=entry.language, note=effects.note or "runs its input as code", warn=True)


def _last_name(source: str) -> str:
    """Returns the last component of a word as it is written; a quote that began before it is kept."""
    name = source.rstrip("/").rpartition("/")[2]
    return f'"{name}' if name.count('"') % 2 else name


class _EffectsBuilder:
    """Collects the effects of one program from its options and operands."""

    def __init__(self, entry: Entry, started: StartedProgram, first: int, options: ParsedOptions) -> None:
        self.entry, self.started, self.first, self.options = entry, started, first, options
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.named: list[str] = []
        self.removes: list[str] = []
        self.starts: list[StartedProgram | Script] = []
        self.unclear: list[str] = []
        self.rewriting: tuple[str, ...] = ()
        self.folder = ""
        self.spelled = 0
        self.risk = entry.asks or _option_risk(entry, started, options, first)

    def effects(self) -> Effects:
        entry, options = self.entry, self.options
        self._by_role()
        if options.options:
            self._by_options()
        if entry.configures and self._configures():
            self.writes.append(".git")
        if options.has(entry.listed):
            self._read(_LISTED)
            self.unclear.append(_LISTED)
        if self.started.splits:
            self._further_words()
        if entry.pathspecs and options.has(_LISTED_IN_A_FILE):
            role = next((str(role) for role in entry.operands if role in ("write", "remove")), "read")
            self._file(role, ANYWHERE_IN_REPOSITORY)
            self.unclear.append(ANYWHERE_IN_REPOSITORY)
        if entry.unpacks:
            self.named += self.writes
        if entry.unpacks and self.risk and not (self.writes or self.named or self.reads):
            self.named.append(".")
        writes = tuple(dict.fromkeys((*self.writes, *self.named)) if self.named else self.writes)
        return Effects(
            starts=tuple(self.starts),
            reads=tuple(self.reads),
            writes=writes,
            named=tuple(self.named),
            rewrites=self.rewriting,
            removes=tuple(self.removes),
            links=(tuple(self.writes) or (".",)) if entry.links and options.has(entry.links) else (),
            lists=self._names() if entry.lists and self._lists() else (),
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
            warn=entry.warn or options.has(entry.alarms),
        )

    def _configures(self) -> bool:
        """Whether it brings configuration or hooks into a repository; git accepts shortened options."""
        long = (word for word in self.started.words[self.first :] if word.startswith("--") and len(word) > 3)
        names = [word.partition("=")[0] for word in long]
        return any(option.startswith(name) for name in names for option in self.entry.configures)

    def _lists(self) -> bool:
        """Whether it prints only file names.  An unlisted option may make it print anything."""
        listing = self.options.has(self.entry.lists) and not self.options.has(self.entry.prints)
        return listing and not self.risk and not any(map(self.started.may_be_option, self.started.dynamic))

    def _names(self) -> tuple[str, ...]:
        """Returns patterns of the file names that it prints; ``git`` and ``rg`` leave out ``.git``."""
        narrowed = self.started.name in ("git", "rg") or self.options.has(_NARROWING)
        some = self.started.name != "git" or "grep" in self.entry.name
        return found_below(tuple(self.reads) or (".",), hidden=not narrowed, some=some)

    def _by_options(self) -> None:
        """Adds the files that options name, and the effects of options on the operands."""
        entry, options, started = self.entry, self.options, self.started
        for option in options.values(entry.writes):
            path = self._path(option)
            if path != "-" or option.name not in entry.stdout:
                self.named.append(path)
        for option in options.values(entry.reads):
            self._read(self._path(option))
        for option in options.values(entry.shell_options):
            self.starts.append(Script(option.value or "", started.is_literal(option.position)))
        for option in options.values(entry.folder):
            self.folder = posixpath.join(self.folder, self._path(option))
            self._add_risk(_folder_risk(started, option))
        if entry.rewrites and not options.has(entry.shows):
            rewriting = [option for option in options.options if option.name in entry.rewrites]
            self.rewriting = tuple([started.words[option.position] for option in rewriting])
            self.named += self.writes if self.rewriting else []
        if options.has(entry.empties):
            self.removes += self.writes
        emptied = [self._path(option) for option in options.values(entry.removes)]
        emptied += self.reads if options.has(entry.takes) else ()
        self.removes += emptied
        self.named += emptied

    def _path(self, option: Option) -> str:
        value = option.value or ""
        if option.position in self.started.dynamic:
            self.unclear.append(value)
        return value

    def _by_role(self) -> None:
        entry, options = self.entry, self.options
        roles = entry.operands or ("text",)
        if entry.instead and options.has(entry.instead):
            roles = roles[1:] or roles
        places = options.operands
        if roles[-1] in ("copy", "move"):
            self._copies(places, moves=roles[-1] == "move")
            return
        for at, place in enumerate(places):
            role = roles[min(at, len(roles) - 1)]
            if role in _STARTING:
                self._starts(str(role), places[at:])
                return
            self._operand(role, place)
            if place in self.started.splits:
                self._several_words(place, roles[at:])
        only_informs = options.has(_INFO_OPTIONS) and len(self.started.words) == self.first + 1
        starts_none = not (self.starts or options.has(entry.shell_options) or only_informs)
        if starts_none and len(places) < len(roles) and "script" in roles:
            self._add_risk(RUNS_INPUT)
        if entry.default and not (entry.fed and self.started.has_input):
            taken = {roles[min(at, len(roles) - 1)] for at in range(len(places))}
            if taken.isdisjoint(_PATH_ROLES):
                role = next((str(role) for role in roles if role in _PATH_ROLES), "read")
                self._file(role, entry.default)

    def _several_words(self, place: int, roles: tuple[str | re.Pattern[str], ...]) -> None:
        """Adds the risk of a word that may become several, and so take the later ``roles``, too."""
        if {"output", "write", "remove"}.intersection(map(str, roles[1:])):
            self._add_risk(f"{self.started.words[place]} may be several words, and a later one is written")
        if len(roles) > 1 and set(roles) & _STARTING:
            self._add_risk(f"where the arguments of {self.entry.name} end is only known when it runs")

    def _further_words(self) -> None:
        """Adds the words that may become several: those after the first may be files."""
        entry = self.entry
        takes_files = {"read", "copy", "move"}.intersection(map(str, entry.operands))
        if not (entry.reads or entry.pathspecs or takes_files):
            return
        words = [self.started.words[place] for place in sorted(self.started.splits) if place >= self.first]
        further = [word for word in words if word not in self.reads and word not in self.writes]
        self.reads += further
        self.unclear += further

    def _pathspec(self, role: str, word: str, *, fixed: bool) -> None:
        """Adds what a pathspec of git may match:
        with wildcards anything in the folder, with magic (``:/x``) anywhere.
        """
        reach = pathspec_reach(word) if fixed else word
        if role == "text":
            self.reads += [reach] if reach else []
            self.unclear += [reach] if reach and reach != "." else []
            return
        self._file(role, reach or word)
        if reach == "." and role == "remove" and re.search(r"\w", word) and not word.startswith(":"):
            self.removes.remove(reach)
        self.unclear += [reach] if reach and reach != "." else []

    def _operand(self, role: str | re.Pattern[str], place: int) -> None:
        word = self.started.words[place]
        if self.entry.pathspecs and isinstance(role, str) and role != "none":
            self._pathspec(role, word, fixed=self.started.is_literal(place))
            return
        if isinstance(role, re.Pattern) and _fits(role, word, fixed=self.started.is_literal(place)):
            return
        if isinstance(role, re.Pattern) or role == "none":
            self._add_risk(f"{word} is not known to be harmless there")
        elif role != "text":
            self._file(role, word)

    def _file(self, role: str, word: str) -> None:
        entry, options = self.entry, self.options
        only_displays = bool(entry.shows) and options.has(entry.shows)
        changes = role in ("write", "remove") or (bool(entry.rewrites) and options.has(entry.rewrites))
        written = changes and not only_displays
        if role == "read" or only_displays:
            self._read(word)
        if role == "output" and (word != "-" or self.entry.prefixes):
            self.named.append(word)
            self.unclear += [word] if entry.prefixes else []
        if written:
            self.writes += [word, *(self._beside(word) if entry.beside else ())]
        if role == "remove" and not only_displays:
            self.removes.append(word)

    def _read(self, word: str) -> None:
        """Adds a file that is read. Some programs take an address for one, and fetch it."""
        self.reads.append(word)
        if _ADDRESS.match(word):
            self._add_risk(f"{word} is an address that it may fetch")

    def _beside(self, word: str) -> list[str]:
        """Returns derived file names, such as ``a.gz`` for ``a``:
        suffixes with a plus are appended, the others removed.
        """
        suffixes = self.entry.beside.split()
        stems = [word[: -len(suffix)] for suffix in suffixes if word.lower().endswith(suffix.lower())]
        packed = [f"{stem}.tar" for stem in stems if word.lower().startswith(".t", len(stem))]
        if not word.strip("./-"):
            return []
        derived = [*(word + suffix[1:] for suffix in suffixes if suffix[0] == "+"), *stems, *packed]
        if any(self.started.words[place] == word for place in self.started.dynamic):
            self.unclear += derived
        return derived

    def _copies(self, places: list[int], *, moves: bool) -> None:
        """Adds the effects of a copy: the last operand is written;
        if it is a folder, it gets each of the others by its name.
        """
        words = self.started.words
        operands = [words[place] for place in places]
        into = next((option.value or "" for option in self.options.values(_INTO)), "")
        sources, target = operands, into
        if not into and operands:
            *sources, target = operands
        if not sources and target:  # ln target
            sources, target = [target], "."
        self.reads.extend(sources)
        dynamic_words = {words[place] for place in self.started.dynamic}
        into_target = [(source, f"{target.rstrip('/')}/{_last_name(source)}") for source in sources]
        for source, path in [("", target), *into_target] if target else ():
            self.writes.append(path)
            if source in dynamic_words or any(word in path for word in dynamic_words):
                self.unclear.append(path)
        source_folder = next((source for source in sources if re.search(r"(?:\A|/)\.{1,2}/*\Z", source)), "")
        if source_folder and not moves and self.entry.name != "ln":
            self._add_risk(f"everything in {source_folder} is written, including hidden files")
        if moves:
            self.writes.extend(sources)
            self.removes.extend(sources)

    def _starts(self, role: str, places: list[int]) -> None:
        started, words = self.started, self.started.words
        assignments, places = self._take_assignments(role, places)
        if not places:
            return
        place = places[0]
        if words[place] in self.entry.shell_options and len(places) > 1:  # flock file -c 'line'
            self.starts.append(Script(words[places[1]], started.is_literal(places[1])))
            return
        if role == "script":
            self._script(place)
            return
        if role == "line":
            line = " ".join(words[at] for at in places)
            self.starts.append(Script(line, all(map(started.is_literal, places))))
            return
        if role == "program" and started.is_literal(place) and re.search(r"[@:]", words[place]):
            self.spelled = 0 if self.risk else place + 1
            self._add_risk(f"{self.entry.name} interprets {words[place]} itself")
        if role in ("program", "assignments") and is_input(words[place]):
            self._add_risk(RUNS_INPUT)
        if role == "package":
            named = started.is_literal(place) and re.fullmatch(r"[\w@][\w./@-]*", words[place])
            self.spelled = place + 1 if named and not self.risk else 0
            self._add_risk(_FETCHES_PACKAGE)
        if not started.is_one_word(place) and started.is_literal(place):
            self._add_risk("where its own arguments end is only known when it runs")
        self.starts.append(started.part(place, assignments=tuple(assignments)))

    def _take_assignments(self, role: str, places: list[int]) -> tuple[list[str], list[int]]:
        """Returns the assignments before a program, and the positions after them;
        ``!`` is a shell keyword, as after ``time``.
        """
        words, assignments = self.started.words, list[str]()
        while places:
            assigns = role == "assignments" and _ASSIGNMENT.match(words[places[0]])
            if not assigns and words[places[0]] != "!":
                break
            assignments += [words[places[0]]] if assigns else []
            if places[0] in self.started.splits:
                self._add_risk(f"where the arguments of {self.entry.name} end is only known when it runs")
            places = places[1:]
        return assignments, places

    def _script(self, place: int) -> None:
        word = self.started.words[place]
        if is_input(word):
            self._add_risk(RUNS_INPUT)
        elif not self.started.is_literal(place):
            self._add_risk("which code it runs is only known when it runs")
        else:
            self.reads.append(word)

    def _add_risk(self, why: str) -> None:
        self.risk = self.risk or why
