"""The programs that a command's programs start, below them, and what is critical of any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nbtools.notebook.spans import text_of
from nbtools.notebook.visible import reveal, seen
from nbtools.notebook.wire import CommandPart
from nbtools.shell import Act

STARTED = "↳"
"""The operator of a part that the one above it starts."""
MAX_STARTED = 30


def with_acts(parts: Sequence[CommandPart], acts: Sequence[Act]) -> Iterator[CommandPart]:
    """The parts of a command, each with what it starts below it; acts and parts are in the order of the text."""
    groups = _grouped(acts)
    for part in parts:
        group = next((group for group in groups if _is_same(group[0], part)), None)
        if group is None:
            yield part
            continue
        groups.remove(group)
        yield _alarmed(part, group[0])
        yield from _started(group)
    for group in groups:
        yield from _started(group)


def _grouped(acts: Sequence[Act]) -> list[list[Act]]:
    """Acts that the shell starts, each before those that it starts itself."""
    groups: list[list[Act]] = []
    for act in acts:
        if act.via and groups:
            groups[-1].append(act)
        else:
            groups.append([act])
    return groups


def _is_same(act: Act, part: CommandPart) -> bool:
    return _bare(seen(act.text)) == _bare(text_of(part.spans))


def _bare(text: str) -> str:
    return "".join(text.split())


def _alarmed(part: CommandPart, act: Act) -> CommandPart:
    """The part with what its program does, and what is critical of it."""
    note = ", ".join(filter(None, [act.note, part.note, seen(act.critical)]))
    return part.model_copy(update={"note": note, "warning": part.warning or act.warn or bool(act.critical)})


def _started(group: Sequence[Act]) -> Iterator[CommandPart]:
    """Those that do something by themselves: what only starts another is named by that."""
    shown = [act for act in group if act.via and not act.transparent]
    for act in shown[:MAX_STARTED]:
        notes = [f"started by {seen(', '.join(act.via))}", *_notes(act)]
        warning = bool(act.risk or act.critical or act.warn)
        yield CommandPart(operator=STARTED, spans=tuple(reveal(act.text, keep="\t\n")), note=", ".join(notes), warning=warning)
    if len(shown) > MAX_STARTED:
        yield CommandPart(operator=STARTED, spans=(), note=f"and {len(shown) - MAX_STARTED:,} more", warning=True)


def _notes(act: Act) -> Iterator[str]:
    """What is worth knowing of it: the gravest word that there is."""
    said = act.critical or act.note or act.risk
    if said:
        yield seen(said)
