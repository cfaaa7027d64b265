"""Two sessions beside each other as script-free HTML: where they part, the facts of both, their steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from nbtools.notebook.markup import NO_MATH, element, styled_element
from nbtools.notebook.phrases import counted, elapsed
from nbtools.notebook.style import AMBER, RED, RULE, STYLES, tint
from nbtools.notebook.trace.cells import trace_line
from nbtools.notebook.trace.outcomes import icon_of, outcome_of
from nbtools.notebook.trace.static_html import MARKS
from nbtools.notebook.trace.summary import amount
from nbtools.notebook.visible import one_line

if TYPE_CHECKING:
    from nbtools.traces.aligning import Step
    from nbtools.traces.compare import ChangedFile, Comparison, Side
    from nbtools.traces.model import Call

_MOST_STEPS = 200
_BEFORE = 20
"""Steps before the parting that are shown of a long comparison."""
_OPEN = 6
"""Names of a list that stand open."""
_FOLDED = 6
"""Steps that both took, in a row, from which on those in the middle are folded."""
_EDGE = 1
_SUBJECT = 200


def comparison_html(comparison: Comparison) -> str:
    inner = _head(comparison) + _facts(comparison.a, comparison.b) + _steps(comparison) + _foot(comparison)
    return f'<div class="nbt-comparison {NO_MATH}" style="{STYLES["card"]};border-left-width:1px" dir="ltr">{inner}</div>'


def _head(comparison: Comparison) -> str:
    steps, parted = comparison.steps, comparison.parted
    told = f"{comparison.same:,} of {counted(len(steps), 'step')} the same"
    if parted is None:
        return _block(f'<b style="font-size:14px">The sessions never part</b> {_quiet(told)}')
    note = f" {_quiet(steps[parted].note)}" if steps[parted].note else ""
    title = f'<b style="font-size:14px">They part at {_where(comparison)}</b> {_quiet(told)}'
    lead = "At once" if not parted else f"After {counted(parted, 'step')} the same"
    return _block(f'{title}<div style="margin-top:3px;overflow-wrap:anywhere">{lead}: {_against(comparison)}{note}</div>')


def _where(comparison: Comparison) -> str:
    a, b = (escape(number) for number in comparison.numbers_of(*comparison.parting))
    if a and b and a != b:
        return f"step {a} of the first, {b} of the second"
    return f"step {a or b}" + ("" if a and b else f" of the {'first' if a else 'second'}")


def _against(comparison: Comparison) -> str:
    """What each did there."""
    a, b = comparison.parting
    if a is not None and b is not None:
        return f"{_named(a, comparison.a)} {_quiet('against')} {_named(b, comparison.b)}"
    return f"only the first has {_named(a, comparison.a)}" if a is not None else f"only the second has {_named(b, comparison.b)}"


def _named(call: Call | None, side: Side) -> str:
    if call is None:
        return ""
    ended = outcome_of(call)
    end = f' <span style="{tint(RED)}">{escape(ended)}</span>' if ended else ""
    return f"<b>{escape(one_line(call.name, 100))}</b> <bdi>{escape(one_line(side.seen(call.subject), 120))}</bdi>{end}"


def _block(inner: str) -> str:
    return f'<div style="padding:8px 10px">{inner}</div>'


def _quiet(text: str) -> str:
    return element("span", "quiet", escape(text))


def _facts(a: Side, b: Side) -> str:
    changed = _both(dict(map(_file, a.changed)), dict(map(_file, b.changed)))
    rows = [
        ("", f"<b>{_text(a.name)}</b>", f"<b>{_text(b.name)}</b>"),
        ("Models", _text(", ".join(a.models)), _text(", ".join(b.models))),
        ("Calls", _calls(a), _calls(b)),
        ("Time", _time(a), _time(b)),
        ("Tokens", _tokens(a), _tokens(b)),
        ("Cost", *(f"${side.cost:,.2f}" if side.cost is not None else "" for side in (a, b))),
        ("Changed", *changed),
        ("Read", *_both(_plain(a.read), _plain(b.read))),
        ("Ran", *_both(_plain(a.ran), _plain(b.ran))),
    ]
    shown = "".join(_fact(*row) for row in rows if row[1] or row[2])
    columns = '<colgroup><col style="width:12%"><col style="width:38%"><col style="width:50%"></colgroup>'
    return f'<table style="{_TABLE};font-size:12.5px">{columns}<tbody>{shown}</tbody></table>'


def _fact(name: str, a: str, b: str) -> str:
    label = f'<th style="{_CELL};padding-right:0;text-align:left;font-weight:normal"><span style="opacity:.68">{name}</span></th>'
    return f'<tr style="background:none">{label}{_td(a)}{_td(b, _MIDDLE)}</tr>'


def _both(a: dict[str, str], b: dict[str, str]) -> tuple[str, str]:
    """What only one has stands out."""
    return _names(a, b), _names(b, a)


def _names(names: dict[str, str], others: dict[str, str]) -> str:
    """Those of this side alone; a few are open to the eye, the others and what both have behind a click."""
    own = [_line(shown, faint=False) for name, shown in names.items() if name not in others]
    common = [_line(shown, faint=True) for name, shown in names.items() if name in others]
    return "".join(own[:_OPEN]) + _more(own[_OPEN:], "more") + _more(common, "in both")


def _more(lines: Sequence[str], word: str) -> str:
    label = f'<summary style="cursor:pointer;opacity:.6">{len(lines):,} {word}</summary>'
    return f"<details>{label}{''.join(lines)}</details>" if lines else ""


def _line(html: str, *, faint: bool) -> str:
    """What both have is quiet."""
    return f'<div style="{_CUT}{";opacity:.6" if faint else ""}">{html}</div>'


def _plain(names: Iterable[str]) -> dict[str, str]:
    return {name: _text(name) for name in names}


def _file(file: ChangedFile) -> tuple[str, str]:
    added = f" {element('span', 'plus', f'+{file.added:,}')}" if file.added else ""
    removed = f" {element('span', 'minus', f'−{file.removed:,}')}" if file.removed else ""
    return file.path, f"{_text(file.path)}{added}{removed}"


def _calls(side: Side) -> str:
    return f"{side.calls:,}" + (f', <span style="{tint(RED)}">{side.failed:,} failed</span>' if side.failed else "")


def _time(side: Side) -> str:
    told = [] if side.seconds is None else [elapsed(side.seconds)]
    return ", ".join([*told, *([] if side.in_tools is None else [f"{elapsed(side.in_tools)} in calls"])])


def _tokens(side: Side) -> str:
    tokens = side.tokens
    named = (("in", tokens.input), ("from cache", tokens.cache_read), ("to cache", tokens.cache_write), ("out", tokens.output))
    return ", ".join(f"{amount(count)} {name}" for name, count in named if count)


def _steps(comparison: Comparison) -> str:
    steps, parted = comparison.steps, comparison.parted or 0
    first = max(0, parted - _BEFORE) if len(steps) > _MOST_STEPS else 0
    shown = steps[first : first + _MOST_STEPS]
    parts = [_left_out(first, "before"), *_stretches(comparison, shown), _left_out(len(steps) - first - len(shown), "after")]
    return "".join(parts)


def _left_out(count: int, where: str) -> str:
    label = element("span", "dim", f"⋯ {counted(count, 'step')} {where} these: in .steps")
    return styled_element("div", "fold", "cursor:default", label) if count else ""


def _stretches(comparison: Comparison, steps: Sequence[Step]) -> Iterator[str]:
    """Long stretches that both went stand behind a line that opens, but for their ends."""
    for parts, run in groupby(steps, key=lambda step: step.parts):
        stretch = list(run)
        if parts or len(stretch) < _FOLDED:
            yield _table(comparison, stretch)
            continue
        middle = stretch[_EDGE:-_EDGE]
        yield _table(comparison, stretch[:_EDGE])
        summary = element("summary", "fold", element("span", "dim", f"⋯ {counted(len(middle), 'step')} the same"))
        yield f"<details>{summary}{_table(comparison, middle)}</details>"
        yield _table(comparison, stretch[-_EDGE:])


def _table(comparison: Comparison, steps: Sequence[Step]) -> str:
    rows = "".join(_row(comparison, *row) for row in _beside(steps))
    return f'<table style="{_TABLE}">{_COLUMNS}<tbody>{rows}</tbody></table>'


def _beside(steps: Sequence[Step]) -> Iterator[tuple[Step | None, Step | None]]:
    """Steps of one side alone stand beside those of the other side alone, as far as there are any in the same gap."""
    for lone, run in groupby(steps, key=lambda step: step.is_lone):
        stretch = list(run)
        if lone:
            yield from zip_longest((one for one in stretch if one.a), (one for one in stretch if one.b))
        else:
            yield from ((step, step) for step in stretch)


def _row(comparison: Comparison, a: Step | None, b: Step | None) -> str:
    ours, theirs = (None if a is None else a.a), (None if b is None else b.b)
    numbers = comparison.numbers_of(ours, theirs)
    left = _side(ours, comparison.a, numbers[0], _ground(a, "removed"))
    right = _side(theirs, comparison.b, numbers[1], f"{_ground(b, 'added')};{_MIDDLE}")
    parted = comparison.steps[comparison.parted] if comparison.parted is not None else None
    edge = f";border-top:2px solid {AMBER}" if parted is not None and (a is parted or b is parted) else ""
    text = a.note if a is not None and a is b else ""
    note = f'<tr style="background:none"><td></td><td colspan="3" style="{_CELL};border-top:0;{_NOTE}">{escape(text)}</td></tr>'
    return f'<tr style="background:none{edge}">{left}{right}</tr>' + (note if text else "")


def _ground(step: Step | None, alone: str) -> str:
    if step is None:
        return STYLES["absent"]
    if step.is_lone:
        return STYLES[alone]
    return _ALIKE if step.parts else "background:none"


def _side(call: Call | None, side: Side, number: str, style: str) -> str:
    if call is None:
        return f'<td style="{_CELL};{style}" colspan="2"></td>'
    numbered = f'<td style="{_CELL};{_NUMBER};{style}"><span style="opacity:.68">{escape(number)}</span></td>'
    return f'{numbered}<td style="{_CELL};{style};border-left:0">{_call(call, side)}</td>'


def _call(call: Call, side: Side) -> str:
    subject = one_line(side.seen(call.subject), _SUBJECT)
    ended = outcome_of(call)
    parts = [
        f'<span style="min-width:1.1em;text-align:center;opacity:.68" aria-hidden="true">{escape(MARKS.get(icon_of(call), "⚒"))}</span>',
        element("b", "tool", escape(one_line(call.name, 60))),
        styled_element("span", "subject", "flex:1", f"<bdi>{escape(subject)}</bdi>", f' title="{escape(subject)}"'),
        styled_element("span", "status", tint(RED), escape(ended)) if ended else "",
    ]
    return f'<div style="display:flex;align-items:baseline;gap:6px;white-space:nowrap">{" ".join(filter(None, parts))}</div>'


def _foot(comparison: Comparison) -> str:
    logs = [log for log in comparison.logs if log]
    if len(logs) < 2 or comparison.parted is None:
        return ""
    numbers = comparison.numbers_of(*comparison.parting)
    lines = [trace_line(log, f"--step {number}") for log, number in zip(logs, numbers, strict=True) if number]
    codes = [f"<code>{escape(line)}</code>" for line in lines]
    return element("div", "foot", f"{_quiet('open it there')} {' '.join(codes)}")


def _td(html: str, style: str = "") -> str:
    return f'<td style="{_CELL};overflow-wrap:anywhere;{style}">{html}</td>'


def _text(text: str) -> str:
    line = one_line(text, 160)
    return f'<bdi title="{escape(line)}">{escape(line)}</bdi>' if line else ""


_TABLE = "border-collapse:collapse;width:100%;table-layout:fixed;margin:0;border:0;font-size:13px"
_CELL = f"text-align:left;vertical-align:top;padding:3px 10px;border-top:1px solid {RULE};overflow:hidden"
_MIDDLE = f"border-left:1px solid {RULE}"
_CUT = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
_NUMBER = "padding-right:0;text-align:right;font-size:12px"
_NOTE = f"padding-top:0;font-size:12px;{tint(AMBER)}"
_ALIKE = "background-color:rgba(200,160,0,.13)"
_COLUMNS = '<colgroup><col style="width:3.2em"><col><col style="width:3.2em"><col></colgroup>'
