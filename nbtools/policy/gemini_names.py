"""The names of tools in Gemini CLI's policies and settings, and the tools that they mean here."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nbtools.core.server_names import rule_of
from nbtools.policy.imported import ToolNamed

EVERY_TOOL = "*"
SHELL = "run_shell_command"
_PATH = frozenset({"file_path", "absolute_path"})
_FOLDER = frozenset({"dir_path", "path"})
_NONE: frozenset[str] = frozenset()
PATH_ARGUMENTS: Mapping[str, frozenset[str]] = {
    "read_file": _PATH,
    "write_file": _PATH,
    "replace": _PATH,
    "list_directory": _FOLDER,
    "glob": _FOLDER,
    "grep_search": _FOLDER,
    "search_file_content": _FOLDER,
    "read_many_files": _NONE,
    SHELL: _NONE,
    "list_background_processes": _NONE,
    "read_background_output": _NONE,
    "web_fetch": _NONE,
    "write_todos": _NONE,
    "ask_user": _NONE,
    "save_memory": _NONE,
}
"""Gemini CLI's own tools, each with the arguments that hold the path it works on."""
_TITLES = {
    "ShellTool": SHELL,
    "ReadFileTool": "read_file",
    "WriteFileTool": "write_file",
    "EditTool": "replace",
    "LSTool": "list_directory",
    "GlobTool": "glob",
    "GrepTool": "grep_search",
    "WebFetchTool": "web_fetch",
    "MemoryTool": "save_memory",
    "ReadManyFilesTool": "read_many_files",
}
_OF_SERVER = re.compile(r"mcp_([A-Za-z0-9-]+)_([A-Za-z0-9_-]+)")
_ALL_OF_SERVER = re.compile(r"mcp_(.+)_\*")
_DISCOVERED = re.compile(r"discovered_tool_[A-Za-z0-9_-]+")
_NAME = re.compile(r"[A-Za-z0-9_-]+")


def tool_allowed(said: str, server: str, tool_named: ToolNamed) -> str:
    """The tool of which an allow may speak here; empty where Gemini CLI has no such tool, or its name means something else here."""
    if server:
        return _tool_of_server(said, server)
    if said in PATH_ARGUMENTS:
        return tool_named(said)
    if said == EVERY_TOOL or _DISCOVERED.fullmatch(said):
        return said
    if said == "mcp_*":
        return "mcp__*"
    if (all_of := _ALL_OF_SERVER.fullmatch(said)) is not None:
        return rule_of(all_of[1]) if _NAME.fullmatch(all_of[1]) else ""
    of_server = _OF_SERVER.fullmatch(said)
    return rule_of(of_server[1], of_server[2]) if of_server else ""


def _tool_of_server(said: str, server: str) -> str:
    """An allow with ``mcpName``; the tool's name is the short one."""
    if server == EVERY_TOOL:
        return "mcp__*" if said == EVERY_TOOL else ""
    plain = "*" not in server and not said.startswith("mcp_") and (said == EVERY_TOOL or _NAME.fullmatch(said))
    return rule_of(server, said) if plain else ""


def tools_meant(said: str, server: str, tool_named: ToolNamed) -> tuple[str, ...]:
    """The tools that a deny or an ask may mean, rather one too many.

    A server's name and a tool's may both have underscores, so ``mcp_a_b_c`` is a tool of the server ``a`` or ``a_b``. Gemini CLI replaces
    the middle of a long name by dots.
    """
    if server:
        names = (said, said.removeprefix(f"mcp_{server}_"))
        return tuple(dict.fromkeys(rule_of(server, _uncut(name)) for name in names))
    if said == "mcp_*":
        return ("mcp__*",)
    if said.startswith("mcp_"):
        return tuple(dict.fromkeys((said, *_splits(said.removeprefix("mcp_")))))
    return (tool_named(titled(said)),)


def _splits(name: str) -> tuple[str, ...]:
    parts = name.split("_")
    cuts = ((("_".join(parts[:at])), "_".join(parts[at:])) for at in range(1, len(parts)))
    return tuple(rule_of(server, _uncut(tool)) for server, tool in cuts if server and tool)


def _uncut(tool: str) -> str:
    return tool.replace("...", "*")


def titled(said: str) -> str:
    """The name of a tool that settings may call by its class."""
    return _TITLES.get(said, said)
