"""The files that a session changed, and the diff of each over the session, as far as it is recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from nbtools.cards.blocks import text_block
from nbtools.cards.card_model import Block, Card
from nbtools.cards.diff_rows import diff_block
from nbtools.cards.hidden_characters import one_line
from nbtools.core.errors import TraceError
from nbtools.core.message import counted
from nbtools.core.result import FileDiff
from nbtools.traces.comparison.file_contents import recorded_parts
from nbtools.traces.explorer.explorer_messages import (
    TraceChangedFile,
    TraceChanges,
    TraceContext,
    TraceLink,
    TraceOpened,
)
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, FileChange
from nbtools.traces.trace import Trace
from nbtools.traces.working_directory import file_key

MAX_FILES = 1_000
"""Largest number of files that are listed."""
_MAX_STEPS = 50
"""Largest number of a file's steps that are named."""
_MAX_PARTS = 20
"""Largest number of parts of one file whose diffs are shown."""


@dataclass(slots=True)
class Part:
    """A file, or a part of it, followed through several changes. ``before`` is None for a new file."""

    before: str | None
    after: str
    steps: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change that took effect, and the line of its step."""

    line: int
    change: FileChange


class ChangedFiles:
    """The changes of files that took effect, by file."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._trace = trace
        self._lines = lines

    def overview(self) -> TraceChanges:
        """Returns the changed files with their totals, in the order of their first change."""
        files = [_listed(key, changes, self._lines) for key, changes in self._by_file.items()]
        return TraceChanges(files=tuple(files[:MAX_FILES]), total=len(files))

    def diff(self, key: str) -> TraceOpened:
        """Returns the diff of a file over the session. Raises ``TraceError`` if it was not changed."""
        if key not in self._by_file:
            raise TraceError(f"No change of {one_line(key, 200)} took effect in this log.")
        changes = self._by_file[key]
        parts, missing = self._parts(key, changes)
        shown = _listed(key, changes, self._lines)
        card = Card(
            id="",
            state="success",
            tool="Changes",
            icon="pencil",
            subject=one_line(key, 200),
            status="",
            added=shown.added or 0,
            removed=shown.removed or 0,
            detail=counted(len(changes), "change"),
            blocks=tuple(self._blocks(key, parts, missing)),
            record="",
            root="/",
        )
        around = (TraceContext(label="Changed by", parts=shown.steps),)
        return TraceOpened(line=changes[0].line, card=card, foot="", around=around)

    @cached_property
    def _by_file(self) -> dict[str, list[_Change]]:
        ids = {change.call for change in self._trace.file_changes}
        rows = enumerate(self._lines.rows)
        places = {
            (row.session, row.id): (line, self._lines.folder(row))
            for line, row in rows
            if type(row) is Call and row.id in ids
        }
        files: dict[str, list[_Change]] = defaultdict(list)
        for change in self._trace.file_changes:
            place = places.get((change.session, change.call))
            if change.applied and change.path and place is not None:
                files[file_key(change.path, place[1])].append(_Change(place[0], change))
        for changes in files.values():
            changes.sort(key=lambda one: one.line)
        return dict(sorted(files.items(), key=lambda item: item[1][0].line))

    def _parts(self, key: str, changes: Sequence[_Change]) -> tuple[list[Part], dict[str, list[int]]]:
        """Returns the texts before and after, and by reason the lines of the steps without texts."""
        parts: list[Part] = []
        missing: dict[str, list[int]] = defaultdict(list)
        for line in dict.fromkeys(one.line for one in changes):
            call = self._lines.rows[line]
            if not isinstance(call, Call):
                continue
            if not call.live:
                missing["on a rewound branch, and left out here"].append(line)
                continue
            folder = self._lines.folder(call)
            diffs = [
                part
                for one in call.detail.changes
                if file_key(one.file_name, folder) == key
                for part in recorded_parts(one)
            ]
            if not diffs:
                missing["whose text the log does not record"].append(line)
            for diff in diffs:
                _follow(parts, diff, line)
        return parts, missing

    def _blocks(self, key: str, parts: Sequence[Part], missing: dict[str, list[int]]) -> Iterator[Block]:
        if len(parts) > 1:
            yield text_block(
                f"The log does not tell how these {len(parts)} parts of the file fit together.",
                tone="quiet",
            )
        for part in parts[:_MAX_PARTS]:
            if len(parts) > 1:
                yield text_block(self._named(part.steps), tone="quiet")
            if part.before == part.after:
                yield text_block("The text is the same again as before these changes.", tone="quiet")
            else:
                yield diff_block(
                    key, _ended(part.before, part.after), _ended(part.after, part.before or part.after) or ""
                )
        if len(parts) > _MAX_PARTS:
            yield text_block(f"⋯ {len(parts) - _MAX_PARTS} more parts: open the steps below.", tone="quiet")
        if any(part.before is not None for part in parts):
            yield text_block(
                "Where the log has only a part of the file, line numbers count within that part.",
                tone="quiet",
            )
        for reason, lines in missing.items():
            yield text_block(f"Not in this diff: {self._named(lines)}, {reason}.", tone="quiet")

    def _named(self, lines: Sequence[int]) -> str:
        numbers = [self._lines.numbers[line] for line in dict.fromkeys(lines)]
        more = f" and {len(numbers) - _MAX_STEPS} more" if len(numbers) > _MAX_STEPS else ""
        return ("Step " if len(numbers) == 1 else "Steps ") + ", ".join(numbers[:_MAX_STEPS]) + more


def _listed(key: str, changes: Sequence[_Change], lines: Timeline) -> TraceChangedFile:
    counts = [(one.change.added, one.change.removed) for one in changes]
    known = [
        (added or 0, removed or 0) for added, removed in counts if added is not None or removed is not None
    ]
    return TraceChangedFile(
        path=key,
        label=one_line(key, 300),
        kind=_kind(changes),
        changes=len(changes),
        added=sum(added for added, _ in known) if known else None,
        removed=sum(removed for _, removed in known) if known else None,
        complete=len(known) == len(counts),
        steps=_links(lines, [one.line for one in changes]),
    )


def _kind(changes: Sequence[_Change]) -> str:
    kinds = [one.change.kind for one in changes]
    if kinds[-1] == "delete":
        return "deleted"
    if kinds[0] == "add":
        return "new"
    return "renamed" if "rename" in kinds else ""


def _links(lines: Timeline, places: Sequence[int]) -> tuple[TraceLink, ...]:
    places = list(dict.fromkeys(places))
    links: list[TraceLink] = []
    for place in places[:_MAX_STEPS]:
        links += [TraceLink(text=", ")] if links else []
        links.append(TraceLink(text=lines.numbers[place], line=place))
    if len(places) > _MAX_STEPS:
        links.append(TraceLink(text=f" and {len(places) - _MAX_STEPS} more"))
    return tuple(links)


def _follow(parts: list[Part], diff: FileDiff, line: int) -> None:
    """Applies a change to the part that it continues; a change that continues none begins one of its own."""
    old, new = diff.original_content, diff.new_content
    for number in range(len(parts) - 1, -1, -1):
        part = parts[number]
        if _continue(part, old, new):
            part.steps.append(line)
            parts.append(parts.pop(number))
            return
    parts.append(Part(old, new, [line]))


def _continue(part: Part, old: str | None, new: str) -> bool:
    """Applies a change to a part if that is certain:
    the part is its text before, contains it once, or is contained in it once.
    """
    if old is None:  # the whole file was rewritten: it is this part if that was the whole file
        if part.before is not None:
            return False
        part.after = new
    elif old == part.after:
        part.after = new
    elif old and part.after.count(old) == 1:
        part.after = part.after.replace(old, new)
    elif part.before is not None and part.after and old.count(part.after) == 1:
        part.before, part.after = old.replace(part.after, part.before), new
    else:
        return False
    return True


def _ended(text: str | None, other: str | None) -> str | None:
    """Returns ``text`` with a final newline if neither side has one: many logs have only parts of files."""
    return f"{text}\n" if text and other and not text.endswith("\n") and not other.endswith("\n") else text
