"""Calls methods as a page does."""

from __future__ import annotations

from typing import Any

from nbtools.core.methods import respond
from nbtools.traces.explorer.registry import EXPLORERS


def call(owner: Any, method: str, **params: Any) -> tuple[dict[str, Any], list[bytes]]:
    """Returns the answer to a page that calls a method of an explorer, a list or a comparison,
    and its buffers.  ``owner`` may be its id.
    """
    identity = owner if isinstance(owner, str) else owner.id
    answers: list[tuple[dict[str, Any], list[bytes]]] = []
    message = {"id": 1, "method": method, "params": {"explorer": identity, **params}}
    respond(
        EXPLORERS.find(identity), message, lambda answer, buffers: answers.append((answer, list(buffers)))
    )
    return answers[-1]


def result(owner: Any, method: str, **params: Any) -> dict[str, Any]:
    """Returns the result of a method."""
    answer, _ = call(owner, method, **params)
    found: dict[str, Any] = answer["result"]
    return found
