"""Reads and writes Void's calls in XML, for models without native calls: ``<tool><parameter>value</parameter></tool>``.

Void searches tags anywhere, so a value that contains a parameter's tag splits it.  Here a value ends at its closing tag only where the next
parameter or the call's end follows; an ambiguous call is neither read nor written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from nbtools.core.result import Part, ToolResult
from nbtools.dialects.dialect import Dialect, ToolMapping
from nbtools.dialects.wire import WireCall, WireResult

_RESULT = re.compile(r"\s*<(\w+)_result>\n?(.*?)\n?</\1_result>\s*", re.DOTALL)


def read_call(text: str, dialect: Dialect) -> WireCall:
    """Reads the call at the end of a model's message.  Raises ``ValueError`` with the reason where there is none."""
    found = [(text.find(f"<{name}>"), name) for name in dialect.by_name if f"<{name}>" in text]
    if not found:
        raise ValueError("the message contains no call: the tool's name as a tag, with its parameters as tags inside")
    start, name = min(found)
    end = text.rfind(f"</{name}>")
    if end < start:
        raise ValueError(f"the call of {name} is not closed with </{name}>")
    if text[end:].strip() != f"</{name}>":
        raise ValueError(f"there is text after the call of {name}; a call must end the message")
    body = text[start + len(name) + 2 : end]
    return WireCall("", name, dict(_parameters(body, _names(dialect.by_name[name]), name)))


def _names(spellings: tuple[ToolMapping, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(field for spelling in spellings for field in spelling.params.model_fields))


def _parameters(body: str, names: tuple[str, ...], tool: str) -> Iterator[tuple[str, str]]:
    rest, remaining = body, list(names)
    while rest.strip():
        opening = re.match(r"\s*<(\w+)>", rest)
        if opening is None or opening[1] not in remaining:
            excerpt = rest.strip().split("\n", 1)[0][:60]
            raise ValueError(f"{tool} takes {', '.join(names)}, each at most once; found {excerpt!r}")
        name = opening[1]
        remaining.remove(name)
        closing = _end(rest, opening.end(), name, remaining, (*names, tool))
        yield name, _trimmed(rest[opening.end() : closing])
        rest = rest[closing + len(name) + 3 :]


def _end(rest: str, start: int, name: str, remaining: list[str], tags: tuple[str, ...]) -> int:
    """Returns the end of a value: the first closing tag followed by the next parameter or by nothing.

    Raises ``ValueError`` where another of the call's ``tags`` follows an earlier closing tag: the value is then ambiguous.
    """
    another = re.compile(rf"\s*</?(?:{'|'.join(tags)})>")
    follows = re.compile(rf"\s*(?:<(?:{'|'.join(remaining)})>|$)" if remaining else r"\s*$")
    for found in re.finditer(rf"</{name}>", rest[start:]):
        if follows.match(rest, start + found.end()):
            return start + found.start()
        if another.match(rest, start + found.end()):
            raise ValueError(f"the end of the parameter {name} is ambiguous; a message has one call, with each parameter once")
    raise ValueError(f"the parameter {name} is not closed with </{name}>")


def _trimmed(value: str) -> str:
    """Removes the line break after the opening tag and the one before the closing tag."""
    return re.sub(r"\n[ \t]*\Z", "", re.sub(r"\A[ \t]*\n", "", value))


def write_call(call: WireCall, dialect: Dialect) -> str:
    """Writes the call in XML.  Raises ``ValueError`` where a value would be ambiguous."""
    if call.name not in dialect.by_name:
        raise ValueError(f"{dialect.name} has no tool {call.name}")
    values = {name: _as_text(value) for name, value in call.arguments.items() if value is not None}
    parameters = (f"<{name}>\n{value}\n</{name}>\n" for name, value in values.items())
    text = f"<{call.name}>\n{''.join(parameters)}</{call.name}>"
    if _read_again(text, dialect) != WireCall("", call.name, values):
        raise ValueError(f"this call of {call.name} has a value that looks like the tags around it")
    return text


def _read_again(text: str, dialect: Dialect) -> WireCall | None:
    try:
        return read_call(text, dialect)
    except ValueError:
        return None


def _as_text(value: object) -> str:
    """Converts a value to text like Void's model."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def write_result(call: WireCall, result: ToolResult) -> str:
    """Writes a result for the model's next message."""
    content = result.llm_content
    text = content if isinstance(content, str) else "\n".join(map(_part, content))
    return f"<{call.name}_result>\n{text}\n</{call.name}_result>"


def _part(part: Part) -> str:
    """Converts a part to text; media are represented by their type, because the format has only text."""
    return str(part["text"]) if "text" in part else f"({part.get('inline_data', {}).get('mime_type', 'something')}, not shown in this form)"


def read_result(text: str) -> WireResult:
    """Reads what ``write_result`` writes; the format does not mark errors.  Raises ``ValueError`` for anything else."""
    found = _RESULT.fullmatch(text)
    if found is None:
        raise ValueError("a result must be enclosed in a tag that ends in _result")
    return WireResult("", found[2])
