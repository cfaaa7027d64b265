"""Shells and the builtins that run a text, a file, or change what a name means."""

from __future__ import annotations

import re

from nbtools.core.shell_acts.assignments import holds_command, name_of, variable_risk
from nbtools.core.shell_acts.options import grammar, read_options
from nbtools.core.shell_acts.started import NOTHING, Effects, Handler, Script, Started

_SHELL = grammar("-abefhiklmnprstuvxBCDEHPTlc --login --norc --noprofile --posix --noediting --verbose", "-oO --rcfile --init-file")
_SSH_FLAGS = "-46AaCfGgKkMNnqsTtVvXxYy"
_SSH_VALUES = "-BbcDEeFIiJLlmOoPpQRSWw"
_HARMLESS_SSH = re.compile(
    r"(?i)(?:BatchMode|ConnectTimeout|StrictHostKeyChecking|ServerAlive\w+|LogLevel|Port|User|Compression|ConnectionAttempts"
    r"|PasswordAuthentication|TCPKeepAlive|IdentitiesOnly)[= ]"
)


def _shell(started: Started) -> Effects:
    """``bash -lc 'text' name args``, ``bash file``, ``bash < file``."""
    words = started.words
    flags, position = "", 1
    while position < len(words) and re.match(r"[-+]", words[position]) and words[position] not in ("-", "--"):
        if (
            not started.fixed(position)
            or words[position].lstrip("-+") in ("rcfile", "init-file")
            or words[position].startswith(("-i", "+O", "-O"))
        ):
            return Effects(risk=f"{words[position]} may make {started.name} run something else")
        flags += "" if words[position].startswith("--") else words[position]
        position += 1 + words[position].endswith(("o", "O"))
    position += position < len(words) and words[position] in ("-", "--")
    if "c" in flags:
        if position >= len(words):
            return NOTHING
        return Effects(starts=(Script(words[position], started.fixed(position)),), transparent=True)
    if "n" in flags and "i" not in flags:
        return Effects(reads=words[position : position + 1], risk="" if started.fixed(position) else "which file it reads is not known")
    if position < len(words) and "s" not in flags and not re.match(r"/dev/(?:stdin|fd)|/proc/", words[position]):
        return Effects(reads=(words[position],), risk="" if started.fixed(position) else "which file it runs is not known")
    return Effects(risk="it runs what it is given to read")


def _eval(started: Started) -> Effects:
    places = range(1 + (started.words[1:2] == ("--",)), len(started.words))
    return Effects(starts=(Script(" ".join(started.words[place] for place in places), all(map(started.fixed, places))),), transparent=True)


def _trap(started: Started) -> Effects:
    place = 1 + (started.words[1:2] == ("--",))
    if len(started.words) <= place + 1 or started.words[place] in ("-l", "-p", "-", ""):
        return Effects(harmless=True)
    return Effects(starts=(Script(started.words[place], started.fixed(place)),), transparent=True)


def _source(started: Started) -> Effects:
    if re.match(r"/dev/(?:stdin|fd)|/proc/", "".join(started.words[1:2])):
        return Effects(risk="it runs what it is given to read")
    return Effects(
        reads=started.words[1:2],
        risk="" if all(map(started.fixed, range(1, min(2, len(started.words))))) else "which file it runs is not known",
    )


def _jobs(started: Started) -> Effects:
    """``jobs -x`` starts what stands behind it."""
    place = next((at for at, word in enumerate(started.words) if at and (not started.fixed(at) or re.match(r"-\w*x", word))), 0)
    return Effects((started.part(place + 1),), risk="it starts what stands behind it") if place else Effects(harmless=True)


def _arch(started: Started) -> Effects:
    """On macOS it starts a program for another processor."""
    place = next((at for at, word in enumerate(started.words) if at and not word.startswith("-")), 0)
    return Effects((started.part(place),), risk="it starts what stands behind it") if place else Effects(harmless=len(started.words) == 1)


def _alias(started: Started) -> Effects:
    if all("=" not in word for word in started.words[1:]) and not started.dynamic:
        return Effects(harmless=True)
    return Effects(risk="it gives a name another meaning")


def _declares(started: Started) -> Effects:
    """``export``, ``declare``, ``local``, ``readonly``: a value that holds a substitution runs when it is reckoned with."""
    for place, word in enumerate(started.words[1:], 1):
        if word.startswith("-") and started.fixed(place) and not word.startswith("--"):
            if set(word) & set("finA"):
                return Effects(risk=f"{word} changes what its values mean") if set(word) & set("fin") else NOTHING
            continue
        risk = "" if started.fixed(place) or "=" in word else "which name it sets is not known"
        risk = risk or ("it is no name" if not re.match(r"[A-Za-z_]\w*(?:\+?=|\Z)", word) and started.fixed(place) else "")
        risk = risk or variable_risk(word) or ("its value holds a command" if started.fixed(place) and holds_command(word) else "")
        if risk or (started.words[0] in ("export", "readonly") and not re.fullmatch(r"\w+", name_of(word))):
            return Effects(risk=risk or "it is no name")
    return Effects(transparent=True)


def _names(started: Started) -> Effects:
    """``read``, ``unset``, ``getopts``, ``let``: a subscript in a name may start programs."""
    odd = next((word for place, word in enumerate(started.words[1:], 1) if "[" in word or not started.fixed(place)), "")
    return Effects(risk=f"{odd} may hold a command" if odd else "")


def _read(started: Started) -> Effects:
    names = [word for word in started.words[1:] if re.fullmatch(r"\w+", word)]
    risk = next((risk for risk in map(variable_risk, names) if risk), "") or _names(started).risk
    return Effects(risk=risk, transparent=not risk)


def _test(started: Started) -> Effects:
    """``[[ $x -eq 1 ]]`` reckons with x, ``-v 'a[$(x)]'`` with the subscript: both may start programs."""
    words = started.words
    for place, word in enumerate(words):
        reckons = word in ("-eq", "-ne", "-lt", "-gt", "-le", "-ge", "-v", "-R")
        around = (place - 1, place + 1) if reckons else ()
        if any(
            0 < near < len(words) and (holds_command(words[near]) or "[" in words[near]) and words[near] != "]" * len(words[0])
            for near in around
        ):
            return Effects(risk="what it reckons with may hold a command")
    return Effects(harmless=True)


def _printf(started: Started) -> Effects:
    if started.words[1:2] == ("-v",) or not all(map(started.one_word, range(1, min(2, len(started.words))))):
        return Effects(risk="it may set a variable")
    return Effects(harmless=True)


def _command(started: Started) -> Effects:
    """``command -v name`` only looks, ``command name`` starts it."""
    given = read_options(started, grammar("-pvV"), stop=True)
    if given.has("-v", "-V"):
        return Effects(harmless=not given.strange)
    if not given.operands or given.strange or (given.unclear in started.words[: given.operands[0]] and given.unclear):
        return Effects(risk="what it starts is not known" if given.strange or given.unclear else "", harmless=not given.operands)
    return Effects(starts=(started.part(given.operands[0]),), transparent=True)


def _set(started: Started) -> Effects:
    if re.fullmatch(r"set(?: [-+][euxo]+| pipefail| errexit| nounset| xtrace| --)*", " ".join(started.words)) and not started.dynamic:
        return Effects(harmless=True, transparent=len(started.words) > 1)
    return Effects(risk="it changes how the shell reads what comes after it")


def _shopt(started: Started) -> Effects:
    safe = {"-s", "-u", "-q", "-p", "shopt", "nullglob", "globstar", "nocasematch", "failglob", "extglob"}
    return Effects(harmless=True) if set(started.words) <= safe and not started.dynamic else Effects(risk="it changes how the shell reads")


def _ssh(started: Started) -> Effects:
    given = read_options(started, grammar(_SSH_FLAGS, _SSH_VALUES), stop=True)
    rest = given.operands[1:]
    scripts = (Script(" ".join(started.words[place] for place in rest), all(map(started.fixed, rest))),) if rest else ()
    risk = next(
        (f"-o {option.value} may start a program" for option in given.values("-o") if not _HARMLESS_SSH.match(option.value or "")), ""
    )
    if given.has("-F", "-S", "-I", "-E", "-D", "-L", "-R", "-W", "-w", "-A", "-Y", "-X", "-J"):
        risk = risk or "its options read a configuration, start programs or open ways"
    if given.strange or given.unclear:
        risk = risk or f"{given.strange or given.unclear} may start a program"
    return Effects(starts=scripts, risk=risk)


def _risky(reason: str) -> Handler:
    return lambda _: Effects(risk=reason)


SHELLS: dict[str, Handler] = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "yash", "rbash"), _shell),
    **dict.fromkeys(("fish", "csh", "tcsh", "nu", "pwsh", "powershell", "elvish", "xonsh"), _risky("its language is not understood here")),
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    ".": _source,
    "alias": _alias,
    "jobs": _jobs,
    "arch": _arch,
    "export": _declares,
    "declare": _declares,
    "typeset": _declares,
    "local": _declares,
    "readonly": _declares,
    "read": _read,
    "getopts": _names,
    "unset": _names,
    "let": _names,
    "mapfile": _risky("it may set and start anything by its options"),
    "readarray": _risky("it may set and start anything by its options"),
    "hash": _risky("it may give a name another program"),
    "enable": _risky("it may load code or take a builtin away"),
    "bind": _risky("it may start programs by keys"),
    "complete": _risky("it may start programs while words are completed"),
    "compgen": _risky("-C and -F start programs"),
    "fc": _risky("it runs earlier commands again"),
    "history": _risky("it may run or write earlier commands"),
    "coproc": _risky("it starts a program of its own"),
    "[": _test,
    "[[": _test,
    "test": _test,
    "printf": _printf,
    "command": _command,
    "set": _set,
    "shopt": _shopt,
    "ssh": _ssh,
    "mosh": _risky("its options start programs"),
    "autossh": _ssh,
}
