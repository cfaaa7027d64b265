"""The tools of Codex that nbtools does not support, with reasons."""

from __future__ import annotations

from nbtools.dialects.dialect import UnsupportedTool

_AGENTS = "It starts or messages other agents; nbtools only runs tools."
_HOSTED = "It runs on OpenAI's servers; nbtools includes no such service."
_SCRIPT = "It runs JavaScript that calls tools; the notebook is where code calls tools here."
_MODES = (
    "Only a person changes what is permitted (%tools mode, %tools allow); a model could otherwise remove its"
    " own restrictions."
)
_LOADING = "It finds tools whose declarations are deferred; nbtools declares all tools."
_GOALS = "Goals belong to Codex's own loop; update_plan keeps the list of steps."
_PRODUCT = "It depends on Codex's app."

UNSUPPORTED = (
    UnsupportedTool("web_search", _HOSTED),
    UnsupportedTool("web_search_call", f"The record of web_search. {_HOSTED}"),
    UnsupportedTool("image_generation", _HOSTED),
    UnsupportedTool("list_dir", "It was an experiment; list folders with ls or rg --files in exec_command."),
    UnsupportedTool("spawn_agent", _AGENTS),
    UnsupportedTool("send_input", _AGENTS),
    UnsupportedTool("send_message", _AGENTS),
    UnsupportedTool("followup_task", _AGENTS),
    UnsupportedTool("resume_agent", _AGENTS),
    UnsupportedTool("wait_agent", _AGENTS),
    UnsupportedTool("close_agent", _AGENTS),
    UnsupportedTool("list_agents", _AGENTS),
    UnsupportedTool("spawn_agents_on_csv", _AGENTS),
    UnsupportedTool("report_agent_job_result", _AGENTS),
    UnsupportedTool("exec", _SCRIPT),
    UnsupportedTool("wait", _SCRIPT),
    UnsupportedTool("js_repl", _SCRIPT),
    UnsupportedTool("js_repl_reset", _SCRIPT),
    UnsupportedTool("request_permissions", _MODES),
    UnsupportedTool("tool_search", _LOADING),
    UnsupportedTool("tool_suggest", f"{_PRODUCT} It proposes connectors to install."),
    UnsupportedTool("get_goal", _GOALS),
    UnsupportedTool("create_goal", _GOALS),
    UnsupportedTool("update_goal", _GOALS),
    UnsupportedTool("list_mcp_resource_templates", "list_mcp_resources lists the templates too."),
    UnsupportedTool("test_sync_tool", "It only serves Codex's own tests."),
)
