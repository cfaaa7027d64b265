"""Interpreters: a script file is a program like another; code on the line or from the input may do anything."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from nbtools.core.shell_acts.builders import pytest_of
from nbtools.core.shell_acts.formatters import FORMATTERS
from nbtools.core.shell_acts.options import grammar, read_options
from nbtools.core.shell_acts.runners import RUNNERS
from nbtools.core.shell_acts.started import NOTHING, Effects, Handler, Started, names

_CODE_MODULES = names("timeit code pdb cProfile profile trace runpy idlelib IPython ptpython bpython cgi asyncio pydoc ensurepip")
_SERVERS = names("http.server smtpd xmlrpc.server wsgiref.simple_server")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """``flags`` and ``values`` are options that change nothing but how the script is run."""

    flags: str
    values: str = ""
    informs: str = "--version --help"
    """Options with which it only says something."""

    def __call__(self, started: Started) -> Effects:
        given = read_options(started, grammar(f"{self.flags} {self.informs}", self.values), stop=True)
        if given.strange:
            return Effects(risk=f"{given.strange} may give {started.name} code to run")
        if given.has(*self.informs.split()) and len(started.words) == 2:
            return Effects(harmless=True)
        module = given.values("-m")
        if module and "m" in self.values:
            code = module[0].value in _CODE_MODULES or not started.one_word(module[0].position)
            return Effects(risk=f"the module {module[0].value} may run code it is given" if code else "")
        return self._script(started, given.operands)

    def _script(self, started: Started, operands: tuple[int, ...]) -> Effects:
        if not operands or started.words[operands[0]] in ("-", "/dev/stdin"):
            return Effects(risk="it runs what it is given to read")
        script = started.words[operands[0]]
        if not started.one_word(operands[0]) or re.match(r"/dev/fd|/proc/|<\(", script):
            return Effects(risk="which code it runs is only known when it runs")
        return Effects(reads=(script,))


_PYTHON = Interpreter("-bBdEiIOPqRsSuvxh", "-mWX --check-hash-based-pycs", "--version --help -V -h")


class Python(Interpreter):
    """Behind ``-m module`` all is the module's, so reading ends there."""

    def __call__(self, started: Started) -> Effects:
        for place, word in enumerate(started.words[1:], 1):
            if started.fixed(place) and re.fullmatch(r"-[bBdEIOPqRsSuv]*m", word):
                of_module = pytest_of(started) if started.words[place + 1 : place + 2] == ("pytest",) else _module(started.part(place + 1))
                return replace(of_module, risk=_PYTHON(started.part(0, place + 2)).risk or of_module.risk)
            if not word.startswith("-") or not started.fixed(place) or re.match(r"-\w*[cmi]", word):
                break
        risk = next((word for word in started.words[1:2] if re.match(r"-\w*i", word)), "")
        return Effects(risk="it asks for code") if risk else _PYTHON(started)


def _module(started: Started) -> Effects:
    """A module that is a program, too, is that program; others write what they are told to."""
    name, words = started.words[0] if started.words else "", started.words
    handler = FORMATTERS.get(name) or (RUNNERS["pip"] if name == "pip" else None)
    if handler is not None and started.fixed(0):
        return handler(started)
    if name in _SERVERS:
        return Effects(reads=(".",), risk="it opens the folder to the network")
    if name in ("zipfile", "tarfile"):
        unpacks = bool({"-e", "--extract"} & set(words))
        return (
            Effects(writes=words[3:4] or (".",))
            if unpacks
            else Effects(reads=words[2:], writes=words[2:3] if {"-c", "--create"} & set(words) else ())
        )
    if name in ("venv", "virtualenv"):
        return Effects(writes=tuple(word for word in words[1:] if not word.startswith("-")))
    return Effects(reads=words[1:2], writes=words[2:3]) if name == "json.tool" else NOTHING


INTERPRETERS: dict[str, Handler] = {
    **dict.fromkeys(
        ("python", "python2", "python3", "pypy", "pypy3", *(f"python3.{minor}" for minor in range(6, 16))),
        Python(_PYTHON.flags, _PYTHON.values),
    ),
    "perl": Interpreter("-wWtTcvVX", informs="--version --help -v -V"),
    "ruby": Interpreter("-wWcvy", informs="--version --help -v"),
    **dict.fromkeys(
        ("node", "nodejs"),
        Interpreter("--test --check -v --version --trace-warnings --no-warnings --enable-source-maps", informs="--version --help -v"),
    ),
    "php": Interpreter("-lvmin", informs="--version --help -v -m -i"),
    "deno": lambda _: Effects(risk="its code may do anything"),
}
