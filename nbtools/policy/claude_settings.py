"""The permissions of Claude Code's ``settings.json`` as a policy.

What its rules mean is taken from its documentation: ``*`` in a command stands for anything, blanks too; ``Read`` and ``Edit`` with a path
speak of every tool that reads or writes; ``domain:`` speaks of hosts; ``mcp__server`` of all of a server's tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import explain
from nbtools.core.server_names import rule_of
from nbtools.policy.imported import Gathering, Imported, ToolNamed, is_here, literally, ruled
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
_PARAMETER = re.compile(r"(?P<name>[A-Za-z_]\w*):(?P<value>.+)", re.DOTALL)
_PARAMETERS_OF_BASH = frozenset({"timeout", "description", "run_in_background", "dangerouslyDisableSandbox"})
_WRITERS = frozenset({"Write", "NotebookEdit", "MultiEdit"})
_READERS = frozenset({"Grep", "Glob", "LS", "NotebookRead"})
_ELSEWHERE = {
    "hooks": "Hooks are no rules: Session(hooks=claude_hooks(PATH)) from nbtools.hooks runs those of this file.",
    "sandbox": "The sandbox is a setting here: %tools set sandbox required.",
    "enabledMcpjsonServers": "Which MCP servers are started is not a matter of rules here.",
    "enableAllProjectMcpServers": "Which MCP servers are started is not a matter of rules here.",
}
_IN_PERMISSIONS = {
    "disableBypassPermissionsMode": "Nothing here keeps a person from %tools mode yolo, which ends with the session.",
    "disableAutoMode": "There is no mode auto here.",
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


def read_claude_settings(text: str, tool_named: ToolNamed, *, source: str = "") -> Imported:
    """The permissions in a settings file.  ``source`` is the folder that ``/path`` in it counts from; empty: the workspace.

    Raises ``PolicyError`` for what is no such file.
    """
    try:
        settings = _Settings.model_validate_json(text)
    except ValidationError as error:
        raise PolicyError(f"{explain('The settings', _Settings, error)}.") from None
    gathering = Gathering()
    for verb in ("deny", "ask", "allow"):
        for rule in getattr(settings.permissions, verb):
            _Reading(gathering, verb, rule, tool_named, source.rstrip("/")).take()
    gathering.add("deny", *(Rule(rule_of(server)) for server in settings.disabled))
    _rest(settings, gathering)
    return gathering.imported()


def _rest(settings: _Settings, gathering: Gathering) -> None:
    permissions = settings.permissions
    if permissions.mode in _MODES:
        gathering.mode = _MODES[permissions.mode]
    elif permissions.mode == "bypassPermissions":
        gathering.remark("Mode bypassPermissions is not taken: here that is yolo, which ends with a session. %tools mode yolo sets it.")
    elif permissions.mode:
        gathering.remark(f"There is no mode {permissions.mode} here; the mode stays as it is.")
    for folder in permissions.directories:
        gathering.remark(f"The folder {folder} stays out of reach: a session works on one workspace. %tools workspace changes it.")
    for key in permissions.model_extra or {}:
        gathering.remark(_IN_PERMISSIONS.get(key, f"permissions.{key} is not known here."))
    for key in settings.model_extra or {}:
        if key in _ELSEWHERE:
            gathering.remark(_ELSEWHERE[key])


class _Reading:
    """One rule on its way; whatever it cannot say becomes a remark."""

    def __init__(self, gathering: Gathering, verb: str, text: str, tool_named: ToolNamed, source: str) -> None:
        self._gathering = gathering
        self._verb = verb
        self._text = text
        self._tool_named = tool_named
        self._source = source

    def take(self) -> None:
        found = _RULE.fullmatch(self._text.strip())
        if found is None:
            self._remark("cannot be read")
            return
        spec = (found["spec"] or "").strip()
        rules = ruled(lambda: self._rules(found["tool"], "" if spec == "*" else spec))
        if isinstance(rules, str):
            self._remark(f"cannot be said here: {rules}")
        else:
            self._gathering.add(self._verb, *rules)

    def _rules(self, said: str, spec: str) -> Iterable[Rule]:
        tool = self._tool_named(said)
        if said.startswith("mcp__"):
            return self._of_server(said, spec)
        if "*" in said and self._verb == "allow":
            return self._remark("allows tools by a pattern of names, which nothing may")
        if not is_here(tool) and "*" not in said:
            return self._remark(f"speaks of {said}, and there is no such tool here")
        narrowed = {"Bash": self._of_command, "WebFetch": self._of_host}.get(said, self._of_path)
        return narrowed(said, tool, spec) if spec else [Rule(tool)]

    def _of_server(self, said: str, spec: str) -> Iterable[Rule]:
        server, _, name = said.removeprefix("mcp__").partition("__")
        if self._verb == "allow" and ("*" in server or (name != "*" and "*" in name)):
            return self._remark("allows tools by a pattern of names, which nothing may")
        tool = rule_of(server, name or "*")
        return [Rule(tool, arguments=_parameter(spec))] if spec else [Rule(tool)]

    def _of_command(self, _: str, tool: str, spec: str) -> Iterable[Rule]:
        parameter = _PARAMETER.fullmatch(spec)
        if parameter is not None and parameter["name"] in _PARAMETERS_OF_BASH and parameter["value"] != "*":
            if parameter["name"] == "run_in_background" and self._verb != "allow":
                return [Rule(tool, arguments=_parameter(f"background:{parameter['value']}"))]
            return self._remark("speaks of a parameter that no rule here can look at")
        words, open_ended = (spec[:-2], True) if spec.endswith((":*", " *")) else (spec, False)
        if "*" not in words:
            return [Rule(tool, spec)]
        ending = r"(?:\s|$)" if open_ended else "" if words.endswith("*") else "$"
        return [Rule(tool, command=_anything(words.rstrip("*") if not ending else words) + ending)]

    def _of_host(self, _: str, tool: str, spec: str) -> Iterable[Rule]:
        if not spec.startswith("domain:"):
            return self._remark("names no domain")
        host = spec.removeprefix("domain:").strip().rstrip(".").lower()
        if self._verb == "allow" and "*" in host.removeprefix("*."):
            return self._remark("has a star inside the host's name, which reaches further here")
        return [Rule(tool, f"domain:{host}")]

    def _of_path(self, said: str, _: str, spec: str) -> Iterable[Rule]:
        if said in ("Read", "Edit"):
            return [Rule(said.lower(), self._anchored(spec))]
        about = "edit" if said in _WRITERS else "read" if said in _READERS else ""
        if not about or self._verb == "allow":
            meant = f"; {about.capitalize()}({spec}) is what it means" if about else ""
            return self._remark(f"has no effect in Claude Code, for a path is ruled by Read or Edit{meant}")
        self._remark(f"has no effect in Claude Code, for a path is ruled by Read or Edit; here it holds as {about}({spec})")
        return [Rule(about, self._anchored(spec))]

    def _anchored(self, spec: str) -> str:
        """Where a path counts from, as our rules say it."""
        if spec.startswith(("//", "~")):
            return spec
        if spec.startswith("/"):
            return f"{_from_root(self._source)}{spec}" if self._source else spec
        if spec.startswith("./"):
            return spec.removeprefix(".")
        one_folder = re.fullmatch(r"[^!/*?\[][^/*?\[]*/\*\*", spec) is not None
        return f"**/{spec}" if one_folder and self._verb != "allow" else spec

    def _remark(self, why: str) -> tuple[Rule, ...]:
        self._gathering.remark(f"{self._verb} {self._text} {why}.")
        return ()


def _from_root(folder: str) -> str:
    return folder if folder.startswith("~") else f"/{folder}"


def _anything(words: str) -> str:
    """A star stands for anything."""
    return ".*".join(literally(piece) for piece in words.split("*"))


def _parameter(spec: str) -> str:
    """``name:value`` as a place in the arguments: one at the top, a plain value, stars for anything."""
    found = _PARAMETER.fullmatch(spec)
    if found is None:
        raise PolicyError(f"{spec!r} is no parameter and its value")
    value = '[^\\0"]*'.join(re.escape(piece) for piece in found["value"].split("*"))
    return f'\\0"{found["name"]}":"?{value}"?\\0'


def looks_like_claude(settings: dict[str, Any]) -> bool:
    """Whether a settings file is Claude Code's."""
    return "permissions" in settings
