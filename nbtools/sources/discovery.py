"""Asking a project's command for its tools."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.json_schema import jsonschema
from nbtools.core.schema import has_cycle_in_schema
from nbtools.sources.command import Command, DiscoveredTool, argv_of, five_lines, stopped
from nbtools.workspace.commands.capture import MOST, Captured, capture
from nbtools.workspace.workspace import Workspace

PREFIX = "discovered_tool_"
_LONGEST_NAME = 64
_FIT = re.compile(r"[A-Za-z0-9_.:-]+")


@dataclass(frozen=True, slots=True)
class Discovered:
    """The tools found, and what is to be told of the others, a line each."""

    tools: tuple[DiscoveredTool, ...]
    problems: tuple[str, ...]


async def discover(
    discovery_command: Command,
    call_command: Command,
    workspace: Workspace,
    *,
    taken: Collection[str] = (),
    seconds: float = 60,
    call_seconds: float = 120,
    most: int = MOST,
) -> Discovered:
    """The tools that ``discovery_command`` lists, named ``discovered_tool_<name>``, to be run by ``call_command``.

    Commands run in the workspace, without a shell.  ``seconds`` the listing may take and ``call_seconds`` a call; ``most`` bytes either
    may print on each stream.  A declaration that cannot be used is a problem and left out.
    Raises ``ToolFailure`` (``discovered_tool_execution_error``, ``timeout``) where the command fails or prints no JSON array.
    """
    argv = argv_of(discovery_command)
    got = await capture(argv, cwd=workspace.root, seconds=seconds, most=most)
    _check(got, argv, seconds)
    tools: dict[str, DiscoveredTool] = {}
    problems: list[str] = []
    for declared in _declarations(got.stdout, problems):
        problem = _problem(declared, {*taken, *tools})
        if problem:
            problems.append(problem)
            continue
        name = PREFIX + declared["name"]
        parameters = _parameters(declared)
        if has_cycle_in_schema(parameters):
            problems.append(f"{declared['name']}: its schema refers to itself, which some models' services do not take.")
        description = str(declared.get("description") or declared["name"])
        tools[name] = DiscoveredTool(
            workspace, name, declared["name"], description, parameters, call_command, seconds=call_seconds, most=most
        )
    return Discovered(tuple(tools.values()), tuple(problems))


def _check(got: Captured, argv: tuple[str, ...], seconds: float) -> None:
    if got.ok:
        return
    code = ErrorCode.TIMEOUT if got.ended.stopped else ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR
    raise ToolFailure(code, f"The command that lists the project's tools failed ({argv[0]}).\n{five_lines(got, stopped(got, seconds))}")


def _declarations(printed: str, problems: list[str]) -> Iterator[dict[str, Any]]:
    """The declarations in any of the shapes: plain, or under ``function_declarations`` or ``functionDeclarations``."""
    try:
        listed = json.loads(printed)
    except ValueError as error:
        raise ToolFailure(
            ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR, f"The command that lists the project's tools prints no JSON: {error}."
        ) from None
    if not isinstance(listed, list):
        what = "The command that lists the project's tools must print a JSON array of function declarations."
        raise ToolFailure(ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR, what)
    for entry in listed:
        inner = entry.get("function_declarations", entry.get("functionDeclarations")) if isinstance(entry, dict) else None
        for declared in inner if isinstance(inner, list) else [entry]:
            if isinstance(declared, dict):
                yield declared
            else:
                problems.append(f"{json.dumps(declared)[:60]} is no function declaration.")


def _problem(declared: Mapping[str, Any], taken: Collection[str]) -> str:
    """Why a declaration cannot be used, empty when it can."""
    name = declared.get("name")
    if not isinstance(name, str) or not name:
        return f"A declaration has no name: {json.dumps(declared)[:60]}."
    if not _FIT.fullmatch(name) or len(PREFIX + name) > _LONGEST_NAME:
        return f"{name!r}: models take names of letters, digits, _ . : and -, {_LONGEST_NAME - len(PREFIX)} at most."
    if PREFIX + name in taken:
        return f"{name}: there is a tool {PREFIX + name} already; the first one stays."
    return _flaw(_parameters(declared), name)


def _flaw(parameters: object, name: str) -> str:
    if not isinstance(parameters, dict):
        return f"{name}: its parameters are no JSON Schema."
    loaded = jsonschema()
    try:
        loaded.validators.validator_for(parameters, default=loaded.Draft202012Validator).check_schema(parameters)
    except loaded.SchemaError as error:
        return f"{name}: its parameters are no JSON Schema: {error.message}."
    dangling = _dangling(parameters, parameters)
    if dangling:
        return f"{name}: its schema refers to {dangling}, which is not in it."
    return "" if parameters.get("type", "object") == "object" else f"{name}: its parameters must be an object."


def _parameters(declared: Mapping[str, Any]) -> Any:
    for key in ("parametersJsonSchema", "parameters_json_schema", "parameters", "inputSchema", "input_schema"):
        if declared.get(key) is not None:
            return _plain_types(declared[key])
    return {"type": "object", "properties": {}}


_TYPES = frozenset({"OBJECT", "ARRAY", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "NULL"})


def _plain_types(node: Any) -> Any:
    """JSON Schema's names of types: Gemini's own declarations have them in capitals."""
    if isinstance(node, list):
        return [_plain_types(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: _plain_type(value) if key == "type" else _plain_types(value) for key, value in node.items()}


def _plain_type(value: Any) -> Any:
    return value.lower() if isinstance(value, str) and value in _TYPES else _plain_types(value)


def _dangling(root: Mapping[str, Any], node: Any) -> str:
    """The first reference that leads nowhere, or out of the schema; empty where there is none."""
    if isinstance(node, list):
        return next(filter(None, (_dangling(root, item) for item in node)), "")
    if not isinstance(node, dict):
        return ""
    ref = node.get("$ref")
    if isinstance(ref, str) and not _leads_somewhere(root, ref):
        return ref
    return next(filter(None, (_dangling(root, value) for value in node.values())), "")


def _leads_somewhere(root: Mapping[str, Any], ref: str) -> bool:
    node: Any = root
    for step in ref.removeprefix("#").split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or key not in node:
            return False
        node = node[key]
    return ref.startswith("#") and (ref == "#" or ref.startswith("#/"))
