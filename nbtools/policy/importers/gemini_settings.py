"""Imports the tool and server settings of Gemini CLI's ``settings.json`` as a policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import PolicyError
from nbtools.core.schema.parameters import describe_errors
from nbtools.core.tool_names import CANONICAL_NAMES, mcp_rule
from nbtools.policy.importers.gemini_commands import add_allowed, allow_every_call
from nbtools.policy.importers.gemini_names import (
    EVERY_TOOL,
    SHELL,
    allowed_tool,
    is_same_server,
    possible_tools,
    settings_tool_name,
)
from nbtools.policy.importers.gemini_patterns import allowed_beginning, forbidding_rules
from nbtools.policy.importers.gemini_policies import MODES
from nbtools.policy.importers.imported import ImportBuilder, ImportedPolicy, ToolNameLookup, is_available
from nbtools.policy.rules import Rule


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Tools(_Model):
    core: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    confirm: tuple[str, ...] = Field((), alias="confirmationRequired")
    sandbox: Any = None


class _Servers(_Model):
    allowed: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


class _Server(_Model):
    trust: bool = False
    included: tuple[str, ...] | None = Field(None, alias="includeTools")
    excluded: tuple[str, ...] = Field((), alias="excludeTools")


class _General(_Model):
    mode: str = Field("", alias="defaultApprovalMode")


class _Settings(_Model):
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
    builder = ImportBuilder()
    core = (*settings.tools.core, *settings.former_core)
    exclude = (*settings.tools.exclude, *settings.former_exclude)
    allowed = (*settings.tools.allowed, *core)
    for verb, names in (("deny", exclude), ("ask", settings.tools.confirm), ("allow", allowed)):
        for name in names:
            try:
                if verb == "allow":
                    add_allowed(builder, _allowed(name, tool_named))
                else:
                    _forbid(verb, name, tool_named, builder)
            except PolicyError as error:
                builder.remark(f"{name}: {str(error).removesuffix('.')}.")
    if core:
        _deny_others(core, tool_named, builder)
    _add_servers(settings, builder)
    if settings.general.mode in MODES and settings.general.mode != "yolo":
        builder.mode = MODES[settings.general.mode]
    for remark in _remarks(settings):
        builder.remark(remark)
    return builder.build()


def _split(name: str) -> tuple[str, str | None]:
    """Splits an entry of the form ``tool`` or ``tool(beginning of a command)``."""
    found = re.fullmatch(r"([^()]+)(?:\((.*)\))?", name, re.DOTALL)
    return (settings_tool_name(found[1]), found[2]) if found else (name, None)


def _allowed(name: str, tool_named: ToolNameLookup) -> Rule:
    """Returns the allow rule.  Raises ``PolicyError`` for an unknown tool,
    and for a beginning that is more than words.
    """
    tool_name, beginning = _split(name)
    tool = allowed_tool(tool_name, "", tool_named)
    if not is_available(tool) or tool == EVERY_TOOL:
        raise PolicyError("nbtools has no such tool")
    if beginning is None:
        return allow_every_call(tool, {})
    if tool != "shell":
        raise PolicyError("only commands can be narrowed by their beginning")
    return allowed_beginning(tool, beginning, {})


def _forbid(verb: str, name: str, tool_named: ToolNameLookup, builder: ImportBuilder) -> None:
    tool_name, beginning = _split(name)
    for tool in possible_tools(tool_name, "", tool_named):
        if beginning and tool == "shell":
            builder.add(verb, *forbidding_rules(tool, (beginning,), None, None, {}))
            continue
        builder.add(verb, Rule(tool))
        if beginning:
            builder.remark(
                f"{name}: only commands can be narrowed by their beginning, so the rule covers every call."
            )


def _deny_others(core: tuple[str, ...], tool_named: ToolNameLookup, builder: ImportBuilder) -> None:
    """Denies the tools that are not in ``tools.core``, which lists all available tools."""
    named = {allowed_tool(settings_tool_name(name.partition("(")[0]), "", tool_named) for name in core}
    builder.add("deny", *(Rule(tool) for tool in CANONICAL_NAMES if tool not in named))
    builder.remark(
        "tools.core allows no other tools, so the other tools of nbtools are denied; custom tools and MCP"
        " tools are not."
    )
    if "shell" in named and not any(settings_tool_name(name) == SHELL for name in core):
        builder.remark("tools.core allows no other commands; here other commands need approval.")


def _add_servers(settings: _Settings, builder: ImportBuilder) -> None:
    excluded = (*settings.mcp.excluded, *settings.former_excluded)
    builder.add("deny", *(Rule(mcp_rule(server)) for server in excluded))
    for name, server in settings.servers.items():
        builder.add("deny", *(Rule(mcp_rule(name, tool)) for tool in server.excluded))
    trusted = (name for name, server in settings.servers.items() if server.trust)
    for name in dict.fromkeys((*trusted, *settings.mcp.allowed)):
        if name != EVERY_TOOL and not is_same_server(name):
            builder.remark(
                f"The server {name} was not allowed, because its tools could have the names of another"
                " server's tools here."
            )
            continue
        included = settings.servers.get(name, _Server()).included
        tools = ("*",) if included is None else tuple(tool.partition("(")[0] for tool in included)
        builder.add("allow", *(Rule(mcp_rule(name, tool)) for tool in tools))


def _remarks(settings: _Settings) -> Iterator[str]:
    mode = settings.general.mode
    if mode and (mode not in MODES or mode == "yolo"):
        yield f"Mode {mode} was not imported. Set a mode for a session with %tools mode."
    if settings.hooks:
        yield "Hooks were not imported. Use command_hook from nbtools.hooks for each."
    if settings.tools.sandbox:
        yield "The sandbox was not imported, because it is a setting of nbtools: %tools set sandbox required."
    if settings.mcp.allowed:
        yield "mcp.allowed excludes other servers in Gemini CLI; here their tools need approval as usual."
