"""Maps the tool names in Gemini CLI's policies and settings to tools of nbtools."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nbtools.core.tool_names import MAX_SERVER_LENGTH, mcp_rule
from nbtools.policy.importers.imported import ToolNameLookup

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
"""Gemini CLI's own tools, each with the arguments that contain the path it works on."""
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
_MAX_NAME = 63


def allowed_tool(tool_name: str, server: str, tool_named: ToolNameLookup) -> str:  # noqa: PLR0911 - a table of names
    """Returns the tool that an allow covers here;
    empty where Gemini CLI has no such tool, or its name means something else here.
    """
    # Calls of a tool with a longer name have a shortened one there, which the rule does not match.
    if len(f"mcp_{server}_{tool_name}" if server else tool_name) > _MAX_NAME:
        return ""
    if server == EVERY_TOOL:
        return "mcp__*" if tool_name == EVERY_TOOL else ""
    if server:  # the tool's name then has no prefix
        is_plain = tool_name == EVERY_TOOL or _NAME.fullmatch(tool_name) is not None
        is_plain = is_plain and is_same_server(server) and not tool_name.startswith("mcp_")
        return mcp_rule(server, tool_name) if is_plain else ""
    if tool_name in PATH_ARGUMENTS:
        return tool_named(tool_name)
    if tool_name == EVERY_TOOL or _DISCOVERED.fullmatch(tool_name):
        return tool_name
    if tool_name == "mcp_*":
        return "mcp__*"
    if (all_of := _ALL_OF_SERVER.fullmatch(tool_name)) is not None:
        return mcp_rule(all_of[1]) if is_same_server(all_of[1]) else ""
    of_server = _OF_SERVER.fullmatch(tool_name)
    return mcp_rule(of_server[1], of_server[2]) if of_server else ""


def is_same_server(server: str) -> bool:
    """Whether the name of a server is part of its tools' names here without a change,
    so that no other server has the same part.
    """
    return len(server) <= MAX_SERVER_LENGTH and _NAME.fullmatch(server) is not None


def possible_tools(tool_name: str, server: str, tool_named: ToolNameLookup) -> list[str]:
    """Returns the tools that a deny or an ask may mean, including all doubtful ones.

    A server's name and a tool's may both have underscores, so ``mcp_a_b_c`` is a tool of the server ``a`` or
    ``a_b``. Gemini CLI replaces the middle of a long name by dots.
    """
    if server:
        names = dict.fromkeys((tool_name, tool_name.removeprefix(f"mcp_{server}_")))
        return [mcp_rule(server, name.replace("...", "*")) for name in names]
    if tool_name == "mcp_*":
        return ["mcp__*"]
    if not tool_name.startswith("mcp_"):
        return [tool_named(settings_tool_name(tool_name))]
    parts = tool_name.split("_")[1:]
    cuts = [("_".join(parts[:at]), "_".join(parts[at:])) for at in range(1, len(parts))]
    possible = [mcp_rule(one, tool.replace("...", "*")) for one, tool in cuts if one and tool]
    return list(dict.fromkeys((tool_name, *possible)))


def settings_tool_name(tool_name: str) -> str:
    """Returns a tool's name for a name in the settings, which may be that of its class."""
    return _TITLES.get(tool_name, tool_name)
