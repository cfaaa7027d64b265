"""Lines put in the place of others that were not given exactly: shared lines keep their bytes, new ones move by one step of indentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import gcd

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.diff import opcodes
from nbtools.workspace.text import is_exact

_TAB = 4
"""Columns of a tab, where a text has both."""
_TAB_WIDTHS = (2, 3, 4, 8)


def transplanted(place: str, old: str, new: str, ending: str, unit: str, where: str) -> str:
    """The change from ``old`` to ``new`` (both with LF), made on ``place``: a text of as many lines that is like ``old``.

    Lines that ``old`` and ``new`` share keep every byte they have in ``place``.  The others end as the lines whose place they take, and
    are indented as ``Indentation`` says; ``unit`` is one level of indentation around the place.  Raises ``ToolFailure``
    (``edit_preparation_failure``) when a line would turn undecodable bytes into U+FFFD, and where ``Indentation`` does.
    """
    there, given, wanted = place.split("\n"), old.split("\n"), new.split("\n")
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in there[:-1]]
    lines = [line.removesuffix("\r") for line in there[:-1]] + there[-1:]
    indentation = Indentation(given, lines, wanted, unit, where)
    made: list[tuple[str, str]] = []
    for op in opcodes(given, wanted):
        beside = (ends[op.i1 : op.i2] or ends[max(op.i1 - 1, 0) :][:1] or [ending])[-1]
        if op.tag == "equal":
            made += [(lines[i], ends[i] if i < len(ends) else beside) for i in range(op.i1, op.i2)]
            continue
        _check("".join(lines[op.i1 : op.i2]), wanted[op.j1 : op.j2])
        given_ends = ends[op.i1 : op.i2]
        for k, line in enumerate(wanted[op.j1 : op.j2]):
            made.append((indentation.of(line), given_ends[k] if k < len(given_ends) else beside))
    return "".join(f"{line}{end}" for line, end in made[:-1]) + made[-1][0]


def _check(before: str, lines: Sequence[str]) -> None:
    if not is_exact(before) and any("\ufffd" in line for line in lines):
        raise ToolFailure(
            ErrorCode.EDIT_PREPARATION_FAILURE,
            "The text to replace has bytes that are no UTF-8 (shown as U+FFFD), and the new text would write U+FFFD in their place. "
            "Nothing was changed. Change the parts before and after them one by one.",
        )


class Indentation:
    """Moves new lines from the indentation of the text as it was given to that of the lines that it stands for: all by the same step.

    The step is the same for every line: characters added or removed before the indentation, or levels where one side is indented with tabs
    and the other with spaces.  Relative indentation is therefore preserved.  Where the lines do not agree on one step, ``of`` raises
    ``ToolFailure`` (``edit_preparation_failure``); ``where`` names the place in its message, ``unit`` is one level of indentation there.
    """

    def __init__(self, given: Sequence[str], there: Sequence[str], wanted: Sequence[str], unit: str, where: str) -> None:
        pairs = [(_indent(one), _indent(other)) for one, other in zip(given, there, strict=True) if one.strip() and other.strip()]
        self._pairs = dict.fromkeys(pairs)
        self._wanted = {_indent(line) for line in wanted if line.strip()}
        self._unit, self._where = unit, where
        self._moved: Mapping[str, str] | None = None

    def of(self, line: str) -> str:
        """``line``, indented as the place is; a blank one is empty unless the place is indented as it was given."""
        if all(one == other for one, other in self._pairs):
            return line
        if not line.strip():
            return ""
        if self._moved is None:
            self._moved = self._by_prefix() or self._by_levels()
        if self._moved is None:
            raise self._ambiguous()
        return self._moved[_indent(line)] + line.lstrip()

    def _by_prefix(self) -> Mapping[str, str] | None:
        """The same characters added to every line, or removed from it, unless that mixes tabs and spaces."""
        one, other = next(iter(self._pairs))
        if other.endswith(one) and all(there == other.removesuffix(one) + given for given, there in self._pairs):
            prefix = other.removesuffix(one)
            moved = {indent: prefix + indent for indent in self._wanted}
            seen = {given for given, _ in self._pairs}
            return moved if all(indent in seen or not _mixed(moved[indent]) for indent in moved) else None
        prefix = one.removesuffix(other)
        if one.endswith(other) and all(given == prefix + there for given, there in self._pairs):
            return {indent: indent.removeprefix(prefix) for indent in self._wanted} if self._all_have(prefix) else None
        return None

    def _all_have(self, prefix: str) -> bool:
        return all(indent.startswith(prefix) for indent in self._wanted)

    def _by_levels(self) -> Mapping[str, str] | None:
        """From spaces to tabs or from tabs to spaces, where so many columns are a tab in every line."""
        given, there = {one for one, _ in self._pairs} | self._wanted, {other for _, other in self._pairs}
        if _only(" ", given) and _only("\t", there):
            return self._tabs_for_spaces()
        return self._spaces_for_tabs() if _only("\t", given) and _only(" ", there) else None

    def _tabs_for_spaces(self) -> Mapping[str, str] | None:
        pairs = sorted({(len(one), len(other)) for one, other in self._pairs})
        least = pairs[0][0]
        widths = {*(width for width, _ in pairs), *map(len, self._wanted)}
        columns = _columns([(tabs, width) for width, tabs in pairs], gcd(*(width - least for width in widths)))
        if columns is None:
            return None
        moved = {width: divmod(width - least, columns) for width in map(len, self._wanted)}
        if any(rest or pairs[0][1] + tabs < 0 for tabs, rest in moved.values()):
            return None
        return {indent: "\t" * (pairs[0][1] + moved[len(indent)][0]) for indent in self._wanted}

    def _spaces_for_tabs(self) -> Mapping[str, str] | None:
        pairs = sorted({(len(one), len(other)) for one, other in self._pairs})
        least, width = pairs[0]
        deeper = any(len(indent) != least for indent in self._wanted)
        columns = _columns(pairs, len(self._unit) if deeper and _only(" ", {self._unit}) else 0)
        if columns is None or any(width + (len(indent) - least) * columns < 0 for indent in self._wanted):
            return None
        return {indent: " " * (width + (len(indent) - least) * columns) for indent in self._wanted}

    def _ambiguous(self) -> ToolFailure:
        return ToolFailure(
            ErrorCode.EDIT_PREPARATION_FAILURE,
            f"{self._where}: the old text is there, but indented in another way than given, and not every line by the same amount: how "
            "far to indent the new lines is not certain. Nothing was changed. Read the file and give both texts with its indentation.",
        )


def _columns(pairs: Sequence[tuple[int, int]], step: int) -> int | None:
    """How many columns a tab stands for; ``pairs`` are (tabs, columns) of the same lines, in order.

    Where all lines have the same indentation, ``step`` decides, the columns that new lines differ by (0: they do not), and must agree with
    the indentation of the pair, where it has any.  None: not certain.
    """
    (tabs, columns), (most, widest) = pairs[0], pairs[-1]
    if len(pairs) == 1:
        if step == 0:
            return _TAB
        one = columns // tabs if tabs and columns % tabs == 0 else step
        agree = one == step or one not in _TAB_WIDTHS or step % one != 0
        return step if step in _TAB_WIDTHS and agree else None
    if most == tabs or (widest - columns) % (most - tabs):
        return None
    each = (widest - columns) // (most - tabs)
    return each if each > 0 and all(width == columns + (level - tabs) * each for level, width in pairs) else None


def _only(blank: str, indents: Iterable[str]) -> bool:
    return all(set(indent) <= {blank} for indent in indents)


def _mixed(indent: str) -> bool:
    return len(set(indent)) > 1


def unit_of(lines: Sequence[str]) -> str:
    """One level of indentation in ``lines``: a tab, or some blanks; four where none is indented."""
    indents = [_indent(line) for line in lines if line.strip()]
    tabs = sum(indent.startswith("\t") for indent in indents)
    if tabs > sum(indent.startswith(" ") for indent in indents):
        return "\t"
    return " " * _step([line for line in lines if not line.startswith("\t")])


def _step(lines: Sequence[str]) -> int:
    """The least that indentation grows by, from 2 columns on; 4 where nothing tells."""
    widths = sorted({0, *(_width(_indent(line)) for line in lines if line.strip())})
    steps = [more - less for less, more in pairwise(widths) if more - less > 1]
    return min(steps, default=_TAB)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _width(indent: str) -> int:
    return len(indent.expandtabs(_TAB))
