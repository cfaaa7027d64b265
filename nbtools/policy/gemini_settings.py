"""What Gemini CLI's ``settings.json`` says of tools and servers, as a policy."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import explain
from nbtools.core.server_names import rule_of
from nbtools.core.vocabulary import VOCABULARY
from nbtools.policy.gemini_policies import MODES, beginning, gemini_tool
from nbtools.policy.imported import Gathering, Imported, ToolNamed, is_here
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


def read_gemini_settings(text: str, tool_named: ToolNamed) -> Imported:
    """What Gemini CLI's ``settings.json`` says of tools and servers.  Raises ``PolicyError`` for what is no such file."""
    try:
        settings = _Settings.model_validate_json(text)
    except ValidationError as error:
        raise PolicyError(f"{explain('The settings', _Settings, error)}.") from None
    gathering = Gathering()
    tools, servers = settings.tools, settings.mcp
    for verb, names in (("deny", tools.exclude), ("ask", tools.confirm), ("allow", (*tools.allowed, *tools.core))):
        for name in names:
            _take_named(verb, name, tool_named, gathering)
    if tools.core:
        _only(tools.core, tool_named, gathering)
    trusted = (name for name, server in settings.servers.items() if server.trust)
    gathering.add("deny", *(Rule(rule_of(server)) for server in servers.excluded))
    gathering.add("allow", *(Rule(rule_of(server)) for server in dict.fromkeys((*trusted, *servers.allowed))))
    _rest(settings, gathering)
    return gathering.imported()


def _take_named(verb: str, name: str, tool_named: ToolNamed, gathering: Gathering) -> None:
    """``tool``, or ``tool(the beginning of a command)``."""
    found = re.fullmatch(r"([^()]+)(?:\((.*)\))?", name, re.DOTALL)
    tool = gemini_tool(found[1], "", tool_named) if found else name
    if found is None or not is_here(tool):
        gathering.remark(f"{name}: there is no such tool here.")
    elif found[2] and tool != "shell":
        gathering.remark(f"{name}: only commands have a beginning.")
    else:
        gathering.add(verb, beginning(tool, found[2], {}) if found[2] else Rule(tool))


def _only(core: tuple[str, ...], tool_named: ToolNamed, gathering: Gathering) -> None:
    """A list of tools is the list of all tools: the others are denied."""
    named = {gemini_tool(name.partition("(")[0], "", tool_named) for name in core}
    gathering.add("deny", *(Rule(tool) for tool in VOCABULARY if tool not in named))
    gathering.remark("tools.core leaves no other tool: the others that nbtools has are denied; your own and servers' tools are not.")
    if "shell" in named and not any(gemini_tool(name, "", tool_named) == "shell" for name in core):
        gathering.remark("tools.core leaves no other command: here the others are asked.")


def _rest(settings: _Settings, gathering: Gathering) -> None:
    mode = settings.general.mode
    if mode in MODES and mode != "yolo":
        gathering.mode = MODES[mode]
    elif mode:
        gathering.remark(f"Mode {mode} is not taken; %tools mode sets one for a session.")
    if settings.hooks:
        gathering.remark("Hooks are no rules: nbtools.hooks has command_hook for each.")
    if settings.tools.sandbox:
        gathering.remark("The sandbox is a setting here: %tools set sandbox required.")
    if settings.mcp.allowed:
        gathering.remark("mcp.allowed leaves no other server there; here tools of others are asked as usual.")
