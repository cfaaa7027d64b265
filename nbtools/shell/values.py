"""Finds the possible values of words that the shell expands, where the line itself says what they are.

``x=build; rm -r "$x/a"`` removes ``build/a``, and ``for f in src/*.py; do … "$f"`` is about names that match
``src/*.py``.  The values make guards stricter; they never allow anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import product
from math import prod

from nbtools.shell.grammar import SimpleCommand
from nbtools.shell.options import word_set
from nbtools.shell.reader import Loop, ParsedLine

_MOST = 64
"""The most values of a word; with more it counts as unknown."""
_DEEPEST = 8
"""The deepest chain of variables that are made of others."""
_SET_ANYTHING = frozenset({"eval", "source", ".", "trap", "let"})
_SET_BY_NAME = word_set(
    """read mapfile readarray getopts printf unset export declare typeset local
    readonly wait set shift"""
)
_PIECE = re.compile(
    r"""'(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`]|\\.|\$\((?:[^()"]|"[^"]*")*\)|\$\{[^{}"]*\}|\$)*)"
    | \\(?P<escaped>.)
    | (?P<expansion>\$\((?:[^()'"]|"[^"]*"|'[^']*')*\)|\$\{[^{}]*\}|\$\w+)
    | (?P<plain>[^'"\\$`]+)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED_PIECE = re.compile(
    r"""\\(?P<escaped>[$`"\\])|(?P<expansion>\$\((?:[^()"]|"[^"]*")*\)|\$\{[^{}]*\}|\$\w+)|(?P<plain>[^$`\\]+|\\|\$(?=[\s)|]|\Z))""",
    re.DOTALL,
)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\}|\{(\w+):?[?]\})", re.ASCII)
_DEFAULT = re.compile(r"\$\{(\w+):?-([^{}$`*?~]*)\}", re.ASCII)
_WITHOUT_END = re.compile(r"\$\{(\w+)%([\w.-]+)\}", re.ASCII)
_WITHOUT_FOLDER = re.compile(r"\$\{(\w+)##\*/\}", re.ASCII)
_NAME_OF = re.compile(
    r"""\$\((basename|dirname)(?: --)? "?(\$\w+|\$\{\w+\}|~?[\w./-]*)"?(?: ["']?(\.\w+)["']?)?\)""", re.ASCII
)
_HERE = re.compile(r"\$\(pwd(?: -[LP])?\)")
_TEMPORARY = re.compile(
    r"\$\(mktemp(?: -[dq]+)*(?: (?:-t )?\"?(?:/tmp/)?[\w.-]*X{3,}[\w.-]*\"?)?\)", re.ASCII
)


class Values:
    """The values of the variables of one line."""

    def __init__(self, line: ParsedLine) -> None:
        self.line = line
        self.known = bool(line.commands) and not any(map(_sets_anything, line.commands))
        self.assigned: dict[str, list[tuple[int, str]]] = {}
        """The assignments to each variable: the position of the command, the source of the value."""
        self.unsure = {*line.variables} - {loop.name for loop in line.loops}
        for at, command in enumerate(line.commands):
            for assignment in command.assignments:
                name, _, source = assignment.partition("=")
                self.assigned.setdefault(name, []).append((at, source))
                if command.argv:  # it holds for this command alone, and differently so between shells
                    self.unsure.add(name)
            if command.argv and command.argv[0] in _SET_BY_NAME:
                self.unsure.update(re.findall(r"\w+", " ".join(command.argv[1:])))

    def of_word(self, source: str, at: int, depth: int = 0) -> tuple[str, ...] | None:
        """Returns the possible values of a word of the command at ``at``, with wildcards in them;
        None where they are not known.
        """
        if not self.known or depth > _DEEPEST:
            return None
        pieces: list[tuple[str, ...]] = []
        bare = False
        place = 0
        while place < len(source):
            found = _PIECE.match(source, place)
            if found is None:
                return None
            place = found.end()
            quoted = found["double"] is not None
            inner = list(_QUOTED_PIECE.finditer(found["double"])) if quoted else [found]
            if quoted and sum(len(part[0]) for part in inner) != len(found["double"]):
                return None
            for part in inner:
                values = self._of_piece(part, at, depth)
                if values is None:
                    return None
                bare = bare or (not quoted and part["expansion"] is not None)
                pieces.append(values)
        return _joined(pieces, bare=bare)

    def _of_piece(self, part: re.Match[str], at: int, depth: int) -> tuple[str, ...] | None:
        if part["expansion"] is not None:
            return self._of_expansion(part["expansion"], at, depth)
        texts = (part[name] for name in ("single", "escaped", "plain") if name in part.re.groupindex)
        return (next(text for text in texts if text is not None),)

    def _of_expansion(self, source: str, at: int, depth: int) -> tuple[str, ...] | None:
        if _HERE.fullmatch(source):
            return (".",)
        if _TEMPORARY.fullmatch(source):
            return ("/tmp/tmp.X/X",)  # noqa: S108 - stands for a name that mktemp makes there
        if found := _NAME_OF.fullmatch(source):
            return self._of_name(found, at, depth)
        if found := _VARIABLE.fullmatch(source):
            return self.of_variable(found[1] or found[2] or found[3], at, depth)
        return self._of_changed(source, at, depth)

    def _of_changed(self, source: str, at: int, depth: int) -> tuple[str, ...] | None:
        """Returns the values of a variable with a default, without its end, or without its folders."""
        patterns = (_DEFAULT, _WITHOUT_END, _WITHOUT_FOLDER)
        found = next(filter(None, (pattern.fullmatch(source) for pattern in patterns)), None)
        values = self.of_variable(found[1], at, depth) if found else None
        if found is None or values is None:
            return None
        if found.re is _DEFAULT:
            return tuple(dict.fromkeys((*values, found[2])))
        if found.re is _WITHOUT_FOLDER:
            return _each(values, _base)
        return _each(values, lambda value: value.removesuffix(found[2]) if value.endswith(found[2]) else None)

    def _of_name(self, found: re.Match[str], at: int, depth: int) -> tuple[str, ...] | None:
        values = self.of_word(found[2], at, depth + 1)
        if values is None:
            return None
        if found[1] == "dirname":
            return _each(values, _folder)
        bases = _each(values, _base)
        return bases and _each(bases, lambda value: value.removesuffix(found[3] or ""))

    def of_variable(self, name: str, at: int, depth: int) -> tuple[str, ...] | None:
        """Returns a variable's possible values for the command at ``at``; None if one is not known."""
        assigned, loops = self.assigned.get(name, []), [loop for loop in self.line.loops if loop.name == name]
        if name in self.unsure:
            return None
        if not assigned and not loops:
            return {"HOME": ("~",), "PWD": (".",)}.get(name)
        blocks = self.line.blocks[at] if self.line.blocks else ()
        sure = any(loop.body in blocks and loop.words for loop in loops)
        if not sure and not any(self._always_before(place, at) for place, _ in assigned):
            return None
        sources = [(source, place) for place, source in assigned]
        sources += [(word, self._begin_of(loop)) for loop in loops for word in loop.words]
        found: dict[str, None] = {}
        for source, place in sources:
            values = self.of_word(source, place, depth + 1)
            if values is None:
                return None
            found.update(dict.fromkeys(values))
        return tuple(found) if len(found) <= _MOST else None

    def _begin_of(self, loop: Loop) -> int:
        """Returns the position of the loop body's first command, before which its words are expanded."""
        return next((at for at, blocks in enumerate(self.line.blocks) if loop.body in blocks), 0)

    def _always_before(self, place: int, at: int) -> bool:
        """Whether the assignment at ``place`` is certainly made, in the same shell, before ``at``."""
        commands, blocks = self.line.commands, self.line.blocks
        if place >= at or commands[place].argv or blocks[at][: len(blocks[place])] != blocks[place]:
            return False
        beside = [other for other in range(place + 1, at + 1) if blocks[other] == blocks[place]]
        joined = [commands[other].operator for other in beside]
        own = commands[place].operator
        if own in ("|", "|&", "||") or joined[:1] in (["|"], ["|&"]):
            return False
        ending = next((operator for operator in joined if operator not in ("&&", "||", "|", "|&")), "")
        if ending == "&":  # the whole list before it runs in the background
            return False
        return own != "&&" or all(operator == "&&" for operator in joined)


def _sets_anything(command: SimpleCommand) -> bool:
    """Whether it may set any variable, or changes what all values become."""
    if any(assignment.startswith("IFS=") for assignment in command.assignments) or "IFS" in command.argv:
        return True
    return bool(command.argv) and command.argv[0] in _SET_ANYTHING


def _joined(pieces: list[tuple[str, ...]], *, bare: bool) -> tuple[str, ...] | None:
    """Returns the texts that one value of each piece makes.
    ``bare``: an expansion is not quoted, so that blanks split the text.
    """
    if prod(map(len, pieces)) > _MOST:
        return None
    texts = ["".join(chosen) for chosen in product(*pieces)]
    if bare and any(re.search(r"\s", text) for text in texts):
        texts = [word for text in texts for word in text.split()]
    return tuple(dict.fromkeys(texts))


def _each(values: Iterable[str], change: Callable[[str], str | None]) -> tuple[str, ...] | None:
    changed = [change(value) for value in values]
    return None if None in changed else tuple(dict.fromkeys(value for value in changed if value is not None))


def _folder(value: str) -> str:
    return value.rstrip("/").rpartition("/")[0] or ("/" if value.startswith("/") else ".")


def _base(value: str) -> str | None:
    """Returns the last component; None where it is not known, as in ``**`` or the home folder."""
    name = value.rstrip("/").rpartition("/")[2]
    return name if name not in ("", ".", "..", "~") else None
