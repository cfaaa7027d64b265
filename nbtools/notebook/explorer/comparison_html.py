"""Script-free HTML of two sessions side by side: their first difference, their facts, their steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from nbtools.notebook.cards.markup import NO_MATH, element, styled_element
from nbtools.notebook.cards.phrases import counted, elapsed
from nbtools.notebook.cards.style import AMBER, RED, RULE, STYLES, tint
from nbtools.notebook.explorer.call_cells import trace_line
from nbtools.notebook.explorer.recorded_card import icon_of, outcome_of
from nbtools.notebook.explorer.static_html import ICON_CHARACTERS
from nbtools.notebook.explorer.summary import short_number
from nbtools.notebook.hidden_characters import one_line

if TYPE_CHECKING:
    from nbtools.traces.model import Call
    from nbtools.traces.query.alignment import Step
    from nbtools.traces.query.compare import ChangedFile, Comparison, Side

_MOST_STEPS = 200
_BEFORE = 20
"""Steps shown before the first difference of a long comparison."""
_OPEN = 6
"""Names of a list that are shown without a click."""
_FOLDED = 6
"""Length from which a run of equal steps is folded in the middle."""
_EDGE = 1
_SUBJECT = 200


def comparison_html(comparison: Comparison) -> str:
    inner = _head(comparison) + _facts(comparison.a, comparison.b) + _steps(comparison) + _foot(comparison)
    return f'<div class="nbt-comparison {NO_MATH}" style="{STYLES["card"]};border-left-width:1px" dir="ltr">{inner}</div>'


def _head(comparison: Comparison) -> str:
    steps, parted = comparison.steps, comparison.parted
    same = f"{comparison.same:,} of {counted(len(steps), 'step')} the same"
    if parted is None:
        return _block(f'<b style="font-size:14px">No difference</b> {_quiet(same)}')
    note = f" {_quiet(steps[parted].note)}" if steps[parted].note else ""
    title = f'<b style="font-size:14px">First difference: {_where(comparison)}</b> {_quiet(same)}'
    lead = f"After {counted(parted, 'step')} the same: " if parted else ""
    return _block(f'{title}<div style="margin-top:3px;overflow-wrap:anywhere">{lead}{_difference(comparison)}{note}</div>')


def _where(comparison: Comparison) -> str:
    a, b = (escape(number) for number in comparison.numbers_of(*comparison.parting))
    if a and b and a != b:
        return f"step {a} of A, step {b} of B"
    return f"step {a or b}" + ("" if a and b else f" of {'A' if a else 'B'}")


def _difference(comparison: Comparison) -> str:
    """Describes both sides at the first difference."""
    a, b = comparison.parting
    if a is not None and b is not None:
        return f"{_named(a, comparison.a)} {_quiet('↔')} {_named(b, comparison.b)}"
    return f"Only A: {_named(a, comparison.a)}" if a is not None else f"Only B: {_named(b, comparison.b)}"


def _named(call: Call | None, side: Side) -> str:
    if call is None:
        return ""
    outcome = outcome_of(call)
    suffix = f' <span style="{tint(RED)}">{escape(outcome)}</span>' if outcome else ""
    return f"<b>{escape(one_line(call.name, 100))}</b> <bdi>{escape(one_line(side.relative_subject(call.subject), 120))}</bdi>{suffix}"


def _block(inner: str) -> str:
    return f'<div style="padding:8px 10px">{inner}</div>'


def _quiet(text: str) -> str:
    return element("span", "quiet", escape(text))


def _facts(a: Side, b: Side) -> str:
    changed = _name_columns(dict(map(_file, a.changed)), dict(map(_file, b.changed)))
    rows = [
        ("", f"<b>A: {_text(a.name)}</b>", f"<b>B: {_text(b.name)}</b>"),
        ("Models", _text(", ".join(a.models)), _text(", ".join(b.models))),
        ("Calls", _calls(a), _calls(b)),
        ("Time", _time(a), _time(b)),
        ("Tokens", _tokens(a), _tokens(b)),
        ("Cost", *(f"${side.cost:,.2f}" if side.cost is not None else "" for side in (a, b))),
        ("Changed", *changed),
        ("Read", *_name_columns(_plain(a.read), _plain(b.read))),
        ("Ran", *_name_columns(_plain(a.ran), _plain(b.ran))),
    ]
    body = "".join(_fact(*row) for row in rows if row[1] or row[2])
    columns = '<colgroup><col style="width:12%"><col style="width:38%"><col style="width:50%"></colgroup>'
    return f'<table style="{_TABLE};font-size:12.5px">{columns}<tbody>{body}</tbody></table>'


def _fact(name: str, a: str, b: str) -> str:
    label = f'<th style="{_CELL};padding-right:0;text-align:left;font-weight:normal"><span style="opacity:.68">{name}</span></th>'
    return f'<tr style="background:none">{label}{_td(a)}{_td(b, _MIDDLE)}</tr>'


def _name_columns(a: dict[str, str], b: dict[str, str]) -> tuple[str, str]:
    """Renders both sides' names; those of one side only are emphasised."""
    return _names(a, b), _names(b, a)


def _names(names: dict[str, str], others: dict[str, str]) -> str:
    """Renders the names of one side: a few open, the rest and the common ones behind a click."""
    own = [_line(html, faint=False) for name, html in names.items() if name not in others]
    common = [_line(html, faint=True) for name, html in names.items() if name in others]
    return "".join(own[:_OPEN]) + _more(own[_OPEN:], "more") + _more(common, "in both")


def _more(lines: Sequence[str], word: str) -> str:
    label = f'<summary style="cursor:pointer;opacity:.6">{len(lines):,} {word}</summary>'
    return f"<details>{label}{''.join(lines)}</details>" if lines else ""


def _line(html: str, *, faint: bool) -> str:
    """Renders one name; ``faint`` for names that both sides have."""
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
    parts = [] if side.seconds is None else [elapsed(side.seconds)]
    return ", ".join([*parts, *([] if side.in_tools is None else [f"{elapsed(side.in_tools)} in calls"])])


def _tokens(side: Side) -> str:
    tokens = side.tokens
    named = (("in", tokens.input), ("from cache", tokens.cache_read), ("to cache", tokens.cache_write), ("out", tokens.output))
    return ", ".join(f"{short_number(count)} {name}" for name, count in named if count)


def _steps(comparison: Comparison) -> str:
    steps, parted = comparison.steps, comparison.parted or 0
    first = max(0, parted - _BEFORE) if len(steps) > _MOST_STEPS else 0
    displayed = steps[first : first + _MOST_STEPS]
    parts = [_left_out(first, "before"), *_runs(comparison, displayed), _left_out(len(steps) - first - len(displayed), "after")]
    return "".join(parts)


def _left_out(count: int, where: str) -> str:
    label = element("span", "dim", f"⋯ {counted(count, 'step')} {where} these (see .steps)")
    return styled_element("div", "fold", "cursor:default", label) if count else ""


def _runs(comparison: Comparison, steps: Sequence[Step]) -> Iterator[str]:
    """Renders runs of steps; the middle of a long run of equal steps is folded."""
    for parts, run in groupby(steps, key=lambda step: step.differs):
        steps_of_run = list(run)
        if parts or len(steps_of_run) < _FOLDED:
            yield _table(comparison, steps_of_run)
            continue
        middle = steps_of_run[_EDGE:-_EDGE]
        yield _table(comparison, steps_of_run[:_EDGE])
        summary = element("summary", "fold", element("span", "dim", f"⋯ {counted(len(middle), 'step')} the same"))
        yield f"<details>{summary}{_table(comparison, middle)}</details>"
        yield _table(comparison, steps_of_run[-_EDGE:])


def _table(comparison: Comparison, steps: Sequence[Step]) -> str:
    rows = "".join(_row(comparison, *row) for row in _side_by_side(steps))
    return f'<table style="{_TABLE}">{_COLUMNS}<tbody>{rows}</tbody></table>'


def _side_by_side(steps: Sequence[Step]) -> Iterator[tuple[Step | None, Step | None]]:
    """Pairs steps that only one side has with those that only the other side has, within the same gap."""
    for lone, run in groupby(steps, key=lambda step: step.is_one_sided):
        steps_of_run = list(run)
        if lone:
            yield from zip_longest((one for one in steps_of_run if one.a), (one for one in steps_of_run if one.b))
        else:
            yield from ((step, step) for step in steps_of_run)


def _row(comparison: Comparison, a: Step | None, b: Step | None) -> str:
    call_a, call_b = (None if a is None else a.a), (None if b is None else b.b)
    numbers = comparison.numbers_of(call_a, call_b)
    left = _side(call_a, comparison.a, numbers[0], _background(a, "removed"))
    right = _side(call_b, comparison.b, numbers[1], f"{_background(b, 'added')};{_MIDDLE}")
    first_difference = comparison.steps[comparison.parted] if comparison.parted is not None else None
    edge = f";border-top:2px solid {AMBER}" if first_difference is not None and (a is first_difference or b is first_difference) else ""
    text = a.note if a is not None and a is b else ""
    note = f'<tr style="background:none"><td></td><td colspan="3" style="{_CELL};border-top:0;{_NOTE}">{escape(text)}</td></tr>'
    return f'<tr style="background:none{edge}">{left}{right}</tr>' + (note if text else "")


def _background(step: Step | None, one_sided_style: str) -> str:
    if step is None:
        return STYLES["absent"]
    if step.is_one_sided:
        return STYLES[one_sided_style]
    return _ALIKE if step.differs else "background:none"


def _side(call: Call | None, side: Side, number: str, style: str) -> str:
    if call is None:
        return f'<td style="{_CELL};{style}" colspan="2"></td>'
    numbered = f'<td style="{_CELL};{_NUMBER};{style}"><span style="opacity:.68">{escape(number)}</span></td>'
    return f'{numbered}<td style="{_CELL};{style};border-left:0">{_call(call, side)}</td>'


def _call(call: Call, side: Side) -> str:
    subject = one_line(side.relative_subject(call.subject), _SUBJECT)
    outcome = outcome_of(call)
    icon = escape(ICON_CHARACTERS.get(icon_of(call), "⚒"))
    parts = [
        f'<span style="min-width:1.1em;text-align:center;opacity:.68" aria-hidden="true">{icon}</span>',
        element("b", "tool", escape(one_line(call.name, 60))),
        styled_element("span", "subject", "flex:1", f"<bdi>{escape(subject)}</bdi>", f' title="{escape(subject)}"'),
        styled_element("span", "status", tint(RED), escape(outcome)) if outcome else "",
    ]
    return f'<div style="display:flex;align-items:baseline;gap:6px;white-space:nowrap">{" ".join(filter(None, parts))}</div>'


def _foot(comparison: Comparison) -> str:
    logs = [log for log in comparison.logs if log]
    if len(logs) < 2 or comparison.parted is None:
        return ""
    numbers = comparison.numbers_of(*comparison.parting)
    lines = [trace_line(log, f"--step {number}") for log, number in zip(logs, numbers, strict=True) if number]
    codes = [f"<code>{escape(line)}</code>" for line in lines]
    return element("div", "foot", f"{_quiet('Open at the first difference:')} {' '.join(codes)}")


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
