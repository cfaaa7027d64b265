"""Known tool names of coding agents, with their operations, paths and edits.

Used for formats that record the calls of any agent without describing what a tool does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nbtools.traces.json_access import integer_of, items, mappings, string, text_of
from nbtools.traces.model import PREVIEW, Op

_TOOL_NAMES: dict[Op, str] = {
    "shell": (
        "bash Bash execute_bash run_shell_command shell exec exec_command local_shell bash_session"
        " execute_command run_command run_terminal_cmd terminal bash_command BashOutput read_bash write_bash"
        " stop_bash copilot_runInTerminal runInTerminal get_terminal_output run_in_terminal local_shell_call"
        " powershell"
    ),
    "read": (
        "Read read copilot_readFile read_file read_many_files read_text_file view view_file open_file cat"
    ),
    "write": "Write write write_file create_file copilot_createFile write_to_file save_file create",
    "edit": (
        "Edit MultiEdit replace edit edit_file multiedit str_replace_editor str_replace_based_edit_tool"
        " text_editor str_replace search_replace replace_in_file insert_edit_into_file replace_string_in_file"
        " multi_replace_string_in_file copilot_replaceString copilot_multiReplaceString copilot_insertEdit"
    ),
    "patch": "apply_patch copilot_applyPatch patch apply_diff",
    "search": (
        "Grep grep codesearch search_file_content grep_search codebase_search search_files ripgrep"
        " find_in_files file_search_text semantic_search copilot_findTextInFiles copilot_searchCodebase"
    ),
    "list": (
        "Glob LS glob ls list list_directory list_dir list_files find find_files file_search"
        " copilot_findFiles copilot_listDirectory"
    ),
    "fetch": (
        "WebFetch web_fetch webfetch fetch fetch_url read_url_content fetch_webpage copilot_fetchWebPage"
        " vscode_fetchWebPage_internal"
    ),
    "web_search": "WebSearch web_search websearch google_web_search",
    "plan": (
        "TodoWrite write_todos update_plan todo_write todowrite todoread TaskCreate TaskUpdate"
        " update_todo_list task_tracker manage_todo_list update_todo focus_chain"
    ),
    "ask": "AskUserQuestion ask_user ask_user_question ask_followup_question question",
    "agent": (
        "Task Agent task spawn_agent delegate dispatch_agent run_subagent runSubagent use_subagents new_task"
    ),
    "notebook": "NotebookEdit NotebookRead notebook_edit edit_notebook_file run_notebook_cell",
}


def ops_by_name(names: Mapping[Op, str]) -> dict[str, Op]:
    """Returns the operation of each tool; ``names`` are the tools of each operation, separated by blanks."""
    return {name: op for op, tools in names.items() for name in tools.split()}


_OPS = ops_by_name(_TOOL_NAMES)
_EDITOR_COMMANDS: dict[str, Op] = {"view": "read", "create": "write"}
"""Operations of editor tools that take a command."""
_PATH_KEYS = (
    "file_path",
    "path",
    "notebook_path",
    "absolute_path",
    "target_file",
    "filePath",
    "filename",
    "dir_path",
    "directory",
)
_PATCH_KEYS = ("patch", "patchText", "input", "diff")
_PATH_ARGUMENTS = frozenset({*_PATH_KEYS, *_PATCH_KEYS, "paths"})
"""Arguments that may name a path."""
_SUBJECT_KEYS = (
    "command",
    "cmd",
    *_PATH_KEYS,
    "pattern",
    "query",
    "url",
    "question",
    "description",
    "prompt",
    "code",
    "script",
    "input",
)
_PATCH_HEAD = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.*\S)\s*$|^\+\+\+ b/(.*\S)\s*$", re.MULTILINE)
_SEARCH = r"[<-]{5,9} SEARCH>?\n"
_BLOCK = re.compile(
    rf"^{_SEARCH}(?::start_line: ?\d+\n)?(?:-{{5,9}}\n)?((?:(?!={{5,9}}\n|{_SEARCH})[^\n]*+\n)*+)={{5,9}}\n"
    rf"((?:(?![>+]{{5,9}} REPLACE|{_SEARCH})[^\n]*+\n)*+)[>+]{{5,9}} REPLACE",
    re.MULTILINE,
)
"""A block of an edit: the lines to find, and those that replace them.
Another block begins at the next ``SEARCH`` at the latest.
"""
_EXIT_CODE = re.compile(
    r"^Exit code:? (-?\d{1,9})$|(?:Process |Command |<)exited with (?:exit )?code (-?\d{1,9})"
    r"|completed with exit code (-?\d{1,9})|<returncode>(-?\d{1,9})</",
    re.MULTILINE,
)


class CallSummary(NamedTuple):
    """The operation, paths and one-line subject of a call."""

    op: Op
    paths: tuple[str, ...]
    subject: str


class Edit(NamedTuple):
    """A change that a call asked for. ``old`` is None for a new file,
    or where the previous text is not known.
    """

    path: str
    kind: str
    old: str | None
    new: str


def op_of(name: str, args: Mapping[str, Any]) -> Op:
    command = args.get("command")
    op = _OPS.get(name, "other")
    if op == "edit" and isinstance(command, str):
        return _EDITOR_COMMANDS.get(command, "edit")
    if op == "other" and name.startswith(("mcp__", "mcp.")):
        return "mcp"
    return "agent" if op == "other" and name.startswith("transfer_to_") else op


def command_of(args: Mapping[str, Any]) -> str:
    """Returns the command line of a shell call."""
    value = next((args[key] for key in ("command", "cmd", "commands", "script", "input") if key in args), "")
    if isinstance(value, list):
        words = [word for word in value if isinstance(word, str)]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return string(value)


def summarize_call(name: str, args: Mapping[str, Any]) -> CallSummary:
    op, paths = op_of(name, args), paths_of(args)
    if op in {"read", "write", "edit", "patch"} and paths:
        return CallSummary(op, paths, ", ".join(paths)[:PREVIEW])
    subject = (
        command_of(args)
        if op == "shell"
        else next((args[key] for key in _SUBJECT_KEYS if key in args and string(args[key])), "")
    )
    return CallSummary(op, paths, string(subject).strip().partition("\n")[0][:PREVIEW])


def paths_of(args: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the files and folders that the arguments name, as written there."""
    if _PATH_ARGUMENTS.isdisjoint(args):
        return ()
    paths = [args[key] for key in _PATH_KEYS if key in args and string(args[key])]
    if "paths" in args:
        paths += [path for path in items(args["paths"]) if isinstance(path, str)]
    for key in _PATCH_KEYS:
        if key not in args:
            continue
        text = string(args[key])
        paths += (
            [found[1] or found[2] for found in _PATCH_HEAD.finditer(text)]
            if " b/" in text or " File: " in text
            else []
        )
    return tuple(dict.fromkeys(paths))


def edits_of(name: str, args: Mapping[str, Any]) -> Iterator[Edit]:
    """Yields the changes that the arguments describe; nothing for a tool that changes no files."""
    op, path = op_of(name, args), next(iter(paths_of(args)), "")
    command = string(args.get("command"))
    if _BLOCK.search(blocks := string(args.get("diff"))):
        yield from (Edit(path, "modify", found[1], found[2]) for found in _BLOCK.finditer(blocks))
    elif op == "patch":
        yield from _patch_edits(next((text for key in _PATCH_KEYS if (text := string(args.get(key)))), ""))
    elif op == "write":
        yield Edit(
            path,
            "add" if "create" in (command, name) else "unknown",
            None,
            _first(args, "content", "file_text", "contents", "text"),
        )
    elif op == "edit" and command != "undo_edit":
        for one in mappings(args.get("edits")) or [args]:
            old, new = (
                _first(one, "old_string", "old_str", "oldText", "oldString"),
                _first(one, "new_string", "new_str", "insert_text", "newText", "newString"),
            )
            yield Edit(path, "modify", old, new)
    elif name in {"NotebookEdit", "notebook_edit"}:
        yield Edit(path, "modify", None, _first(args, "new_source"))


def exit_code_in(text: str) -> int | None:
    """Returns the exit code stated at the beginning or end of a command's output,
    in the wordings that agents use.
    """
    for end in (text[:400], text[-400:]):
        if "code" in end and (found := _EXIT_CODE.search(end)):
            return integer_of(next(filter(None, found.groups()), ""))
    return None


def _first(args: Mapping[str, Any], *keys: str) -> str:
    return next((text_of(args[key]) for key in keys if args.get(key)), "")


def _patch_edits(patch: str) -> Iterator[Edit]:
    """Yields the changed files of an ``apply_patch`` envelope.
    Context lines are in both ``old`` and ``new``.
    """
    heads = list(re.finditer(r"^\*\*\* (Add|Update|Delete) File: (.*\S)\s*$", patch, re.MULTILINE))
    for head, end in zip(heads, [*(one.start() for one in heads[1:]), len(patch)], strict=False):
        lines = [line for line in patch[head.end() : end].split("\n") if not line.startswith(("***", "@@"))][
            1:
        ]
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in {" ", "-"})
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in {" ", "+"})
        kind = {"Add": "add", "Delete": "delete"}.get(head[1], "modify")
        yield Edit(head[2], kind, None if kind == "add" else old, new)
