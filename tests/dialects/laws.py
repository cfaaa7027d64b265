"""Laws that every dialect keeps, and the arguments to try them on: made from the parameter models themselves.

A new dialect is under them as soon as it has spellings; ``DOCUMENTED`` then needs its list.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from nbtools.core.errors import ToolFailure
from nbtools.dialects import Dialect
from nbtools.dialects.table import agent_dialects
from nbtools.mcp.client.resources import ListResourcesTool, ReadResourceTool
from nbtools.tools import builtin_tools
from nbtools.tools.ask import AskParams
from nbtools.workspace.workspace import Workspace

Arguments: TypeAlias = Mapping[str, Any]

DIALECTS: tuple[Dialect, ...] = agent_dialects()
"""Those with spellings of their own."""

_OF_SERVERS = (ListResourcesTool(tuple), ReadResourceTool(tuple))
TOOLS: Mapping[str, Any] = {tool.name: tool for tool in (*builtin_tools(Workspace(".")), *_OF_SERVERS)}
MODELS: Mapping[str, type[BaseModel]] = {name: tool.parameters for name, tool in TOOLS.items()}
"""The parameters of each canonical tool."""

DOCUMENTED: Mapping[str, tuple[str, ...]] = {
    "gemini": (
        *(
            "glob",
            "grep_search",
            "list_directory",
            "read_file",
            "read_many_files",
            "run_shell_command",
            "write_file",
            "replace",
        ),
        *(
            "google_web_search",
            "web_fetch",
            "write_todos",
            "ask_user",
            "activate_skill",
            "get_internal_docs",
            "enter_plan_mode",
        ),
        *(
            "exit_plan_mode",
            "update_topic",
            "complete_task",
            "read_mcp_resource",
            "list_mcp_resources",
            "invoke_agent",
        ),
        *(
            "list_background_processes",
            "read_background_output",
            "search_file_content",
            "save_memory",
            "edit",
            "grep",
        ),
        *(
            "tracker_create_task",
            "tracker_update_task",
            "tracker_get_task",
            "tracker_list_tasks",
            "tracker_add_dependency",
        ),
        *("tracker_visualize",),
    ),
    "void": (
        *(
            "read_file",
            "ls_dir",
            "get_dir_tree",
            "search_pathnames_only",
            "search_for_files",
            "search_in_file",
            "read_lint_errors",
        ),
        *(
            "create_file_or_folder",
            "delete_file_or_folder",
            "edit_file",
            "rewrite_file",
            "run_command",
            "run_persistent_command",
        ),
        *(
            "open_persistent_terminal",
            "kill_persistent_terminal",
            "write_file",
            "list_directory",
            "create_search_replace_blocks",
        ),
    ),
    "claude": (
        *(
            "Agent",
            "AskUserQuestion",
            "Bash",
            "PowerShell",
            "Read",
            "Write",
            "Edit",
            "NotebookEdit",
            "Glob",
            "Grep",
            "LSP",
            "Monitor",
        ),
        *(
            "WebFetch",
            "WebSearch",
            "TaskCreate",
            "TaskGet",
            "TaskList",
            "TaskUpdate",
            "TodoWrite",
            "TaskOutput",
            "TaskStop",
        ),
        *(
            "EnterPlanMode",
            "ExitPlanMode",
            "EnterWorktree",
            "ExitWorktree",
            "Skill",
            "ToolSearch",
            "CronCreate",
            "CronList",
            "CronDelete",
        ),
        *(
            "ScheduleWakeup",
            "SendMessage",
            "ListAgents",
            "ListMcpResourcesTool",
            "ReadMcpResourceTool",
            "Workflow",
            "REPL",
        ),
        *(
            "EndConversation",
            "Task",
            "LS",
            "NotebookRead",
            "MultiEdit",
            "BashOutput",
            "KillShell",
            "KillBash",
        ),
    ),
    "codex": (
        *(
            "shell",
            "shell_command",
            "container.exec",
            "local_shell",
            "exec_command",
            "write_stdin",
            "apply_patch",
            "update_plan",
        ),
        *(
            "view_image",
            "list_dir",
            "grep_files",
            "read_file",
            "request_user_input",
            "request_permissions",
            "web_search",
        ),
        *(
            "image_generation",
            "spawn_agent",
            "send_input",
            "send_message",
            "followup_task",
            "resume_agent",
            "wait_agent",
            "close_agent",
        ),
        *(
            "list_agents",
            "spawn_agents_on_csv",
            "report_agent_job_result",
            "exec",
            "wait",
            "js_repl",
            "js_repl_reset",
            "tool_search",
        ),
        *(
            "tool_suggest",
            "list_mcp_resources",
            "list_mcp_resource_templates",
            "read_mcp_resource",
            "test_sync_tool",
        ),
        *("get_goal", "create_goal", "update_goal"),
    ),
}
"""The tools that each agent's documentation names, or named."""

WORDS = ("a", "src/b.py", "*.md", "x\ny", "é ", "")
NUMBERS = (1, 2, 3, 0, -1, 50, 100, 250, 600, 100_000)


def same_call(tool: str, one: Arguments, other: Arguments) -> bool:
    """Whether both give the tool the same parameters, what is left out counting as its default."""
    return _meant(tool, one) == _meant(tool, other)


def _meant(tool: str, arguments: Arguments) -> object:
    """Returns the normalized parameters: the kind of a question that is not given follows from the rest."""
    params = MODELS[tool].model_validate(arguments)
    return tuple(one.question for one in params.questions) if isinstance(params, AskParams) else params


def is_call(tool: str, arguments: Arguments) -> bool:
    """Whether the tool takes the arguments, as far as they alone can say."""
    try:
        return TOOLS[tool].validate_tool_param_values(MODELS[tool].model_validate(arguments)) is None
    except (ValidationError, ToolFailure):
        return False


@cache
def arguments_of(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of the right shape for ``model``; optional ones are there or not.
    What a value must be besides is not looked at.
    """
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    needed = {name: _of_field(field) for name, field in fields.items() if field.is_required()}
    others = {name: _of_field(field) for name, field in fields.items() if not field.is_required()}
    return st.fixed_dictionaries(needed, optional=others)


def _of_field(field: FieldInfo) -> st.SearchStrategy[Any]:
    return _of(field.annotation, field.metadata)


def _of(wanted: Any, limits: Iterable[Any] = ()) -> st.SearchStrategy[Any]:
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        inner = [
            one
            for limit in parts[1:]
            for one in (limit.metadata if isinstance(limit, FieldInfo) else [limit])
        ]
        return _of(parts[0], [*limits, *inner])
    if origin in (Union, types.UnionType):
        return st.one_of([_of(part, limits) for part in parts])
    if origin is Literal:
        return st.sampled_from(parts)
    if origin in (tuple, list):
        least, most = _limit(limits, "min_length", 0), _limit(limits, "max_length", 3)
        return st.lists(_of(parts[0]), min_size=least, max_size=min(most, max(3, least)))
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return arguments_of(wanted)
    return _plain(wanted, limits)


def _plain(wanted: Any, limits: Iterable[Any]) -> st.SearchStrategy[Any]:
    if wanted is type(None):
        return st.none()
    if wanted is bool:
        return st.booleans()
    if wanted in (int, float):
        return st.sampled_from([number for number in NUMBERS if _fits(number, limits)])
    if wanted is str:
        least, most = _limit(limits, "min_length", 0), _limit(limits, "max_length", 100)
        return st.sampled_from([word for word in WORDS if least <= len(word) <= most])
    return st.sampled_from([*WORDS, *NUMBERS])


def _limit(limits: Iterable[Any], name: str, default: int) -> int:
    return next((value for limit in limits if (value := getattr(limit, name, None)) is not None), default)


def _fits(number: int, limits: Iterable[Any]) -> bool:
    tests = {"ge": number.__ge__, "gt": number.__gt__, "le": number.__le__, "lt": number.__lt__}
    given = [
        (tests[name], bound)
        for limit in limits
        for name in tests
        if (bound := getattr(limit, name, None)) is not None
    ]
    return all(test(bound) is not False for test, bound in given)
