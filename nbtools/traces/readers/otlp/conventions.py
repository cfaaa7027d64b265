"""Interprets spans by their attributes.

Supports OpenTelemetry's GenAI conventions old and new, OpenInference, OpenLLMetry and the Vercel AI SDK.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.conversation import MessagePart, parts_of_message
from nbtools.traces.json_access import (
    first_string,
    id_text,
    integer_of,
    items,
    mapping,
    mappings,
    names,
    parse_json,
    string,
)
from nbtools.traces.source import DECODE_ERRORS, decode_json

Meaning: TypeAlias = Literal["tool", "model", "agent", "other"]
_OPERATIONS: dict[str, Meaning] = {
    "execute_tool": "tool",
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion"), "model"),
    **dict.fromkeys(("invoke_agent", "create_agent", "invoke_workflow"), "agent"),
}
_KINDS: dict[str, Meaning] = {
    "tool": "tool",
    "llm": "model",
    "agent": "agent",
    "chain": "agent",
    "workflow": "agent",
    "task": "agent",
}
_TOOLS = names("gen_ai.tool.name tool.name ai.toolCall.name tool_name function_name traceloop.entity.name")
_ARGUMENTS = names(
    "gen_ai.tool.call.arguments gen_ai.tool.arguments ai.toolCall.args tool_arguments function_args arguments"
    " tool_parameters input.value traceloop.entity.input tool.parameters"
)
_RESULTS = names(
    "gen_ai.tool.call.result ai.toolCall.result tool_response output.value traceloop.entity.output output"
    " error"
)
_CALL_IDS = ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id", "call_id", "tool_use_id")
IDENTIFYING_ATTRIBUTES = (
    "gen_ai.operation.name",
    "openinference.span.kind",
    "traceloop.span.kind",
    "mcp.method.name",
    "gen_ai.request.model",
    "llm.model_name",
    *_TOOLS,
    *_CALL_IDS,
)
"""Attributes that identify what a span is; other attributes may be large."""


def meaning_of(attributes: Mapping[str, Any], name: str) -> Meaning:
    operation = string(attributes.get("gen_ai.operation.name"))
    kind = string(attributes.get("openinference.span.kind")) or string(attributes.get("traceloop.span.kind"))
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    if kind.lower() in _KINDS:
        return _KINDS[kind.lower()]
    is_tool_call = attributes.get("mcp.method.name") == "tools/call" or name.startswith("execute_tool ")
    if is_tool_call or not {"ai.toolCall.name", "gen_ai.tool.name"}.isdisjoint(attributes):
        return "tool"
    names_model = not {"gen_ai.request.model", "llm.model_name"}.isdisjoint(attributes)
    return "model" if names_model and not operation else "other"


def tool_of(attributes: Mapping[str, Any], name: str) -> str:
    return first_string(attributes, _TOOLS) or name.removeprefix("execute_tool ") or "?"


def call_id_of(attributes: Mapping[str, Any]) -> str:
    return next((text for key in _CALL_IDS if (text := id_text(attributes.get(key)))), "")


def arguments_of(attributes: Mapping[str, Any]) -> Any:
    """Returns the recorded arguments; None where they are not recorded, which is opt-in."""
    return next((attributes[key] for key in _ARGUMENTS if attributes.get(key) is not None), None)


def result_of(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> Any:
    """Returns a tool's result, or the message of the exception that ended it; None without either."""
    found = next((parse_json(attributes[key]) for key in _RESULTS if attributes.get(key) is not None), None)
    return exception_of(span) or None if found is None else found


def exception_of(span: Mapping[str, Any]) -> str:
    """Returns the error message of a span: from an exception event, or from its status."""
    for event in mappings(span.get("events")):
        if event.get("name") == "exception":
            raised = attributes_of(event.get("attributes"))
            if text := first_string(raised, ("exception.message", "exception.type")):
                return text
    return string(mapping(span.get("status")).get("message"))


def parts_in_span(
    span: Mapping[str, Any], attributes: Mapping[str, Any]
) -> Iterator[tuple[int, bool, MessagePart]]:
    """Yields the message parts of a span with their positions.

    Each comes with the number of its message in the conversation and whether it is the model's response.
    """
    is_record = "body" in span or "eventName" in span or "event.name" in attributes
    messages = [] if is_record else [*_messages_in(attributes)]
    for event in [span] if is_record else mappings(span.get("events")):
        messages += _event(event)
    number = 0
    for message, role, is_response in messages:
        for piece in parts_of_message(message, role):
            yield number, is_response, piece
        number += role != "system"


_Message: TypeAlias = tuple[Any, str, bool]


def _messages_in(attributes: Mapping[str, Any]) -> Iterator[_Message]:
    """Yields the messages in attributes with their role: first the model's input, then its response."""
    if instructions := parse_json(attributes.get("gen_ai.system_instructions")):
        if isinstance(instructions, list):
            instructions = {"role": "system", "parts": instructions}
        yield instructions, "system", False
    is_flat = any(key.startswith(_FLAT) for key in attributes)
    for keys, flat, role in _MESSAGES:
        for key in keys:
            if key in attributes:
                content = parse_json(attributes[key])
                if not isinstance(content, list):
                    content = [content] if content else []
                yield from ((one, role, role == "assistant") for one in content)
        for prefix in flat if is_flat else ():
            for one in unflatten(attributes, prefix):
                yield _openai_message(one), role, role == "assistant"


_MESSAGES = (
    (
        ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages"),
        ("llm.input_messages", "gen_ai.prompt"),
        "user",
    ),
    (
        ("gen_ai.output.messages", "gen_ai.completion", "ai.response.text"),
        ("llm.output_messages", "gen_ai.completion"),
        "assistant",
    ),
)
"""Attributes with messages, prefixes of messages whose fields are attributes of their own, and the role."""
_FLAT = tuple(f"{prefix}." for _, flat, _ in _MESSAGES for prefix in flat)


def _openai_message(message: Any) -> Any:
    """Converts a message of OpenInference (which wraps every object) or OpenLLMetry to OpenAI's form."""
    fields = mapping(message)
    fields = mapping(fields.get("message")) or fields
    calls = [mapping(one.get("tool_call")) or one for one in mappings(fields.get("tool_calls"))]
    contents = [mapping(one.get("message_content")) or one for one in mappings(fields.get("contents"))]
    content = contents or fields.get("content")
    if isinstance(content, str) and content.startswith("[{"):
        content = parse_json(content)
    return {**fields, "content": content, "tool_calls": calls}


_ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


def _event(event: Mapping[str, Any]) -> list[_Message]:
    """Returns the messages of an event.

    Before messages were attributes, each was an event of its own:
    as attributes, as JSON in one attribute, or as a log record's body.
    """
    attributes = attributes_of(event.get("attributes"))
    name = string(event.get("name")) or string(event.get("eventName")) or string(attributes.get("event.name"))
    if name == "gen_ai.client.inference.operation.details" or name.startswith("gen_ai.content."):
        return list(_messages_in(attributes))
    if not name.startswith("gen_ai.") or not name.endswith((".message", ".choice")):
        return []
    content = parse_json(attributes.get("gen_ai.event.content"))
    body = value_of(event.get("body"))
    message = mapping(content) or mapping(body)
    message = message or {key: parse_json(value) for key, value in attributes.items()}
    role = _ROLES.get(name.removeprefix("gen_ai.").removesuffix(".message"), "assistant")
    choice = name.endswith(".choice")
    if choice:
        message = mapping(parse_json(message.get("message"))) or message
    with_role = {"role": role, **message}
    if role == "tool" and not isinstance(with_role["role"], str):
        with_role["role"] = role
    if role == "tool":
        with_role["tool_call_id"] = message.get("tool_call_id") or message.get("id")
    return [(with_role, role, choice)]


_MAX_DEPTH = 30


def value_of(any_value: Any, depth: int = 0) -> Any:
    """Converts an ``AnyValue``; a plain value is returned as it is."""
    if not isinstance(any_value, dict):
        return any_value
    for kind, plain in any_value.items():
        if kind in {"stringValue", "doubleValue", "boolValue", "bytesValue"}:
            return plain
        if kind == "intValue":
            return integer_of(plain)
        if kind == "arrayValue" and depth < _MAX_DEPTH:
            return [value_of(one, depth + 1) for one in items(mapping(plain).get("values"))]
        if kind == "kvlistValue" and depth < _MAX_DEPTH:
            return attributes_of(mapping(plain).get("values"), depth + 1)
    return None


class _Value(msgspec.Struct, gc=False):
    """An ``AnyValue``; nearly all are texts or integers."""

    stringValue: str | None = None  # noqa: N815 - the format's names
    intValue: str | int | None = None  # noqa: N815


class _Attribute(msgspec.Struct, gc=False):
    key: str
    value: _Value


class _Recorded(msgspec.Struct, gc=False):
    attributes: list[msgspec.Raw] = []
    events: Any = None
    status: Any = None
    name: Any = None
    body: Any = msgspec.UNSET
    eventName: Any = msgspec.UNSET  # noqa: N815


_decode_recorded = msgspec.json.Decoder(_Recorded).decode
_decode_attribute = msgspec.json.Decoder(_Attribute).decode
_decode_any = msgspec.json.Decoder().decode


def decode_span(data: bytes) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Returns the fields of a span that rows need, and its attributes. Both are empty if it is not JSON."""
    try:
        span = _decode_recorded(data)
        attributes: dict[str, Any] = {}
        for raw in span.attributes:
            one = _decode_attribute(raw)
            value = one.value
            if value.stringValue is not None:
                attributes[one.key] = value.stringValue
            elif value.intValue is not None:
                attributes[one.key] = integer_of(value.intValue)
            else:
                attributes[one.key] = value_of(_decode_any(raw).get("value"))
    except (*DECODE_ERRORS, AttributeError):  # written otherwise, as some exporters do
        try:
            fields = mapping(decode_json(data))
        except TraceError:
            return {}, {}
        return fields, attributes_of(fields.get("attributes"))
    found = {"events": span.events, "status": span.status, "name": span.name}
    optional = {"body": span.body, "eventName": span.eventName}
    return found | {name: value for name, value in optional.items() if value is not msgspec.UNSET}, attributes


def attributes_of(attributes: Any, depth: int = 0) -> dict[str, Any]:
    """Returns attributes given as a list of keys and values, or as the object that some exporters write."""
    if isinstance(attributes, dict):
        return dict(attributes)
    return {string(one.get("key")): value_of(one.get("value"), depth) for one in mappings(attributes)}


def unflatten(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Returns the list whose items are under ``prefix.0.…``, ``prefix.1.…``,
    as OpenInference and OpenLLMetry write nested values.
    """
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            *path, last = key[len(start) :].split(".")[:_MAX_DEPTH]
            node = tree
            for step in path:
                inner = node.setdefault(step, {})
                node = inner if isinstance(inner, dict) else {}
            node.setdefault(last, value)
    found = _numbered_to_lists(tree)
    return found if isinstance(found, list) else []


def _numbered_to_lists(node: Any) -> Any:
    """Converts objects whose keys are all numbers to lists."""
    if not isinstance(node, dict):
        return node
    if node and all(integer_of(key) is not None for key in node):
        return [_numbered_to_lists(node[key]) for key in sorted(node, key=lambda key: integer_of(key) or 0)]
    return {key: _numbered_to_lists(value) for key, value in node.items()}
