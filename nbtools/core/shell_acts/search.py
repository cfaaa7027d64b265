"""``find`` and ``xargs``: programs started with what was found."""

from __future__ import annotations

import re

from nbtools.core.shell_acts import assignments as variables
from nbtools.core.shell_acts.critical import critical_removal
from nbtools.core.shell_acts.options import grammar, read_options
from nbtools.core.shell_acts.started import Effects, Handler, Started

_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_ONE_VALUE = frozenset(
    {
        *(
            "-name",
            "-iname",
            "-path",
            "-ipath",
            "-wholename",
            "-iwholename",
            "-regex",
            "-iregex",
            "-lname",
            "-ilname",
            "-type",
            "-xtype",
            "-size",
        ),
        *(
            "-mtime",
            "-atime",
            "-ctime",
            "-mmin",
            "-amin",
            "-cmin",
            "-newer",
            "-anewer",
            "-cnewer",
            "-user",
            "-group",
            "-uid",
            "-gid",
            "-perm",
        ),
        *("-maxdepth", "-mindepth", "-printf", "-links", "-inum", "-fstype", "-samefile", "-regextype", "-used", "-context", "-newermt"),
    }
)
_NO_VALUE = frozenset(
    {
        *(
            "-print",
            "-print0",
            "-ls",
            "-prune",
            "-quit",
            "-true",
            "-false",
            "-empty",
            "-depth",
            "-d",
            "-xdev",
            "-mount",
            "-follow",
            "-daystart",
            "-noleaf",
        ),
        *(
            "-readable",
            "-writable",
            "-executable",
            "-nouser",
            "-nogroup",
            "-a",
            "-and",
            "-o",
            "-or",
            "-not",
            "!",
            "(",
            ")",
            ",",
            "-warn",
            "-nowarn",
        ),
    }
)
_NARROWS = re.compile(
    r"-i?(?:name|path|regex|wholename)|-size|-[acm](?:time|min)|-empty|-newer|-user|-perm|-maxdepth|-samefile|-inum|-lname|-xtype"
)


def _find(started: Started) -> Effects:
    walk = _Find(started)
    walk.read()
    reads = tuple(walk.starts) or (".",)
    return Effects(
        starts=tuple(walk.programs),
        reads=reads,
        writes=(*walk.writes, *(reads if walk.deletes else ())),
        risk=walk.risk,
        critical=walk.critical(reads),
        harmless=not (walk.programs or walk.deletes or walk.writes),
    )


class _Find:
    def __init__(self, started: Started) -> None:
        self.started = started
        self.starts: list[str] = []
        self.programs: list[Started] = []
        self.writes: list[str] = []
        self.risk = ""
        self.deletes = False
        self.narrowed = False

    def read(self) -> None:
        words, place = self.started.words, 1
        while place < len(words) and re.fullmatch(r"-[HLP]+|-O\d|-D\w*", words[place]):
            place += 1 + (words[place] == "-D")
        while place < len(words) and not re.match(r"-.|[(),!]", words[place]):
            self.starts.append(words[place])
            self._one_word(place)
            place += 1
        while place < len(words):
            place = self._expression(place)

    def _one_word(self, place: int) -> None:
        if not self.started.one_word(place):
            self.risk = self.risk or f"{self.started.words[place]} may tell find to start or delete something"

    def _expression(self, place: int) -> int:
        word = self.started.words[place]
        self.narrowed = self.narrowed or bool(_NARROWS.match(word))
        if word in _EXEC:
            return self._program(place)
        if word in _WRITES:
            self.writes.extend(self.started.words[place + 1 : place + 2])
            return place + 2 + (word == "-fprintf")
        if word == "-delete":
            self.deletes = True
        elif word in _ONE_VALUE or re.fullmatch(r"-newer[aBcmt]{2}", word):
            self._one_word(min(place + 1, len(self.started.words) - 1))
            return place + 2
        elif word not in _NO_VALUE:
            self.risk = self.risk or f"{word} is no word of find that is known"
        return place + 1

    def _program(self, place: int) -> int:
        words = self.started.words
        end = next(
            (at for at in range(place + 1, len(words)) if words[at] == ";" or (words[at] == "+" and words[at - 1] == "{}")), len(words)
        )
        inner = self.started.part(place + 1, end)
        found = frozenset(at for at, word in enumerate(inner.words) if "{}" in word)
        if inner.words:
            self.programs.append(inner.with_found(inner.words, found, several=any(start.startswith("-") for start in self.starts)))
        return end + 1

    def critical(self, starts: tuple[str, ...]) -> str:
        """What it deletes by itself or by ``rm``, unless it looks for something narrower below."""
        removes = self.deletes or any(
            program.name in ("rm", "rmdir", "shred", "unlink", "mv", "chmod", "chown") for program in self.programs
        )
        for start in starts if removes else ():
            why = critical_removal(start, dynamic=start in {self.started.words[at] for at in self.started.dynamic})
            if why and not (self.narrowed and re.fullmatch(r"(?:\./*)*\.?", start)):
                return f"what find comes upon below {start} ({why.partition(' is ')[2] or why})"
        return ""


_XARGS = grammar(
    "-0prtxo --null --interactive --no-run-if-empty --verbose --exit --show-limits --open-tty",
    "-aEILnPsd --arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var -R -S",
    "-eil --eof --replace --max-lines",
)


def _xargs(started: Started) -> Effects:
    """What comes from its input stands as the word ``{}`` that nobody knows."""
    given = read_options(started, _XARGS, stop=True)
    if not given.operands:
        return Effects(risk=f"{given.strange or given.unclear} is not known of xargs" if given.strange or given.unclear else "")
    inner = started.part(given.operands[0])
    marks = {option.value or "{}" for option in given.options if option.name in ("-I", "-i", "--replace")}
    taken = frozenset(at for at, word in enumerate(inner.words) if any(mark in word for mark in marks))
    words = tuple(_marked(word, marks) for word in inner.words) if marks else (*inner.words, "{}")
    program = inner.with_found(words, taken if marks else taken | {len(words) - 1}, several=True)
    risk = f"{given.strange} is no option that is known of xargs" if given.strange else ""
    risk = risk or variables.exported_risk(tuple(option.value or "" for option in given.values("--process-slot-var")))
    if given.unclear and given.unclear in started.words[: given.operands[0]]:
        risk = f"{given.unclear} may be an option of xargs"
    files = tuple(option.value or "" for option in given.values("-a", "--arg-file"))
    return Effects(starts=(program,), reads=files, risk=risk, transparent=not risk)


def _marked(word: str, marks: set[str]) -> str:
    """Whatever mark was chosen, it shows as ``{}``, which nobody takes for a name."""
    for mark in filter(None, marks):
        word = word.replace(mark, "{}")
    return word


SEARCH: dict[str, Handler] = {"find": _find, "gfind": _find, "xargs": _xargs, "gxargs": _xargs}
