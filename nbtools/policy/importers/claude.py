"""Imports the permissions of Claude Code's ``settings.json`` as a policy.

The meaning of its rules follows its documentation: ``*`` in a command matches any text, blanks included;
``Read`` and ``Edit`` with a path apply to every tool that reads or writes; ``domain:`` names hosts;
``mcp__server`` covers all tools of a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.schema.parameters import describe_errors
from nbtools.core.tool_names import mcp_rule
from nbtools.policy.claude_rules import READERS, WRITERS, claude_meaning
from nbtools.policy.importers.imported import (
    ImportBuilder,
    ImportedPolicy,
    ToolNameLookup,
    is_available,
    rules_or_problem,
)
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

_MODES = {
    "default": Mode.DEFAULT,
    "manual": Mode.DEFAULT,
    "plan": Mode.PLAN,
    "acceptEdits": Mode.AUTO_EDIT,
    "dontAsk": Mode.DONT_ASK,
}
_RULE = re.compile(r"(?P<tool>[^()\s]+)(?:\((?P<spec>.*)\))?", re.DOTALL)
_NO_EFFECT = "has no effect in Claude Code, where only Read and Edit rules apply to paths"
_ELSEWHERE = {
    "hooks": (
        "Hooks were not imported. Session(hooks=claude_hooks(PATH)) from nbtools.hooks runs the hooks of this"
        " file."
    ),
    "sandbox": (
        "The sandbox was not imported, because it is a setting of nbtools: %tools set sandbox required."
    ),
    "enabledMcpjsonServers": (
        "enabledMcpjsonServers was not imported: rules do not decide which MCP servers are started."
    ),
    "enableAllProjectMcpServers": (
        "enableAllProjectMcpServers was not imported: rules do not decide which MCP servers are started."
    ),
}
_IN_PERMISSIONS = {
    "disableBypassPermissionsMode": (
        "disableBypassPermissionsMode has no counterpart: %tools mode yolo can always be set for a session."
    ),
    "disableAutoMode": "disableAutoMode has no counterpart: nbtools has no mode auto.",
}


class _Permissions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    directories: tuple[str, ...] = Field((), alias="additionalDirectories")
    mode: str = Field("", alias="defaultMode")


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    permissions: _Permissions = _Permissions()
    disabled: tuple[str, ...] = Field((), alias="disabledMcpjsonServers")


def read_claude_settings(text: str, tool_named: ToolNameLookup, *, source: str = "") -> ImportedPolicy:
    """Imports the permissions of a settings file.
    ``source`` is the folder that ``/path`` in it is relative to; empty: the workspace.

    Raises ``PolicyError`` for an invalid file.
    """
    try:
        settings = _Settings.model_validate_json(text)
    except ValidationError as error:
        raise PolicyError(f"{describe_errors('The settings', _Settings, error)}.") from None
    gathering = ImportBuilder()
    for verb in (Action.DENY, Action.ASK, Action.ALLOW):
        for rule in getattr(settings.permissions, verb):
            _RuleConverter(gathering, verb, rule, tool_named, source.rstrip("/")).convert()
    gathering.add("deny", *(Rule(mcp_rule(server)) for server in settings.disabled))
    _rest(settings, gathering)
    return gathering.build()


def _rest(settings: _Settings, gathering: ImportBuilder) -> None:
    permissions = settings.permissions
    if permissions.mode in _MODES:
        gathering.mode = _MODES[permissions.mode]
    elif permissions.mode == "bypassPermissions":
        gathering.remark(
            "Mode bypassPermissions was not imported. Its counterpart ends with a session: %tools mode yolo"
            " sets it."
        )
    elif permissions.mode:
        gathering.remark(f"Mode {permissions.mode} has no counterpart, so the mode was not changed.")
    for folder in permissions.directories:
        gathering.remark(
            f"The folder {folder} was not added: a session works on one workspace. %tools workspace"
            " changes it."
        )
    for key in permissions.model_extra or {}:
        gathering.remark(
            _IN_PERMISSIONS.get(key, f"permissions.{key} is not a known setting and was not imported.")
        )
    for key in settings.model_extra or {}:
        if key in _ELSEWHERE:
            gathering.remark(_ELSEWHERE[key])


class _RuleConverter:
    """Converts one rule.  What cannot be expressed becomes a remark."""

    def __init__(
        self, gathering: ImportBuilder, verb: Action, text: str, tool_named: ToolNameLookup, source: str
    ) -> None:
        self._gathering = gathering
        self._verb = verb
        self._text = text
        self._tool_named = tool_named
        self._source = source

    def convert(self) -> None:
        found = _RULE.fullmatch(self._text.strip())
        if found is None:
            self._remark("cannot be parsed")
            return
        spec = (found["spec"] or "").strip()
        rules = rules_or_problem(lambda: self._rules(found["tool"], "" if spec == "*" else spec))
        if isinstance(rules, str):
            self._remark(f"has no counterpart: {rules}")
        else:
            self._gathering.add(self._verb, *rules)

    def _rules(self, named: str, spec: str) -> Iterable[Rule]:
        tool = self._tool_named(named)
        if named.startswith("mcp__"):
            return self._of_server(named, spec)
        if "*" in named and self._verb is Action.ALLOW:
            return self._remark("was not imported, because no rule may allow tools by a pattern of names")
        if not is_available(tool) and "*" not in named:
            return self._remark(f"was not imported, because nbtools has no tool {named}")
        if named == "WebFetch" and spec:
            return self._of_host(tool, spec)
        if named in WRITERS | READERS and spec:
            meant = f"{'Edit' if named in WRITERS else 'Read'}({spec})"
            if self._verb is Action.ALLOW:
                return self._remark(f"{_NO_EFFECT}; write {meant} instead")
            self._remark(f"{_NO_EFFECT}; it was imported as {meant.lower()}")
        rule = claude_meaning(Rule(named, spec), self._verb, self._source)
        return [replace(rule, tool=self._tool_named(rule.tool) if rule.tool == named else rule.tool)]

    def _of_server(self, named: str, spec: str) -> Iterable[Rule]:
        server, _, name = named.removeprefix("mcp__").partition("__")
        if self._verb is Action.ALLOW and "*" in server:
            return self._remark("was not imported, because no rule may allow tools by a pattern of names")
        return [replace(claude_meaning(Rule(named, spec), self._verb), tool=mcp_rule(server, name or "*"))]

    def _of_host(self, tool: str, spec: str) -> Iterable[Rule]:
        claude_meaning(Rule("WebFetch", spec), self._verb)
        if not spec.startswith("domain:"):
            return self._remark("was not imported, because it names no domain")
        host = spec.removeprefix("domain:").strip().rstrip(".").lower()
        if self._verb is Action.ALLOW and "*" in host.removeprefix("*."):
            return self._remark("was not imported, because a star inside a host name would match more here")
        return [Rule(tool, f"domain:{host}")]

    def _remark(self, why: str) -> tuple[Rule, ...]:
        self._gathering.remark(f"{self._verb} {self._text} {why}.")
        return ()


def looks_like_claude(settings: dict[str, Any]) -> bool:
    """Whether a settings file is Claude Code's."""
    return "permissions" in settings
