"""Recognises the chats of Qwen Code, for its reader and for that of Claude Code, whose fields they have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nbtools.traces.reader import Head

_MESSAGE = re.compile(rb'"message"\s*:\s*\{\s*(?:"role"\s*:\s*"\w+"\s*,\s*)?"parts"\s*:')
"""A message of Gemini's API."""


def is_qwen_code(head: Head) -> bool:
    """Returns whether it is a chat of Qwen Code:
    records with the fields of Claude Code's, around messages of Gemini's API.
    """
    if not head.has("parentUuid"):
        return False
    if head.records:
        return any(_is_qwen_code(record) for record in head.records if "parentUuid" in record)
    return _MESSAGE.search(head.start) is not None


def _is_qwen_code(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    parts = isinstance(message, dict) and isinstance(message.get("parts"), list) and "content" not in message
    return parts or "systemPayload" in record or "toolCallResult" in record
