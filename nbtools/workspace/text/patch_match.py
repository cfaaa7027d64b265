"""Finds where the hunks of a patch belong in a text that may have changed since the patch was made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.patch_model import Hunk
from nbtools.diff.text_lines import displayable, split_lines, with_lf
from nbtools.workspace.text.match import MatchMode, describe_nearest


class MatchLevel(IntEnum):
    """A tolerance in comparing lines; each level also allows the differences of the ones before."""

    NOTHING = 0
    LINE_ENDS = 1
    LAST_END = 2
    TRAILING = 3
    INDENTATION = 4
    PUNCTUATION = 5

    @property
    def is_loose(self) -> bool:
        return self >= MatchLevel.TRAILING


LEVELS: dict[MatchMode, tuple[MatchLevel, ...]] = {
    "exact": (MatchLevel.NOTHING, MatchLevel.LINE_ENDS, MatchLevel.LAST_END),
    "blanks": (MatchLevel.NOTHING, MatchLevel.LINE_ENDS, MatchLevel.LAST_END, MatchLevel.TRAILING, MatchLevel.INDENTATION),
    "close": tuple(MatchLevel),
}
LEVEL_NAMES = {
    MatchLevel.TRAILING: "trailing whitespace",
    MatchLevel.INDENTATION: "indentation",
    MatchLevel.PUNCTUATION: "the kind of dashes, quotes or spaces",
}

_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)


def _lf(line: str) -> str:
    return displayable(with_lf(line))


_KEYS: dict[MatchLevel, Callable[[str], str]] = {
    MatchLevel.NOTHING: lambda line: line,
    MatchLevel.LINE_ENDS: _lf,
    MatchLevel.LAST_END: lambda line: _lf(line).removesuffix("\n"),
    MatchLevel.TRAILING: lambda line: _lf(line).rstrip(),
    MatchLevel.INDENTATION: lambda line: _lf(line).strip(),
    MatchLevel.PUNCTUATION: lambda line: _lf(line).translate(_PUNCTUATION).strip(),
}


@dataclass(frozen=True, slots=True)
class _Index:
    """The lines normalised for one level, and the line numbers of each."""

    keys: list[str]
    places: dict[str, list[int]]


class Lines:
    """A text's lines with their endings, indexed for search."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = split_lines(text)
        self._indexes: dict[MatchLevel, _Index] = {}

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def view(self) -> str:
        """The text with LF endings and without undecodable bytes."""
        return _lf(self.text)

    def find(self, wanted: Sequence[str], level: MatchLevel) -> list[int]:
        """Returns the line numbers (0-based, in order) where the lines ``wanted`` begin; blank lines match only exactly."""
        key = _KEYS[level]
        keys = [key(line) for line in wanted]
        if level.is_loose and not any(keys):
            return []
        index = self._index(level)
        rarest = min(range(len(keys)), key=lambda k: len(index.places.get(keys[k], ())))
        starts = (number - rarest for number in index.places.get(keys[rarest], ()))
        return [start for start in starts if start >= 0 and index.keys[start : start + len(keys)] == keys]

    def _index(self, level: MatchLevel) -> _Index:
        if level not in self._indexes:
            key = _KEYS[level]
            keys = [key(line) for line in self.lines]
            places: dict[str, list[int]] = {}
            for number, name in enumerate(keys):
                places.setdefault(name, []).append(number)
            self._indexes[level] = _Index(keys, places)
        return self._indexes[level]


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


_MAX_LINES_NAMED = 10
_CLOSERS = ("}", ")", "]", "end", "*/", "fi", "done", "esac", "</")


@dataclass(frozen=True, slots=True)
class HunkMatch:
    """The place of a hunk: the line (0-based) where its old lines begin, and the tolerance that was needed.

    ``drift``: its distance in lines from the line number in the hunk.  ``not_last``: the hunk claims the end of the file, but is not there.
    """

    hunk: Hunk
    start: int
    level: MatchLevel = MatchLevel.NOTHING
    drift: int = 0
    not_last: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.hunk.old())

    def notes(self) -> Iterator[str]:
        """Yields notes for the caller on how the hunk was found."""
        where = f"{self.hunk.name} was found at line {self.start + 1}"
        if self.level in LEVEL_NAMES:
            yield f"{where} although {LEVEL_NAMES[self.level]} differs"
        elif self.drift:
            lines = "line" if abs(self.drift) == 1 else "lines"
            yield f"{where}, {abs(self.drift)} {lines} {'below' if self.drift > 0 else 'above'} its line number"
        if self.not_last:
            yield f"{where}, which is not the end of the file"


def locate_hunks(lines: Lines, hunks: Sequence[Hunk], match: MatchMode, subject: str) -> list[HunkMatch]:
    """Finds the places of all hunks in the same lines.

    A hunk belongs to the only place where its old lines are.  If there are several, that with its line number counts, or one that is at
    most half as far from there as any other; else the only one after the previous hunk.  Raises ``ToolFailure``:
    ``edit_no_occurrence_found`` with the most similar text, ``edit_expected_occurrence_mismatch`` with the lines of all places.
    """
    placed: list[HunkMatch] = []
    drift = 0
    for hunk in hunks:
        one = _locate(lines, hunk, match, subject, placed[-1].end if placed else 0, drift)
        drift += one.drift
        placed.append(one)
    return [_with_total_drift(one, before) for one, before in zip(placed, [0, *_totals(placed)], strict=False)]


def _totals(placed: Sequence[HunkMatch]) -> Iterator[int]:
    total = 0
    for one in placed:
        total += one.drift
        yield total


def _with_total_drift(one: HunkMatch, before: int) -> HunkMatch:
    """Counts the drift from the hunk's own line number instead of the position expected after the previous hunk."""
    return replace(one, drift=one.drift + before)


def _locate(lines: Lines, hunk: Hunk, match: MatchMode, subject: str, after: int, drift: int) -> HunkMatch:
    expected = None if hunk.line is None else hunk.line - bool(hunk.old()) + drift
    if not hunk.old():
        return _insertion(lines, hunk, subject, expected)
    first, last = _scope(lines, hunk, subject)
    for level in LEVELS[match]:
        found = [start for start in lines.find(hunk.old(), level) if start >= first and _may_end(lines, hunk, start)]
        if found:
            start = _chosen(found, hunk, lines, expected if not level.is_loose else None, after, last)
            if start is None:
                raise _ambiguous(found, hunk, subject)
            not_last = hunk.at_end and start + len(hunk.old()) < len(lines)
            return HunkMatch(hunk, start, level, 0 if expected is None else start - expected, not_last)
    raise _missing(lines, hunk, subject)


def _may_end(lines: Lines, hunk: Hunk, start: int) -> bool:
    """Returns False for a hunk that removes the final newline, anywhere but at the end of the file."""
    return not hunk.ends_new_file or start + len(hunk.old()) == len(lines)


def _chosen(found: list[int], hunk: Hunk, lines: Lines, expected: int | None, after: int, last: int | None) -> int | None:
    """Returns the intended place; None if it is ambiguous."""
    if len(found) == 1:
        return found[0]
    if hunk.at_end:
        found = [start for start in found if start + len(hunk.old()) == len(lines)] or found
    elif last is not None:
        found = [start for start in found if start < last] or found
    elif expected is not None:
        return _nearest(found, expected)
    else:
        found = [start for start in found if start >= after] or found
    return found[0] if len(found) == 1 else None


def _nearest(found: list[int], expected: int) -> int | None:
    best, other = sorted(found, key=lambda start: abs(start - expected))[:2]
    return best if 2 * abs(best - expected) <= abs(other - expected) else None


def _insertion(lines: Lines, hunk: Hunk, subject: str, expected: int | None) -> HunkMatch:
    """Places a hunk without old lines: after the line that it names, or at the end of the file."""
    if expected is not None and 0 <= expected <= len(lines) and _may_end(lines, hunk, expected):
        return HunkMatch(hunk, expected)
    if expected is None and not hunk.headers:
        return HunkMatch(hunk, len(lines))
    reason = "it only adds lines and does not say where"
    if expected is not None:
        reason = f"its line number does not exist, because the file has only {len(lines)} lines"
    raise ToolFailure(
        ErrorCode.EDIT_NO_OCCURRENCE_FOUND, f"{subject}, {hunk.name}: {reason}. Nothing was changed. Give the lines around as context."
    )


def _scope(lines: Lines, hunk: Hunk, subject: str) -> tuple[int, int | None]:
    """Returns the first line for a hunk's search, and the end of the block that its last header begins.

    A header line may itself be the hunk's first line.
    """
    start, last = 0, None
    for header in hunk.headers:
        found = next((hits for level in MatchLevel if (hits := [k for k in lines.find([f"{header}\n"], level) if k >= start])), None)
        if found is None:
            raise ToolFailure(
                ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
                f"{subject}, {hunk.name}: its header line is not in the file; {describe_nearest(lines.view, header)}. Nothing was changed. "
                "Give a header line that is in the file, or leave it out.",
            )
        inside = [k for k in found if last is None or k < last]
        if len(inside or found) > 1:
            raise ambiguous_failure(
                inside or found, f"{subject}, {hunk.name}: its header line is there", "Put the header of the enclosing block before it."
            )
        start = (inside or found)[0]
        last = _end_of_block(lines, start)
    return start, last


def _end_of_block(lines: Lines, header: int) -> int:
    """Returns the next line that is indented no deeper than ``header`` and closes nothing."""
    indent = len(indent_of(lines.lines[header]).expandtabs())
    for k in range(header + 1, len(lines)):
        line = lines.lines[k]
        if line.strip() and len(indent_of(line).expandtabs()) <= indent and not line.strip().startswith(_CLOSERS):
            return k
    return len(lines)


def _missing(lines: Lines, hunk: Hunk, subject: str) -> ToolFailure:
    """Returns the failure for old lines that are not in the file, with the most similar text."""
    new = hunk.new()
    already = lines.find(new, MatchLevel.LINE_ENDS) if any(len(line.strip()) > 2 for line in new) else []
    wanted = "".join(hunk.old()).removesuffix("\n")
    hint = f"the new lines are already there, at line {already[0] + 1}" if already else describe_nearest(lines.view, wanted)
    return ToolFailure(
        ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
        f"{subject}, {hunk.name}: its old lines are not in the file; {hint}. Nothing was changed. Read the file and make a new patch.",
    )


def _ambiguous(found: list[int], hunk: Hunk, subject: str) -> ToolFailure:
    return ambiguous_failure(found, f"{subject}, {hunk.name}: its old lines are there", "Give more of the lines around it.")


def ambiguous_failure(found: list[int], what: str, advice: str) -> ToolFailure:
    """Returns the failure for lines that were found at several places (0-based)."""
    named = ", ".join(str(start + 1) for start in found[:_MAX_LINES_NAMED]) + (", …" if len(found) > _MAX_LINES_NAMED else "")
    return ToolFailure(
        ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH, f"{what} {len(found)} times (lines {named}). Nothing was changed. {advice}"
    )
