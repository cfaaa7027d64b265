"""Parses the texts of a Codex call: its arguments, the calls in a script, and the outcome in the output.

A script is JavaScript and is not run: a call in a loop is found once, and one in a branch whether or not it
was made.  Codex has no flag for failure: the outcome is in the output's text, with different wording in three
generations.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from nbtools.core.decoders import decoder_of
from nbtools.traces.json_access import first_string, mapping, names, string
from nbtools.traces.known_tools import ops_by_name
from nbtools.traces.model import PREVIEW, Op, Status, StatusSource
from nbtools.traces.readers.codex.records import Payload, text_of

_OPS = ops_by_name(
    {
        "shell": (
            "exec_command write_stdin shell shell_command local_shell container.exec unified_exec exec wait"
        ),
        "patch": "apply_patch",
        "read": "view_image read_file image_view",
        "list": "list_dir",
        "search": "grep_files tool_search tool_search_call",
        "web_search": "web_search web_search_call web__run",
        "plan": "update_plan todo_list create_goal update_goal get_goal",
        "ask": "request_user_input request_permissions",
        "agent": (
            "spawn_agent spawn_agents_on_csv send_input resume_agent wait_agent close_agent followup_task"
            " send_message list_agents interrupt_agent"
        ),
        "mcp": "list_mcp_resources list_mcp_resource_templates read_mcp_resource",
        "notebook": "js_repl js_repl_reset",
    }
)
_SHELLS = {"bash", "sh", "zsh", "dash", "pwsh", "powershell", "powershell.exe", "cmd", "cmd.exe"}
_PATCH_COMMANDS = ("apply_patch", "applypatch")
_VERBS = {"Add", "Update", "Delete"}
_SUBJECTS = names("cmd command path file_path query message prompt explanation url chars justification")


def op_of(name: str, namespace: str = "") -> Op:
    if namespace.startswith("mcp__") or name.startswith("mcp__"):
        return "mcp"
    return "agent" if namespace == "collaboration" else _OPS.get(name, "other")


def arguments_of(payload: Payload) -> Mapping[str, Any]:
    """Returns the arguments of any call; free text is ``input``, invalid JSON ``arguments``."""
    if payload.input is not None:
        return {"input": payload.input}
    if isinstance(payload.arguments, str):
        try:
            decoded = msgspec.json.decode(payload.arguments)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            decoded = None
        return decoded if isinstance(decoded, dict) else {"arguments": payload.arguments}
    return mapping(payload.arguments) or mapping(payload.action)


def command_of(arguments: Mapping[str, Any]) -> str:
    """Returns the shell text that is run; of ``bash -lc …`` only the script."""
    command = arguments.get("cmd", arguments.get("command"))
    if isinstance(command, list):
        words = [str(one) for one in command]
        program = words[0].replace("\\", "/").rpartition("/")[2] if words else ""
        is_script = len(words) == 3 and program in _SHELLS and words[1].startswith(("-", "/"))
        return words[2] if is_script else shlex.join(words)
    return string(command)


def patch_of(name: str, arguments: Mapping[str, Any]) -> str:
    """Returns the ``*** Begin Patch`` text of an apply_patch call,
    also of one that early versions passed to the shell.
    """
    command = arguments.get("command")
    if name == "apply_patch":
        return first_string(arguments, ("input", "patch"))
    if not isinstance(command, list) or not command or name == "exec_command":
        return ""
    first, last = str(command[0]), str(command[-1])
    is_patch = first in _PATCH_COMMANDS or last.lstrip().startswith(_PATCH_COMMANDS)
    return last if is_patch else ""


def files_in_patch(patch: str) -> list[tuple[str, str]]:
    """Returns (``Add``, ``Update`` or ``Delete``, path) of each file."""
    heads = [head.split("\n", 1)[0].partition(" File: ") for head in f"\n{patch}".split("\n*** ")[1:]]
    return [(verb, path.strip()) for verb, _, path in heads if verb in _VERBS and path.strip()]


def subject_of(arguments: Mapping[str, Any], patch: str) -> str:
    if patch:
        return ", ".join(path for _, path in files_in_patch(patch))[:PREVIEW]
    command = command_of(arguments)
    if command:
        return command[:PREVIEW]
    for key in _SUBJECTS:
        if isinstance(found := arguments.get(key), str) and found.strip():
            return found.strip()[:PREVIEW]
    if isinstance(found := arguments.get("input"), str):
        return found.strip()[:PREVIEW]
    plain = {key: value for key, value in arguments.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{key}: {value}"[:PREVIEW] for key, value in plain.items())[:PREVIEW]


def paths_of(name: str, arguments: Mapping[str, Any], patch: str) -> tuple[str, ...]:
    if patch:
        return tuple(path for _, path in files_in_patch(patch))
    found = arguments.get("path") or arguments.get("file_path") or arguments.get("dir_path")
    return (found,) if isinstance(found, str) and name != "spawn_agent" else ()


_MAX_SCRIPT = 200_000
"""Characters of a script that are parsed."""
_QUOTED = r'"(?:\\.|[^"\\])*"|' + r"'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`"
_TOKEN = re.compile(
    rf"//[^\n]*|/\*.*?\*/|(?P<quoted>{_QUOTED})"
    r"|(?<![\w$.])tools\s*(?:(?:\?\.|\.)\s*(?P<name>[\w$]+)|\[\s*[\"'](?P<key>[^\"'\n]+)[\"']\s*\])\s*\("
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])",
    re.DOTALL,
)
_COLON = re.compile(r"\s{0,200}:")
_KEY_BEFORE = re.compile(r"[{,]\s*[\"'`]?(?P<key>\w*)[\"'`]?\s*:?\s*\Z")
_MAX_BEFORE = 200
"""Characters before a literal that are looked at."""


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A tool in a script, and the text in its parentheses. ``quoted`` are the string literals in that,
    without keys of objects; that of the key ``cmd`` comes first.
    """

    name: str
    arguments: str
    quoted: tuple[str, ...]


def calls_in(script: str) -> Iterator[ScriptCall]:
    """Yields the calls in text order; a call inside the arguments of another comes after it."""
    script = script[:_MAX_SCRIPT]
    for found in _TOKEN.finditer(script):
        if name := found["name"] or found["key"]:
            yield _call_at(name, script, found.end())


def _call_at(name: str, script: str, start: int) -> ScriptCall:
    depth, quoted = 1, list[str]()
    for found in _TOKEN.finditer(script, start):
        if found["quoted"]:
            before = script[max(found.start() - _MAX_BEFORE, start) : found.start()]
            named = _KEY_BEFORE.search(before)
            is_key = named and not named["key"] and _COLON.match(script, found.end())
            if not is_key:
                is_command = named and named["key"] == "cmd"
                quoted.insert(0 if is_command else len(quoted), _literal(found["quoted"]))
        depth += bool(found["open"] or found["name"] or found["key"]) - bool(found["close"])
        if not depth:
            return ScriptCall(name, script[start : found.start()].strip(), tuple(quoted))
    return ScriptCall(name, script[start:].strip(), tuple(quoted))


def _literal(quoted: str) -> str:
    body = quoted[1:-1]
    if "\\" not in body:
        return body
    plain = re.sub(r"\\(['`$])", r"\1", body) if quoted[0] != '"' else body
    try:
        text = json.loads('"' + re.sub(r'(?<!\\)"', r"\"", plain).replace("\n", r"\n") + '"', strict=False)
    except ValueError:
        return body
    return str(text)


_FAILED = (
    "apply_patch verification failed",
    "exec_command failed",
    "write_stdin failed",
    "collab spawn failed",
    "Script failed",
    "failed to parse function arguments",
    "unsupported call",
    "execution error",
)
_EXITED = re.compile(r"Process exited with code (-?\d{1,18})")
_CODE = re.compile(r"^Exit code: (-?\d{1,18})", re.MULTILINE)
_WALL = re.compile(r"Wall time:? (\d+(?:\.\d+)?) seconds")
_ENDED = re.compile(
    r"(?:Chunk ID: [0-9a-z]{1,40}\n)?Wall time: (\d{1,9}\.\d{1,9}) seconds\nProcess exited with code"
    r" (-?\d{1,18})\n"
    r"(?:Original token count: \d{1,18}\n)?Output:\n"
)
_MAX_NOTICE = 400
"""Largest length of an output that is a notice, not what a command printed."""


class _Metadata(msgspec.Struct):
    exit_code: Any = None
    duration_seconds: Any = None


class Wrapped(msgspec.Struct):
    """The JSON object that early outputs are."""

    metadata: _Metadata | None = None
    output: Any = ""
    agent_id: Any = None


class Outcome(msgspec.Struct, frozen=True):
    """``running``: the command continues, and a later record may have its end."""

    size: int = 0
    failed: bool = False
    source: StatusSource = "text"
    exit_code: int | None = None
    duration: float | None = None
    running: bool = False
    stopped: Status | None = None
    child: str = ""
    cut: bool = False


def outcome_of(output: Any) -> Outcome:
    """Returns the outcome of a call, parsed from its output."""
    content = output if isinstance(output, str) else output_text(output)
    ended = _ENDED.match(content)
    return _from_text(content) if ended is None else _ended(content, float(ended[1]), int(ended[2]))


def _ended(output: str, duration: float, code: int) -> Outcome:
    """Returns the outcome of a finished command, as nearly all outputs are:
    a faster path with the result of ``_from_text``.
    """
    stopped: Status | None = (
        "denied" if not code and len(output) <= _MAX_NOTICE and "rejected by user" in output else None
    )
    return Outcome(
        len(output), code != 0, "exit_code", code, duration, False, stopped, "", "tokens truncated" in output
    )


def _from_text(output: str) -> Outcome:
    wrapped = unwrap(output) if output.startswith("{") else None
    header = output[: _header(output)]
    codes = _codes(header)
    if wrapped is not None and wrapped.metadata is not None and _number(wrapped.metadata.exit_code):
        codes.append(int(wrapped.metadata.exit_code))
    failed = output.startswith(_FAILED) or any(codes)
    return Outcome(
        size=len(output),
        failed=failed,
        source="exit_code" if codes else "text",
        exit_code=next(filter(None, codes), 0) if codes else None,
        duration=_duration(header, wrapped),
        running="Process running with session ID" in header or header.startswith("Script running"),
        stopped=None if failed or len(output) > _MAX_NOTICE else _stopped(output),
        child=wrapped.agent_id if wrapped is not None and isinstance(wrapped.agent_id, str) else "",
        cut="tokens truncated" in output or "truncated output" in header,
    )


def output_text(output: Any) -> str:
    """Returns the text that the model read."""
    return msgspec.json.encode(output).decode() if isinstance(output, dict) else text_of(output)


def _header(output: str) -> int:
    if output.startswith("Output:\n"):
        return 0
    found = output.find("\nOutput:\n")
    if found < 0:
        return len(output) - 8 if output.endswith("\nOutput:") else len(output)
    return found


def split_output(output: str) -> tuple[str, str]:
    """Splits an output into the lines before ``Output:`` and those after it; without it all is header."""
    end = _header(output)
    return output[:end], output[end:].lstrip("\n").removeprefix("Output:").removeprefix("\n")


def unwrap(output: str) -> Wrapped | None:
    if not output.startswith("{") or '"' not in output[:200]:
        return None
    try:
        return decoder_of(Wrapped).decode(output)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _codes(header: str) -> list[int]:
    found: list[str] = []
    if "Process exited" in header:
        found = _EXITED.findall(header)
    if "Exit code: " in header:
        found += _CODE.findall(header)
    return [int(code) for code in found]


def _duration(header: str, wrapped: Wrapped | None) -> float | None:
    if wrapped is not None and wrapped.metadata is not None and _number(wrapped.metadata.duration_seconds):
        return float(wrapped.metadata.duration_seconds)
    at = header.find("Wall time", 0, _MAX_NOTICE)
    found = _WALL.match(header, at) if at >= 0 else None
    return float(found[1]) if found else None


def _stopped(output: str) -> Status | None:
    if output.startswith("aborted"):
        return "interrupted"
    return "denied" if "rejected by user" in output else None


def _number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e15
