"""The policies of Gemini CLI: files of ``[[rule]]`` tables.

In Gemini CLI the matching rule of the highest priority decides; in nbtools a deny wins over an ask and an ask over an allow. An import
never allows more than the file did:

- An allow is imported only where every key of it is understood and has an exact or a narrower counterpart; otherwise it is left out.
- A deny or an ask is imported as wide as it was or wider. Where its condition has no counterpart, every call of the tool is asked.

A rule that is left out or changed is named in a remark. A file that Gemini CLI refuses (wrong types, a priority that is not within 0-999)
is refused here, too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import explain
from nbtools.policy.gemini_names import EVERY_TOOL, tool_allowed, tools_meant
from nbtools.policy.gemini_patterns import allowed_arguments, allowed_beginning, allowed_command, allowed_folder, forbidden
from nbtools.policy.imported import Gathering, Imported, ToolNamed, is_here, ruled
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

_Verb: TypeAlias = Literal["allow", "ask", "deny"]
_VERBS: Mapping[str, _Verb] = {"allow": "allow", "ask_user": "ask", "deny": "deny"}
_STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
MODES = {"default": Mode.DEFAULT, "autoEdit": Mode.AUTO_EDIT, "auto_edit": Mode.AUTO_EDIT, "yolo": Mode.YOLO, "plan": Mode.PLAN}
_RULE_NAME = re.compile(r"[\w.*-]+")
_Name: TypeAlias = Annotated[StrictStr, Field(min_length=1)]


class _Rule(BaseModel):
    """One ``[[rule]]``; None for a key that is absent."""

    model_config = ConfigDict(frozen=True, extra="allow")

    tools: _Name | Annotated[tuple[_Name, ...], Field(min_length=1)] | None = Field(None, alias="toolName")
    decision: Literal["allow", "deny", "ask_user"]
    priority: StrictInt = Field(ge=0, le=999)
    server: _Name | None = Field(None, alias="mcpName")
    subagent: _Name | None = None
    arguments: StrictStr | None = Field(None, alias="argsPattern")
    prefixes: StrictStr | tuple[StrictStr, ...] | None = Field(None, alias="commandPrefix")
    command: StrictStr | None = Field(None, alias="commandRegex")
    annotations: dict[str, Any] | None = Field(None, alias="toolAnnotations")
    modes: tuple[StrictStr, ...] = ()
    interactive: StrictBool | None = None
    redirects: StrictBool = Field(False, alias="allowRedirection")
    message: StrictStr = Field("", alias="denyMessage")

    @property
    def verb(self) -> _Verb:
        return _VERBS[self.decision]

    @property
    def unknown_modes(self) -> str:
        return ", ".join(mode for mode in self.modes if mode not in MODES)

    @property
    def unknown_keys(self) -> str:
        return ", ".join(self.model_extra or {})

    @property
    def names(self) -> tuple[str, ...]:
        return _several(self.tools) or (EVERY_TOOL,)

    @property
    def conditions(self) -> tuple[str | tuple[str, ...], ...]:
        """What narrows the rule to some arguments; each excludes the others."""
        return tuple(one for one in (self.prefixes, self.command, self.arguments) if one is not None)

    @property
    def title(self) -> str:
        """The rule as a person finds it in the file."""
        what = ", ".join(filter(None, (*_several(self.prefixes), self.command, self.arguments)))
        server = f"{self.server}: " if self.server else ""
        return f"{self.decision} {server}{', '.join(self.names)}{f' ({what})' if what else ''}, priority {self.priority}"


class _Checker(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    tools: _Name | tuple[_Name, ...] = Field(EVERY_TOOL, alias="toolName")
    server: _Name | None = Field(None, alias="mcpName")


class _Policies(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    rule: tuple[_Rule, ...] = ()
    safety_checker: tuple[_Checker, ...] = ()


def read_gemini_policies(text: str, tool_named: ToolNamed) -> Imported:
    """The rules of a policy file.  Raises ``PolicyError`` for a text that is no such file."""
    try:
        policies = _Policies.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise PolicyError(f"{explain('The policies', _Policies, error)}.") from None
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"The policies are no TOML: {error}.") from None
    gathering = Gathering()
    checked = tuple(tool for checker in policies.safety_checker for tool in _tools_meant(checker, tool_named))
    taken = [(one, _taken(one, tool_named, checked, gathering)) for one in policies.rule]
    _say_what_wins(taken, gathering)
    for checker in policies.safety_checker:
        names = ", ".join(_several(checker.tools))
        gathering.remark(f"The safety checker for {names} does not run here; a hook can look at calls.")
    for key in policies.model_extra or {}:
        gathering.remark(f"{key} is not known here.")
    return gathering.imported()


def _taken(written: _Rule, tool_named: ToolNamed, checked: tuple[str, ...], gathering: Gathering) -> tuple[Rule, ...]:
    if written.verb == "allow":
        return _allowed(written, tool_named, checked, gathering)
    return _forbidden(written, tool_named, gathering)


# --- allow


def _allowed(written: _Rule, tool_named: ToolNamed, checked: tuple[str, ...], gathering: Gathering) -> tuple[Rule, ...]:
    """The rules of an allow, those that have no counterpart left out."""
    if hindrance := _why_left_out(written):
        gathering.remark(f"{written.title}: {hindrance}.")
        return ()
    found: list[Rule] = []
    for said in written.names:
        tool = tool_allowed(said, written.server or "", tool_named)
        if not (is_here(tool) or tool.startswith("discovered_tool_")):
            gathering.remark(f"{written.title}: there is no tool {said} here.")
        elif any(_share_calls(Rule(tool), Rule(other)) for other in checked):
            gathering.remark(f"{written.title}: a safety checker looks at its calls there, and none does here.")
        elif isinstance(rules := ruled(lambda said=said, tool=tool: _allow_rules(written, said, tool)), str):  # type: ignore[misc]
            gathering.remark(f"{written.title}: {rules.removesuffix('.')}.")
        else:
            found += rules
    gathering.add("allow", *found)
    return tuple(found)


def _why_left_out(written: _Rule) -> str:
    """The first reason that keeps an allow out; empty where there is none."""
    people = "somebody" if written.interactive else "nobody"
    true = written.annotations is None or (bool(written.annotations) and all(value is True for value in written.annotations.values()))
    reasons = {
        f"{written.unknown_keys} is not known here, and may be what narrows it": bool(written.unknown_keys),
        'it names no tool; an allow of every call has toolName = "*"': written.tools is None and written.server is None,
        f"it is for the agent {written.subagent}, and no agents work for others here": written.subagent is not None,
        f"it holds only where {people} can be asked, and an allow here holds everywhere": written.interactive is not None,
        f"there is no mode {written.unknown_modes} here": bool(written.unknown_modes),
        "commandPrefix, commandRegex and argsPattern exclude each other": len(written.conditions) > 1,
        "a condition of it is empty": not all((*written.conditions, *_several(written.prefixes))),
        "its toolAnnotations ask for more than that an annotation is true": not true,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _allow_rules(written: _Rule, said: str, tool: str) -> Iterable[Rule]:
    """One for each prefix.  Raises ``PolicyError`` for what has no counterpart."""
    base: dict[str, Any] = {
        "modes": tuple(MODES[mode] for mode in written.modes),
        "annotations": tuple(sorted((written.annotations or {}).items())),
        "redirects": written.redirects,
    }
    if (written.prefixes or written.command) and tool != "shell":
        raise PolicyError("only commands have a beginning")
    if written.prefixes:
        return [allowed_beginning(tool, prefix, base) for prefix in _several(written.prefixes)]
    if written.command:
        return [Rule(tool, command=allowed_command(written.command), **base)]
    if written.arguments and tool.startswith("mcp__"):
        return [Rule(tool, arguments=allowed_arguments(written.arguments), **base)]
    if written.arguments:
        return [Rule(tool, allowed_folder(said, written.arguments), **base)]
    if tool == EVERY_TOOL and not written.redirects and not written.annotations:
        raise PolicyError("commands that write files by redirects were asked there, and an allow of every tool holds for them here")
    return [every_call(tool, base)]


def every_call(tool: str, base: Mapping[str, Any]) -> Rule:
    """An allow of a tool. A command that writes files by redirects was asked, unless the rule says otherwise."""
    return Rule(tool, command=r"\S", **base) if tool == "shell" and not base.get("redirects") else Rule(tool, **base)


# --- deny and ask


def _forbidden(written: _Rule, tool_named: ToolNamed, gathering: Gathering) -> tuple[Rule, ...]:
    """The rules of a deny or an ask, none narrower than it was."""
    if written.subagent:
        gathering.remark(f"{written.title}: it is for the agent {written.subagent}, and no agents work for others here.")
        return ()
    verb = written.verb if written.interactive is not False else "ask"
    _say_what_is_wider(written, gathering)
    annotations = written.annotations or {}
    base: dict[str, Any] = {
        "modes": () if written.unknown_modes else _modes(written.modes),
        "annotations": tuple(sorted(annotations.items())) if all(isinstance(value, bool) for value in annotations.values()) else (),
    }
    found: list[Rule] = []
    for tool in _tools_meant(written, tool_named):
        if not _RULE_NAME.fullmatch(tool):
            gathering.remark(f"{written.title}: there is no tool {tool} here.")
            continue
        try:
            rules = _forbidding(written, tool, {**base, "message": written.message if verb == "deny" else ""})
            gathering.add(verb, *rules)
        except PolicyError as error:
            rules = (Rule(tool, **base),)
            gathering.add("ask", *rules)
            gathering.remark(f"{written.title}: {str(error).removesuffix('.')}. So every call of {tool} is asked.")
        found += rules
    return tuple(found)


def _forbidding(written: _Rule, tool: str, base: dict[str, Any]) -> tuple[Rule, ...]:
    prefixes = tuple(filter(None, _several(written.prefixes)))
    if not (prefixes or written.command or written.arguments):
        return (Rule(tool, **base),)
    return tuple(dict.fromkeys(forbidden(tool, prefixes, written.command, written.arguments, base)))


def _modes(named: tuple[str, ...]) -> tuple[Mode, ...]:
    """What holds in the mode default holds in ``dont_ask``: there, it is default where nobody can be asked."""
    modes = tuple(MODES[mode] for mode in named)
    return (*modes, Mode.DONT_ASK) if Mode.DEFAULT in modes else modes


def _say_what_is_wider(written: _Rule, gathering: Gathering) -> None:
    values = (written.annotations or {}).values()
    wider = {
        f"{written.unknown_keys} is not known here, and does not narrow it": bool(written.unknown_keys),
        "it names no tool, and holds for all": written.tools is None and written.server is None,
        f"there is no mode {written.unknown_modes} here, and it holds in all modes": bool(written.unknown_modes),
        "it held only where nobody can be asked; here its calls are asked, and denied where nobody can be": written.interactive is False,
        "commandPrefix, commandRegex and argsPattern exclude each other; here it holds for each of them": len(written.conditions) > 1,
        "its toolAnnotations are not all true or false, and do not narrow it": not all(isinstance(value, bool) for value in values),
    }
    for sentence in (sentence for sentence, holds in wider.items() if holds):
        gathering.remark(f"{written.title}: {sentence}.")


def _tools_meant(written: _Rule | _Checker, tool_named: ToolNamed) -> tuple[str, ...]:
    names = _several(written.tools) or (EVERY_TOOL,)
    return tuple(dict.fromkeys(tool for said in names for tool in tools_meant(said, written.server or "", tool_named)))


# --- what wins


def _say_what_wins(taken: list[tuple[_Rule, tuple[Rule, ...]]], gathering: Gathering) -> None:
    """Where a weaker action stood over a stronger one by its priority."""
    for written, rules in taken:
        beaten = [
            other
            for other, stronger in taken
            if _STRENGTH[other.verb] > _STRENGTH[written.verb]
            and other.priority < written.priority
            and any(_overlap(one, two) for one in rules for two in stronger)
        ]
        if beaten:
            others = "; ".join(other.title for other in beaten)
            gathering.remark(
                f"{written.title} stood over {others}: here no allow beats an ask or a deny, and no ask a deny, so those hold."
            )


def _overlap(one: Rule, two: Rule) -> bool:
    """Whether a call may fall under both, as far as that is plain."""
    if not _share_calls(one, two):
        return False
    if one.modes and two.modes and not set(one.modes) & set(two.modes):
        return False
    mine, yours = one.spec.removesuffix(":*"), two.spec.removesuffix(":*")
    return not (mine and yours) or f"{mine} ".startswith(f"{yours} ") or f"{yours} ".startswith(f"{mine} ")


def _share_calls(one: Rule, two: Rule) -> bool:
    return one.concerns(two.tool) or two.concerns(one.tool)


def _several(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value
