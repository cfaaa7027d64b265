"""Analyses programs that find files and start others with their names: ``find``, ``fd``, ``xargs``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtools.shell.command_model import Effects, StartedProgram
from nbtools.shell.options import not_listed, read_options, word_set
from nbtools.shell.shell_builtins import Special

if TYPE_CHECKING:
    from nbtools.shell.program_table import Entry

_EXEC = word_set("-exec -execdir -ok -okdir")
_FD_EXEC = word_set("-x -X --exec --exec-batch")
_PUNCTUATION = word_set("( ) ! , -a -and -o -or -not")
_REMOVERS = word_set("rm rmdir shred unlink mv chmod chown")
_HERE = re.compile(r"(?:\./+)*\.?")
_SHOW_HIDDEN = word_set("-H -u --hidden --unrestricted")
_BY_NAME = word_set("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname")
_END_UNKNOWN = "where the arguments of the started program end is only known when it runs"
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
        elif negated:
            return
        elif word in _NARROWS or (word in _BY_NAME and re.search(r"\w", re.sub(r"\[[^]]*\]", "", value))):
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
            if not all(map(self.started.is_literal, range(place + 1, min(end, len(words))))):
                self.risk = self.risk or _END_UNKNOWN
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
    options = (word for at, word in enumerate(starts, begin) if started.may_be_option(at))
    unclear = next(options, "")
    found = _Expression(started, entry, several=any(start.startswith("-") for start in starts))
    found.read(place)
    narrowed = all(found.alternatives)
    risk = f"{unclear} may tell find to start or delete something" if unclear else found.risk
    reads = starts or (".",)
    names = found_below(reads)
    if narrowed:
        # A repository's ``.git`` may be below a starting point that does not begin with a name.
        below = [start if re.match(r"\w", start) else f"{start}/**" for start in reads]
        patterns = sorted(found.names)
        names = tuple(name if "/" in name else f"{start}/{name}" for start in below for name in patterns)
    removes: tuple[str, ...] = ()
    if found.deletes or any(program.name in _REMOVERS for program in found.programs):
        removes = tuple("" if narrowed and _HERE.fullmatch(start) else start for start in reads)
    prints_names = not (found.programs or found.writes or risk or {"-printf", "-ls", "-delete"} & set(words))
    deleted = reads if found.deletes else ()
    return Effects(
        starts=tuple(program._replace(found=names) for program in found.programs),
        reads=reads,
        writes=(*found.writes, *deleted),
        named=(*found.writes, *deleted),
        rewrites=("-delete",) if found.deletes else (),
        removes=removes,
        risk=risk,
        harmless=not (found.programs or found.deletes or found.writes or risk),
        lists=names if prints_names else (),
        note="deletes files" if found.deletes else "",
        warn=found.deletes,
    )


def _names_of(test: str, value: str) -> tuple[str, ...]:
    """Returns patterns of what passes a test of ``find``, whose wildcards also match a leading dot."""
    if test in ("-name", "-iname"):
        return (value, f".{value}") if value[0] in "*?[" else (value,)
    if test in ("-path", "-ipath", "-wholename", "-iwholename"):
        return value, value.replace("*", ".*")
    return "*", ".*"


def _exec_programs(started: StartedProgram, place: int, *, several: bool) -> tuple[int, list[StartedProgram]]:
    """Returns where find's own words continue, and the programs that ``-exec`` starts."""
    words, end = started.words, place + 1
    while end < len(words) and words[end] != ";" and words[end - 1 : end + 1] != ("{}", "+"):
        end += 1
    inner = started.part(place + 1, end)
    found = frozenset(at for at, word in enumerate(inner.words) if "{}" in word)
    return end + 1, [inner.with_found(inner.words, found, several=several)] if inner.words else []


def found_below(starts: tuple[str, ...], *, hidden: bool = True, some: bool = False) -> tuple[str, ...]:
    """Returns patterns of the names that a search from ``starts`` finds.

    ``hidden``: also in ``.git`` and other hidden folders.
    ``some``: only some files and no folder, so that not everything is meant.
    """
    names = tuple(f"{start}/**/a-file" if some else f"{start}/**" for start in starts)
    if not hidden:
        return names
    dotted = (f"{start}/.**" for start in starts if not re.match(r"\w", start))
    return (*(() if some else starts), *names, *dotted)


def _xargs(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``xargs``.  Words from its input are represented by the dynamic word ``{}``."""
    parsed = read_options(started, entry, stop=True)
    own = parsed.operands[0] if parsed.operands else len(started.words)
    odd = parsed.strange or (parsed.unclear if parsed.unclear in started.words[:own] else "")
    risk = f"{odd} is not a known harmless option of xargs" if odd else ""
    files = tuple(option.value or "" for option in parsed.values(entry.reads))
    if not parsed.operands:
        return Effects(reads=files, risk=risk)
    inner = started.part(own)
    replaced = [option for option in parsed.options if option.name in ("-I", "-i", "--replace")]
    if replaced:
        marks = {option.value or "{}" for option in replaced}
        filled = {at for at, word in enumerate(inner.words) if any(mark in word for mark in marks)}
        words = tuple(_with_placeholder(word, marks) for word in inner.words)
    else:
        words, filled = (*inner.words, "{}"), {len(inner.words)}
    names = () if files or parsed.has(word_set("-d --delimiter -E -e --eof")) else started.input_names
    program = inner.with_found(words, frozenset(filled), names, several=True, options=not names)
    return Effects(starts=(program,), reads=files, risk=risk, transparent=not risk, of_names=bool(names))


def _with_placeholder(word: str, placeholders: set[str]) -> str:
    """Replaces the chosen placeholder by ``{}``, which is not mistaken for a file name."""
    for placeholder in filter(None, placeholders):
        word = word.replace(placeholder, "{}")
    return word


def _fd(started: StartedProgram, entry: Entry, _: int) -> Effects:
    starting = [at for at, word in enumerate(started.words) if word in _FD_EXEC and started.is_literal(at)]
    place = starting[0] if starting else 0
    own = started.part(0, place) if place else started
    parsed = read_options(own, entry)
    risk = not_listed(entry, parsed)
    reads = tuple(own.words[at] for at in parsed.operands[1:]) or (".",)
    reads = (*reads, *(option.value or "" for option in parsed.values(entry.reads | entry.folder)))
    pattern = own.words[parsed.operands[0]] if parsed.operands else ""
    narrowed = parsed.has(word_set("-e --extension")) or re.search(r"\w", pattern) is not None
    names = found_below(reads, hidden=parsed.has(_SHOW_HIDDEN), some=narrowed)
    if not place:
        only_names = not (risk or parsed.has(entry.prints | entry.folder) or own.dynamic)
        return Effects(reads=reads, risk=risk, harmless=not risk, lists=names if only_names else ())
    inner = started.part(place + 1)
    if inner.dynamic or ";" in inner.words:
        risk = risk or _END_UNKNOWN
    words = inner.words if any("{" in word for word in inner.words) else (*inner.words, "{}")
    found = frozenset(at for at, text in enumerate(words) if "{" in text)
    program = inner.with_found(words, found, names, several=True)
    return Effects((program,) if inner.words else (), reads, risk=risk)


SEARCH_PROGRAMS: dict[str, Special] = {"find": _find, "xargs": _xargs, "fd": _fd}
