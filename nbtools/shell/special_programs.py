"""Analyses programs whose arguments are a language of their own and cannot be described by lists of
options.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nbtools.shell.command_model import RUNS_INPUT, Effects, StartedProgram, is_input
from nbtools.shell.options import ParsedOptions, not_listed, read_options, word_set
from nbtools.shell.scripts import (
    awk_program_is_plain,
    jq_filter_is_plain,
    sed_script_is_plain,
    sql_only_queries,
    yq_expression_is_plain,
)
from nbtools.shell.shell_builtins import BUILTINS, Special

if TYPE_CHECKING:
    from nbtools.shell.program_table import Entry

# find and xargs: programs started with what was found

_EXEC = word_set("-exec -execdir -ok -okdir")
_PUNCTUATION = word_set("( ) ! , -a -and -o -or -not")
_REMOVERS = word_set("rm rmdir shred unlink mv chmod chown")
_HERE = re.compile(r"(?:\./+)*\.?")
_SHOW_HIDDEN = word_set("-H -u --hidden --unrestricted")
_BY_NAME = word_set("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname")
_NARROWS = word_set("-empty -samefile -inum -xtype")
"""Tests that few files pass.  Nearly all pass one by size, age or owner, if its value is chosen so."""


class _Expression:
    """Parses the expression of ``find`` after the starting points."""

    def __init__(self, started: StartedProgram, entry: Entry, *, several: bool) -> None:
        self.started, self.entry, self.several = started, entry, several
        self.programs: list[StartedProgram] = []
        self.writes: list[str] = []
        self.risk = ""
        self.deletes = False
        self.names: set[str] = set()
        """The patterns of names, where each alternative has one."""
        self.alternatives = [False]
        """For each alternative (``-o``) whether it has a test that few files pass."""

    @property
    def narrowed(self) -> bool:
        return all(self.alternatives)

    def read(self, place: int) -> None:
        while place < len(self.started.words):
            place = self._term(place, self.started.words[place])

    def _narrow(self, place: int, word: str) -> None:
        words = self.started.words
        value = words[place + 1] if place + 1 < len(words) and self.started.is_literal(place + 1) else ""
        negated = words[place - 1] in ("!", "-not")
        if word in ("-o", "-or", ","):
            self.alternatives.append(False)
        elif negated and word == "(":
            self.alternatives.insert(0, False)
        elif not negated and (
            word in _NARROWS or (word in _BY_NAME and re.search(r"\w", re.sub(r"\[[^]]*\]", "", value)))
        ):
            self.alternatives[-1] = True
            self.names.update(_names_of(word, value))

    def _term(self, place: int, word: str) -> int:
        words, fixed = self.started.words, self.started.is_literal(place)
        self._narrow(place, word)
        if fixed and word in _EXEC:
            end, inner = _exec_programs(self.started, place, several=self.several)
            self.programs += inner
            if word in ("-execdir", "-okdir"):
                self.risk = self.risk or "it starts programs in the folders that it finds"
            if any(not self.started.is_literal(at) for at in range(place + 1, min(end, len(words)))):
                self.risk = (
                    self.risk or "where the arguments of the started program end is only known when it runs"
                )
            return end
        if fixed and word in self.entry.writes:
            self.writes += words[place + 1 : place + 2]
            return place + 2
        if fixed and word in self.entry.values:
            if place + 1 in self.started.splits:
                self.risk = self.risk or f"{words[place + 1]} may tell find to start or delete something"
            return place + 2
        if fixed and word == "-delete":
            self.deletes = True
        elif not fixed or word not in self.entry.flags | _PUNCTUATION:
            self.risk = self.risk or f"{word} is not a known harmless expression of find"
        return place + 1


def _find(started: StartedProgram, entry: Entry, _: int) -> Effects:
    words, place = started.words, 1
    while place < len(words) and words[place] in ("-H", "-L", "-P"):
        place += 1
    begin = place
    while place < len(words) and not re.match(r"-.|[(),!]", words[place]):
        place += 1
    starts = words[begin:place]
    unclear = next(
        (word for at, word in enumerate(starts, begin) if started.dynamic and started.may_be_option(at)), ""
    )
    found = _Expression(started, entry, several=any(start.startswith("-") for start in starts))
    found.read(place)
    risk = f"{unclear} may tell find to start or delete something" if unclear else found.risk
    reads = starts or (".",)
    names = found_below(reads)
    if found.narrowed:
        names = tuple(
            name if "/" in name else f"{start}/{deep}{name}"
            for start, deep in _depths(reads)
            for name in sorted(found.names)
        )
    removing = found.deletes or any(program.name in _REMOVERS for program in found.programs)
    deleted = reads if found.deletes else ()
    return Effects(
        starts=tuple(program._replace(found=names) for program in found.programs),
        reads=reads,
        writes=(*found.writes, *deleted),
        named=(*found.writes, *deleted),
        rewrites=("-delete",) if found.deletes else (),
        removes=(
            tuple("" if found.narrowed and _HERE.fullmatch(start) else start for start in reads)
            if removing
            else ()
        ),
        risk=risk,
        harmless=not (found.programs or found.deletes or found.writes or risk),
        lists=(
            ()
            if found.programs or found.writes or risk or {"-printf", "-ls", "-delete"} & set(words)
            else names
        ),
        note="deletes files" if found.deletes else "",
        warn=found.deletes,
    )


def _depths(starts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yields each starting point with ``**/`` if a repository's ``.git`` may be below it."""
    yield from ((start, "" if re.match(r"\w", start) else "**/") for start in starts)


def _names_of(test: str, value: str) -> tuple[str, ...]:
    """Returns patterns of what passes a test of ``find``.
    Its wildcards match a leading dot, which a shell's do not.
    """
    if test in ("-name", "-iname"):
        return (value, f".{value}") if value[0] in "*?[" else (value,)
    if test in ("-path", "-ipath", "-wholename", "-iwholename"):
        return value, value.replace("*", ".*")
    return "*", ".*"


def _exec_programs(started: StartedProgram, place: int, *, several: bool) -> tuple[int, list[StartedProgram]]:
    """Returns where find's own words continue, and the programs that ``-exec`` starts."""
    words = started.words
    ends = (
        at
        for at in range(place + 1, len(words))
        if words[at] == ";" or (words[at] == "+" and words[at - 1] == "{}")
    )
    end = next(ends, len(words))
    inner = started.part(place + 1, end)
    found = frozenset(at for at, word in enumerate(inner.words) if "{}" in word)
    return end + 1, [inner.with_found(inner.words, found, several=several)] if inner.words else []


def found_below(starts: tuple[str, ...], *, hidden: bool = True, some: bool = False) -> tuple[str, ...]:
    """Returns patterns of the names that a search from ``starts`` finds.

    ``hidden``: also in ``.git`` and other hidden folders.
    ``some``: only some files and no folder, so that not everything is meant.
    """
    names = tuple(f"{start}/**/a-file" if some else f"{start}/**" for start in starts)
    return (
        (
            *(() if some else starts),
            *names,
            *(f"{start}/.**" for start in starts if not re.match(r"\w", start)),
        )
        if hidden
        else names
    )


def _xargs(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``xargs``.  Words from its input are represented by the dynamic word ``{}``."""
    parsed = read_options(started, entry, stop=True)
    own = parsed.operands[0] if parsed.operands else len(started.words)
    unclear = parsed.unclear if parsed.unclear in started.words[:own] else ""
    risk = (
        f"{parsed.strange or unclear} is not a known harmless option of xargs"
        if parsed.strange or unclear
        else ""
    )
    files = tuple(option.value or "" for option in parsed.values(entry.reads))
    if not parsed.operands:
        return Effects(reads=files, risk=risk)
    inner = started.part(own)
    placeholders = {
        option.value or "{}" for option in parsed.options if option.name in ("-I", "-i", "--replace")
    }
    filled = frozenset(
        at for at, word in enumerate(inner.words) if any(placeholder in word for placeholder in placeholders)
    )
    words = (
        tuple(_with_placeholder(word, placeholders) for word in inner.words)
        if placeholders
        else (*inner.words, "{}")
    )
    names = () if files or parsed.has(word_set("-d --delimiter -E -e --eof")) else started.input_names
    program = inner.with_found(
        words, filled if placeholders else filled | {len(words) - 1}, names, several=True, options=not names
    )
    return Effects(starts=(program,), reads=files, risk=risk, transparent=not risk, of_names=bool(names))


def _with_placeholder(word: str, placeholders: set[str]) -> str:
    """Replaces the chosen placeholder by ``{}``, which is not mistaken for a file name."""
    for placeholder in filter(None, placeholders):
        word = word.replace(placeholder, "{}")
    return word


def _fd(started: StartedProgram, entry: Entry, _: int) -> Effects:
    place = next(
        (
            at
            for at, word in enumerate(started.words)
            if word in ("-x", "-X", "--exec", "--exec-batch") and started.is_literal(at)
        ),
        0,
    )
    own = started.part(0, place) if place else started
    parsed = read_options(own, entry)
    risk = not_listed(entry, parsed)
    reads = tuple(own.words[at] for at in parsed.operands[1:]) or (".",)
    reads = (*reads, *(option.value or "" for option in parsed.values(entry.reads | entry.folder)))
    if not place:
        only_names = not (risk or parsed.has(entry.prints | entry.folder) or own.dynamic)
        listed = found_below(reads, hidden=parsed.has(_SHOW_HIDDEN), some=_is_narrowed(own, parsed))
        names = listed if only_names else ()
        return Effects(reads=reads, risk=risk, harmless=not risk, lists=names)
    inner = started.part(place + 1)
    if inner.dynamic or ";" in inner.words:
        risk = risk or "where the arguments of the started program end is only known when it runs"
    words = inner.words if any("{" in word for word in inner.words) else (*inner.words, "{}")
    found = frozenset(at for at, text in enumerate(words) if "{" in text)
    names = found_below(reads, hidden=parsed.has(_SHOW_HIDDEN), some=_is_narrowed(own, parsed))
    return Effects(
        (inner.with_found(words, found, names, several=True),) if inner.words else (), reads, risk=risk
    )


def _is_narrowed(own: StartedProgram, parsed: ParsedOptions) -> bool:
    """Whether ``fd`` looks for certain names only."""
    pattern = own.words[parsed.operands[0]] if parsed.operands else ""
    return parsed.has(word_set("-e --extension")) or re.search(r"\w", pattern) is not None


# sed, awk, tar, dd, chmod, install: their own little languages


def _sed(started: StartedProgram, entry: Entry, _: int) -> Effects:
    parsed = read_options(started, entry)
    scripts = [(option.value or "", option.position) for option in parsed.values(word_set("-e --expression"))]
    operands = parsed.operands
    if not scripts and operands:
        scripts, operands = [(started.words[operands[0]], operands[0])], operands[1:]
    files = tuple(started.words[place] for place in operands)
    in_place = parsed.has(entry.rewrites)
    backups = tuple(
        filter(None, (option.value for option in parsed.values(entry.rewrites)))
    )  # the last one counts
    copies = tuple(f"{name}{backup}" for name in files for backup in backups)
    unclear = next(
        (
            word
            for place, word in enumerate(started.words)
            if place in started.dashes and started.words[place - 1] != "--"
        ),
        "",
    )
    risk = not_listed(entry, parsed) or (f"{unclear} may be an option of sed" if unclear else "")
    script = "\n".join(text for text, _ in scripts)
    if not all(started.is_literal(place) for _, place in scripts):
        risk = risk or "its script is only known when it runs"
    elif not sed_script_is_plain(script):
        risk = risk or f"its script {script!r} may start programs or write files"
    if re.search(r"[/*]", "".join(backups)):
        risk = risk or "the names of its backup files are not known"
    note = "changes files in place" if in_place else ""
    writes = (*files, *copies) if in_place else ()
    how = tuple(started.words[option.position] for option in parsed.options if option.name in entry.rewrites)
    return Effects(
        reads=files,
        writes=writes,
        named=writes,
        rewrites=how,
        risk=risk,
        harmless=not (in_place or risk),
        note=note,
    )


def _awk(started: StartedProgram, entry: Entry, _: int) -> Effects:
    parsed = read_options(started, entry, stop=True)
    if not parsed.operands:
        return Effects(risk=not_listed(entry, parsed) or "its program is in a file")
    place, *rest = parsed.operands
    program = started.words[place]
    files = tuple(started.words[at] for at in rest if not re.match(r"[A-Za-z_]\w*=", started.words[at]))
    risk = not_listed(entry, parsed)
    if any(re.match(r"/+inet[46]?/", file) for file in files):
        risk = risk or "it opens a network connection"
    if not started.is_literal(place):
        risk = risk or "its program is only known when it runs"
    elif not awk_program_is_plain(program):
        risk = risk or f"its program {program!r} may start programs or write files"
    return Effects(reads=files, risk=risk, harmless=not risk)


def _tar(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``tar``, whose first word may be letters without a dash: ``tar xzf a -C b``."""
    words = started.words
    if len(words) > 1 and started.is_literal(1) and re.fullmatch(r"[A-Za-z]+", words[1]):
        started = _with_dashes(started, entry)
    parsed = read_options(started, entry)
    archive = tuple(
        option.value or "" for option in parsed.values(word_set("-f --file")) if option.value != "-"
    )
    operands = tuple(started.words[place] for place in parsed.operands)
    folders = [option for option in parsed.options if option.name in entry.folder]
    into = (posixpath.join("", *(option.value or "" for option in folders)),) if folders else ()
    unclear = into if any(option.position in started.dynamic for option in folders) else ()
    named = tuple(option.value or "" for option in parsed.values(entry.writes - {"-f", "--file"}))
    risk = not_listed(entry, parsed)
    risk = risk or next((f"the archive {name} is on another machine" for name in archive if ":" in name), "")
    if parsed.has(word_set("-x --extract --get")):
        if not (into or parsed.has(word_set("-O --to-stdout"))):
            risk = risk or "the files that it unpacks are not known"
        written = (*(into or (".",)), *named)
        return Effects(
            reads=archive,
            writes=written,
            named=written,
            links=written,
            risk=risk,
            unclear=unclear,
            note="unpacks files",
        )
    if parsed.has(word_set("-t --list")):
        return Effects(reads=archive, writes=named, named=named, risk=risk, harmless=not (risk or named))
    removed = operands if parsed.has(entry.takes) else ()
    named = (*named, *removed)
    return Effects(
        reads=operands,
        writes=(*archive, *named),
        named=named,
        removes=removed,
        risk=risk,
        note="writes an archive",
    )


def _with_dashes(started: StartedProgram, entry: Entry) -> StartedProgram:
    """Converts ``tar cfC a b`` to ``tar -c -f a -C b``."""
    words, value_positions, position = [started.words[0]], {}, 2
    for letter in started.words[1]:
        words.append(f"-{letter}")
        if f"-{letter}" in entry.values and position < len(started.words):
            value_positions[position] = len(words)
            words.append(started.words[position])
            position += 1
    new_positions = {
        place: len(words) + place - position for place in range(position, len(started.words))
    } | value_positions

    def shifted(places: frozenset[int]) -> frozenset[int]:
        return frozenset(new_positions[place] for place in places)

    return StartedProgram(
        (*words, *started.words[position:]),
        shifted(started.dynamic),
        shifted(started.splits),
        shifted(started.dashes),
    )


def _dd(started: StartedProgram, entry: Entry, _: int) -> Effects:
    named = [word.partition("=") for word in started.words[1:]]
    odd = next((name for name, _, _ in named if name not in entry.values | {"if", "of"}), "")
    unknown = f"{odd} is not a known operand of dd" if odd else ""
    risk = "what it reads and writes is only known when it runs" if started.dynamic else unknown
    reads, writes = (tuple(value for name, _, value in named if name == which) for which in ("if", "of"))
    unclear = (*reads, *writes) if started.dynamic else ()
    return Effects(
        reads=reads,
        writes=writes,
        named=writes,
        risk=risk,
        unclear=unclear,
        note="writes raw data",
        warn=True,
    )


def _chmod(started: StartedProgram, entry: Entry, _: int) -> Effects:
    parsed = read_options(started, entry)
    operands = tuple(started.words[place] for place in parsed.operands)[
        0 if parsed.has(word_set("--reference")) else 1 :
    ]
    if parsed.strange and re.match(r"-[rwxXst]", parsed.strange):  # chmod -x file
        operands = tuple(word for word in started.words[1:] if not word.startswith("-"))
    removes = operands if parsed.has(word_set("-R --recursive")) else ()
    return Effects(
        writes=operands, removes=removes, risk=not_listed(entry, parsed), note="changes file permissions"
    )


def _install(started: StartedProgram, entry: Entry, _: int) -> Effects:
    parsed = read_options(started, entry)
    operands = tuple(started.words[place] for place in parsed.operands)
    risk = not_listed(entry, parsed)
    if parsed.has(word_set("-d --directory")):
        return Effects(writes=operands, risk=risk)
    into = parsed.values(word_set("-t --target-directory"))
    sources, target = (
        (operands, (into[0].value or "",))
        if into
        else (operands[:-1], operands[-1:] if len(operands) > 1 else ())
    )
    inside = (
        tuple(f"{target[0].rstrip('/')}/{source.rpartition('/')[2]}" for source in sources) if target else ()
    )
    unclear = (*target, *inside) if started.dynamic else ()
    return Effects(reads=sources, writes=(*target, *inside), risk=risk, unclear=unclear, note="copies files")


# git checkout, python, git config, sqlite3

_EXCLUDES = re.compile(r":(?:[!^]|\([^)]*exclude)")
ANYWHERE_IN_REPOSITORY = "$(git rev-parse --show-toplevel)"


def pathspec_reach(word: str) -> str:
    """Returns the folder in which a pathspec of git may match anything; empty for one that is a plain path.

    Wildcards and exclusions match in the working directory.  Other magic may lead to the root of the
    repository (``:/x``) and change how the rest is matched (``:(icase)x``).
    """
    if word.startswith(":") and not _EXCLUDES.match(word):
        return ANYWHERE_IN_REPOSITORY
    return "." if re.search(r"[*?\[\\]", word) or word.startswith(":") else ""


_A_FILE = re.compile(r"\.|.*(?:\A|[\w-])\.[A-Za-z]\w{0,5}", re.DOTALL)
"""A word that is taken for a file where it could also be a branch."""
_FORCED = word_set("-f --force -m --merge --discard-changes --ours --theirs -p --patch --pathspec-from-file")


def _git_checkout(started: StartedProgram, entry: Entry, first: int) -> Effects:
    """Analyses ``git checkout``: ``HEAD x`` and ``x.py`` write files,
    ``main`` switches branches and keeps changes.
    """
    parsed = read_options(started, entry, first)
    risk = not_listed(entry, parsed)
    operands = tuple(started.words[place] for place in parsed.operands)
    forced = parsed.has(_FORCED)
    if "--" in started.words[first:]:
        files = started.words[started.words.index("--", first) + 1 :]
    elif parsed.has(word_set("-b -B -c -C --orphan --create --force-create --detach")):
        files = ()
    else:
        files = tuple(
            word
            for place, word in enumerate(operands)
            if place or _A_FILE.fullmatch(word) or pathspec_reach(word)
        )
    magic = (
        (ANYWHERE_IN_REPOSITORY,)
        if any(pathspec_reach(word) == ANYWHERE_IN_REPOSITORY for word in files)
        else ()
    )
    files = tuple(pathspec_reach(word) or word for word in files)
    writes = files or ((".",) if forced else ())
    return Effects(
        writes=writes, links=(".",), risk=risk, unclear=magic, note="may discard changes", warn=True
    )


_READ_OPTIONS = word_set("--get --get-all --get-regexp --get-urlmatch --list -l get list")
_DISPLAY_OPTIONS = word_set(
    "--global --local --system --worktree --show-origin --show-scope --name-only -z --null --includes --bool"
    " --int --path --type=bool"
)


_PYTHON_VALUE = re.compile(
    r"utf8(?:=[01])?|dev|importtime|faulthandler|tracemalloc(?:=\d+)?|error|ignore|default|always|module|once"
)


def _python(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``python file`` and ``python -m module``; all words after these are arguments."""
    words, place = started.words, 1
    while place < len(words) and words[place] in entry.flags and started.is_literal(place):
        place += 1
    while (
        place + 1 < len(words)
        and words[place] in ("-X", "-W")
        and started.is_literal(place)
        and _PYTHON_VALUE.fullmatch(words[place + 1])
    ):
        place += 2
    rest = words[place:]
    if not rest:
        only_informs = place > 1 and words[1] in ("--version", "-V", "--help", "-h", "-VV")
        return Effects(harmless=only_informs, risk="" if only_informs else RUNS_INPUT)
    if rest[0] == "-m" and len(rest) > 1 and started.is_literal(place) and started.is_literal(place + 1):
        return Effects(starts=(started.part(place + 1),), spelled=place + 2, project=True)
    if rest[0].startswith("-") or not started.is_one_word(place) or is_input(rest[0]):
        return Effects(
            risk=RUNS_INPUT if rest[0] == "-" else f"{rest[0]} may give {started.name} code to run"
        )
    return Effects(
        reads=(rest[0],),
        risk="" if started.is_literal(place) else "which code it runs is only known when it runs",
        project=True,
    )


def _git_config(started: StartedProgram, _: Entry, first: int) -> Effects:
    """Analyses ``git config``: reading is harmless, but a setting that is written may name a program."""
    words = started.words[first:]
    operands = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    reads = words[:1] and (
        bool(options & _READ_OPTIONS) or operands[:1] in (["get"], ["list"]) or len(operands) == 1
    )
    after_name = (
        words[words.index(operands[0]) + 1 :] if operands and operands[0] not in ("get", "list") else ()
    )
    reads = reads and not any(
        word.startswith("-") for word in after_name
    )  # after the name of a setting it is the value
    if reads and not started.dynamic and options <= _READ_OPTIONS | _DISPLAY_OPTIONS:
        reading = [
            word for word in words if word in _READ_OPTIONS and (word.startswith("-") or word == words[0])
        ]
        if len(operands) <= (2 if operands[:1] in (["get"], ["list"]) else 1) or (
            reading and len(operands) == 1
        ):
            return Effects(harmless=True)
    named = [word for word in words if word not in ("--global", "--local", "--system", "set", "--add")]
    files = {"--global": "~/.gitconfig", "--system": "/etc/gitconfig"}
    if len(named) == 2 and not started.dynamic and re.fullmatch(r"(?i)user\.(?:name|email)", named[0]):
        return Effects(writes=tuple(file for option, file in files.items() if option in options))
    written = tuple(file for option, file in files.items() if option in options) or (".git/config",)
    return Effects(writes=written, named=written, risk="a setting of git may start programs")


def _sqlite(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``sqlite3``: a query is harmless only with ``-safe``,
    which switches off what writes files and starts programs.
    """
    operands = [word for word in started.words[1:] if word not in entry.flags]
    clear = (
        not started.dynamic
        and len(operands) == 2
        and not operands[0].startswith("-")
        and sql_only_queries(operands[1])
    )
    files = tuple(operands[:1])
    writes = (
        () if "-readonly" in started.words or files == (":memory:",) else files
    )  # it creates a missing database
    if files and re.match(
        r"file:", files[0], re.IGNORECASE
    ):  # its path may be escaped, and it may have parameters
        return Effects(reads=files, risk=f"{files[0]} is an address, which SQLite decodes")
    risk = (
        ""
        if clear and "-safe" in started.words
        else "it accepts commands that start programs; a query with -safe does not"
    )
    reads_code = len(operands) < 2 and not started.dynamic
    return Effects(reads=files, writes=writes, risk=risk, language=entry.language if reads_code else "")


def _jq(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``jq`` and ``yq``: the first operand is a filter, the others are files.
    ``--arg`` takes two words.
    """
    skipped = frozenset(
        place + 2 for place, word in enumerate(started.words) if word in ("--arg", "--argjson")
    )
    kept = [place for place in range(len(started.words)) if place not in skipped]
    moved = {place: new for new, place in enumerate(kept)}

    def places(old: frozenset[int]) -> frozenset[int]:
        return frozenset(moved[place] for place in old if place in moved)

    own = started._replace(
        words=tuple(started.words[place] for place in kept),
        dynamic=places(started.dynamic),
        splits=places(started.splits),
        dashes=places(started.dashes),
    )
    parsed = read_options(own, entry)
    risk = not_listed(entry, parsed)
    if skipped & started.splits:
        risk = risk or "where its own arguments end is only known when it runs"
    operands = parsed.operands
    is_plain = yq_expression_is_plain if entry.name == "yq" else jq_filter_is_plain
    files = tuple(own.words[place] for place in operands[1:])
    if entry.name == "yq" and operands and own.words[operands[0]] in ("e", "ea", "eval", "eval-all"):
        operands, files = operands[1:], files[1:]
    if operands and not own.is_literal(operands[0]):
        risk = risk or "its filter is only known when it runs"
    elif operands and not is_plain(own.words[operands[0]]):
        risk = risk or f"its filter {own.words[operands[0]]!r} may read other files"
    rewriting = tuple(
        own.words[option.position] for option in parsed.options if option.name in entry.rewrites
    )
    writes = files if rewriting else ()
    return Effects(
        reads=files, writes=writes, named=writes, rewrites=rewriting, risk=risk, harmless=not (risk or writes)
    )


SPECIAL: dict[str, Special] = {
    "find": _find,
    "xargs": _xargs,
    "fd": _fd,
    "sed": _sed,
    "awk": _awk,
    "tar": _tar,
    "dd": _dd,
    "chmod": _chmod,
    "install": _install,
    "python": _python,
    "git-config": _git_config,
    "git-checkout": _git_checkout,
    "sqlite": _sqlite,
    "jq": _jq,
    **BUILTINS,
}
