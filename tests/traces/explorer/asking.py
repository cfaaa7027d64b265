"""Calls methods of an explorer as its page does."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from nbtools.core.methods import methods_of, respond
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.page_methods import PageMethods
from nbtools.traces.explorer.registry import EXPLORERS
from tests.traces.column_reader import columns, rows

LIMIT = 20.0


class Problem(str):
    """Why there is no result."""

    __slots__ = ()


def answered(explorer: Explorer, method: str, **params: Any) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Returns the last message that the page gets, with its buffers."""
    EXPLORERS.add(explorer)
    sent: list[tuple[dict[str, Any], Sequence[bytes]]] = []
    message = {"id": 7, "method": f"trace.{method}", "params": {"explorer": explorer.id, **params}}
    respond(EXPLORERS.find(explorer.id), message, lambda *answer: sent.append(answer))
    deadline = time.monotonic() + LIMIT
    while "pending" in sent[-1][0]:
        assert time.monotonic() < deadline
    return sent[-1]


def ask(explorer: Explorer, method: str, **params: Any) -> Any:
    """Returns the result of a method as its model, or a ``Problem``."""
    answer, buffers = answered(explorer, method, **params)
    assert answer.pop("id") == 7
    if "problem" in answer:
        return Problem(answer["problem"])
    model = methods_of(PageMethods)[f"trace.{method}"].result
    assert model
    result = model.model_validate_json(json.dumps(answer["result"]))
    return (result, *buffers) if buffers else result


def listed(explorer: Explorer) -> list[dict[str, Any]]:
    """Returns the rows of all lines; their chips are keys."""
    reply, data = ask(explorer, "rows", version=explorer.version, first=0, count=25_000)
    found = rows(reply.block, data)
    for line, row in enumerate(found):
        row["line"] = line
        row["chips"] = [reply.chips[number].key for number in row["chips"]]
    return found


def with_chip(explorer: Explorer, *keys: str) -> list[dict[str, Any]]:
    """Returns the rows that have one of the chips."""
    return [row for row in listed(explorer) if {*keys} & {*row["chips"]}]


def hits(explorer: Explorer, text: str) -> list[int]:
    """Returns the lines that a finished search found."""
    deadline = time.monotonic() + LIMIT
    while True:
        reply, data = ask(explorer, "search", version=explorer.version, text=text)
        if reply.indexed == 100:
            lines: list[int] = columns(reply.block, data)["line"]
            return lines
        assert time.monotonic() < deadline
