"""JSON Schema and the wire forms of four providers: declarations of tools, and results as each wants them back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from nbtools.core.checking import Checker
from nbtools.core.result import Part, ToolResult
from nbtools.core.tool import AnyToolBuilder, Kind

Provider: TypeAlias = Literal["gemini", "anthropic", "openai", "mcp"]
Json: TypeAlias = dict[str, Any]


# --- validation ---------------------------------------------------------------------------------------------------------------------


def validate(schema: Mapping[str, Any], params: Mapping[str, Any]) -> list[str]:
    """What is wrong with ``params``, one message a problem, empty when all is well.  A schema that loops for ever is a problem too."""
    validator = _validator(_Identity(schema))
    if validator.fits(params):
        return []
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - it comes with jsonschema, and is needed when that is

    try:
        return [_message(error) for error in validator.iter_errors(params)]
    except RecursionError:
        return ["the parameters or their schema are nested without end"]
    except Unresolvable as error:
        return [f"the schema refers to {error.ref}, which is not in it"]


@dataclass(frozen=True, eq=False)
class _Identity:
    """A schema as a cache key: schemas are not hashable, and a tool's schema does not change."""

    schema: Mapping[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache(maxsize=256)
def _validator(key: _Identity) -> Checker:
    return Checker(key.schema)


def _message(error: Any) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    return f"{where}: {error.message}" if where else str(error.message)


# --- the shape of a schema ----------------------------------------------------------------------------------------------------------


def has_cycle_in_schema(schema: Mapping[str, Any]) -> bool:
    """Whether following a local ``$ref`` comes back to where it was.

    As in Gemini CLI: ``#`` always counts, a reference used twice does not, and what cannot be resolved here is ignored.
    """
    return _cycles(schema, schema, frozenset())


def _cycles(root: Mapping[str, Any], node: object, open_refs: frozenset[str]) -> bool:
    if isinstance(node, list):
        return any(_cycles(root, item, open_refs) for item in node)
    if not isinstance(node, Mapping):
        return False
    ref = node.get("$ref")
    if isinstance(ref, str):
        if ref in ("#", "#/") or ref in open_refs:
            return True
        target = _resolve(root, ref)
        if target is not None:
            return _cycles(root, target, open_refs | {ref})
    return any(_cycles(root, value, open_refs) for value in node.values())


def _resolve(root: Mapping[str, Any], ref: str) -> object | None:
    if not ref.startswith("#/"):
        return None
    node: object = root
    for step in ref[2:].split("/"):
        if not isinstance(node, Mapping) or step not in node:
            return None
        node = node[step]
    return node


def without_titles(schema: Mapping[str, Any]) -> Json:
    """The schema without every ``title`` that only repeats a name; properties called *title* stay."""
    return _schema(schema, lambda node: {key: value for key, value in node.items() if not (key == "title" and isinstance(value, str))})


def _schema(schema: Mapping[str, Any], change: Callable[[Json], Json]) -> Json:
    return dict(_map(schema, change))


def _map(node: Any, change: Callable[[Json], Json]) -> Any:
    if isinstance(node, list):
        return [_map(item, change) for item in node]
    if not isinstance(node, Mapping):
        return node
    return {key: _inner(key, value, change) for key, value in change(dict(node)).items()}


_MAPS_OF_SCHEMAS = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_NOT_SCHEMAS = frozenset({"enum", "const", "default", "examples", "required"})


def _inner(key: str, value: Any, change: Callable[[Json], Json]) -> Any:
    if key in _NOT_SCHEMAS:
        return value
    if key in _MAPS_OF_SCHEMAS and isinstance(value, Mapping):
        return {name: _map(part, change) for name, part in value.items()}
    return _map(value, change)


def sanitize_schema(schema: Mapping[str, Any], provider: Provider) -> Json:
    """The schema as ``provider`` takes it.

    Gemini gets ``nullable`` for unions with null, and neither ``additionalProperties`` nor our own keys; OpenAI and Anthropic get
    ours without our own keys; MCP takes any JSON Schema.
    """
    if provider == "gemini":
        return _schema(schema, _for_gemini)
    return _schema(schema, _without_our_keys)


def _without_our_keys(node: Json) -> Json:
    return {key: value for key, value in node.items() if key not in ("flag", "body")}


def _for_gemini(node: Json) -> Json:
    node = {key: value for key, value in _without_our_keys(node).items() if key not in ("additionalProperties", "$schema")}
    if isinstance(node.get("type"), list) and "null" in node["type"] and len(node["type"]) == 2:
        node |= {"type": next(name for name in node["type"] if name != "null"), "nullable": True}
    choices = node.get("anyOf")
    if isinstance(choices, list) and len(choices) == 2 and {"type": "null"} in choices:
        chosen = _for_gemini(dict(next(choice for choice in choices if choice != {"type": "null"})))
        node = {key: value for key, value in node.items() if key != "anyOf"} | chosen | {"nullable": True}
    return node


# --- declarations -------------------------------------------------------------------------------------------------------------------


def declarations(tools: Iterable[AnyToolBuilder], provider: Provider) -> list[Json]:
    """What a model is told of the tools, in ``provider``'s form.  Raises ``ValueError`` for a provider that is not one of the four."""
    form = _DECLARE.get(provider)
    if form is None:
        raise ValueError(f"unknown provider {provider!r}: one of {', '.join(_DECLARE)}")
    return [form(tool, sanitize_schema(tool.schema["parameters"], provider)) for tool in tools]


_DECLARE: dict[str, Callable[[AnyToolBuilder, Json], Json]] = {
    "gemini": lambda tool, schema: {"name": tool.name, "description": tool.description, "parametersJsonSchema": schema},
    "anthropic": lambda tool, schema: {"name": tool.name, "description": tool.description, "input_schema": schema},
    "openai": lambda tool, schema: {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": schema},
    },
    "mcp": lambda tool, schema: {
        "name": tool.name,
        "title": tool.display_name,
        "description": tool.description,
        "inputSchema": schema,
        "annotations": _hints(tool.kind),
    },
}


def _hints(kind: Kind) -> Json:
    """MCP's words for what a tool does to the world; said outright, for a client takes silence for the worst."""
    outside = kind in (Kind.FETCH, Kind.EXECUTE, Kind.OTHER)
    return {"readOnlyHint": kind.changes_nothing, "destructiveHint": not kind.changes_nothing, "openWorldHint": outside}


# --- results ------------------------------------------------------------------------------------------------------------------------


def convert_to_function_response(call_id: str, tool_name: str, result: ToolResult, provider: Provider) -> Json:
    """The result as ``provider`` wants it back: a function-response part, a ``tool_result`` block, a tool message, a call result."""
    match provider:
        case "gemini":
            return _gemini_response(call_id, tool_name, result)
        case "anthropic":
            return {"type": "tool_result", "tool_use_id": call_id, "content": _blocks(result), "is_error": not result.ok}
        case "openai":
            return {"role": "tool", "tool_call_id": call_id, "content": _only_text(result)}
        case "mcp":
            return {"content": _mcp_blocks(result), "isError": not result.ok}


def _parts(result: ToolResult) -> tuple[Part, ...]:
    return ({"text": result.llm_content},) if isinstance(result.llm_content, str) else result.llm_content


def _text(result: ToolResult) -> str:
    return "\n".join(str(part["text"]) for part in _parts(result) if "text" in part)


def _only_text(result: ToolResult) -> str:
    """For a message that holds nothing else: the model is told of what it is not given."""
    return "\n".join(str(part["text"]) if "text" in part else unheard(part["inline_data"]) for part in _parts(result))


def _gemini_response(call_id: str, tool_name: str, result: ToolResult) -> Json:
    body: Json = {"output": _text(result)} if result.error is None else {"error": result.error.message}
    response: Json = {"id": call_id, "name": tool_name, "response": body}
    binary = [
        {"inlineData": {"mimeType": part["inline_data"]["mime_type"], "data": part["inline_data"]["data"]}}
        for part in _parts(result)
        if "inline_data" in part
    ]
    return {"functionResponse": response | ({"parts": binary} if binary else {})}


def _blocks(result: ToolResult) -> list[Json]:
    return [{"type": "text", "text": part["text"]} if "text" in part else _media_block(part["inline_data"]) for part in _parts(result)]


def _media_block(data: Json) -> Json:
    """Anthropic's API takes pictures and PDF; of all else the model is told that it is there."""
    mime = str(data["mime_type"])
    if not mime.startswith("image/") and mime != "application/pdf":
        return {"type": "text", "text": unheard(data)}
    source = {"type": "base64", "media_type": mime, "data": data["data"]}
    return {"type": "image" if mime.startswith("image/") else "document", "source": source}


def unheard(data: Json) -> str:
    """For a model that takes no such data."""
    size = len(data["data"]) * 3 // 4 - data["data"][-2:].count("=")
    kind = data["mime_type"].partition("/")[0]
    what = {"audio": "a sound", "image": "a picture"}.get(kind, "a file")
    return f"[{what}, {data['mime_type']}, {size} bytes]"


def _mcp_blocks(result: ToolResult) -> list[Json]:
    return [{"type": "text", "text": part["text"]} if "text" in part else _mcp_media(part["inline_data"]) for part in _parts(result)]


def _mcp_media(data: Json) -> Json:
    mime = str(data["mime_type"])
    kind = mime.partition("/")[0]
    if kind in ("image", "audio"):
        return {"type": kind, "mimeType": mime, "data": data["data"]}
    return {"type": "resource", "resource": {"uri": "data:", "mimeType": mime, "blob": data["data"]}}
