"""Reads the requests that Claude Code writes into its log as it sends them (since 2.1.33x).

``api-request-shape`` has a system prompt and definitions of tools, ``api-request-blob`` a message, each named
by the SHA-256 of its JSON with sorted keys. ``api-request`` names a shape, and its messages: the first
``keep`` of those of the request ``base``, and the ``tail``. An answer of the model is no blob: it is named by
the hash of the message that its records make.

A request counts as known only if each of its parts is there, has the hash by which it is named, and is of a
kind that is known here, and if nothing else of the request can hold text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.traces.json_access import mapping, names, string
from nbtools.traces.model import PartKind, SentPart, SentRequest

KINDS = frozenset({"api-request", "api-request-blob", "api-request-shape"})
"""Types of records."""
_FIELDS = frozenset(
    names(
        "type sessionId agentId id timestamp version querySource shapeHash params thread echoWireToolInputs"
        " base keep tail cacheControl requestDigest"
    )
)
_PARAMETERS = frozenset(
    names(
        "model betas max_tokens thinking context_management temperature top_p top_k stop_sequences metadata"
        " service_tier speed stream tool_choice output_config"
    )
)
"""Parameters of a request that add no text to the context."""
_OUTPUT_SETTINGS = frozenset({"effort"})
"""Those of ``output_config``: the schema of a ``format`` is added to the system prompt."""
_ANSWER_PARTS: Mapping[str, tuple[PartKind, str]] = {
    "text": ("text", "text"),
    "thinking": ("thinking", "thinking"),
    "redacted_thinking": ("thinking", "data"),
}
"""Blocks of a model's message, each with its field that has the text."""
_MEDIA = frozenset({"image", "document"})
_BY_THE_AGENT: tuple[PartKind, int | None] = ("system", None)
_MOST_ANSWERS = 16
"""Most answers that wait for a request that contains them."""
_MOST_STEPS = 1_000_000
"""Most messages that are looked at to find what requests that do not continue the one before have in common
with it.
"""

Parts = tuple[SentPart, ...]


class _Answer(Struct):
    """The blocks of an answer with the positions of their steps; ``name`` is the hash of their message, empty
    where it has not been computed since the last block.
    """

    blocks: list[tuple[Any, int]] = msgspec.field(default_factory=list)
    name: str = ""

    def named(self) -> str:
        if not self.name:
            self.name = hash_of({"role": "assistant", "content": [block for block, _ in self.blocks]})
        return self.name


class _Request(Struct, gc=False):
    shape: str
    base: str
    keep: int
    tail: tuple[str, ...]
    length: int
    """Number of messages."""


class _Conversation(Struct):
    """The messages of the last request of a session whose answer is in the log."""

    request: str = ""
    shape: str = ""
    messages: list[str] = msgspec.field(default_factory=list)
    ends: list[int] = msgspec.field(default_factory=list)
    """For each message, the number of parts up to its end."""


class ApiRequests:
    """The requests of a log."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[PartKind, int]] = {}
        """What a text is, and the position of its step, by the text's hash."""
        self._shapes: dict[str, Parts] = {}
        self._messages: dict[str, Parts] = {}
        self._requests: dict[str, _Request] = {}
        self._answers: dict[str, _Answer] = {}
        """The answers that no request contained yet, by the request that they answer."""
        self._conversations: dict[str, _Conversation] = {}
        self._left = _MOST_STEPS

    def add(self, record: Mapping[str, Any]) -> None:
        """Takes a record of one of the ``KINDS``."""
        match record.get("type"):
            case "api-request-shape":
                name, shape = string(record.get("shapeHash")), record.get("shape")
                if name == hash_of(shape) and (parts := _fixed_parts(mapping(shape))) is not None:
                    self._shapes[name] = parts
            case "api-request-blob":
                name, message = string(record.get("hash")), record.get("message")
                if name == hash_of(message) and (parts := self._message_parts(mapping(message))) is not None:
                    self._messages[name] = parts
            case _:
                self._add_request(record)

    def add_text(self, part: PartKind, text: str, seq: int) -> None:
        """Takes a text of a person, or the summary of a compaction, with the position of its step."""
        self._steps[hash(text.strip())] = part, seq

    def add_answer(self, request: str, blocks: Any, first_seq: int) -> None:
        """Takes blocks of the answer to a request; ``first_seq`` is the position of the first one's step."""
        if request in self._requests and isinstance(blocks, list):
            known = self._answers.setdefault(request, _Answer())
            known.blocks += [(block, first_seq + place) for place, block in enumerate(blocks)]
            known.name = ""
            if len(self._answers) > _MOST_ANSWERS:
                del self._answers[next(iter(self._answers))]

    def sent(self, session: str, request: str) -> SentRequest | None:
        """Returns what was sent with a request whose answer follows; None if it is not known completely."""
        found = self._requests.get(request)
        if found is None:
            return None
        talk = self._conversations.setdefault(session, _Conversation())
        kept, messages = self._difference(talk, found)
        if messages is None:
            return None
        added = tuple(part for name in messages for part in self._messages[name])
        sent = SentRequest(
            None if found.shape == talk.shape else self._shapes[found.shape],
            talk.ends[kept - 1] if kept else 0,
            added,
        )
        del talk.messages[kept:], talk.ends[kept:]
        for name in messages:
            talk.messages.append(name)
            talk.ends.append((talk.ends[-1] if talk.ends else 0) + len(self._messages[name]))
        talk.request, talk.shape = request, found.shape
        return sent

    def _add_request(self, record: Mapping[str, Any]) -> None:
        name, shape, base = (string(record.get(key)) for key in ("id", "shapeHash", "base"))
        keep, tail = record.get("keep"), record.get("tail")
        if not isinstance(keep, int) or not isinstance(tail, list) or name in self._requests:
            return
        is_understood = (
            not record.keys() - _FIELDS
            and _is_known(record.get("params"), _PARAMETERS)
            and _is_known(mapping(record.get("params")).get("output_config", {}), _OUTPUT_SETTINGS)
            and record.get("thread") in (None, {"type": "none"})
            and all(isinstance(one, str) for one in tail)
        )
        before = self._requests.get(base)
        if base and before is None:
            return
        length = before.length if before is not None else 0
        if not is_understood or not 0 <= keep <= length or shape not in self._shapes:
            return
        if not all(one in self._messages or self._is_answer(one) for one in tail):
            return
        self._requests[name] = _Request(shape, base, keep, tuple(tail), keep + len(tail))

    def _is_answer(self, name: str) -> bool:
        """Whether a message is an answer in the log; its parts are known then."""
        for request, answer in [*self._answers.items()]:
            if answer.named() == name and (parts := _answer_parts(answer.blocks)) is not None:
                self._messages[name] = parts
                del self._answers[request]
                return True
        return False

    def _difference(self, talk: _Conversation, request: _Request) -> tuple[int, list[str] | None]:
        """Returns how many messages of the conversation stay, and those that follow; None instead of these
        where finding that takes too long.
        """
        chain = [request]
        while chain[-1].base and chain[-1].base != talk.request:
            chain.append(self._requests[chain[-1].base])
            self._left -= 1
            if self._left < 0:
                return 0, None
        kept = chain[-1].keep if chain[-1].base else 0
        following = list(chain[-1].tail)
        for one in reversed(chain[:-1]):
            if one.keep < kept:
                kept, following = one.keep, list(one.tail)
            else:
                following = following[: one.keep - kept] + list(one.tail)
            self._left -= len(following)
            if self._left < 0:
                return 0, None
        same = 0
        old = talk.messages
        while same < len(following) and kept + same < len(old) and old[kept + same] == following[same]:
            same += 1
        return kept + same, following[same:]

    def _message_parts(self, message: Mapping[str, Any]) -> Parts | None:
        content, role = message.get("content"), message.get("role")
        if message.keys() - {"role", "content"} or role not in ("user", "assistant", "system"):
            return None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list):
            return None
        if role == "assistant":
            return _answer_parts([(block, None) for block in blocks])
        parts: list[SentPart] = []
        for block in blocks:
            found = self._user_parts(mapping(block))
            if found is None:
                return None
            parts += found
        return tuple(parts)

    def _user_parts(self, block: Mapping[str, Any]) -> list[SentPart] | None:
        kind, text = block.get("type"), block.get("text")
        if kind == "text" and isinstance(text, str):
            part, seq = self._steps.get(hash(text.strip()), _BY_THE_AGENT)
            return [SentPart(part, len(text), "", "", seq)]
        if kind in _MEDIA:
            return [SentPart("attachment", None)]
        if kind == "tool_result":
            return _result_parts(block)
        return None


def hash_of(value: Any) -> str:
    """Returns the hash by which a record names a value; empty where it cannot be written as JSON."""
    try:
        return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
    except (TypeError, ValueError, RecursionError):
        return ""


def _is_known(value: Any, fields: frozenset[str]) -> bool:
    return isinstance(value, dict) and value.keys() <= fields


def _fixed_parts(shape: Mapping[str, Any]) -> Parts | None:
    """Returns the system prompt and the tools of a shape; None if it has anything else."""
    system, tools = shape.get("system", []), shape.get("tools", [])
    if (
        shape.keys() - {"system", "tools"}
        or not isinstance(system, str | list)
        or not isinstance(tools, list)
    ):
        return None
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    found = [mapping(block).get("text") for block in blocks if mapping(block).get("type") == "text"]
    texts = [text for text in found if isinstance(text, str)]
    if len(texts) < len(blocks):
        return None
    prompt = [SentPart("prompt", sum(map(len, texts)))] if texts else []
    return (
        *prompt,
        *(SentPart("tools", _json_size(tool), string(mapping(tool).get("name"))) for tool in tools),
    )


def _answer_parts(blocks: Sequence[tuple[Any, int | None]]) -> Parts | None:
    parts = []
    for value, seq in blocks:
        block = mapping(value)
        kind = string(block.get("type"))
        if kind == "tool_use":
            size = _json_size(block.get("input"))
            parts.append(SentPart("arguments", size, string(block.get("name")), string(block.get("id")), seq))
            continue
        part, field = _ANSWER_PARTS.get(kind, ("text", ""))
        text = block.get(field) if field else None
        if not isinstance(text, str):
            return None
        parts.append(SentPart(part, len(text), "", "", seq))
    return tuple(parts)


def _result_parts(block: Mapping[str, Any]) -> list[SentPart] | None:
    """Returns a result as one part, with one more for each of its images."""
    call, content = string(block.get("tool_use_id")), block.get("content", "")
    if isinstance(content, str):
        return [SentPart("result", len(content), "", call)]
    if not isinstance(content, list):
        return None
    size, media = 0, 0
    for one in map(mapping, content):
        text = one.get("text")
        if one.get("type") == "text" and isinstance(text, str):
            size += len(text)
        elif one.get("type") in _MEDIA:
            media += 1
        else:
            return None
    return [SentPart("result", size, "", call), *([SentPart("attachment", None)] * media)]


def _json_size(value: Any) -> int:
    return len(msgspec.json.encode(value).decode("utf-8", "replace"))
