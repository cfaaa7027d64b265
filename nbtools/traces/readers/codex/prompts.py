"""Tells what the person typed from what the agent inserts in the person's name.

Both are messages of the role ``user``.  A log also records each prompt by itself: as an event
``user_message``, later as a completed item ``UserMessage``, and the newest logs name the kind of each part of
a message.  Only where a log has none of these (the first versions, and logs of sub-agents) do the beginnings
of messages decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from nbtools.traces.json_access import items, mapping, mappings, string
from nbtools.traces.model import PREVIEW, Problem, Ref
from nbtools.traces.readers.codex.records import Line, Payload, decode, decode_raw, text_of
from nbtools.traces.source import DECODE_ERRORS, Source

_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<collaboration_mode>",
    "<multi_agent_mode>",
    "<apps_instructions>",
    "<app-context>",
    "<skill",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<user_action>",
    "<recommended_plugins>",
    "<goal_context>",
    "# AGENTS.md instructions",
)
"""Prefixes of messages that the agent inserts in the user's name."""
_REQUEST = "## My request for Codex:"
_MARKS = re.compile(rb'"user_message"|"UserMessage"|"role"\s*:\s*"user"|"thread_rolled_back"')
_PAYLOAD = b'"payload":{"type":"'
_ITEM = b'"item":{"type":"'
_HEAD, _IDS = 120, 200
"""Bytes in which the type of a payload begins, as Codex writes a line, and the type of its item after it."""
_SEARCHED = {b"message", b"user_message", b"item_completed", b"UserMessage", b"thread_rolled_back"}
"""Types of the lines that may be prompts; of a completed item, its own type.
Most lines show at their beginning that they are none.
"""


def is_injected(message: str) -> bool:
    return message.lstrip().startswith(_INJECTED)


def title(message: str) -> str:
    """Returns the first line of the request."""
    return message.rpartition(_REQUEST)[2].strip().split("\n", 1)[0][:PREVIEW]


def recorded_prompt(payload: Payload) -> str | None:
    """Returns the text of an event that records a prompt; None for any other.
    Early versions record what they insert likewise.
    """
    if payload.type == "user_message":
        return string(decode_raw(payload.message)).strip() if payload.kind in (None, "plain") else None
    item = mapping(payload.item) if payload.type == "item_completed" else {}
    return text_of(item.get("content")).strip() if item.get("type") == "UserMessage" else None


class Prompts:
    """The prompts that a log records, and which of them its messages repeat.

    A message comes before the event that records it.  Where the log was not yet longer when it was searched,
    the beginning of the message decides for the time being.  ``changes_rows``: a later line has contradicted
    that, so the log must be read again.  ``rolls_back``: a turn was rolled back.
    """

    def __init__(self) -> None:
        self.changes_rows = self.rolls_back = False
        self._searched = 0
        self._recorded: set[str] = set()
        self._repeated: set[str] = set()
        self._guessed: list[set[str]] = []
        self._as_system: set[str] = set()
        self._as_event: set[str] = set()
        self._last = ""

    @classmethod
    def of(cls, source: Source) -> Prompts:
        """Searches the whole log."""
        try:
            return cls._of(_quickly(source))
        except DECODE_ERRORS:  # a line with a prompt is damaged: what can be read of it counts, too
            lines = source.lines(lambda data: decode(data) if _may_be_prompt(data) else None)
            return cls._of(item for item in lines if not isinstance(item, Problem))

    @classmethod
    def _of(cls, lines: Iterable[tuple[Ref, Line | None]]) -> Prompts:
        found = cls()
        for ref, line in lines:
            found._searched = ref.offset + ref.length
            if line is None or not isinstance(payload := line.payload, Payload):
                continue
            if payload.type == "thread_rolled_back":
                found.rolls_back = True
            elif line.type == "event_msg":
                if text := recorded_prompt(payload):
                    found._recorded.add(text)
            elif payload.type == "message" and payload.role == "user":
                found._repeated.update(_texts(payload.content))
        return found

    def is_typed(self, payload: Payload, content: str, ref: Ref) -> bool:
        """Returns whether the person typed this message of the role ``user``."""
        kinds = [string(kind) for kind in items(mapping(payload.passthrough).get("content_item_kinds"))]
        texts = set(_texts(payload.content))
        self._repeated |= texts
        self.changes_rows |= not self._as_event.isdisjoint(texts)
        if any(kind.startswith("user.") for kind in kinds):
            return True
        if self._recorded and ref.offset < self._searched:
            typed = not self._recorded.isdisjoint(texts)
        elif typed := not is_injected(content):
            self._guessed.append(texts)
        if not typed:
            self._as_system |= texts
        return typed

    def record(self, payload: Payload) -> str:
        """Handles an event that may record a prompt.
        Returns its text if no message repeats it, else an empty text.
        """
        text = recorded_prompt(payload)
        if not text:
            return ""
        self.changes_rows |= text in self._as_system
        self._recorded.add(text)
        self._guessed = [texts for texts in self._guessed if text not in texts]
        if text in self._repeated or text == self._last:
            return ""
        self._last = text
        self._as_event.add(text)
        return text

    def answered(self) -> None:
        """Handles an answer of the agent: a prompt before it would be recorded by now."""
        self._last = ""
        if self._guessed and self._recorded:
            self.changes_rows = True


def _quickly(source: Source) -> Iterator[tuple[Ref, Line | None]]:
    """Yields the lines that may have prompts, and the last complete one.
    Raises ``msgspec.MsgspecError`` where one of them is damaged.
    """
    offset, may_be_prompt = 0, _may_be_prompt
    with source.open_file(0) as lines:
        for data in lines:
            if may_be_prompt(data):
                yield Ref(offset, len(data)), decode(data)
            elif not data.endswith(b"\n"):  # it may be half written
                break
            offset += len(data)
    yield Ref(offset, 0), None


def _may_be_prompt(data: bytes) -> bool:
    at = data.find(_PAYLOAD, 0, _HEAD) + len(_PAYLOAD)
    if at >= len(_PAYLOAD):
        kind = data[at : data.find(b'"', at)]
        if kind == b"item_completed" and (item := data.find(_ITEM, at, at + _IDS)) > 0:
            item += len(_ITEM)
            kind = data[item : data.find(b'"', item)]
        if kind not in _SEARCHED:
            return False
    return _MARKS.search(data) is not None


def _texts(content: Any) -> Iterator[str]:
    """Yields the texts of a message that may be a prompt: each part, and all together."""
    parts = [text_of([part]).strip() for part in items(content)] if isinstance(content, list) else []
    yield from filter(None, (*parts, text_of(content).strip()))


_CWD = re.compile(r"<cwd>(.*?)</cwd>", re.DOTALL)
_MAX_SEARCH = 4000


def working_directory(message: str) -> str:
    """Returns the working directory, which early logs name only in a message about the environment."""
    found = _CWD.search(message, 0, _MAX_SEARCH)
    return found[1].strip() if found else ""


def agent_message(payload: Payload) -> str:
    """Returns sender, recipient and text of a message between agents. Encrypted parts have no text."""
    texts = [string(part.get("text")) for part in mappings(payload.content)]
    return "\n".join(filter(None, (string(payload.author), string(payload.recipient), *texts)))
