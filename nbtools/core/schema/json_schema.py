"""JSON Schema validation, and the formats of four model providers for tool declarations and tool results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

from nbtools.core.result import Part, ToolResult
from nbtools.core.schema.validation import JsonSchemaValidator
from nbtools.core.tool import AnyToolBuilder, Kind

Provider: TypeAlias = Literal["gemini", "anthropic", "openai", "mcp"]
Json: TypeAlias = dict[str, Any]


def validate(schema: Mapping[str, Any], params: Mapping[str, Any]) -> list[str]:
    """Returns one message per problem of ``params``, empty when they are valid.
    An endless schema is a problem, too.

    As in Gemini CLI, formats are checked,
    and a reference that cannot be resolved does not make the tool unusable: it restricts nothing.
    """
    validator = _validator(_Identity(schema))
    if validator.accepts(params):
        return []
    try:
        return [_message(error) for error in validator.iter_errors(params)]
    except RecursionError:
        return ["the parameters or their schema are nested too deeply"]


@dataclass(frozen=True, eq=False)
class _Identity:
    """A cache key that compares a schema by identity, as schemas are not hashable."""

    schema: Mapping[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache(maxsize=256)
def _validator(key: _Identity) -> JsonSchemaValidator:
    return JsonSchemaValidator(key.schema)


def _message(error: Any) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    return f"{where}: {error.message}" if where else str(error.message)


def has_cycle_in_schema(schema: Mapping[str, Any]) -> bool:
    """Whether the schema's local references form a cycle.

    As in Gemini CLI, ``#`` always counts as one, a reference used twice does not, and references that cannot
    be resolved are ignored. References may lead through arrays: ``#/anyOf/0``.
    """
    closed: set[str] = set()
    open_refs: set[str] = set()
    nodes: list[object] = [schema]
    while nodes:  # not recursive: a server's schema may be nested deeper than the interpreter allows
        node = nodes.pop()
        if isinstance(node, _End):
            open_refs.remove(node.ref)
            closed.add(node.ref)
            continue
        ref = node.get("$ref") if isinstance(node, Mapping) else None
        if isinstance(ref, str):
            if ref in ("#", "#/") or ref in open_refs:
                return True
            target = None if ref in closed else _resolve(schema, ref)
            if target is not None:
                open_refs.add(ref)
                nodes += [_End(ref), target]
            if target is not None or ref in closed:
                continue
        if isinstance(node, Mapping | list):
            nodes += node.values() if isinstance(node, Mapping) else node
    return False


@dataclass(frozen=True, slots=True)
class _End:
    """Marks the end of the schema that ``ref`` leads to."""

    ref: str


def _resolve(root: Mapping[str, Any], ref: str) -> object | None:
    """Returns what a local reference leads to; None if it leads nowhere."""
    node: object = root if ref.startswith("#/") else None
    for step in ref[2:].split("/"):
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(name)
        elif isinstance(node, list) and name.isdecimal() and name.isascii():
            node = next(iter(node[int(name[:9]) :][:1]), None)
        else:
            return None
    return node


def without_titles(schema: Mapping[str, Any]) -> Json:
    """Returns the schema without ``title`` keywords; properties called *title* stay."""

    def change(node: Json) -> Json:
        return {key: one for key, one in node.items() if key != "title" or not isinstance(one, str)}

    return dict(_map(schema, change))


def _map(node: Any, change: Callable[[Json], Json]) -> Any:
    if isinstance(node, list):
        return [_map(item, change) for item in node]
    if not isinstance(node, Mapping):
        return node
    changed = change(dict(node))
    for key, value in changed.items():
        if key in _MAPS_OF_SCHEMAS and isinstance(value, Mapping):
            changed[key] = {name: _map(part, change) for name, part in value.items()}
        elif key not in _NOT_SCHEMAS:
            changed[key] = _map(value, change)
    return changed


_MAPS_OF_SCHEMAS = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_NOT_SCHEMAS = frozenset({"enum", "const", "default", "examples", "required"})


def sanitize_schema(schema: Mapping[str, Any], provider: Provider) -> Json:
    """Returns the schema in the form that ``provider`` accepts, without the keys that only nbtools uses.

    For Gemini, unions with null become ``nullable`` and ``additionalProperties`` is removed.
    """
    return dict(_map(schema, _for_gemini if provider == "gemini" else _without_our_keys))


def _without_our_keys(node: Json) -> Json:
    return {key: value for key, value in node.items() if key not in ("flag", "body")}


def _for_gemini(node: Json) -> Json:
    unknown = ("additionalProperties", "$schema")
    node = {key: value for key, value in _without_our_keys(node).items() if key not in unknown}
    if isinstance(node.get("type"), list) and "null" in node["type"] and len(node["type"]) == 2:
        node |= {"type": next(name for name in node["type"] if name != "null"), "nullable": True}
    choices = node.get("anyOf")
    if isinstance(choices, list) and len(choices) == 2 and {"type": "null"} in choices:
        chosen = _for_gemini(dict(next(choice for choice in choices if choice != {"type": "null"})))
        node = {key: value for key, value in node.items() if key != "anyOf"} | chosen | {"nullable": True}
    return node


def declarations(tools: Iterable[AnyToolBuilder], provider: Provider) -> list[Json]:
    """Returns the tools' declarations in ``provider``'s format. Raises ``ValueError`` for an unknown one."""
    form = _DECLARE.get(provider)
    if form is None:
        raise ValueError(f"unknown provider {provider!r}; use one of {', '.join(_DECLARE)}")
    return [form(tool, sanitize_schema(tool.schema["parameters"], provider)) for tool in tools]


_DECLARE: dict[str, Callable[[AnyToolBuilder, Json], Json]] = {
    "gemini": lambda tool, schema: _named(tool, parametersJsonSchema=schema),
    "anthropic": lambda tool, schema: _named(tool, input_schema=schema),
    "openai": lambda tool, schema: {"type": "function", "function": _named(tool, parameters=schema)},
    "mcp": lambda tool, schema: {
        "name": tool.name,
        "title": tool.display_name,
        "description": tool.description,
        "inputSchema": schema,
        "annotations": _hints(tool.kind),
    },
}


def _named(tool: AnyToolBuilder, **schema: Json) -> Json:
    return {"name": tool.name, "description": tool.description, **schema}


def _hints(kind: Kind) -> Json:
    """Returns the MCP annotations for a kind. All are explicit: clients assume the worst otherwise."""
    outside = kind in (Kind.FETCH, Kind.EXECUTE, Kind.OTHER)
    return {
        "readOnlyHint": kind.changes_nothing,
        "destructiveHint": not kind.changes_nothing,
        "openWorldHint": outside,
    }


def convert_to_function_response(
    call_id: str, tool_name: str, result: ToolResult, provider: Provider
) -> Json:
    """Converts a result to ``provider``'s format:
    a function-response part, a ``tool_result`` block, a tool message, a call result.

    Media that the format cannot hold are described.  Gemini's cannot hold audio and video;
    ``recording_parts`` returns those, which belong into the same message, after the function responses.
    """
    match provider:
        case "gemini":
            return _gemini_response(call_id, tool_name, result)
        case "anthropic":
            content = _blocks(result, _media_block)
            head = {"type": "tool_result", "tool_use_id": call_id}
            return {**head, "content": content, "is_error": not result.ok}
        case "openai":
            return {"role": "tool", "tool_call_id": call_id, "content": _only_text(result)}
        case "mcp":
            return {"content": _blocks(result, _mcp_media), "isError": not result.ok}


def _parts(result: ToolResult) -> tuple[Part, ...]:
    return ({"text": result.llm_content},) if isinstance(result.llm_content, str) else result.llm_content


def _text(result: ToolResult) -> str:
    return "\n".join(str(part["text"]) for part in _parts(result) if "text" in part)


def _only_text(result: ToolResult) -> str:
    """Returns the text for a message without media; each omitted medium is replaced by a description."""
    parts = _parts(result)
    texts = (part["text"] if "text" in part else describe_media(part["inline_data"]) for part in parts)
    return "\n".join(map(str, texts))


def _gemini_response(call_id: str, tool_name: str, result: ToolResult) -> Json:
    text, media = _text(result), [part for part in _parts(result) if "inline_data" in part]
    described = [describe_media(part["inline_data"]) for part in media if is_recording(part)]
    body: Json = {"output": "\n".join(filter(None, (text, *described)))}
    if result.error is not None:
        message = result.error.message
        # The whole text, too, where it has more lines: output before a timeout or a cancellation, notes.
        more = text.count("\n") > message.count("\n")
        body = {"error": message, "output": text} if more else {"error": message}
    response: Json = {"id": call_id, "name": tool_name, "response": body}
    binary = [_gemini_media(part) for part in media if not is_recording(part)]
    return {"functionResponse": {**response, "parts": binary} if binary else response}


def _gemini_media(part: Part) -> Json:
    data = part["inline_data"]
    return {"inlineData": {"mimeType": data["mime_type"], "data": data["data"]}}


def recording_parts(result: ToolResult) -> list[Json]:
    """Returns the audio and video of a result as parts of a message to a Gemini model,
    which takes them only beside function responses.
    """
    return [_gemini_media(part) for part in _parts(result) if is_recording(part)]


def is_recording(part: Part) -> bool:
    """Whether the part is audio or video."""
    return "inline_data" in part and str(part["inline_data"]["mime_type"]).startswith(("audio/", "video/"))


def _blocks(result: ToolResult, media: Callable[[Json], Json]) -> list[Json]:
    return [
        {"type": "text", "text": part["text"]} if "text" in part else media(part["inline_data"])
        for part in _parts(result)
    ]


def _media_block(data: Json) -> Json:
    """Returns an image or PDF block for Anthropic's API, which takes nothing else; others are described."""
    mime = str(data["mime_type"])
    if not mime.startswith("image/") and mime != "application/pdf":
        return {"type": "text", "text": describe_media(data)}
    source = {"type": "base64", "media_type": mime, "data": data["data"]}
    return {"type": "image" if mime.startswith("image/") else "document", "source": source}


def describe_media(data: Json) -> str:
    """Returns a description of media that a model does not accept: type and size in bytes."""
    size = len(data["data"]) * 3 // 4 - data["data"][-2:].count("=")
    kind = data["mime_type"].partition("/")[0]
    what = {"audio": "a sound", "image": "a picture", "video": "a video"}.get(kind, "a file")
    return f"[{what}, {data['mime_type']}, {size} bytes]"


def _mcp_media(data: Json) -> Json:
    mime = str(data["mime_type"])
    kind = mime.partition("/")[0]
    if kind in ("image", "audio"):
        return {"type": kind, "mimeType": mime, "data": data["data"]}
    return {"type": "resource", "resource": {"uri": "data:", "mimeType": mime, "blob": data["data"]}}
