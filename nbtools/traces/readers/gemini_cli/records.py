"""Decodes the messages of Gemini CLI: the fields that rows need, and what was displayed undecoded.

Texts are ``str`` in every record; one in which a field has another type is decoded without types,
and those fields are empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from nbtools.traces.json_access import integer_of, mapping, mappings, string
from nbtools.traces.json_document import NULL
from nbtools.traces.source import decode_typed


class Thought(msgspec.Struct, gc=False):
    subject: str = ""
    description: str = ""
    timestamp: Any = None


class Recorded(msgspec.Struct, rename="camel", gc=False):
    """A call with its result. ``result_display`` may be large, and few rows need it."""

    id: str = ""
    name: str = ""
    args: Any = None
    result: Any = None
    status: str = ""
    timestamp: Any = None
    agent_id: str = ""
    result_display: msgspec.Raw = NULL


class TokenCounts(msgspec.Struct, gc=False):
    input: int = 0
    output: int = 0
    cached: int = 0
    thoughts: int = 0
    tool: int = 0
    total: int = 0


class Record(msgspec.Struct, rename="camel", gc=False):
    """A message. ``number`` stands for an id that is no text."""

    id: str = ""
    timestamp: Any = None
    type: str = ""
    content: Any = None
    parts: Any = None
    model: str = ""
    thoughts: list[Thought] = []
    tool_calls: list[Recorded] = []
    tokens: TokenCounts | None = None
    number: str = ""


_decode_typed = msgspec.json.Decoder(Record).decode


def decode_record(data: bytes) -> Record:
    """Decodes a message. Raises ``TraceError`` where it is not JSON."""
    return decode_typed(data, _decode_typed, _record_of)


def _record_of(fields: Mapping[str, Any]) -> Record:
    tokens, id_ = fields.get("tokens"), fields.get("id")
    counts: TokenCounts | None = None
    if isinstance(tokens, dict):
        counts = TokenCounts(*(integer_of(tokens.get(name)) or 0 for name in TokenCounts.__struct_fields__))
    thoughts = (
        (string(one.get("subject")), string(one.get("description")), one.get("timestamp"))
        for one in mappings(fields.get("thoughts"))
    )
    return Record(
        id=string(id_),
        type=string(fields.get("type")),
        model=string(fields.get("model")),
        timestamp=fields.get("timestamp"),
        content=fields.get("content"),
        parts=fields.get("parts"),
        thoughts=[Thought(*thought) for thought in thoughts],
        tool_calls=[_call_of(one) for one in mappings(fields.get("toolCalls"))],
        tokens=counts,
        number="" if isinstance(id_, str) else repr(id_),
    )


def _call_of(fields: Mapping[str, Any]) -> Recorded:
    texts = {name: string(fields.get(name)) for name in ("id", "name", "status")}
    values: dict[str, Any] = {name: fields.get(name) for name in ("args", "result", "timestamp")}
    return Recorded(
        **texts,
        **values,
        agent_id=string(fields.get("agentId")),
        result_display=msgspec.Raw(msgspec.json.encode(mapping(fields.get("resultDisplay")))),
    )
