"""The tools of Claude Code that nbtools does not support, with reasons."""

from __future__ import annotations

from nbtools.dialects.dialect import UnsupportedTool

_AGENTS = "It starts or messages other agents; nbtools only runs tools."
_TASKS = (
    "Tasks with owners and dependencies coordinate several agents; TodoWrite keeps the list of one agent."
)
_MODES = (
    "Only a person changes the permission mode (%tools mode); a model could otherwise remove its own"
    " restrictions."
)
_SCHEDULE = "Nothing runs unattended, because nobody could approve its calls."
_PRODUCT = "It depends on Anthropic's apps and services."

UNSUPPORTED = (
    UnsupportedTool("Agent", _AGENTS),
    UnsupportedTool("Task", f"The former name of Agent. {_AGENTS}"),
    UnsupportedTool("SendMessage", _AGENTS),
    UnsupportedTool("ListAgents", _AGENTS),
    UnsupportedTool("TeamCreate", _AGENTS),
    UnsupportedTool("TeamDelete", _AGENTS),
    UnsupportedTool("Workflow", _AGENTS),
    UnsupportedTool("TaskCreate", _TASKS),
    UnsupportedTool("TaskGet", _TASKS),
    UnsupportedTool("TaskList", _TASKS),
    UnsupportedTool("TaskUpdate", _TASKS),
    UnsupportedTool("EnterPlanMode", _MODES),
    UnsupportedTool("ExitPlanMode", _MODES),
    UnsupportedTool(
        "EnterWorktree", "The workspace of a session is fixed; open another session for the other folder."
    ),
    UnsupportedTool(
        "ExitWorktree", "The workspace of a session is fixed; open another session for the other folder."
    ),
    UnsupportedTool("Skill", "Skills are part of Claude Code's prompt; use Read for a file's text."),
    UnsupportedTool(
        "SlashCommand", "Slash commands are part of Claude Code's prompt; notebooks have magics."
    ),
    UnsupportedTool(
        "ToolSearch", "It loads tools whose declarations are deferred; nbtools declares all tools."
    ),
    UnsupportedTool(
        "LSP", "It needs language servers, which nbtools does not include; JupyterLab has its own."
    ),
    UnsupportedTool("PowerShell", "Commands run in bash; on Windows use WSL."),
    UnsupportedTool(
        "Monitor", "It wakes a model on events; use TaskOutput to wait for a background command."
    ),
    UnsupportedTool(
        "REPL", "The notebook is a REPL, in which the person runs code; use Bash to run a script."
    ),
    UnsupportedTool(
        "WebSearch", "It is a search service of Anthropic's API; nbtools includes no search service."
    ),
    UnsupportedTool("CronCreate", _SCHEDULE),
    UnsupportedTool("CronList", _SCHEDULE),
    UnsupportedTool("CronDelete", _SCHEDULE),
    UnsupportedTool("ScheduleWakeup", _SCHEDULE),
    UnsupportedTool("RemoteTrigger", _SCHEDULE),
    UnsupportedTool("PushNotification", _PRODUCT),
    UnsupportedTool("SendUserFile", _PRODUCT),
    UnsupportedTool("EndConversation", _PRODUCT),
    UnsupportedTool("Artifact", _PRODUCT),
)
