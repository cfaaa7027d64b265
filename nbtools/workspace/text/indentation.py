"""Re-indents new lines for a place that is indented differently; nesting never changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import gcd

from nbtools.core.errors import ErrorCode, ToolFailure

_TAB_WIDTHS = (2, 3, 4, 8)
_DEFAULT_UNIT = 4


class Reindenter:
    """Moves new lines from the indentation of the ``old`` lines to that of the lines ``found`` in the file.

    It tries, in this order: the same characters added to every line, or removed; the units of the file
    instead of those of the edit (tabs for spaces, or other widths), if every line is a whole number of units;
    and lines deeper than all of ``old`` moved as a block with the deepest of these.  ``unit`` is one level of
    indentation around the place.

    The nesting never changes: of two lines of ``old`` and ``new``, the more deeply indented one is so in the
    file, too.  Where that is impossible, ``reindent`` raises ``ToolFailure`` (``edit_preparation_failure``);
    ``where`` names the place in its message.
    """

    def __init__(
        self, old: Sequence[str], found: Sequence[str], new: Sequence[str], unit: str, where: str
    ) -> None:
        pairs = [
            (_indent(one), _indent(other))
            for one, other in zip(old, found, strict=True)
            if one.strip() and other.strip()
        ]
        self._pairs = dict(pairs)
        self._is_consistent = all(self._pairs[one] == other for one, other in pairs)
        self._is_same = all(one == other for one, other in pairs)
        self._new = {_indent(line) for line in new if line.strip()}
        self._given = "".join({*"".join([*self._pairs, *self._new])})
        self._there = "".join({*"".join(self._pairs.values())}) or unit[0]
        self._unit, self._where = unit, where
        self._mapping: Mapping[str, str] | None = None

    def reindent(self, line: str) -> str:
        """Returns ``line`` indented for the file; a blank one is empty if the indentation changes."""
        if self._is_same:
            return line
        if not line.strip():
            return ""
        self._mapping = self._mapping or self._find_mapping()
        return self._mapping[_indent(line)] + line.lstrip()

    def _find_mapping(self) -> Mapping[str, str]:
        tried = [self._by_prefix(), self._by_units(), self._by_deepest()] if self._is_consistent else []
        if self._given != self._there or self._has_other_units():
            tried[:2] = reversed(tried[:2])
        mapping = next((one for one in tried if one is not None), None)
        if mapping is None or not set("".join([*self._pairs, *mapping, *mapping.values()])) <= {" ", "\t"}:
            raise _ambiguous_indentation(self._where)
        return mapping

    def _by_prefix(self) -> Mapping[str, str] | None:
        """Adds the same characters to every line, or removes them."""
        one, other = next(iter(self._pairs.items()))
        added, removed = other.removesuffix(one), one.removesuffix(other)
        if other.endswith(one):
            agree = all(found == added + old for old, found in self._pairs.items())
            return {indent: added + indent for indent in self._new} if agree else None
        agree = one.endswith(other) and all(old == removed + found for old, found in self._pairs.items())
        possible = agree and all(indent.startswith(removed) for indent in self._new)
        return {indent: indent.removeprefix(removed) for indent in self._new} if possible else None

    def _by_units(self) -> Mapping[str, str] | None:
        """Converts units if both widths are certain and every line has a whole number of them."""
        if len(self._given) != 1 or len(self._there) != 1:
            return None
        pairs = sorted((len(old), len(found)) for old, found in self._pairs.items())
        (old, found), (deepest, widest) = pairs[0], pairs[-1]
        if len(pairs) > 1:
            known = gcd(*(width - old for width, _ in pairs))
            step = gcd(known, *(len(indent) - old for indent in self._new))
            columns = (widest - found) * step // (deepest - old)
            # A part of what the pairs show is a unit only if it becomes whole units of the file.
            is_unit = step == known or columns % len(self._unit.expandtabs(1)) == 0
            if not is_unit or any(
                (other - found) * step != (width - old) * columns for width, other in pairs
            ):
                return None
        else:
            step, columns = self._guessed_units(old, found)
        levels = {indent: divmod(len(indent) - old, step or 1) for indent in self._new}
        if columns <= 0 or any(rest or found + level * columns < 0 for level, rest in levels.values()):
            return None
        return {indent: self._there * (found + level * columns) for indent, (level, _) in levels.items()}

    def _has_other_units(self) -> bool:
        """Whether old lines of one indentation are as many, different units deep in edit and file."""
        if len(self._pairs) != 1 or self._given != " " or set(self._unit) != {" "}:
            return False
        ((old, found),) = self._pairs.items()
        step, unit = gcd(*(len(indent) - len(old) for indent in self._new)), len(self._unit)
        is_whole = step in _TAB_WIDTHS and step != unit and len(old) % step == 0 and len(found) % unit == 0
        return is_whole and 0 < len(old) // step == len(found) // unit

    def _guessed_units(self, old: int, found: int) -> tuple[int, int]:
        """Returns the units where all old lines have one indentation: a tab against usual spaces."""
        step = gcd(*(len(indent) - old for indent in self._new))
        if self._has_other_units():
            return step, len(self._unit)
        if self._given == self._there or not step:
            return step, 0
        from_tabs = self._given == "\t"
        width = len(self._unit) if from_tabs else step
        tabs, spaces = (old, found) if from_tabs else (found, old)
        implied = spaces // tabs if tabs and spaces % tabs == 0 else width
        is_certain = width in _TAB_WIDTHS and (
            implied == width or implied not in _TAB_WIDTHS or width % implied != 0
        )
        if not is_certain:
            return step, 0
        return (1, width) if from_tabs else (width, 1)

    def _by_deepest(self) -> Mapping[str, str] | None:
        """Moves lines deeper than all of ``old`` as its deepest; others must be as deep as one of them."""
        deepest = max(self._pairs, key=len)
        deeper = self._new - self._pairs.keys()
        if not all(indent.startswith(deepest) for indent in deeper):
            # they may belong to a block that begins above the place, where the file's indentation is unknown
            return None
        mapping = self._pairs | {
            indent: self._pairs[deepest] + indent.removeprefix(deepest) for indent in deeper
        }
        return mapping if _keeps_nesting(mapping) else None


def _ambiguous_indentation(where: str) -> ToolFailure:
    return ToolFailure(
        ErrorCode.EDIT_PREPARATION_FAILURE,
        f"{where}: the old text was found with another indentation, and no indentation of the new lines"
        " certainly keeps their nesting. Nothing was changed. Read the file and give both texts with its"
        " indentation.",
    )


def _keeps_nesting(mapping: Mapping[str, str]) -> bool:
    """Whether the indentations, and what they become, are each the beginning of the next deeper one."""
    before = sorted(mapping, key=len)
    after = [mapping[indent] for indent in before]
    return all(
        len(one) < len(other) and other.startswith(one)
        for indents in (before, after)
        for one, other in pairwise(indents)
    )


def missing_margin(before: str, old: Sequence[str], new: Sequence[str], where: str) -> str:
    """Returns what goes before ``new``'s lines after the first, where ``old`` follows the blanks ``before``.

    The other lines of ``old`` have the indentation of the file; its first line has only the part after
    ``before``.  The same holds for ``new`` if its other lines are indented as those of ``old``, or deeper.
    Else it is a block of its own, and moves as a whole.  Raises ``ToolFailure``
    (``edit_preparation_failure``) where both are possible, or neither.
    """
    there = {_indent(line) for line in old[1:] if line.strip()}
    given = {_indent(line) for line in new[1:] if line.strip()}
    deepest = max(there, key=len, default=None)
    strange = [
        indent
        for indent in given
        if indent not in there and (deepest is None or not indent.startswith(deepest))
    ]
    if not before or not strange:
        return ""
    first = before + _indent(old[0])
    keeps_nesting = all(len(indent) > len(first) and indent.startswith(first) for indent in given)
    is_block = all(indent.startswith(_indent(new[0])) for indent in given) and len(strange) == len(given)
    if keeps_nesting or not is_block:
        raise _ambiguous_indentation(where)
    return before


def indentation_unit(lines: Iterable[str]) -> str:
    """Returns one level of indentation: a tab or some spaces, four if no line is indented."""
    indents = [_indent(line) for line in lines if line.strip()]
    tabs = sum(indent.startswith("\t") for indent in indents)
    if tabs > sum(indent.startswith(" ") for indent in indents):
        return "\t"
    widths = sorted(
        {0, *(len(indent.expandtabs(_DEFAULT_UNIT)) for indent in indents if not indent.startswith("\t"))}
    )
    return " " * min(
        (more - less for less, more in pairwise(widths) if more - less > 1), default=_DEFAULT_UNIT
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
