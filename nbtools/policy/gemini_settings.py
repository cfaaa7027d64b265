"""What Gemini CLI's ``settings.json`` says of tools and servers, as a policy."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import explain
from nbtools.core.server_names import rule_of
from nbtools.core.vocabulary import VOCABULARY
from nbtools.policy.gemini_names import SHELL, titled, tool_allowed, tools_meant
from nbtools.policy.gemini_patterns import allowed_beginning, forbidden
from nbtools.policy.gemini_policies import MODES, every_call
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
    """As older versions wrote ``tools.core``, ``tools.exclude`` and ``mcp.excluded``."""


def read_gemini_settings(text: str, tool_named: ToolNamed) -> Imported:
    """What Gemini CLI's ``settings.json`` says of tools and servers.  Raises ``PolicyError`` for what is no such file."""
    try:
        settings = _Settings.model_validate_json(text)
    except ValidationError as error:
        raise PolicyError(f"{explain('The settings', _Settings, error)}.") from None
    gathering = Gathering()
    tools, servers = settings.tools, settings.mcp
    core, exclude = (*tools.core, *settings.former_core), (*tools.exclude, *settings.former_exclude)
    for verb, names in (("deny", exclude), ("ask", tools.confirm), ("allow", (*tools.allowed, *core))):
        for name in names:
            _take_named(verb, name, tool_named, gathering)
    if core:
        _only(core, tool_named, gathering)
    trusted = (name for name, server in settings.servers.items() if server.trust)
    gathering.add("deny", *(Rule(rule_of(server)) for server in (*servers.excluded, *settings.former_excluded)))
    for name, server in settings.servers.items():
        gathering.add("deny", *(Rule(rule_of(name, tool)) for tool in server.excluded))
    for name in dict.fromkeys((*trusted, *servers.allowed)):
        included = settings.servers.get(name, _Server()).included
        trusted_tools = ("*",) if included is None else tuple(tool.partition("(")[0] for tool in included)
        gathering.add("allow", *(Rule(rule_of(name, tool)) for tool in trusted_tools))
    _rest(settings, gathering)
    return gathering.imported()


def _take_named(verb: str, name: str, tool_named: ToolNamed, gathering: Gathering) -> None:
    """``tool``, or ``tool(the beginning of a command)``."""
    found = re.fullmatch(r"([^()]+)(?:\((.*)\))?", name, re.DOTALL)
    said, beginning = (titled(found[1]), found[2]) if found else (name, None)
    try:
        if verb == "allow":
            gathering.add(verb, _allowed(said, beginning, tool_named))
            return
        for tool in tools_meant(said, "", tool_named):
            narrowed = beginning if tool == "shell" else None
            gathering.add(verb, *(forbidden(tool, (narrowed,), None, None, {}) if narrowed else (Rule(tool),)))
        if beginning and narrowed is None:
            gathering.remark(f"{name}: only commands have a beginning, so this is for every call.")
    except PolicyError as error:
        gathering.remark(f"{name}: {str(error).removesuffix('.')}.")


def _allowed(said: str, beginning: str | None, tool_named: ToolNamed) -> Rule:
    """Raises ``PolicyError`` where there is no such tool, or the beginning is more than words."""
    tool = tool_allowed(said, "", tool_named)
    if not is_here(tool) or tool == "*":
        raise PolicyError("there is no such tool here")
    if beginning is None:
        return every_call(tool, {})
    if tool != "shell":
        raise PolicyError("only commands have a beginning")
    return allowed_beginning(tool, beginning, {})


def _only(core: tuple[str, ...], tool_named: ToolNamed, gathering: Gathering) -> None:
    """A list of tools is the list of all tools: the others are denied."""
    named = {tool_allowed(titled(name.partition("(")[0]), "", tool_named) for name in core}
    gathering.add("deny", *(Rule(tool) for tool in VOCABULARY if tool not in named))
    gathering.remark("tools.core leaves no other tool: the others that nbtools has are denied; your own and servers' tools are not.")
    if "shell" in named and not any(titled(name) == SHELL for name in core):
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
