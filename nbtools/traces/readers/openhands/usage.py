"""Finds the model requests of a run: those that an evaluation lists,
or else how the running totals in the events have grown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nbtools.traces.conversation import tokens_of
from nbtools.traces.json_access import float_of, integer_of, mapping, mappings, string
from nbtools.traces.model import NOWHERE, Ref
from nbtools.traces.session_builder import SessionBuilder

TOKEN_NAMES = {
    "prompt_tokens": "input",
    "completion_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write",
    "reasoning_tokens": "reasoning",
}


class _Answer(NamedTuple):
    seq: int
    last: int
    turn: int
    at: float | None
    ref: Ref


class RunUsage:
    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self._counts: dict[str, int] = {}
        self._cost = 0.0
        self._answers: dict[str, _Answer] = {}
        """The steps of each answer, by the id of the provider's response."""

    def add(
        self, event: Mapping[str, Any], totals: Mapping[str, Any], first: int, at: float | None, ref: Ref
    ) -> None:
        """Notes an event whose steps begin at ``first``, and the running ``totals`` that it has."""
        response, last = (
            mapping(mapping(event.get("tool_call_metadata")).get("model_response")),
            self.session.log.seq,
        )
        key = string(event.get("llm_response_id")) or string(response.get("id"))
        if key and last >= first:
            begun = self._answers.get(key, _Answer(first, last, self.session.turn, at, ref))
            self._answers[key] = begun._replace(last=last)
        if not totals:
            return
        counts, cost = (
            token_counts(totals.get("accumulated_token_usage")),
            float_of(totals.get("accumulated_cost")) or 0.0,
        )
        grown = {name: count - self._counts.get(name, 0) for name, count in counts.items()}
        if min(grown.values(), default=0) < 0:  # another conversation's totals
            grown = counts
        spent = cost - self._cost if cost >= self._cost else cost
        if any(grown.values()) or spent:
            place = first if event.get("kind") != "ConversationStateUpdateEvent" else None
            self.session.request(
                tokens_of(grown),
                ref,
                place,
                id=key,
                model=string(response.get("model")),
                at=at,
                cost=spent or None,
            )
        self._counts, self._cost = counts, cost

    def finish(self, metrics: Mapping[str, Any]) -> None:
        """Replaces the requests by those that the ``metrics`` of an evaluation list, if there are any."""
        listed = [
            (one, counts) for one in mappings(metrics.get("token_usages")) if (counts := token_counts(one))
        ]
        if listed:
            self.session.requests.clear()
        for one, counts in listed:
            key = string(one.get("response_id"))
            answer = self._answers.get(key)
            place = (
                {}
                if answer is None
                else {name: value for name, value in answer._asdict().items() if name != "ref"}
            )
            ref = NOWHERE if answer is None else answer.ref
            self.session.request(tokens_of(counts), ref, id=key, model=string(one.get("model")), **place)


def token_counts(usage: Any) -> dict[str, int]:
    found = mapping(usage)
    return {
        name: count for key, name in TOKEN_NAMES.items() if (count := integer_of(found.get(key))) is not None
    }
