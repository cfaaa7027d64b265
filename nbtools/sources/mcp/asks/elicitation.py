"""A server's questions to the person: a form of flat fields, asked as the tool ``ask`` asks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from nbtools.sources.mcp.asks.fields import Field, Value, fields_of

_AT_ONCE = 4
"""Questions of one form of ``ask``."""
_LONGEST = 2_000
"""Characters of a question of ``ask``."""
_MOST_CHOICES = 20
_SHORT = 600
"""Characters of what a server says before what it asks: that must not be cut away."""
_LONGEST_URL = 1_000
_SECRET = re.compile(
    r"pass[\W_]?(?:word|phrase|code)|secret|api[\W_]?key|token|credential|private key|\bpin\b|one.time code|credit card", re.IGNORECASE
)
_WARNING = "⚠ {} gets what you write here. A server may not ask for passwords and keys in this way."


def forms(server: str, message: str, schema: Mapping[str, Any], before: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Arguments of ``ask``, some questions at a time; a form without fields asks for a yes.

    ``before`` is what was answered already, to be mended.
    """
    if not schema.get("properties"):
        return [{"questions": [{"text": f"{server} asks: {message}"[:_LONGEST], "header": "Agree?", "kind": "yesno"}]}]
    given = (*before, *[""] * len(schema.get("properties") or ()))
    fields = enumerate(zip(fields_of(schema), given, strict=False))
    questions = [_question(server, message, field, answer, first=at % _AT_ONCE == 0) for at, (field, answer) in fields]
    return [{"questions": questions[first : first + _AT_ONCE]} for first in range(0, len(questions), _AT_ONCE)]


def values(schema: Mapping[str, Any], answers: Sequence[str]) -> tuple[dict[str, Value], str]:
    """What was answered, by the fields' names, and what is wrong with it in one line, or nothing.  No answer takes a field's default."""
    content: dict[str, Value] = {}
    for field, answer in zip(fields_of(schema), answers, strict=False):
        if not answer and "default" in field.schema:
            content[field.name] = field.schema["default"]
        elif not answer and field.required:
            return {}, f"{field.title} is needed."
        elif answer:
            try:
                content[field.name] = field.value(answer)
            except ValueError as problem:
                return {}, f"{field.title}: {problem}."
    return content, ""


def host_of(url: str) -> str:
    """Of an address that a person can be asked to open, as it is looked up (``xn--…``); empty for any other."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError:
        return ""
    fit = parts.scheme in ("http", "https") and parts.username is None and url.isascii() and url.isprintable() and len(url) <= _LONGEST_URL
    return host if fit else ""


def visit(server: str, message: str, url: str, host: str) -> dict[str, Any]:
    """The question about a page that the person is to open: nothing opens it by itself, and what is done there stays there."""
    text = f"{server} asks you to open a page on {host}: {message[:_SHORT]}\n{url}\nOpen it if you trust {host}, and say yes when you have."
    return {"questions": [{"text": text, "header": "Open a page?", "kind": "yesno"}]}


def _question(server: str, message: str, field: Field, before: str, *, first: bool) -> dict[str, Any]:
    """The ``first`` of a form says who asks, and why; a field's title stands above it anyway."""
    warning = _WARNING.format(server) if _SECRET.search(f"{field.name} {field.title} {field.about} {message}") else ""
    asked = f"{server} asks: {message[:_SHORT]}" if first else ""
    said = [asked, warning, field.about or ("" if first else field.title), field.hint]
    question: dict[str, Any] = {
        "header": field.title[:40],
        "kind": "text",
        "default": before or field.default,
        "optional": not field.required,
    }
    if field.is_yes_or_no:
        question["kind"] = "yesno"
    elif 1 < len(field.choices) <= _MOST_CHOICES:
        labels = [{"label": label, "description": "" if label == value else value} for label, value in field.choices.items()]
        question |= {"kind": "choice", "choices": labels, "several": field.takes_several}
    elif field.choices:
        said.append(f"One of: {', '.join(field.choices)}")
    return {**question, "text": "\n".join(filter(None, said))[:_LONGEST]}
