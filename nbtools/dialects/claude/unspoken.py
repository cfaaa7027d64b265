"""The tools of Claude Code that have no counterpart here, and why."""

from __future__ import annotations

from nbtools.dialects.dialect import Unspoken

_AGENTS = "It works with other agents; nbtools runs tools and leaves agents to whoever calls them."
_TASKS = "Tasks with owners and dependencies are kept between several agents; TodoWrite keeps the list of one."
_MODES = "A person sets the mode of a session, with %tools mode; a model that sets it would lift its own guard."
_SCHEDULE = "Nothing runs unattended: there would be nobody to ask."
_PRODUCT = "It belongs to Anthropic's own apps and services."

UNSPOKEN = (
    Unspoken("Agent", _AGENTS),
    Unspoken("Task", f"The former name of Agent. {_AGENTS}"),
    Unspoken("SendMessage", _AGENTS),
    Unspoken("ListAgents", _AGENTS),
    Unspoken("TeamCreate", _AGENTS),
    Unspoken("TeamDelete", _AGENTS),
    Unspoken("Workflow", _AGENTS),
    Unspoken("TaskCreate", _TASKS),
    Unspoken("TaskGet", _TASKS),
    Unspoken("TaskList", _TASKS),
    Unspoken("TaskUpdate", _TASKS),
    Unspoken("EnterPlanMode", _MODES),
    Unspoken("ExitPlanMode", _MODES),
    Unspoken("EnterWorktree", "The workspace of a session is fixed; open another session on the other folder."),
    Unspoken("ExitWorktree", "The workspace of a session is fixed; open another session on the other folder."),
    Unspoken("Skill", "Skills are texts of Claude Code's own prompt; read gives a file's text."),
    Unspoken("SlashCommand", "Commands of Claude Code's own prompt; the notebook has magics."),
    Unspoken("ToolSearch", "It loads tools that are kept back to save room in a prompt; here all of them are declared."),
    Unspoken("LSP", "It asks language servers, of which none is part of nbtools; JupyterLab has its own."),
    Unspoken("PowerShell", "Commands run in bash; Windows has it in WSL."),
    Unspoken("Monitor", "It wakes a model when something happens; a call that is made by hand waits with TaskOutput."),
    Unspoken("REPL", "The notebook is one; cells runs code in its kernel."),
    Unspoken("WebSearch", "It is a hosted search of Anthropic's API, and no search service is free to use without a key."),
    Unspoken("CronCreate", _SCHEDULE),
    Unspoken("CronList", _SCHEDULE),
    Unspoken("CronDelete", _SCHEDULE),
    Unspoken("ScheduleWakeup", _SCHEDULE),
    Unspoken("RemoteTrigger", _SCHEDULE),
    Unspoken("PushNotification", _PRODUCT),
    Unspoken("SendUserFile", _PRODUCT),
    Unspoken("EndConversation", _PRODUCT),
    Unspoken("Artifact", _PRODUCT),
)
