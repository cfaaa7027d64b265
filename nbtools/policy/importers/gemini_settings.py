"""Imports the tool and server settings of Gemini CLI's ``settings.json`` as a policy."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import PolicyError
from nbtools.core.schema.parameters import describe_errors
from nbtools.core.tool_names import CANONICAL_NAMES, mcp_rule
from nbtools.policy.importers.gemini_dangers import dangerous_commands
from nbtools.policy.importers.gemini_names import (
    EVERY_TOOL,
    SHELL,
    allowed_tool,
    is_same_server,
    possible_tools,
    settings_tool_name,
)
from nbtools.policy.importers.gemini_patterns import allowed_beginning, forbidding_rules
from nbtools.policy.importers.gemini_policies import EVERY_COMMAND, MODES, allow_every_call
from nbtools.policy.importers.imported import ImportBuilder, ImportedPolicy, ToolNameLookup, is_available
from nbtools.policy.rules import Rule


class _Tools(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    core: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    confirm: tuple[str, ...] = Field((), alias="confirmationRequired")
    sandbox: Any = None


class _Servers(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    allowed: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


class _Server(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    trust: bool = False
    included: tuple[str, ...] | None = Field(None, alias="includeTools")
    excluded: tuple[str, ...] = Field((), alias="excludeTools")


class _General(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    mode: str = Field("", alias="defaultApprovalMode")


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    tools: _Tools = _Tools()
    mcp: _Servers = _Servers()
    servers: dict[str, _Server] = Field({}, alias="mcpServers")
    general: _General = _General()
    hooks: Any = None
    former_core: tuple[str, ...] = Field((), alias="coreTools")
    former_exclude: tuple[str, ...] = Field((), alias="excludeTools")
    former_excluded: tuple[str, ...] = Field((), alias="excludeMCPServers")
    """The three ``former_`` fields are older spellings of ``tools.core``,
    ``tools.exclude`` and ``mcp.excluded``.
    """


def read_gemini_settings(text: str, tool_named: ToolNameLookup) -> ImportedPolicy:
    """Imports the settings of tools and servers.  Raises ``PolicyError`` for an invalid file."""
    try:
        settings = _Settings.model_validate_json(text)
    except ValidationError as error:
        raise PolicyError(f"{describe_errors('The settings', _Settings, error)}.") from None
    gathering = ImportBuilder()
    tools, servers = settings.tools, settings.mcp
    core, exclude = (*tools.core, *settings.former_core), (*tools.exclude, *settings.former_exclude)
    for verb, names in (("deny", exclude), ("ask", tools.confirm), ("allow", (*tools.allowed, *core))):
        for name in names:
            _add_named(verb, name, tool_named, gathering)
    if core:
        _deny_others(core, tool_named, gathering)
    trusted = (name for name, server in settings.servers.items() if server.trust)
    gathering.add(
        "deny", *(Rule(mcp_rule(server)) for server in (*servers.excluded, *settings.former_excluded))
    )
    for name, server in settings.servers.items():
        gathering.add("deny", *(Rule(mcp_rule(name, tool)) for tool in server.excluded))
    for name in dict.fromkeys((*trusted, *servers.allowed)):
        if name != EVERY_TOOL and not is_same_server(name):
            gathering.remark(
                f"The server {name} was not allowed, because its tools could have the names of another"
                " server's tools here."
            )
            continue
        included = settings.servers.get(name, _Server()).included
        trusted_tools = ("*",) if included is None else tuple(tool.partition("(")[0] for tool in included)
        gathering.add("allow", *(Rule(mcp_rule(name, tool)) for tool in trusted_tools))
    _rest(settings, gathering)
    return gathering.build()


def _add_named(verb: str, name: str, tool_named: ToolNameLookup, gathering: ImportBuilder) -> None:
    """Converts an entry of the form ``tool`` or ``tool(beginning of a command)``."""
    found = re.fullmatch(r"([^()]+)(?:\((.*)\))?", name, re.DOTALL)
    tool_name, beginning = (settings_tool_name(found[1]), found[2]) if found else (name, None)
    try:
        if verb == "allow":
            rule = _allowed(tool_name, beginning, tool_named)
            gathering.add(verb, rule)
            gathering.add("ask", *(dangerous_commands(()) if rule.command == EVERY_COMMAND else ()))
            return
        for tool in possible_tools(tool_name, "", tool_named):
            narrowed = beginning if tool == "shell" else None
            gathering.add(
                verb, *(forbidding_rules(tool, (narrowed,), None, None, {}) if narrowed else (Rule(tool),))
            )
        if beginning and narrowed is None:
            gathering.remark(
                f"{name}: only commands can be narrowed by their beginning, so the rule covers every call."
            )
    except PolicyError as error:
        gathering.remark(f"{name}: {str(error).removesuffix('.')}.")


def _allowed(tool_name: str, beginning: str | None, tool_named: ToolNameLookup) -> Rule:
    """Returns the allow rule.  Raises ``PolicyError`` for an unknown tool,
    and for a beginning that is more than words.
    """
    tool = allowed_tool(tool_name, "", tool_named)
    if not is_available(tool) or tool == "*":
        raise PolicyError("nbtools has no such tool")
    if beginning is None:
        return allow_every_call(tool, {})
    if tool != "shell":
        raise PolicyError("only commands can be narrowed by their beginning")
    return allowed_beginning(tool, beginning, {})


def _deny_others(core: tuple[str, ...], tool_named: ToolNameLookup, gathering: ImportBuilder) -> None:
    """Denies the tools that are not in ``tools.core``, which lists all available tools."""
    named = {allowed_tool(settings_tool_name(name.partition("(")[0]), "", tool_named) for name in core}
    gathering.add("deny", *(Rule(tool) for tool in CANONICAL_NAMES if tool not in named))
    gathering.remark(
        "tools.core allows no other tools, so the other tools of nbtools are denied; custom tools and MCP"
        " tools are not."
    )
    if "shell" in named and not any(settings_tool_name(name) == SHELL for name in core):
        gathering.remark("tools.core allows no other commands; here other commands need approval.")


def _rest(settings: _Settings, gathering: ImportBuilder) -> None:
    mode = settings.general.mode
    if mode in MODES and mode != "yolo":
        gathering.mode = MODES[mode]
    elif mode:
        gathering.remark(f"Mode {mode} was not imported. Set a mode for a session with %tools mode.")
    if settings.hooks:
        gathering.remark("Hooks were not imported. Use command_hook from nbtools.hooks for each.")
    if settings.tools.sandbox:
        gathering.remark(
            "The sandbox was not imported, because it is a setting of nbtools: %tools set sandbox required."
        )
    if settings.mcp.allowed:
        gathering.remark(
            "mcp.allowed excludes other servers in Gemini CLI; here their tools need approval as usual."
        )
