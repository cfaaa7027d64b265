"""Discovers tools that a project's command lists and another command runs, as in Gemini CLI.

The discovery command prints a JSON array of function declarations.  The call command gets a tool's name as
its last argument and the arguments as JSON on stdin.  Unlike in Gemini CLI, a call has a timeout and can be
cancelled, and a command that exits with 0 has succeeded even if it printed to stderr; both outputs are
returned.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from nbtools.core.confirmation import ToolInfoConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.schema.drafts import malformed_part, usable_schema
from nbtools.core.schema.json_schema import has_cycle_in_schema
from nbtools.core.tool import BaseToolInvocation, Kind, UpdateOutput
from nbtools.core.tool_names import MAX_LENGTH, is_valid_name
from nbtools.workspace.processes.capture import MAX_BYTES, CaptureResult, capture
from nbtools.workspace.throttle import Throttle
from nbtools.workspace.workspace import Workspace

Command: TypeAlias = str | Sequence[str]
"""A program and its arguments; a string is split like a shell does, but no shell runs it."""


def argv_of(command: Command) -> tuple[str, ...]:
    return tuple(shlex.split(command) if isinstance(command, str) else command)


class DiscoveredTool(BaseDeclarativeTool[Mapping[str, Any]]):
    """A tool of the project, which knows it as ``original``.

    ``seconds`` is the timeout of a call, ``most`` the limit of its output in bytes per stream.
    """

    kind = Kind.OTHER
    can_update_output = True

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        original: str,
        description: str,
        parameters: Mapping[str, Any],
        call_command: Command,
        *,
        seconds: float = 120,
        most: int = MAX_BYTES,
    ) -> None:
        self.workspace = workspace
        self.name = name
        self.display_name = self.original = original
        self.description = description
        self.parameters = parameters
        self.call_command = argv_of(call_command)
        self.seconds = seconds
        self.most = most

    def create_invocation(self, params: Mapping[str, Any]) -> DiscoveredInvocation:
        return DiscoveredInvocation(self, params)


class DiscoveredInvocation(BaseToolInvocation[Mapping[str, Any]]):
    __slots__ = ("tool",)

    def __init__(self, tool: DiscoveredTool, params: Mapping[str, Any]) -> None:
        super().__init__(params)
        self.tool = tool

    def get_description(self) -> str:
        text = json.dumps(self.params, ensure_ascii=False)
        return text if len(text) <= 100 else f"{text[:99]}…"

    async def should_confirm_execute(self) -> ToolInfoConfirmationDetails:
        command = shlex.join((*self.tool.call_command, self.tool.original))
        arguments = json.dumps(self.params, indent=2, ensure_ascii=False)
        return ToolInfoConfirmationDetails(
            f"Run the project's tool {self.tool.original}?", f"{command}\n{arguments}"
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        output = bytearray()
        throttle = (
            None
            if update_output is None
            else Throttle(lambda: update_output(output[-_TAIL:].decode("utf-8", "replace")))
        )

        def receive(chunk: bytes) -> None:
            if throttle is not None:
                output.extend(chunk)
                throttle.trigger()

        try:
            return _result(self.tool, await self._run(receive))
        except BaseException:
            if throttle is not None:
                throttle.flush()
            raise
        finally:
            if throttle is not None:
                throttle.stop()

    async def _run(self, receive: Any) -> CaptureResult:
        tool = self.tool
        return await capture(
            (*tool.call_command, tool.original),
            cwd=tool.workspace.root,
            stdin=json.dumps(dict(self.params), ensure_ascii=False),
            seconds=tool.seconds,
            most=tool.most,
            receive=receive,
        )


_TAIL = 32 * 1024
"""Bytes of output shown while the call runs."""


def _result(tool: DiscoveredTool, got: CaptureResult) -> ToolResult:
    if got.ok:
        output = f"{got.stdout}\nStderr: {got.stderr}" if got.stderr else got.stdout
        lines = output.count("\n") + (not output.endswith("\n") and bool(output))
        return ToolResult(
            output or "(no output)", CommandOutput(output, lines, 0), summary="exit 0", data=got
        )
    text = failure_report(got, stop_reason(got, tool.seconds))
    message = f"The project's tool {tool.original} failed.\n{text}"
    code = ErrorCode.TIMEOUT if got.ended.stopped else ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR
    summary = f"exit {got.ended.exit_code}" if got.ended.exit_code is not None else got.ended.signal
    display = CommandOutput(got.stdout + got.stderr, text.count("\n") + 1, got.ended.exit_code)
    return ToolResult(text, display, ToolError(code, message), summary, got)


def failure_report(got: CaptureResult, error: str) -> str:
    """Describes a failed command in the five lines that Gemini CLI uses."""
    code = "(none)" if got.ended.exit_code is None else got.ended.exit_code
    return (
        f"Stdout: {got.stdout or '(empty)'}\nStderr: {got.stderr or '(empty)'}\nError: {error or '(none)'}\n"
        f"Exit Code: {code}\nSignal: {got.ended.signal or '(none)'}"
    )


def stop_reason(got: CaptureResult, seconds: float) -> str:
    """Returns why the command was stopped or did not start; empty where it ended by itself."""
    if got.too_long:
        return f"stopped because it printed too much on {got.too_long}"
    if got.ended.stopped:
        return f"stopped because it took longer than {seconds:g} seconds"
    return "the program was not found" if got.ended.exit_code == _NOT_FOUND else ""


_NOT_FOUND = 127


PREFIX = "discovered_tool_"


@dataclass(frozen=True, slots=True)
class DiscoveryResult:
    """The tools found, and one line for each problem."""

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
    most: int = MAX_BYTES,
) -> DiscoveryResult:
    """Returns the tools that ``discovery_command`` lists,
    named ``discovered_tool_<name>`` and run by ``call_command``.

    Commands run in the workspace, without a shell.  ``seconds`` is the timeout of the listing,
    ``call_seconds`` that of a call, and ``most`` the limit of their output in bytes per stream.  A
    declaration that cannot be used is left out and reported in ``problems``.  Raises ``ToolFailure``
    (``discovered_tool_execution_error``, ``timeout``) where the command fails or prints no JSON array.
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
        parameters = usable_schema(_parameters(declared))
        if has_cycle_in_schema(parameters):
            problems.append(f"{declared['name']}: its schema refers to itself, which some models reject.")
        description = str(declared.get("description") or declared["name"])
        tools[name] = DiscoveredTool(
            workspace,
            name,
            declared["name"],
            description,
            parameters,
            call_command,
            seconds=call_seconds,
            most=most,
        )
    return DiscoveryResult(tuple(tools.values()), tuple(problems))


def _check(got: CaptureResult, argv: tuple[str, ...], seconds: float) -> None:
    if got.ok:
        return
    code = ErrorCode.TIMEOUT if got.ended.stopped else ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR
    raise ToolFailure(
        code,
        "The command that lists the project's tools failed"
        f" ({argv[0]}).\n{failure_report(got, stop_reason(got, seconds))}",
    )


def _declarations(printed: str, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Yields the declarations: plain, or under ``function_declarations`` or ``functionDeclarations``."""
    try:
        listed = json.loads(printed)
    except ValueError as error:
        raise ToolFailure(
            ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR,
            f"The command that lists the project's tools did not print JSON: {error}.",
        ) from None
    if not isinstance(listed, list):
        message = (
            "The command that lists the project's tools must print a JSON array of function declarations."
        )
        raise ToolFailure(ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR, message)
    for entry in listed:
        inner = (
            entry.get("function_declarations", entry.get("functionDeclarations"))
            if isinstance(entry, dict)
            else None
        )
        for declared in inner if isinstance(inner, list) else [entry]:
            if isinstance(declared, dict):
                yield declared
            else:
                problems.append(f"{json.dumps(declared)[:60]} is not a function declaration.")


def _problem(declared: Mapping[str, Any], taken: Collection[str]) -> str:
    """Returns why a declaration cannot be used; empty when it can."""
    name = declared.get("name")
    if not isinstance(name, str) or not name:
        return f"A declaration has no name: {json.dumps(declared)[:60]}."
    if not name or not is_valid_name(PREFIX + name):
        return (
            f"{name!r} is not a valid name: use at most {MAX_LENGTH - len(PREFIX)} letters, digits, _ . :"
            " and -."
        )
    if PREFIX + name in taken:
        return f"{name}: a tool named {PREFIX + name} exists already; this one is ignored."
    return _schema_problem(_parameters(declared), name)


def _schema_problem(parameters: object, name: str) -> str:
    if not isinstance(parameters, dict):
        return f"{name}: its parameters are not a JSON Schema."
    problem = malformed_part(parameters)
    if problem:
        return f"{name}: its parameters are not a valid JSON Schema: {problem}."
    dangling = _dangling(parameters, parameters)
    if dangling:
        return f"{name}: its schema refers to {dangling}, which does not exist in the schema."
    return (
        "" if parameters.get("type", "object") == "object" else f"{name}: its parameters must be an object."
    )


def _parameters(declared: Mapping[str, Any]) -> Any:
    for key in (
        "parametersJsonSchema",
        "parameters_json_schema",
        "parameters",
        "inputSchema",
        "input_schema",
    ):
        if declared.get(key) is not None:
            return _plain_types(declared[key])
    return {"type": "object", "properties": {}}


_TYPES = frozenset({"OBJECT", "ARRAY", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "NULL"})


def _plain_types(node: Any) -> Any:
    """Lower-cases type names: Gemini's declarations write them in capitals."""
    if isinstance(node, list):
        return [_plain_types(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: _plain_type(value) if key == "type" else _plain_types(value) for key, value in node.items()}


def _plain_type(value: Any) -> Any:
    return value.lower() if isinstance(value, str) and value in _TYPES else _plain_types(value)


def _dangling(root: Mapping[str, Any], node: Any) -> str:
    """Returns the first reference without a target in this schema; empty where there is none."""
    if isinstance(node, list):
        return next(filter(None, (_dangling(root, item) for item in node)), "")
    if not isinstance(node, dict):
        return ""
    ref = node.get("$ref")
    if isinstance(ref, str) and not _has_target(root, ref):
        return ref
    return next(filter(None, (_dangling(root, value) for value in node.values())), "")


def _has_target(root: Mapping[str, Any], ref: str) -> bool:
    node: Any = root
    for step in ref.removeprefix("#").split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or key not in node:
            return False
        node = node[key]
    return ref.startswith("#") and (ref == "#" or ref.startswith("#/"))
