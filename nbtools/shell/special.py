"""Analyses programs whose arguments are a language of their own and cannot be described by lists of options."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from nbtools.shell.options import Given, read_options
from nbtools.shell.scripts import awk_program_is_plain, sed_script_is_plain, sql_only_looks
from nbtools.shell.started import NOTHING, RUNS_INPUT, Effects, Script, Started, is_input
from nbtools.shell.variables import exported_risk, variable_risk

if TYPE_CHECKING:
    from nbtools.shell.table import Entry

Special: TypeAlias = "Callable[[Started, Entry, int], Effects]"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _not_listed(entry: Entry, given: Given) -> str:
    """Why the options are not known to be harmless; words behind the first operand may be the words of another program."""
    if given.strange:
        return f"{given.strange} is not a known harmless option of {entry.name}"
    return f"{given.unclear} is only known when it runs, and may be an option" if given.unclear else ""


# find and xargs: programs started with what was found

_EXEC = _names("-exec -execdir -ok -okdir")
_PUNCTUATION = _names("( ) ! , -a -and -o -or -not")
_REMOVERS = _names("rm rmdir shred unlink mv chmod chown")
_HERE = re.compile(r"(?:\./+)*\.?")
_NARROWS = re.compile(r"-i?(?:name|path|regex|wholename)|-size|-[acm](?:time|min)|-empty|-newer|-user|-perm|-samefile|-inum|-lname|-xtype")


class _Expression:
    """What stands behind the starting points of ``find``."""

    def __init__(self, started: Started, entry: Entry, *, several: bool) -> None:
        self.started, self.entry, self.several = started, entry, several
        self.programs: list[Started] = []
        self.writes: list[str] = []
        self.risk = ""
        self.deletes = self.narrowed = False

    def read(self, place: int) -> None:
        while place < len(self.started.words):
            place = self._term(place, self.started.words[place])

    def _term(self, place: int, word: str) -> int:
        words, fixed = self.started.words, self.started.fixed(place)
        self.narrowed = self.narrowed or bool(_NARROWS.match(word))
        if fixed and word in _EXEC:
            end, inner = _executed(self.started, place, several=self.several)
            self.programs += inner
            if word in ("-execdir", "-okdir"):
                self.risk = self.risk or "it starts programs in whatever folder it finds"
            if any(not self.started.fixed(at) for at in range(place + 1, min(end, len(words)))):
                self.risk = self.risk or "where the words of what it starts end is only known when it runs"
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


def _find(started: Started, entry: Entry, _: int) -> Effects:
    words, place = started.words, 1
    while place < len(words) and words[place] in ("-H", "-L", "-P"):
        place += 1
    begin = place
    while place < len(words) and not re.match(r"-.|[(),!]", words[place]):
        place += 1
    starts = words[begin:place]
    unclear = next((word for at, word in enumerate(starts, begin) if started.dynamic and started.may_be_option(at)), "")
    found = _Expression(started, entry, several=any(start.startswith("-") for start in starts))
    found.read(place)
    risk = f"{unclear} may tell find to start or delete something" if unclear else found.risk
    reads = starts or (".",)
    removing = found.deletes or any(program.name in _REMOVERS for program in found.programs)
    deleted = reads if found.deletes else ()
    return Effects(
        starts=tuple(found.programs),
        reads=reads,
        writes=(*found.writes, *deleted),
        named=(*found.writes, *deleted),
        rewrites=("-delete",) if found.deletes else (),
        removes=tuple("" if found.narrowed and _HERE.fullmatch(start) else start for start in reads) if removing else (),
        risk=risk,
        harmless=not (found.programs or found.deletes or found.writes or risk),
        lists=not (found.programs or found.writes or risk or {"-printf", "-ls", "-delete"} & set(words)),
        note="deletes files" if found.deletes else "",
        warn=found.deletes,
    )


def _executed(started: Started, place: int, *, several: bool) -> tuple[int, list[Started]]:
    """What ``-exec`` starts, and where find's own words go on."""
    words = started.words
    ends = (at for at in range(place + 1, len(words)) if words[at] == ";" or (words[at] == "+" and words[at - 1] == "{}"))
    end = next(ends, len(words))
    inner = started.part(place + 1, end)
    found = frozenset(at for at, word in enumerate(inner.words) if "{}" in word)
    return end + 1, [inner.with_found(inner.words, found, several=several)] if inner.words else []


def _xargs(started: Started, entry: Entry, _: int) -> Effects:
    """What comes from its input stands as the word ``{}`` that nobody knows."""
    given = read_options(started, entry, stop=True)
    own = given.operands[0] if given.operands else len(started.words)
    unclear = given.unclear if given.unclear in started.words[:own] else ""
    risk = f"{given.strange or unclear} is not a known harmless option of xargs" if given.strange or unclear else ""
    files = tuple(option.value or "" for option in given.values(entry.reads))
    if not given.operands:
        return Effects(reads=files, risk=risk)
    inner = started.part(own)
    marks = {option.value or "{}" for option in given.options if option.name in ("-I", "-i", "--replace")}
    taken = frozenset(at for at, word in enumerate(inner.words) if any(mark in word for mark in marks))
    words = tuple(_marked(word, marks) for word in inner.words) if marks else (*inner.words, "{}")
    names = started.names and not files and not given.has(_names("-d --delimiter -E -e --eof"))
    program = inner.with_found(words, taken if marks else taken | {len(words) - 1}, several=True, options=not names)
    return Effects(starts=(program,), reads=files, risk=risk, transparent=not risk, of_names=names)


def _marked(word: str, marks: set[str]) -> str:
    """Whatever mark was chosen, it shows as ``{}``, which nobody takes for a name."""
    for mark in filter(None, marks):
        word = word.replace(mark, "{}")
    return word


def _fd(started: Started, entry: Entry, _: int) -> Effects:
    place = next((at for at, word in enumerate(started.words) if word in ("-x", "-X", "--exec", "--exec-batch") and started.fixed(at)), 0)
    own = started.part(0, place) if place else started
    given = read_options(own, entry)
    risk = _not_listed(entry, given)
    reads = tuple(own.words[at] for at in given.operands[1:]) or (".",)
    reads = (*reads, *(option.value or "" for option in given.values(entry.reads | entry.folder)))
    if not place:
        listing = not (risk or given.has(entry.prints | entry.folder) or own.dynamic)
        return Effects(reads=reads, risk=risk, harmless=not risk, lists=listing)
    inner = started.part(place + 1)
    if inner.dynamic or ";" in inner.words:
        risk = risk or "where the words of what it starts end is only known when it runs"
    words = inner.words if any("{" in word for word in inner.words) else (*inner.words, "{}")
    found = frozenset(at for at, text in enumerate(words) if "{" in text)
    return Effects((inner.with_found(words, found, several=True),) if inner.words else (), reads, risk=risk)


# sed, awk, tar, dd, chmod, install: their own little languages


def _sed(started: Started, entry: Entry, _: int) -> Effects:
    given = read_options(started, entry)
    scripts = [(option.value or "", option.position) for option in given.values(_names("-e --expression"))]
    operands = given.operands
    if not scripts and operands:
        scripts, operands = [(started.words[operands[0]], operands[0])], operands[1:]
    files = tuple(started.words[place] for place in operands)
    in_place = given.has(entry.rewrites)
    backups = tuple(filter(None, (option.value for option in given.values(entry.rewrites))))  # the last one counts
    copies = tuple(f"{name}{backup}" for name in files for backup in backups)
    unclear = next((word for place, word in enumerate(started.words) if place in started.dashes and started.words[place - 1] != "--"), "")
    risk = _not_listed(entry, given) or (f"{unclear} may be an option of sed" if unclear else "")
    script = "\n".join(text for text, _ in scripts)
    if not all(started.fixed(place) for _, place in scripts):
        risk = risk or "its script is only known when it runs"
    elif not sed_script_is_plain(script):
        risk = risk or f"its script {script!r} may start programs or write files"
    if re.search(r"[/*]", "".join(backups)):
        risk = risk or "where its copies go is not known"
    note = "changes files in place" if in_place else ""
    writes = (*files, *copies) if in_place else ()
    how = tuple(started.words[option.position] for option in given.options if option.name in entry.rewrites)
    return Effects(reads=files, writes=writes, named=writes, rewrites=how, risk=risk, harmless=not (in_place or risk), note=note)


def _awk(started: Started, entry: Entry, _: int) -> Effects:
    given = read_options(started, entry, stop=True)
    if not given.operands:
        return Effects(risk=_not_listed(entry, given) or "its program stands in a file")
    place, *rest = given.operands
    program = started.words[place]
    files = tuple(started.words[at] for at in rest if not re.match(r"\w+=", started.words[at]))
    risk = _not_listed(entry, given)
    if not started.fixed(place):
        risk = risk or "its program is only known when it runs"
    elif not awk_program_is_plain(program):
        risk = risk or f"its program {program!r} may start programs or write files"
    return Effects(reads=files, risk=risk, harmless=not risk)


def _tar(started: Started, entry: Entry, _: int) -> Effects:
    """``tar xzf a -C b``: the first word may be letters without a dash."""
    words = started.words
    if len(words) > 1 and started.fixed(1) and re.fullmatch(r"[A-Za-z]+", words[1]):
        started = _with_dashes(started, entry)
    given = read_options(started, entry)
    archive = tuple(option.value or "" for option in given.values(_names("-f --file")) if option.value != "-")
    operands = tuple(started.words[place] for place in given.operands)
    folders = [option for option in given.options if option.name in entry.folder]
    into = (posixpath.join("", *(option.value or "" for option in folders)),) if folders else ()
    unclear = into if any(option.position in started.dynamic for option in folders) else ()
    named = tuple(option.value or "" for option in given.values(entry.writes - {"-f", "--file"}))
    risk = _not_listed(entry, given)
    risk = risk or next((f"the archive {name} is on another machine" for name in archive if ":" in name), "")
    if given.has(_names("-x --extract --get")):
        if not (into or given.has(_names("-O --to-stdout"))):
            risk = risk or "what it unpacks, and where to, is not known"
        written = (*(into or (".",)), *named)
        return Effects(reads=archive, writes=written, named=written, links=written, risk=risk, unclear=unclear, note="unpacks files")
    if given.has(_names("-t --list")):
        return Effects(reads=archive, writes=named, named=named, risk=risk, harmless=not (risk or named))
    taken = operands if given.has(entry.takes) else ()
    named = (*named, *taken)
    return Effects(reads=operands, writes=(*archive, *named), named=named, removes=taken, risk=risk, note="writes an archive")


def _with_dashes(started: Started, entry: Entry) -> Started:
    """``tar cfC a b`` is ``tar -c -f a -C b``."""
    words, taken, position = [started.words[0]], {}, 2
    for letter in started.words[1]:
        words.append(f"-{letter}")
        if f"-{letter}" in entry.values and position < len(started.words):
            taken[position] = len(words)
            words.append(started.words[position])
            position += 1
    moved = {place: len(words) + place - position for place in range(position, len(started.words))} | taken

    def shifted(places: frozenset[int]) -> frozenset[int]:
        return frozenset(moved[place] for place in places)

    return Started((*words, *started.words[position:]), shifted(started.dynamic), shifted(started.splits), shifted(started.dashes))


def _dd(started: Started, entry: Entry, _: int) -> Effects:
    named = [word.partition("=") for word in started.words[1:]]
    odd = next((name for name, _, _ in named if name not in entry.values | {"if", "of"}), "")
    risk = "what it reads and writes is only known when it runs" if started.dynamic else f"{odd} is not known of dd" if odd else ""
    reads, writes = (tuple(value for name, _, value in named if name == which) for which in ("if", "of"))
    return Effects(reads=reads, writes=writes, named=writes, risk=risk, note="writes raw data", warn=True)


def _chmod(started: Started, entry: Entry, _: int) -> Effects:
    given = read_options(started, entry)
    operands = tuple(started.words[place] for place in given.operands)[0 if given.has(_names("--reference")) else 1 :]
    if given.strange and re.match(r"-[rwxXst]", given.strange):  # chmod -x file
        operands = tuple(word for word in started.words[1:] if not word.startswith("-"))
    removes = operands if given.has(_names("-R --recursive")) else ()
    return Effects(writes=operands, removes=removes, risk=_not_listed(entry, given), note="changes who may use files")


def _install(started: Started, entry: Entry, _: int) -> Effects:
    given = read_options(started, entry)
    operands = tuple(started.words[place] for place in given.operands)
    risk = _not_listed(entry, given)
    if given.has(_names("-d --directory")):
        return Effects(writes=operands, risk=risk)
    target = operands[-1:] if len(operands) > 1 else ()
    inside = tuple(f"{target[0].rstrip('/')}/{source.rpartition('/')[2]}" for source in operands[:-1]) if target else ()
    return Effects(reads=operands[:-1], writes=(*target, *inside), risk=risk, note="copies files")


# Shells, and the builtins that run a text or set a variable

_UNARY = _names("-n -z -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S")
_BINARY = _names("= == != -eq -ne -lt -gt -le -ge -nt -ot -ef")


def _test(started: Started, _: Entry, __: int) -> Effects:
    """``-v`` and ``-R`` reckon with a subscript, and a word that nobody knows may be one of them: only forms that are clear."""
    last = len(started.words) - (started.words[0] == "[")
    if started.words[0] == "[" and started.words[-1] != "]":
        return Effects(risk="its last bracket is missing")
    places = list(range(1, last))
    if places and started.words[1] == "!" and len(places) > 1:
        places = places[1:]
    words = [started.words[place] if started.fixed(place) else None for place in places]
    clear = not any(place in started.splits for place in places)
    match words:
        case [] | [_]:
            known = True
        case [str(operator), _]:
            known = operator in _UNARY
        case [_, str(operator), _]:
            known = operator in _BINARY
        case [str(one), _, "-a" | "-o", str(other), _]:
            known = {one, other} <= _UNARY
        case _:
            known = False
    return Effects(harmless=known and clear, risk="" if known and clear else "what it compares is only known when it runs")


_SET_BY_NAME = _names("pipefail errexit nounset xtrace noglob")


def _shell(started: Started, entry: Entry, _: int) -> Effects:
    """``bash -lc 'text' name args``, ``bash file``, ``bash < file``."""
    words, position, flags = started.words, 1, ""
    while position < len(words) and words[position][:1] == "-" and words[position] not in ("-", "--"):
        word = words[position]
        set_by_name = not word.startswith("--") and word.endswith("o")
        letters = word[1:-1] if set_by_name else word[1:]
        known = word in entry.flags or (not word.startswith("--") and {f"-{letter}" for letter in letters} <= entry.flags | {"-c"})
        known = known and (not set_by_name or "".join(words[position + 1 : position + 2]) in _SET_BY_NAME)
        if not started.fixed(position) or not known:
            return Effects(risk=f"{word} is not a known harmless option of {started.name}")
        flags += "" if word.startswith("--") else word
        position += 1 + set_by_name
    position += position < len(words) and words[position] in ("-", "--")
    if "c" in flags:
        if position >= len(words):
            return NOTHING
        return Effects(starts=(Script(words[position], started.fixed(position)),), transparent=True)
    if position < len(words) and "s" not in flags and not is_input(words[position]):
        return Effects(reads=(words[position],), risk="" if started.fixed(position) else "which file it runs is not known", project=True)
    return Effects(risk=RUNS_INPUT, reads_commands=True, note="runs what it is given to read", warn=True)


def _eval(started: Started, _: Entry, __: int) -> Effects:
    places = range(1 + (started.words[1:2] == ("--",)), len(started.words))
    text = " ".join(started.words[place] for place in places)
    return Effects(starts=(Script(text, all(map(started.fixed, places))),), transparent=True)


def _trap(started: Started, _: Entry, __: int) -> Effects:
    place = 1 + (started.words[1:2] == ("--",))
    if len(started.words) <= place + 1 or started.words[place] in ("-l", "-p", "-", ""):
        return Effects(harmless=not started.dynamic, risk="what it does is only known when it runs" if started.dynamic else "")
    return Effects(starts=(Script(started.words[place], started.fixed(place)),), transparent=True)


def _source(started: Started, _: Entry, __: int) -> Effects:
    file = "".join(started.words[1:2])
    if is_input(file):
        return Effects(risk=RUNS_INPUT, reads_commands=True, note="runs what it is given to read", warn=True)
    if file.startswith("-") or not all(map(started.fixed, range(1, min(2, len(started.words))))):
        return Effects(risk="which file it runs is not known")
    return Effects(reads=started.words[1:2])


def _command(started: Started, entry: Entry, _: int) -> Effects:
    """``command -v name`` only looks, ``command name`` starts it."""
    given = read_options(started, entry, stop=True)
    if given.has(_names("-v -V")):
        return Effects(harmless=not given.strange)
    own = given.operands[0] if given.operands else len(started.words)
    unclear = given.unclear in started.words[:own] and given.unclear
    if not given.operands or given.strange or unclear:
        return Effects(risk="what it starts is not known" if given.strange or unclear else "", harmless=not given.operands)
    return Effects(starts=(started.part(own),), transparent=True)


def _declares(started: Started, _: Entry, __: int) -> Effects:
    """``export NAME=value``: each is a variable that is set, and programs see it."""
    for place, word in enumerate(started.words[1:], 1):
        if word == "-p" and len(started.words) == 2:
            return Effects(harmless=True)
        name = re.match(r"([A-Za-z_]\w*)(?:=|\Z)", word, re.ASCII)
        if not name or (not started.fixed(place) and "=" not in word):
            return Effects(risk=f"what {started.name} makes of {word} is not known")
        if risk := exported_risk((word,)) if "=" in word or started.name != "export" else exported_risk((f"{word}=",)):
            return Effects(risk=risk)
    return Effects(transparent=len(started.words) > 1, harmless=len(started.words) == 1)


def _read(started: Started, entry: Entry, _: int) -> Effects:
    """``read NAME``: each name is a variable that is set."""
    given = read_options(started, entry)
    risk = _not_listed(entry, given)
    for option in given.values(frozenset(entry.only)):
        risk = risk or variable_risk(option.value or "")
    for place in given.operands:
        if not started.fixed(place) or not re.fullmatch(r"[A-Za-z_]\w*", started.words[place], re.ASCII):
            risk = risk or f"{started.words[place]} may hold a command"
        risk = risk or variable_risk(started.words[place])
    return Effects(risk=risk, transparent=not risk)


def _set(started: Started, _: Entry, __: int) -> Effects:
    plain = re.fullmatch(r"set(?: [-+][euxo]+| pipefail| errexit| nounset| xtrace)*", " ".join(started.words)) and not started.dynamic
    if plain:
        return Effects(harmless=True, transparent=len(started.words) > 1)
    return Effects(risk="it changes how the shell reads what comes after it")


# git checkout, python, git config, sqlite3

_A_FILE = re.compile(r"\.|.*(?:\A|[\w-])\.[A-Za-z]\w{0,5}", re.DOTALL)
"""What is a file rather than a branch, where both may stand."""
_FORCED = _names("-f --force -m --merge --discard-changes --ours --theirs -p --patch --pathspec-from-file")


def _git_checkout(started: Started, entry: Entry, first: int) -> Effects:
    """``checkout HEAD x`` and ``checkout x.py`` write files, ``checkout main`` goes to a branch and keeps what was changed."""
    given = read_options(started, entry, first)
    risk = _not_listed(entry, given)
    operands = tuple(started.words[place] for place in given.operands)
    forced = given.has(_FORCED)
    if "--" in started.words[first:]:
        files = started.words[started.words.index("--", first) + 1 :]
    elif given.has(_names("-b -B -c -C --orphan --create --force-create --detach")):
        files = ()
    else:
        files = tuple(word for place, word in enumerate(operands) if place or _A_FILE.fullmatch(word))
    return Effects(writes=files or ((".",) if forced else ()), links=(".",), risk=risk, note="may discard changes", warn=True)


_READING = _names("--get --get-all --get-regexp --get-urlmatch --list -l get list")
_ASIDE = _names(
    "--global --local --system --worktree --show-origin --show-scope --name-only -z --null --includes --bool --int --path --type=bool"
)


_PYTHON_VALUE = re.compile(r"utf8(?:=[01])?|dev|importtime|faulthandler|tracemalloc(?:=\d+)?|error|ignore|default|always|module|once")


def _python(started: Started, entry: Entry, _: int) -> Effects:
    """``python file``, ``python -m module``: behind these all is the program's own."""
    words, place = started.words, 1
    while place < len(words) and words[place] in entry.flags and started.fixed(place):
        place += 1
    while place + 1 < len(words) and words[place] in ("-X", "-W") and started.fixed(place) and _PYTHON_VALUE.fullmatch(words[place + 1]):
        place += 2
    rest = words[place:]
    if not rest:
        informs = place > 1 and words[1] in ("--version", "-V", "--help", "-h", "-VV")
        return Effects(harmless=informs, risk="" if informs else RUNS_INPUT)
    if rest[0] == "-m" and len(rest) > 1 and started.fixed(place) and started.fixed(place + 1):
        return Effects(starts=(started.part(place + 1),), spelled=place + 2, project=True)
    if rest[0].startswith("-") or not started.one_word(place) or is_input(rest[0]):
        return Effects(risk=RUNS_INPUT if rest[0] == "-" else f"{rest[0]} may give {started.name} code to run")
    return Effects(reads=(rest[0],), risk="" if started.fixed(place) else "which code it runs is only known when it runs", project=True)


def _git_config(started: Started, _: Entry, first: int) -> Effects:
    """Reading a setting is harmless; every setting may name a program."""
    words = started.words[first:]
    operands = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    reads = words[:1] and (bool(options & _READING) or operands[:1] in (["get"], ["list"]) or len(operands) == 1)
    late = words[words.index(operands[0]) + 1 :] if operands and operands[0] not in ("get", "list") else ()
    reads = reads and not any(word.startswith("-") for word in late)  # behind the name of a setting it is the value
    if reads and not started.dynamic and options <= _READING | _ASIDE:
        reading = [word for word in words if word in _READING and (word.startswith("-") or word == words[0])]
        if len(operands) <= (2 if operands[:1] in (["get"], ["list"]) else 1) or (reading and len(operands) == 1):
            return Effects(harmless=True)
    named = [word for word in words if word not in ("--global", "--local", "--system", "set", "--add")]
    if len(named) == 2 and not started.dynamic and re.fullmatch(r"(?i)user\.(?:name|email)", named[0]):
        elsewhere = {"--global": "~/.gitconfig", "--system": "/etc/gitconfig"}
        return Effects(writes=tuple(file for option, file in elsewhere.items() if option in options))
    return Effects(risk="a setting of git may start programs")


def _sqlite(started: Started, entry: Entry, _: int) -> Effects:
    operands = [word for word in started.words[1:] if word not in entry.flags]
    clear = not started.dynamic and len(operands) == 2 and not operands[0].startswith("-") and sql_only_looks(operands[1])
    files = tuple(operands[:1])
    writes = () if "-readonly" in started.words or files == (":memory:",) else files  # it makes one that is missing
    return Effects(reads=files, writes=writes, risk="" if clear else "it takes commands that start programs")


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
    "test": _test,
    "shell": _shell,
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    "command": _command,
    "export": _declares,
    "read": _read,
    "set": _set,
    "python": _python,
    "git-config": _git_config,
    "git-checkout": _git_checkout,
    "sqlite": _sqlite,
}
