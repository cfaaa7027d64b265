"""Converts recorded calls to nbtools' canonical tools and arguments.

Uses the agent's dialect if it is supported,
else the call's operation (``Call.op``) and common argument names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.core.errors import ToolFailure, TraceError
from nbtools.core.result import ToolResult
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.dialects import Dialect, dialect
from nbtools.diff.codex_patch import with_paths
from nbtools.replay.working_directory import WorkingDirectory
from nbtools.traces.json_access import integer_of, items, mapping, string
from nbtools.traces.known_tools import command_of, edits_of, paths_of
from nbtools.traces.model import Call, Detail, Op

Found = tuple[str, dict[str, Any]]
_ENVELOPE = "*** Begin Patch"
_START = ("start_line", "startLine", "start", "line_start")
_END = ("end_line", "endLine", "end", "line_end")


def convert_by_operation(call: Call, detail: Detail, ground: WorkingDirectory) -> Found | None:
    """Returns the canonical tool and arguments for a call's operation;
    None if the record is not sufficient.
    """
    patch = next((text for text in _texts(detail.args) if _ENVELOPE in text), "")
    if patch and call.op in {"patch", "shell", "edit"}:
        return _patch(patch, ground)
    convert = _OPERATIONS.get(call.op)
    return None if convert is None else convert(call, detail, ground)


def _patch(text: str, ground: WorkingDirectory) -> Found:
    return "patch", {"patch": with_paths(text[text.index(_ENVELOPE) :], ground.relative)}


def _shell(_: Call, detail: Detail, __: WorkingDirectory) -> Found | None:
    command = detail.command or command_of(detail.args)
    return ("shell", {"command": command}) if command.strip() else None


def _read(_: Call, detail: Detail, ground: WorkingDirectory) -> Found | None:
    paths = paths_of(detail.args)
    if len(paths) != 1:
        return ("read_many", {"paths": [ground.relative(path) for path in paths]}) if paths else None
    view_range = [
        number for one in items(detail.args.get("view_range")) if (number := integer_of(one)) is not None
    ]
    start, end = (
        view_range if len(view_range) == 2 else (_number(detail.args, _START), _number(detail.args, _END))
    )
    if start is None and (offset := integer_of(detail.args.get("offset"))) is not None:
        start = offset + 1 - ground.first_line
    count = integer_of(detail.args.get("limit"))
    end = (start or 1) + count - 1 if end is None and count else end
    window = {"start": start or None, "end": end if end and end > 0 else None}
    return "read", {
        "path": ground.relative(paths[0]),
        **{name: line for name, line in window.items() if line is not None},
    }


def _change(call: Call, detail: Detail, ground: WorkingDirectory) -> Found | None:
    changes = list(edits_of(call.name, detail.args))
    if not changes or not changes[0].path:
        return None
    path = ground.relative(changes[0].path)
    if call.op == "write":
        return "write", {"path": path, "content": changes[0].new}
    if not all(one.old for one in changes):
        return None
    if len(changes) == 1:
        return "edit", {"path": path, "old": changes[0].old, "new": changes[0].new}
    return "edit", {
        "path": path,
        "edits": [{"old": one.old, "new": one.new} for one in changes],
        "in_turn": True,
    }


def _search(_: Call, detail: Detail, ground: WorkingDirectory) -> Found | None:
    pattern = next(
        (
            text
            for key in ("pattern", "query", "regex", "search_term")
            if (text := string(detail.args.get(key)))
        ),
        "",
    )
    names = next(
        (text for key in ("include", "glob", "file_pattern") if (text := string(detail.args.get(key)))), ""
    )
    if not pattern:
        return None
    return "grep", {"pattern": pattern, **_where(detail.args, ground), **({"glob": names} if names else {})}


def _list(_: Call, detail: Detail, ground: WorkingDirectory) -> Found:
    pattern = string(detail.args.get("pattern"))
    return (
        ("glob", {"pattern": pattern, **_where(detail.args, ground)})
        if pattern
        else ("ls", _where(detail.args, ground))
    )


def _fetch(_: Call, detail: Detail, __: WorkingDirectory) -> Found | None:
    candidates = [*items(detail.args.get("urls")), detail.args.get("url"), detail.args.get("Url")]
    urls = [url for url in map(string, candidates) if url.startswith(("http://", "https://"))]
    return ("fetch", {"urls": urls}) if urls else None


_OPERATIONS: dict[Op, Callable[[Call, Detail, WorkingDirectory], Found | None]] = {
    "shell": _shell,
    "read": _read,
    "write": _change,
    "edit": _change,
    "search": _search,
    "list": _list,
    "fetch": _fetch,
}


def _where(args: Mapping[str, Any], ground: WorkingDirectory) -> dict[str, Any]:
    path = next(iter(paths_of(args)), "")
    return {"path": ground.relative(path)} if path else {}


def _number(args: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((number for name in names if (number := integer_of(args.get(name))) is not None), None)


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < 3:
        for item in (*mapping(value).values(), *items(value)):
            yield from _texts(item, depth + 1)


Arguments = Mapping[str, Any]
_PATHS = (
    "file_path",
    "path",
    "notebook_path",
    "absolute_path",
    "dir_path",
    "directory",
    "workdir",
    "working_directory",
    "from",
    "to",
)
_LISTS = ("paths", "include")
_SECONDS = 120
_NOT_REPEATABLE = {
    **dict.fromkeys(("shell_output", "shell_kill"), "it refers to a background command of that session"),
    **dict.fromkeys(
        ("terminal_open", "terminal_run", "terminal_output", "terminal_kill"),
        "it refers to a terminal of that session",
    ),
    "ask": "it asked the user a question",
    "memory": "it stores something for later sessions, outside of the copy",
}


@dataclass(frozen=True, slots=True)
class CanonicalCall:
    """A canonical call; paths are relative to the session's folder.
    ``say`` rewrites its result as the agent's own tool words it.
    """

    tool: str
    arguments: Arguments
    word_result: Callable[[ToolResult], ToolResult] = lambda result: result


def canonical_call(
    call: Call, ground: WorkingDirectory, root: str = ".", detail: Detail | None = None
) -> CanonicalCall:
    """Returns the canonical equivalent of ``call``;
    ``root`` replaces the session's folder in commands and in results of ``say``.

    Raises ``TraceError`` with the reason if there is none:
    a sub-agent, a hosted search, a path outside of the session's folder.
    """
    recorded = call.detail if detail is None else detail
    meaning = (
        _canonical(call, recorded, ground)
        if ground.agent == "nbtools"
        else _by_dialect(call, recorded, ground, root)
    )
    meaning = meaning or _by_operation(call, recorded, ground)
    if meaning.tool in _NOT_REPEATABLE:
        raise TraceError(f"{call.name} cannot be run again: {_NOT_REPEATABLE[meaning.tool]}.")
    return _in_copy(meaning, call, recorded, ground, root)


def _by_operation(call: Call, detail: Detail, ground: WorkingDirectory) -> CanonicalCall:
    found = convert_by_operation(call, detail, ground)
    if found is None:
        raise TraceError(
            f"{call.name} has no equivalent in nbtools, or the log does not record enough about what it did."
        )
    return CanonicalCall(*found)


def _canonical(call: Call, detail: Detail, ground: WorkingDirectory) -> CanonicalCall | None:
    return (
        CanonicalCall(call.name, _with_relative_paths(detail.args, ground))
        if call.name in CANONICAL_NAMES
        else None
    )


def _by_dialect(call: Call, detail: Detail, ground: WorkingDirectory, root: str) -> CanonicalCall | None:
    """Converts the call with the agent's dialect; None if it cannot."""
    if not ground.agent:
        return None
    agent_dialect = dialect(ground.agent)
    if call.name not in agent_dialect.by_name:
        _check_supported(call, agent_dialect)
        return None
    try:
        read = agent_dialect.read(call.name, _with_relative_paths(detail.args, ground), root)
    except ToolFailure:
        return None
    return CanonicalCall(read.tool, read.arguments, read.convert_result)


def _check_supported(call: Call, agent_dialect: Dialect) -> None:
    reason = next((one.reason for one in agent_dialect.unsupported if one.name == call.name), None)
    if reason is not None:
        raise TraceError(f"{call.name} has no equivalent in nbtools. {reason}")


def _with_relative_paths(args: Arguments, ground: WorkingDirectory) -> dict[str, Any]:
    """Returns the arguments with paths relative to the session's folder; other arguments are unchanged."""
    result = dict(args)
    for key in _PATHS:
        if string(args.get(key)):
            result[key] = ground.relative(args[key])
    for key in _LISTS:
        if isinstance(args.get(key), list | tuple):
            result[key] = [ground.relative(one) if isinstance(one, str) else one for one in items(args[key])]
    return result


def _in_copy(
    meaning: CanonicalCall, call: Call, detail: Detail, ground: WorkingDirectory, root: str
) -> CanonicalCall:
    """Adapts commands, patches and patterns to the copy: their paths, and the folder in which a command runs.

    A command that ended when it was recorded is run to its end:
    how long an agent waited for it says nothing about another machine.
    """
    arguments = dict(meaning.arguments)
    if meaning.tool == "shell":
        if arguments.get("keep") and call.exit_code is not None:
            del arguments["keep"]
            arguments["timeout"] = max(_SECONDS, arguments.get("timeout", 0))
        arguments["command"] = ground.map_paths(string(arguments.get("command")), root)
        if (
            detail.cwd
            and ground.cwd
            and arguments.get("path", ".") == "."
            and (folder := ground.relative(detail.cwd)) != "."
        ):
            arguments["path"] = folder
    elif meaning.tool == "patch":
        arguments["patch"] = with_paths(string(arguments.get("patch")), ground.relative)
    elif meaning.tool == "glob" and string(arguments.get("pattern")).startswith("/"):
        arguments["pattern"] = ground.relative(arguments["pattern"])
    elif meaning.tool == "glob" and string(arguments.get("path")).startswith(
        "/"
    ):  # of an absolute pattern that the dialect has split
        arguments["path"] = ground.relative(arguments["path"])
    return CanonicalCall(meaning.tool, arguments, meaning.word_result)
