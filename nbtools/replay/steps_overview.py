"""Script-free HTML and text of a range of replayed calls:
one line each, recorded and new outcome, and how to continue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.markup import templates
from nbtools.cards.phrases import FAILED
from nbtools.cards.style import AMBER, BLUE, GREEN, GREY, RED
from nbtools.core.errors import TraceError
from nbtools.core.message import counted
from nbtools.core.result import CommandOutput
from nbtools.replay.replayed import Replayed, Skipped
from nbtools.replay.steps import Steps
from nbtools.traces.explorer.export.static_html import ICON_CHARACTERS
from nbtools.traces.explorer.line_style import icon_of, outcome_of, relative_path
from nbtools.traces.model import Call

render = templates(Path(__file__).parent / "templates").render
State = Literal["same", "parted", "unrun", "skipped", "next", "waiting"]
_WORDS: dict[State, str] = {
    "same": "same",
    "parted": "different",
    "unrun": "not run",
    "skipped": "skipped",
    "next": "next",
    "waiting": "",
}
_COLOURS: dict[State, str] = {
    "same": GREEN,
    "parted": RED,
    "unrun": AMBER,
    "skipped": GREY,
    "next": BLUE,
    "waiting": GREY,
}


@dataclass(frozen=True, slots=True)
class NumberedCall:
    """A call and its step number."""

    number: str
    call: Call


@dataclass(frozen=True, slots=True)
class StepsOverview:
    """``calls`` are those of ``steps``, with their numbers; ``is_open``: the copy is still there."""

    calls: Sequence[NumberedCall]
    steps: Steps
    is_open: bool

    def bundle(self) -> dict[str, Any]:
        """Returns HTML and text."""
        return {"text/html": steps_html(self), "text/plain": steps_text(self)}


@dataclass(frozen=True, slots=True)
class _Row:
    number: str
    icon: str
    name: str
    subject: str
    state: State
    ends: str
    why: str = ""


def steps_html(overview: StepsOverview) -> str:
    return render(
        "steps",
        title=_title(overview),
        facts=_facts(overview),
        runs=[list(run) for _, run in groupby(_rows(overview), key=lambda row: row.state)],
        actions=list(_actions(overview)),
        colours=_COLOURS,
        words=_WORDS,
    )


def steps_text(overview: StepsOverview) -> str:
    """Returns the same as plain text."""
    rows = _rows(overview)
    width = max((len(row.number) for row in rows), default=1)
    lines = [
        f"  {row.number:>{width}}  {ICON_CHARACTERS.get(row.icon, '⚒')} {row.name}"
        f" {row.subject}{_bracket(row)}"
        for row in rows
    ]
    ways = [f"  {code}  {what}" for code, what in _actions(overview)]
    return "\n".join([_title(overview), f"  {_facts(overview)}", *lines, *ways])


def _title(overview: StepsOverview) -> str:
    return f"Steps {overview.calls[0].number} to {overview.calls[-1].number}, run again"


def _facts(overview: StepsOverview) -> str:
    steps = overview.steps
    done = [one for one in steps.done if isinstance(one, Replayed)]
    same = sum(one.same for one in done)
    skipped = len(steps.done) - len(done)
    parts = [
        f"{len(steps.done)} of {counted(len(steps.calls), 'call')}",
        f"{same} same" if done else "",
        f"{len(done) - same} different" if len(done) > same else "",
        f"{skipped} skipped" if skipped else "",
        f"in a copy of {steps.copy.basis}"
        if overview.is_open
        else f"the copy of {steps.copy.basis} is deleted",
    ]
    return " · ".join(filter(None, parts))


def _rows(overview: StepsOverview) -> list[_Row]:
    cwd, done = overview.steps.cwd, overview.steps.done
    return [
        _row(one, done[at] if at < len(done) else None, at == len(done) and overview.is_open, cwd)
        for at, one in enumerate(overview.calls)
    ]


def _row(one: NumberedCall, result: Replayed | Skipped | None, is_next: bool, cwd: str) -> _Row:
    call = one.call
    subject = one_line(relative_path(call.subject, cwd), 200)
    head = (one.number, icon_of(call), one_line(call.name, 100), subject)
    match result:
        case None:
            return _Row(*head, "next" if is_next else "waiting", _recorded(one))
        case Skipped(why=why):
            return _Row(*head, "skipped", "", one_line(why, 300))
        case Replayed() if not result.ran:
            return _Row(*head, "unrun", _recorded(one))
        case Replayed():
            now = _now(result)
            ends = now if now == _recorded(one) else f"{_recorded(one)} → {now}"
            return _Row(*head, "same" if result.same else "parted", ends)


def _recorded(one: NumberedCall) -> str:
    return outcome_of(one.call) or ("not recorded" if one.call.status == "unknown" else "done")


def _now(replayed: Replayed) -> str:
    result = replayed.result
    if result.error is not None:
        return FAILED[result.error.code].lower()
    code = result.return_display.exit_code if isinstance(result.return_display, CommandOutput) else 0
    return f"exit {code}" if code else "done"


def _bracket(row: _Row) -> str:
    words = " · ".join(filter(None, [row.ends, _WORDS[row.state], row.why]))
    return f"  [{words}]" if words else ""


def _actions(overview: StepsOverview) -> Iterator[tuple[str, str]]:
    """Yields what can be done now, as code and in words."""
    if not overview.is_open:
        return
    steps = overview.steps
    if steps.done and isinstance(last := steps.done[-1], Replayed) and not last.same:
        number = overview.calls[len(steps.done) - 1].number
        yield (
            f"steps.again({_argument(last.meaning.arguments)})",
            f"runs step {number} again with other arguments",
        )
    if steps.next is not None:
        yield "steps.run()", "continues to the next difference"
        number = overview.calls[len(steps.done)].number
        try:
            arguments = steps.meaning.arguments
        except TraceError:
            arguments = {}
        yield f"steps.step({_argument(arguments)})", f"runs step {number}"
        yield "steps.skip()", "skips it"
    yield "steps.root", "is the folder of the copy"
    yield "steps.close()", "deletes the copy"


def _argument(arguments: Mapping[str, Any]) -> str:
    """Returns the argument that is most likely to be edited."""
    name = next((name for name in ("new", "content", "command", "pattern", "path") if name in arguments), "")
    return f'{name}="…"' if name else ""
