"""Splits messages of any model API into text, tool calls and tool results.

Understands Anthropic Messages, OpenAI chat and Responses, Gemini contents, pydantic-ai, Inspect and the GenAI
conventions of OpenTelemetry. Each part is recognised by its keys, because one log may mix several APIs. Token
usage is read under the names of all these APIs, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from nbtools.traces.json_access import id_text, integer_of, items, mapping, mappings, string, text_of, to_json
from nbtools.traces.model import EventKind, Status, Tokens


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text or an attachment in a message. ``type`` is the API's name for the part."""

    kind: EventKind
    text: str
    role: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class CallPart:
    """A tool call. ``args`` are as recorded: an object, or a text that may be JSON."""

    id: str
    name: str
    args: Any


@dataclass(frozen=True, slots=True)
class ResultPart:
    """The result of the call ``id``. ``status`` is ``unknown`` where the API does not record whether the call
    failed.
    """

    id: str
    content: Any
    name: str = ""
    status: Status = "unknown"


MessagePart: TypeAlias = TextPart | CallPart | ResultPart
_ROLE_KINDS: dict[str, EventKind] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant_text",
    "model": "assistant_text",
    "ai": "assistant_text",
}


_ROLES_OF_KINDS = {"response": "assistant", "request": "user"}


def parts_of_message(message: Any, role: str = "user") -> Iterator[MessagePart]:
    """Yields the parts of one message, item or choice, in order.
    ``role`` applies where the message does not name one.
    """
    if isinstance(message, str):
        yield from _text_part(message, role)
        return
    fields = mapping(message)
    fields = (
        mapping(fields.get("message")) or fields if "role" not in fields and "type" not in fields else fields
    )
    role = string(fields.get("role")) or _ROLES_OF_KINDS.get(string(fields.get("kind")), role)
    kind = string(fields.get("type"))
    if "type" not in fields and (reasoning := fields.get("reasoning_content") or fields.get("reasoning")):
        yield from _text_part(reasoning, role, "thinking")
    if "part_kind" in fields or (kind in _PARTS and "role" not in fields):
        yield from _part(fields, role)
    elif kind.endswith(("_call", "_call_output", "mcp_list_tools")):
        yield from _item(fields, role)
    elif role in {"tool", "function"} and "parts" not in fields:
        yield _tool_message(fields)
    else:
        yield from _content(fields.get("parts") if "parts" in fields else fields.get("content"), role)
        if "tool_calls" in fields or "function_call" in fields:
            yield from _tool_calls(fields)
    if fields.get("kind") == "request":
        yield from _text_part(fields.get("instructions"), "system")


def is_message(value: Any) -> bool:
    """Returns whether ``value`` looks like a message or an item of one of the APIs."""
    fields = mapping(value)
    kind = string(fields.get("type"))
    return (
        (
            isinstance(fields.get("role"), str)
            and bool(fields.keys() & {"content", "parts", "tool_calls", "function_call"})
        )
        or (isinstance(fields.get("parts"), list) and string(fields.get("kind")) in {"request", "response"})
        or ("part_kind" in fields)
        or (kind.endswith(("_call", "_call_output")) and bool(fields.keys() & {"call_id", "id"}))
        or (kind == "reasoning" and "summary" in fields)
    )


def _text_part(content: Any, role: str, kind: EventKind | None = None) -> Iterator[TextPart]:
    text = text_of(content)
    if text:
        yield TextPart(kind or _ROLE_KINDS.get(role, "system"), text, role)


def _content(content: Any, role: str) -> Iterator[MessagePart]:
    if not isinstance(content, list):
        yield from _text_part(content, role)
        return
    for part in content:
        if isinstance(part, dict):
            yield from _part(part, role)
        else:
            yield from _text_part(part, role)


def _part(part: Mapping[str, Any], role: str) -> Iterator[MessagePart]:
    kind = string(part.get("part_kind")) or string(part.get("type"))
    if "functionCall" in part or "functionResponse" in part or ("thought" in part and not kind):
        yield from _gemini(part, role)
    elif kind in _PARTS:
        yield from _PARTS[kind](part, role)
    elif kind.endswith("_tool_result"):
        yield from _result(part, role)
    elif kind in _MEDIA or "inlineData" in part:
        yield TextPart(
            "attachment", string(part.get("media_type")) or string(part.get("mime_type")) or kind, role, kind
        )
    elif kind.endswith(("_call", "_call_output")):
        yield from _item(part, role)
    else:
        yield from (TextPart(one.kind, one.text, role, kind) for one in _text_part(part, role))


_MEDIA = {
    "image",
    "image_url",
    "input_image",
    "document",
    "file",
    "input_file",
    "audio",
    "input_audio",
    "video",
    "blob",
    "uri",
}


def _tool_use(part: Mapping[str, Any], _role: str) -> Iterator[MessagePart]:
    """Reads Anthropic ``tool_use``, ``tool_call`` of the GenAI conventions,
    and pydantic-ai's ``tool-call``.
    """
    name = string(part.get("name")) or string(part.get("tool_name")) or "?"
    args: Any = (
        part["input"]
        if "input" in part
        else next((part[key] for key in ("arguments", "args") if key in part), {})
    )
    yield CallPart(id_text(part.get("id")) or id_text(part.get("tool_call_id")), name, args)


def _result(part: Mapping[str, Any], _role: str) -> Iterator[MessagePart]:
    content = mapping(part.get("content"))
    failed = part.get("is_error") is True or string(content.get("type")).endswith("_error")
    yield ResultPart(
        id_text(part.get("tool_use_id")), part.get("content"), status="error" if failed else "ok"
    )


def _response(part: Mapping[str, Any], _role: str) -> Iterator[MessagePart]:
    content = next((part[key] for key in ("response", "result", "content") if key in part), None)
    yield ResultPart(
        id_text(part.get("id")) or id_text(part.get("tool_call_id")), content, string(part.get("name"))
    )


_OUTCOMES: dict[str, Status] = {
    "success": "ok",
    "failed": "error",
    "denied": "denied",
    "interrupted": "interrupted",
}


def _return(part: Mapping[str, Any], _role: str) -> Iterator[MessagePart]:
    """Reads pydantic-ai's tool returns. Before they had an outcome,
    a failure was recorded as a ``retry-prompt``.
    """
    outcome = string(part.get("outcome")) or "success"
    name = string(part.get("tool_name"))
    yield ResultPart(
        id_text(part.get("tool_call_id")), part.get("content"), name, _OUTCOMES.get(outcome, "unknown")
    )


def _retry(part: Mapping[str, Any], _role: str) -> Iterator[MessagePart]:
    name, content = string(part.get("tool_name")), part.get("content")
    if name:
        yield ResultPart(
            id_text(part.get("tool_call_id")),
            content if isinstance(content, str) else to_json(content),
            name,
            "error",
        )
    else:
        yield from _text_part(content, "user")


def _thinking(part: Mapping[str, Any], role: str) -> Iterator[MessagePart]:
    text = next(
        (
            text
            for key in ("thinking", "summary", "content", "text", "reasoning")
            if (text := text_of(part.get(key)))
        ),
        "",
    )
    yield TextPart("thinking", text, role, string(part.get("type")))


def _text(part: Mapping[str, Any], role: str) -> Iterator[MessagePart]:
    yield from _text_part(part.get("text") or part.get("content") or part.get("refusal"), role)


_PARTS: dict[str, Callable[[Mapping[str, Any], str], Iterator[MessagePart]]] = {
    **dict.fromkeys(
        ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "builtin-tool-call"),
        _tool_use,
    ),
    **dict.fromkeys(("tool_result", "mcp_tool_result"), _result),
    **dict.fromkeys(("tool_call_response", "tool-result"), _response),
    **dict.fromkeys(("tool-return", "builtin-tool-return"), _return),
    "retry-prompt": _retry,
    **dict.fromkeys(("thinking", "redacted_thinking", "reasoning"), _thinking),
    **dict.fromkeys(("text", "input_text", "output_text", "refusal"), _text),
    "system-prompt": lambda part, _role: _text_part(part.get("content"), "system"),
    "user-prompt": lambda part, _role: _content(part.get("content"), "user"),
}


def _gemini(part: Mapping[str, Any], role: str) -> Iterator[MessagePart]:
    call, response = mapping(part.get("functionCall")), mapping(part.get("functionResponse"))
    if call:
        yield CallPart(id_text(call.get("id")), string(call.get("name")) or "?", call.get("args") or {})
    elif response:
        content = mapping(response.get("response"))
        status: Status = "error" if "error" in content else "unknown"
        yield ResultPart(
            id_text(response.get("id")),
            content.get("output", content.get("error", content)),
            string(response.get("name")),
            status,
        )
    else:
        yield from _text_part(part.get("text"), role, "thinking" if part.get("thought") is True else None)


def _tool_message(message: Mapping[str, Any]) -> ResultPart:
    """Reads OpenAI's role ``tool`` (formerly ``function``, which refers to the call by name).
    Inspect adds an error.
    """
    error = mapping(message.get("error"))
    status: Status = "error" if error else "unknown"
    content = message.get("content") or text_of(error.get("message"))
    name = string(message.get("name")) or string(message.get("function"))
    return ResultPart(id_text(message.get("tool_call_id")), content, name, status)


def _tool_calls(message: Mapping[str, Any]) -> Iterator[MessagePart]:
    """Reads OpenAI's tool calls: a function with arguments, or a custom tool with a text.
    In Inspect's logs the function is a name.
    """
    for call in mappings(message.get("tool_calls")):
        function = mapping(call.get("function")) or mapping(call.get("custom"))
        name = string(function.get("name")) or string(call.get("function")) or string(call.get("name")) or "?"
        args: Any = next(
            (one[key] for one in (function, call) for key in ("arguments", "input", "args") if key in one), {}
        )
        yield CallPart(id_text(call.get("id")), name, args)
    legacy = mapping(message.get("function_call"))
    if legacy:
        yield CallPart("", string(legacy.get("name")) or "?", legacy.get("arguments") or {})


def _item(item: Mapping[str, Any], role: str) -> Iterator[MessagePart]:
    """Reads an item of OpenAI Responses. A tool that the service ran itself has its result in the
    same item.
    """
    kind = string(item.get("type"))
    native = id_text(item.get("call_id")) or id_text(item.get("id"))
    if kind == "mcp_list_tools":
        yield TextPart("system", text_of(item.get("server_label")), role, kind)
    elif kind.endswith("_call_output"):
        yield ResultPart(native, item.get("output"), status=_item_status(item))
    else:
        args: Any = next(
            (
                item[key]
                for key in ("arguments", "input", "action", "operation", "code", "queries")
                if key in item
            ),
            {},
        )
        yield CallPart(
            native,
            string(item.get("name")) or kind.removesuffix("_call"),
            {"code": args} if kind == "code_interpreter_call" else args,
        )
        if "call_id" not in item and (hosted := _hosted_result(item)) is not None:
            yield ResultPart(native, hosted, status=_item_status(item))


def _hosted_result(item: Mapping[str, Any]) -> Any:
    """Returns the recorded result of a tool that the service ran; None where the call has not ended."""
    found = next(
        (item[key] for key in ("error", "output", "outputs", "results", "result") if item.get(key)), None
    )
    return (
        "" if found is None and string(item.get("status")) in {"completed", "failed", "incomplete"} else found
    )


def _item_status(item: Mapping[str, Any]) -> Status:
    if item.get("error") or item.get("status") == "failed":
        return "error"
    codes = [mapping(one.get("outcome")).get("exit_code") for one in mappings(items(item.get("output")))]
    if any(codes):
        return "error"
    return "interrupted" if item.get("status") == "incomplete" else "unknown"


_TOKEN_NAMES = {
    "input": ("input_tokens", "prompt_tokens", "request_tokens"),
    "output": ("output_tokens", "completion_tokens", "response_tokens"),
    "cache_read": (
        "cache_read_input_tokens",
        "input_tokens_cache_read",
        "cache_read_tokens",
        "cached_tokens",
    ),
    "cache_write": ("cache_creation_input_tokens", "input_tokens_cache_write", "cache_write_tokens"),
    "reasoning": ("reasoning_tokens",),
}
_NAMES_WITHOUT_CACHED = frozenset(
    {
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "input_tokens_cache_read",
        "input_tokens_cache_write",
    }
)
"""Names used by APIs whose input count excludes cached tokens."""
_DETAILS = (
    "input_tokens_details",
    "prompt_tokens_details",
    "output_tokens_details",
    "completion_tokens_details",
    "details",
)


class Usage:
    """Token usage, summed over model requests. ``native`` has the sums as the log counts them."""

    def __init__(self) -> None:
        self.native: Counter[str] = Counter()
        self._cached = 0

    def add(self, usage: Mapping[str, Any]) -> None:
        details = {
            key: value for name in _DETAILS if name in usage for key, value in mapping(usage[name]).items()
        }
        flat = {**details, **usage} if details else usage
        found: dict[str, int] = {}
        for kind, names in _TOKEN_NAMES.items():
            for name in names:
                if name in flat and (count := integer_of(flat[name])) is not None:
                    found[kind] = count
                    self.native[kind] += count
                    break
        if _NAMES_WITHOUT_CACHED.isdisjoint(usage):
            self._cached += found.get("cache_read", 0) + found.get("cache_write", 0)

    def tokens(self) -> Tokens:
        """Returns the sums with ``input`` excluding cached tokens."""
        counts = dict(self.native)
        if "input" in counts:
            counts["input"] = max(counts["input"] - self._cached, 0)
        return Tokens(**counts)


def tokens_of(counts: Mapping[str, int]) -> Tokens:
    """Returns token counts by the names of ``Tokens``,
    whose ``input`` includes tokens read from and written to a cache.
    """
    cached = counts.get("cache_read", 0) + counts.get("cache_write", 0)
    return Tokens(**{**counts, "input": max(counts["input"] - cached, 0)} if "input" in counts else counts)
