"""Shortens long texts in the JSON of a step's card, and says there what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtools.cards.phrases import size
from nbtools.core.message import counted
from nbtools.traces.sharing.wire_texts import Spans

_MEDIA_LIMIT = 10
"""Pictures and sounds may be this many times as long as a text."""


def shortened(block: dict[str, Any], limit: int) -> dict[str, Any]:
    """Returns a block with about ``limit`` characters at most."""
    shorten = _BY_TYPE.get(block["type"])
    return shorten(block, limit) if shorten else block


def _output(block: dict[str, Any], limit: int) -> dict[str, Any]:
    return {**block, "lines": _lines(block["lines"], limit, keep_end=block["type"] == "output")}


def _command(block: dict[str, Any], limit: int) -> dict[str, Any]:
    return {**block, "parts": [{**part, "spans": _line(part["spans"], limit)} for part in block["parts"]]}


def _matches(block: dict[str, Any], limit: int) -> dict[str, Any]:
    return {
        **block,
        "groups": [
            {**one, "lines": [_match(line, limit) for line in one["lines"]]} for one in block["groups"]
        ],
    }


def _media(block: dict[str, Any], limit: int) -> dict[str, Any]:
    length = sum(len(one["data"]) for one in block.get("pages", [block]))
    return block if length <= limit * _MEDIA_LIMIT else _left_out(block["type"], length)


def _left_out(kind: str, length: int) -> dict[str, Any]:
    return {
        "type": "text",
        "text": f"[{kind} of {size(length * 3 // 4)} left out]",
        "tone": "quiet",
        "markdown": False,
    }


def _text(block: dict[str, Any], limit: int) -> dict[str, Any]:
    text = block["text"]
    if len(text) <= limit:
        return block
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
    return {**block, "text": f"{head}\n{_missing(len(text) - len(head) - len(tail))}\n{tail}"}


def _missing(characters: int) -> str:
    return f"⋯ {counted(characters, 'character')} left out of this file ⋯"


def _length(spans: Spans) -> int:
    return sum(len(text) for text, _ in spans) + 1


def _line(spans: Spans, limit: int) -> Spans:
    """Returns the beginning of a line."""
    room = limit
    kept: Spans = []
    for text, style in spans:
        if len(text) > room:
            missing = _length(spans) - 1 - (limit - room) - room
            return [*kept, [text[:room], style], [f" {_missing(missing)}", "dim"]]
        kept.append([text, style])
        room -= len(text)
    return kept


def _lines(lines: list[Spans], limit: int, *, keep_end: bool = False) -> list[Spans]:
    """Returns the first lines, or with ``keep_end`` the first third and the last two thirds,
    with a line that says what is missing.
    """
    lines = [_line(line, limit // 4) for line in lines]
    if sum(map(_length, lines)) <= limit:
        return lines
    first = _count(lines, limit // 3 if keep_end else limit)
    last = _count(lines[:first:-1], limit - limit // 3) if keep_end else 0
    missing = lines[first : len(lines) - last]
    note = (
        f"⋯ {counted(len(missing), 'line')} ({counted(sum(map(_length, missing)), 'character')}) left out of"
        " this file ⋯"
    )
    return [*lines[:first], [[note, "dim"]], *(lines[len(lines) - last :] if last else [])]


def _count(lines: list[Spans], limit: int) -> int:
    """Returns how many lines fit."""
    used = 0
    for number, line in enumerate(lines):
        used += _length(line)
        if used > limit:
            return number
    return len(lines)


def _match(line: dict[str, Any], limit: int) -> dict[str, Any]:
    return {**line, "spans": _line(line["spans"], limit // 4)}


def _diff(block: dict[str, Any], limit: int) -> dict[str, Any]:
    """Returns the first rows of a diff; ``hidden`` counts the others."""
    room, hunks = limit, []
    for hunk in block["hunks"]:
        rows = []
        for row in hunk["rows"]:
            short = {
                **row,
                **{
                    side: row[side] and {**row[side], "spans": _line(row[side]["spans"], limit // 4)}
                    for side in ("old", "new")
                },
            }
            room -= sum(_length(short[side]["spans"]) for side in ("old", "new") if short[side])
            if room < 0:
                break
            rows.append(short)
        hunks.append({**hunk, "rows": rows, "hidden": hunk["hidden"] + len(hunk["rows"]) - len(rows)})
    return {**block, "hunks": hunks}


_BY_TYPE: dict[str, Callable[[dict[str, Any], int], dict[str, Any]]] = {
    "text": _text,
    "output": _output,
    "code": _output,
    "command": _command,
    "matches": _matches,
    "diff": _diff,
    "image": _media,
    "audio": _media,
    "pages": _media,
}
