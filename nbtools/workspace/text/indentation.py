"""Replaces lines that were matched inexactly: shared lines keep their bytes, new lines are re-indented."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import gcd

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.line_diff import opcodes
from nbtools.diff.text_lines import is_exact

_TAB = 4
"""Columns of a tab in a text with both tabs and spaces."""
_TAB_WIDTHS = (2, 3, 4, 8)


def apply_reindented(place: str, old: str, new: str, ending: str, unit: str, where: str) -> str:
    """Applies the change from ``old`` to ``new`` (both with LF) to ``place``, a text with as many lines as ``old`` and similar to it.

    Lines that ``old`` and ``new`` share keep their bytes in ``place``.  The others get the line endings of the lines that they replace, and
    are indented by ``Indentation``; ``unit`` is one level of indentation around the place.  Raises ``ToolFailure``
    (``edit_preparation_failure``) if a line would turn undecodable bytes into U+FFFD, and where ``Indentation`` does.
    """
    place_lines, old_lines, new_lines = place.split("\n"), old.split("\n"), new.split("\n")
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in place_lines[:-1]]
    lines = [line.removesuffix("\r") for line in place_lines[:-1]] + place_lines[-1:]
    indentation = Indentation(old_lines, lines, new_lines, unit, where)
    result: list[tuple[str, str]] = []
    for op in opcodes(old_lines, new_lines):
        default_ending = (ends[op.i1 : op.i2] or ends[max(op.i1 - 1, 0) :][:1] or [ending])[-1]
        if op.tag == "equal":
            result += [(lines[i], ends[i] if i < len(ends) else default_ending) for i in range(op.i1, op.i2)]
            continue
        _check_decodable("".join(lines[op.i1 : op.i2]), new_lines[op.j1 : op.j2])
        old_ends = ends[op.i1 : op.i2]
        for k, line in enumerate(new_lines[op.j1 : op.j2]):
            result.append((indentation.reindent(line), old_ends[k] if k < len(old_ends) else default_ending))
    return "".join(f"{line}{end}" for line, end in result[:-1]) + result[-1][0]


def _check_decodable(before: str, lines: Sequence[str]) -> None:
    if not is_exact(before) and any("\ufffd" in line for line in lines):
        raise ToolFailure(
            ErrorCode.EDIT_PREPARATION_FAILURE,
            "The text to replace contains bytes that are not valid UTF-8 (shown as U+FFFD); the new text would replace them by U+FFFD. "
            "Nothing was changed. Edit the parts before and after these bytes separately.",
        )


class Indentation:
    """Shifts new lines from the indentation of the ``old`` lines to that of the lines ``found`` in the file.

    The shift is the same for every line: characters added or removed before the indentation, or levels where one side uses tabs and the
    other spaces.  Relative indentation is therefore preserved.  If the lines do not agree on one shift, ``of`` raises ``ToolFailure``
    (``edit_preparation_failure``); ``where`` names the place in its message, ``unit`` is one level of indentation there.
    """

    def __init__(self, old: Sequence[str], found: Sequence[str], new: Sequence[str], unit: str, where: str) -> None:
        pairs = [(_indent(one), _indent(other)) for one, other in zip(old, found, strict=True) if one.strip() and other.strip()]
        self._pairs = dict.fromkeys(pairs)
        self._new_indents = {_indent(line) for line in new if line.strip()}
        self._unit, self._where = unit, where
        self._mapping: Mapping[str, str] | None = None

    def reindent(self, line: str) -> str:
        """Returns ``line`` indented for the file; a blank line becomes empty unless the indentation is unchanged."""
        if all(one == other for one, other in self._pairs):
            return line
        if not line.strip():
            return ""
        if self._mapping is None:
            self._mapping = self._by_prefix() or self._by_levels()
        if self._mapping is None:
            raise self._ambiguous()
        return self._mapping[_indent(line)] + line.lstrip()

    def _by_prefix(self) -> Mapping[str, str] | None:
        """Adds the same characters to every line, or removes them, unless that mixes tabs and spaces."""
        one, other = next(iter(self._pairs))
        if other.endswith(one) and all(found_indent == other.removesuffix(one) + old_indent for old_indent, found_indent in self._pairs):
            prefix = other.removesuffix(one)
            mapping = {indent: prefix + indent for indent in self._new_indents}
            seen = {old_indent for old_indent, _ in self._pairs}
            return mapping if all(indent in seen or not _mixed(mapping[indent]) for indent in mapping) else None
        prefix = one.removesuffix(other)
        if one.endswith(other) and all(old_indent == prefix + found_indent for old_indent, found_indent in self._pairs):
            return {indent: indent.removeprefix(prefix) for indent in self._new_indents} if self._all_have(prefix) else None
        return None

    def _all_have(self, prefix: str) -> bool:
        return all(indent.startswith(prefix) for indent in self._new_indents)

    def _by_levels(self) -> Mapping[str, str] | None:
        """Converts spaces to tabs or tabs to spaces, if one number of columns per tab fits every line."""
        old_indents, found_indents = {one for one, _ in self._pairs} | self._new_indents, {other for _, other in self._pairs}
        if _only(" ", old_indents) and _only("\t", found_indents):
            return self._tabs_for_spaces()
        return self._spaces_for_tabs() if _only("\t", old_indents) and _only(" ", found_indents) else None

    def _tabs_for_spaces(self) -> Mapping[str, str] | None:
        pairs = sorted({(len(one), len(other)) for one, other in self._pairs})
        least = pairs[0][0]
        widths = {*(width for width, _ in pairs), *map(len, self._new_indents)}
        columns = _columns([(tabs, width) for width, tabs in pairs], gcd(*(width - least for width in widths)))
        if columns is None:
            return None
        moved = {width: divmod(width - least, columns) for width in map(len, self._new_indents)}
        if any(rest or pairs[0][1] + tabs < 0 for tabs, rest in moved.values()):
            return None
        return {indent: "\t" * (pairs[0][1] + moved[len(indent)][0]) for indent in self._new_indents}

    def _spaces_for_tabs(self) -> Mapping[str, str] | None:
        pairs = sorted({(len(one), len(other)) for one, other in self._pairs})
        least, width = pairs[0]
        deeper = any(len(indent) != least for indent in self._new_indents)
        columns = _columns(pairs, len(self._unit) if deeper and _only(" ", {self._unit}) else 0)
        if columns is None or any(width + (len(indent) - least) * columns < 0 for indent in self._new_indents):
            return None
        return {indent: " " * (width + (len(indent) - least) * columns) for indent in self._new_indents}

    def _ambiguous(self) -> ToolFailure:
        return ToolFailure(
            ErrorCode.EDIT_PREPARATION_FAILURE,
            f"{self._where}: the old text was found with another indentation, which differs by another amount from line to line, so the "
            "indentation of the new lines is uncertain. Nothing was changed. Read the file and give both texts with its indentation.",
        )


def _columns(pairs: Sequence[tuple[int, int]], step: int) -> int | None:
    """Returns how many columns a tab stands for; ``pairs`` are (tabs, columns) of the same lines, in order.

    If all lines have the same indentation, ``step`` decides: the columns by which new lines differ (0: they do not).  It must agree with
    the indentation of the pair, if that has any.  None: uncertain.
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


def indentation_unit(lines: Sequence[str]) -> str:
    """Returns one level of indentation in ``lines``: a tab or some spaces; four spaces if no line is indented."""
    indents = [_indent(line) for line in lines if line.strip()]
    tabs = sum(indent.startswith("\t") for indent in indents)
    if tabs > sum(indent.startswith(" ") for indent in indents):
        return "\t"
    return " " * _step([line for line in lines if not line.startswith("\t")])


def _step(lines: Sequence[str]) -> int:
    """Returns the smallest increase of indentation of at least 2 columns; 4 if there is none."""
    widths = sorted({0, *(_width(_indent(line)) for line in lines if line.strip())})
    steps = [more - less for less, more in pairwise(widths) if more - less > 1]
    return min(steps, default=_TAB)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _width(indent: str) -> int:
    return len(indent.expandtabs(_TAB))
