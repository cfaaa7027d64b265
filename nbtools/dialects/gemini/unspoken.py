"""The tools of Gemini CLI that have no counterpart here, and why."""

from __future__ import annotations

from nbtools.dialects.dialect import Unspoken

_AGENTS = "It works with other agents; nbtools runs tools and leaves agents to whoever calls them."
_MODES = "A person sets the mode of a session, with %tools mode; a model that sets it would lift its own guard."
_TRACKER = "The task graph is kept for several agents; write_todos keeps the list of one."
_PRODUCT = "It belongs to Gemini CLI's own prompt and screen."

UNSPOKEN = (
    Unspoken("google_web_search", "It is a hosted search of Google's API, and no search service is free to use without a key."),
    Unspoken("invoke_agent", _AGENTS),
    Unspoken("complete_task", _AGENTS),
    Unspoken("activate_skill", "Skills are texts of Gemini CLI's own prompt; read_file gives a file's text."),
    Unspoken("get_internal_docs", _PRODUCT),
    Unspoken("update_topic", _PRODUCT),
    Unspoken("enter_plan_mode", _MODES),
    Unspoken("exit_plan_mode", _MODES),
    Unspoken("tracker_create_task", _TRACKER),
    Unspoken("tracker_update_task", _TRACKER),
    Unspoken("tracker_get_task", _TRACKER),
    Unspoken("tracker_list_tasks", _TRACKER),
    Unspoken("tracker_add_dependency", _TRACKER),
    Unspoken("tracker_visualize", _TRACKER),
)
