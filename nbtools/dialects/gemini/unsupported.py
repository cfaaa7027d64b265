"""The tools of Gemini CLI that nbtools does not support, with reasons."""

from __future__ import annotations

from nbtools.dialects.dialect import UnsupportedTool

_AGENTS = "It starts or messages other agents; nbtools only runs tools."
_MODES = (
    "Only a person changes the permission mode (%tools mode); a model could otherwise remove its own"
    " restrictions."
)
_TRACKER = "The task graph coordinates several agents; write_todos keeps the list of one agent."
_PRODUCT = "It depends on Gemini CLI's prompt and user interface."

UNSUPPORTED = (
    UnsupportedTool(
        "google_web_search", "It is a search service of Google's API; nbtools includes no search service."
    ),
    UnsupportedTool("invoke_agent", _AGENTS),
    UnsupportedTool("complete_task", _AGENTS),
    UnsupportedTool(
        "activate_skill", "Skills are part of Gemini CLI's prompt; use read_file for a file's text."
    ),
    UnsupportedTool("get_internal_docs", _PRODUCT),
    UnsupportedTool("update_topic", _PRODUCT),
    UnsupportedTool("enter_plan_mode", _MODES),
    UnsupportedTool("exit_plan_mode", _MODES),
    UnsupportedTool("tracker_create_task", _TRACKER),
    UnsupportedTool("tracker_update_task", _TRACKER),
    UnsupportedTool("tracker_get_task", _TRACKER),
    UnsupportedTool("tracker_list_tasks", _TRACKER),
    UnsupportedTool("tracker_add_dependency", _TRACKER),
    UnsupportedTool("tracker_visualize", _TRACKER),
)
