"""Analyses shells, and the builtins that run a text, compare values or set variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from nbtools.shell.command_model import NOTHING, RUNS_INPUT, Effects, Script, StartedProgram, is_input
from nbtools.shell.options import not_listed, read_options, word_set
from nbtools.shell.variables import exported_risk, variable_risk

if TYPE_CHECKING:
    from nbtools.shell.program_table import Entry

Special: TypeAlias = "Callable[[StartedProgram, Entry, int], Effects]"
"""Takes the program with its words, its entry in the table,
and the place of the first word after its name and sub-commands.
"""

_UNARY = word_set("-n -z -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S")
_BINARY = word_set("= == != -eq -ne -lt -gt -le -ge -nt -ot -ef")


def _test(started: StartedProgram, _: Entry, __: int) -> Effects:
    """Analyses ``test``.  ``-v`` and ``-R`` evaluate subscripts, which can run commands,
    so only unambiguous forms are accepted.
    """
    last = len(started.words) - (started.words[0] == "[")
    if started.words[0] == "[" and started.words[-1] != "]":
        return Effects(risk="its closing bracket is missing")
    places = list(range(1, last))
    if places and started.words[1] == "!" and len(places) > 1:
        places = places[1:]
    words = [started.words[place] if started.is_literal(place) else None for place in places]
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
    unclear = "what it compares is only known when it runs"
    return Effects(harmless=known and clear, risk="" if known and clear else unclear)


_BY_NAME = {
    "o": word_set("pipefail errexit nounset xtrace noglob"),
    "O": word_set("nullglob globstar nocasematch failglob"),
}
"""The settings that ``-o NAME`` and bash's ``-O NAME`` change without another meaning of a text;
``extglob`` changes how it is read.
"""


def _shell(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses a shell: ``bash -lc 'text' name args``, ``bash file``, ``bash < file``."""
    words, position, flags = started.words, 1, ""
    while position < len(words) and words[position][:1] in ("-", "+") and words[position] not in ("-", "--"):
        word, is_long = words[position], words[position].startswith("--")
        set_by_name = not is_long and word.endswith(("o", "O"))
        letters = {f"-{letter}" for letter in (word[1:-1] if set_by_name else word[1:])}
        known = word in entry.flags or (not is_long and letters <= entry.flags | {"-c"})
        if set_by_name:
            known = known and "".join(words[position + 1 : position + 2]) in _BY_NAME[word[-1]]
        if not started.is_literal(position) or not known:
            # Which of the later words is the text to run is not known: all of them are looked at.
            texts = [place for place in range(position + 1, len(words)) if words[place][:1] not in ("-", "+")]
            starts = tuple(Script(words[place], started.is_literal(place)) for place in texts)
            return Effects(starts=starts, risk=f"{word} is not a known harmless option of {started.name}")
        flags += "" if is_long else word
        position += 1 + set_by_name
    position += position < len(words) and words[position] in ("-", "--")
    if "c" in flags:
        if position >= len(words):
            return NOTHING
        return Effects(starts=(Script(words[position], started.is_literal(position)),), transparent=True)
    if position < len(words) and "s" not in flags and not is_input(words[position]):
        risk = "" if started.is_literal(position) else "which file it runs is not known"
        return Effects(reads=(words[position],), risk=risk, project=True)
    return _READS_COMMANDS


_READS_COMMANDS = Effects(risk=RUNS_INPUT, reads_commands=True, note="runs its input as code", warn=True)


def _eval(started: StartedProgram, _: Entry, __: int) -> Effects:
    places = range(1 + (started.words[1:2] == ("--",)), len(started.words))
    text = " ".join(started.words[place] for place in places)
    return Effects(starts=(Script(text, all(map(started.is_literal, places))),), transparent=True)


def _trap(started: StartedProgram, _: Entry, __: int) -> Effects:
    place = 1 + (started.words[1:2] == ("--",))
    if len(started.words) <= place + 1 or started.words[place] in ("-l", "-p", "-", ""):
        risk = "what it does is only known when it runs" if started.dynamic else ""
        return Effects(harmless=not started.dynamic, risk=risk)
    return Effects(starts=(Script(started.words[place], started.is_literal(place)),), transparent=True)


def _source(started: StartedProgram, _: Entry, __: int) -> Effects:
    file = "".join(started.words[1:2])
    if is_input(file):
        return _READS_COMMANDS
    if file.startswith("-") or not all(map(started.is_literal, range(1, min(2, len(started.words))))):
        return Effects(risk="which file it runs is not known")
    return Effects(reads=started.words[1:2])


def _command(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``command``: ``command -v name`` only looks it up, ``command name`` starts it."""
    parsed = read_options(started, entry, stop=True)
    if parsed.has(word_set("-v -V")):
        return Effects(harmless=not parsed.strange)
    own = parsed.operands[0] if parsed.operands else len(started.words)
    odd = parsed.strange or (parsed.unclear in started.words[:own] and parsed.unclear)
    if not parsed.operands or odd:
        return Effects(risk="what it starts is not known" if odd else "", harmless=not parsed.operands)
    return Effects(starts=(started.part(own),), transparent=True)


def _export(started: StartedProgram, _: Entry, __: int) -> Effects:
    """Analyses ``export NAME=value``: programs started later see these variables."""
    for place, word in enumerate(started.words[1:], 1):
        if word == "-p" and len(started.words) == 2:
            return Effects(harmless=True)
        name = re.match(r"([A-Za-z_]\w*)(?:=|\Z)", word, re.ASCII)
        if not name or (not started.is_literal(place) and "=" not in word):
            return Effects(risk=f"how {started.name} interprets {word} is not known")
        if "=" not in word and started.name == "export":
            word = f"{word}="  # noqa: PLW2901 - exports the variable as it is
        if risk := exported_risk((word,)):
            return Effects(risk=risk)
    return Effects(transparent=len(started.words) > 1, harmless=len(started.words) == 1)


def _read(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``read NAME``, which sets the variables."""
    parsed = read_options(started, entry)
    risk = not_listed(entry, parsed)
    for option in parsed.values(frozenset(entry.only)):
        risk = risk or variable_risk(option.value or "")
    for place in parsed.operands:
        if not started.is_literal(place) or not re.fullmatch(r"[A-Za-z_]\w*", started.words[place], re.ASCII):
            risk = risk or f"{started.words[place]} may contain a command"
        risk = risk or variable_risk(started.words[place])
    return Effects(risk=risk, transparent=not risk)


def _set(started: StartedProgram, _: Entry, __: int) -> Effects:
    settings = r"set(?: [-+][euxo]+| pipefail| errexit| nounset| xtrace)*"
    if not started.dynamic and re.fullmatch(settings, " ".join(started.words)):
        return Effects(harmless=True, transparent=len(started.words) > 1)
    return Effects(risk="it changes how the shell interprets later commands")


BUILTINS: dict[str, Special] = {
    "test": _test,
    "shell": _shell,
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    "command": _command,
    "export": _export,
    "read": _read,
    "set": _set,
}
