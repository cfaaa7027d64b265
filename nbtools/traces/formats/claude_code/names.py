"""What its tools are called and what they do."""

from __future__ import annotations

from nbtools.traces.formats.claude_code.records import Input
from nbtools.traces.model import PREVIEW, Op

AGENTS = frozenset({"Task", "Agent"})
EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_OPS: dict[str, Op] = {
    **dict.fromkeys(("Bash", "BashOutput", "KillShell", "KillBash", "PowerShell", "Monitor"), "shell"),
    **dict.fromkeys(("Read", "NotebookRead"), "read"),
    **dict.fromkeys(("Edit", "MultiEdit"), "edit"),
    "Write": "write",
    "NotebookEdit": "notebook",
    "Grep": "search",
    **dict.fromkeys(("Glob", "LS"), "list"),
    "WebFetch": "fetch",
    "WebSearch": "web_search",
    **dict.fromkeys(("TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "EnterPlanMode", "ExitPlanMode"), "plan"),
    "AskUserQuestion": "ask",
    **dict.fromkeys((*AGENTS, "TaskOutput", "AgentOutputTool", "TaskStop", "SendMessage", "Workflow"), "agent"),
    **dict.fromkeys(("ListMcpResourcesTool", "ReadMcpResourceTool"), "mcp"),
}


def op(name: str) -> Op:
    return _OPS.get(name) or ("mcp" if name.startswith("mcp__") else "other")


def subject(said: Input, *, agent: bool) -> str:
    """The argument by which one call differs from the next."""
    first = said.command or said.file_path or said.pattern
    if isinstance(first, str) and first:
        return first if len(first) <= PREVIEW else first[:PREVIEW]
    several = (
        said.description if agent else None,
        said.notebook_path,
        said.url,
        said.query,
        said.path,
        said.skill,
        said.subject,
        said.taskId,
    )
    rest = (said.description, said.prompt)
    return next((value[:PREVIEW] for value in (*several, *rest) if value and isinstance(value, str)), "")


def paths(said: Input) -> tuple[str, ...]:
    path = said.file_path or said.notebook_path or said.path
    return (path,) if path and isinstance(path, str) else ()
