"""Line diffs of two texts: operations, hunks, unified diff, counts, and words that differ inside a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from nbtools.core.result import DiffStat, FileDiff
from nbtools.diff.matching import common_end, common_start, matching_blocks
from nbtools.diff.text_lines import displayable, split_lines

Tag: TypeAlias = Literal["equal", "replace", "delete", "insert"]
Ranges: TypeAlias = tuple[tuple[int, int], ...]
Change: TypeAlias = tuple[int, int, int]
"""Start and end of a part of the old text that changes, and by how many characters it grows."""

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_LEAST_COMMON = 0.35
"""Two lines that share less than this part of their characters are not compared word by word."""
_LONGEST_COMPARED = 2_000
_CONTEXT = 3
_NEEDS_QUOTES = re.compile(r'[\x00-\x1f\x7f-\x9f"\\\u2028\u2029\u202a-\u202e\u2066-\u2069]')
"""What would end a line, or hides or reorders text in it; git quotes all that is not ASCII."""


class Op(NamedTuple):
    """An operation: lines ``i1:i2`` of the old text become lines ``j1:j2`` of the new one (0-based,
    end exclusive).
    """

    tag: Tag
    i1: int
    i2: int
    j1: int
    j2: int


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """A hunk of a unified diff: 1-based first lines, line counts, and the lines with sign, without end."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[Op]:
    """Returns the operations that turn ``old`` into ``new``; consecutive, and covering both completely."""
    ops: list[Op] = []
    i = j = 0
    for x, y, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
        if i < x or j < y:
            tag: Tag = "replace"
            if i == x or j == y:
                tag = "insert" if i == x else "delete"
            ops.append(Op(tag, i, x, j, y))
        if size:
            ops.append(Op("equal", x, x + size, y, y + size))
        i, j = x + size, y + size
    return ops


class LineDiff:
    """The line diff of two texts; ``old`` is None for a new file."""

    def __init__(self, old: str | None, new: str) -> None:
        self.created = old is None
        self._old, self._new = split_lines(old or ""), split_lines(new)
        self.ops = opcodes(self._old, self._new)

    def hunks(self, context: int = 3) -> tuple[PatchHunk, ...]:
        """Returns the changes with ``context`` unchanged lines around.
        A last line without an end is followed by a line that says so.
        """
        return tuple(_hunk(self._old, self._new, group) for group in _grouped(self.ops, context))

    def unified(self, path: str, context: int = 3) -> str:
        """Returns a unified diff for ``patch -p1`` and ``git apply``, empty where nothing changed."""
        return format_unified(path, self.hunks(context), created=self.created)

    def counts(self) -> tuple[int, int, int, int]:
        """Returns the lines added and removed, and the characters added and removed, without line ends."""
        changed = [op for op in self.ops if op.tag != "equal"]
        added = [line for op in changed for line in self._new[op.j1 : op.j2]]
        removed = [line for op in changed for line in self._old[op.i1 : op.i2]]
        return len(added), len(removed), _characters(added), _characters(removed)


def hunks(old: str, new: str, context: int = 3) -> tuple[PatchHunk, ...]:
    """Returns the hunks of two texts, see ``LineDiff.hunks``."""
    return LineDiff(old, new).hunks(context)


def unified(path: str, old: str | None, new: str, context: int = 3) -> str:
    """Returns the unified diff of two texts, see ``LineDiff.unified``; ``old`` is None for a new file."""
    return LineDiff(old, new).unified(path, context)


def format_unified(path: str, body: Sequence[PatchHunk], *, created: bool = False) -> str:
    """Formats hunks as a unified diff, empty where there are none."""
    if not body:
        return ""
    source = "/dev/null" if created else _header_name(f"a/{path}")
    return f"--- {source}\n+++ {_header_name(f'b/{path}')}\n{''.join(map(_hunk_text, body))}"


def file_diff(path: str, old: str | None, new: str, proposal: str | None = None) -> FileDiff:
    """Returns a change for display.  It is no patch for a file with bytes that are not UTF-8."""
    return file_diff_with_hunks(path, old, new, proposal)[0]


def file_diff_with_hunks(
    path: str, old: str | None, new: str, proposal: str | None = None, changes: Sequence[Change] = ()
) -> tuple[FileDiff, tuple[PatchHunk, ...]]:
    """Returns ``file_diff`` together with the hunks.
    ``changes``: where the texts differ, in order, if known; only that is compared.
    """
    before, after = displayable(old or ""), displayable(new)
    found, counts = list[PatchHunk](), [0, 0, 0, 0]
    above = position = shift = shift_in_lines = 0
    for start, end, growth in _windows(before, changes or [_changed_part(before, after)]):
        above, position = above + before.count("\n", position, start), start
        lines = LineDiff(before[start:end], after[start + shift : end + shift + growth])
        for hunk in lines.hunks(_CONTEXT):
            new_start = hunk.new_start + above + shift_in_lines
            found.append(replace(hunk, old_start=hunk.old_start + above, new_start=new_start))
        added, removed, *_ = more = lines.counts()
        counts = [count + one for count, one in zip(counts, more, strict=True)]
        shift, shift_in_lines = shift + growth, shift_in_lines + added - removed
    stat = DiffStat(*counts) if proposal is None else diff_stat(before, after, proposal)
    text = format_unified(path, found, created=old is None)
    return FileDiff(text, path, None if old is None else before, after, stat), tuple(found)


def _changed_part(old: str, new: str) -> Change:
    start = common_start(old, new)
    return start, len(old) - common_end(old, new, min(len(old), len(new)) - start), len(new) - len(old)


def _windows(text: str, changes: Sequence[Change]) -> Iterator[Change]:
    """Yields the changes as whole lines with the context of hunks; those that share lines are joined."""
    first = last = line_end = total = 0
    for number, (start, end, growth) in enumerate(changes):
        if number and end < line_end:
            total += growth
            continue
        begin = start
        for _ in range(_CONTEXT + 1):
            begin = max(text.rfind("\n", 0, begin), 0)
        begin += begin > 0
        if number and begin > last:
            yield first, last, total
        if not number or begin > last:
            first, total = begin, 0
        total += growth
        last = line_end = text.find("\n", end) + 1 or len(text)
        for _ in range(_CONTEXT):
            last = text.find("\n", last) + 1 or len(text)
    if changes:
        yield first, last, total


def diff_stat(old: str, new: str, proposal: str | None = None) -> DiffStat:
    """Counts changed lines, and characters without line ends.
    ``proposal`` is the model's text, which a person modified to ``new``.
    """
    if proposal is None:
        return DiffStat(*LineDiff(old, new).counts())
    return DiffStat(*LineDiff(old, proposal).counts(), *LineDiff(proposal, new).counts())


def changed_spans(old_line: str, new_line: str) -> tuple[Ranges, Ranges]:
    """Returns the columns (0-based, end exclusive) of the words that differ;
    both empty where the lines have too little in common.
    """
    if old_line == new_line or max(len(old_line), len(new_line)) > _LONGEST_COMPARED:
        return (), ()
    a, b = _WORD.findall(old_line), _WORD.findall(new_line)
    ops = opcodes(a, b)
    common = sum(len("".join(a[op.i1 : op.i2]).strip()) for op in ops if op.tag == "equal")
    if common < _LEAST_COMMON * max(len(old_line.strip()), len(new_line.strip())):
        return (), ()
    changed = [op for op in ops if op.tag != "equal"]
    return _columns(a, [(op.i1, op.i2) for op in changed]), _columns(b, [(op.j1, op.j2) for op in changed])


def _columns(words: list[str], changed: list[tuple[int, int]]) -> Ranges:
    """Converts ranges of words to ranges of columns, and joins those with only blanks between them."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    found: list[tuple[int, int]] = []
    for first, last in changed:
        if first == last:
            continue
        if found and not "".join(words)[found[-1][1] : starts[first]].strip():
            found[-1] = (found[-1][0], starts[last])
        else:
            found.append((starts[first], starts[last]))
    return tuple(found)


def _characters(lines: list[str]) -> int:
    return sum(len(line.rstrip("\r\n")) for line in lines)


def _grouped(ops: list[Op], context: int) -> Iterator[list[Op]]:
    """Groups changes that share context, and trims the context."""
    group: list[Op] = []
    for op in ops:
        if op.tag != "equal":
            group.append(op)
            continue
        if group:
            head = min(op.i2 - op.i1, context)
            if op.i2 - op.i1 <= 2 * context and op is not ops[-1]:
                group.append(op)
                continue
            yield [*group, Op("equal", op.i1, op.i1 + head, op.j1, op.j1 + head)]
        tail = min(op.i2 - op.i1, context)
        group = [Op("equal", op.i2 - tail, op.i2, op.j2 - tail, op.j2)]
    if any(op.tag != "equal" for op in group):
        yield group


def _hunk(a: list[str], b: list[str], group: list[Op]) -> PatchHunk:
    lines: list[str] = []
    for op in group:
        if op.tag == "equal":
            _sign(lines, " ", a[op.i1 : op.i2])
        else:
            _sign(lines, "-", a[op.i1 : op.i2])
            _sign(lines, "+", b[op.j1 : op.j2])
    i1, i2, j1, j2 = group[0].i1, group[-1].i2, group[0].j1, group[-1].j2
    return PatchHunk(i1 + (i1 < i2), i2 - i1, j1 + (j1 < j2), j2 - j1, tuple(lines))


def _sign(lines: list[str], sign: str, part: list[str]) -> None:
    for line in part:
        if line.endswith("\n"):
            lines.append(f"{sign}{line[:-1]}")
        else:
            lines += [f"{sign}{line}", "\\ No newline at end of file"]


def _hunk_text(hunk: PatchHunk) -> str:
    head = f"@@ -{_range(hunk.old_start, hunk.old_lines)} +{_range(hunk.new_start, hunk.new_lines)} @@\n"
    return head + "".join(f"{line}\n" for line in hunk.lines)


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def _header_name(name: str) -> str:
    """Returns a file name in git's form:
    quoted if necessary, with a tab after a name with a blank, where ``patch`` expects a date.
    """
    if _NEEDS_QUOTES.search(name):
        return '"' + _NEEDS_QUOTES.sub(_escape, name) + '"'
    return f"{name}\t" if " " in name else name


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return f"\\{character}" if character in '"\\' else "".join(f"\\{byte:03o}" for byte in character.encode())
