"""Imports Gemini CLI's policy files of ``[[rule]]`` tables.

In Gemini CLI the matching rule of the highest priority decides; in nbtools a deny wins over an ask and an ask
over an allow. An import never allows more than the file did:

- An allow is imported only where every key of it is understood and has an exact or a narrower counterpart;
  otherwise it is left out.
- A deny or an ask is imported as wide as it was or wider.
  Where its condition has no counterpart, every call of the tool is asked.

Each rule that is left out or changed is named in a remark. A file that Gemini CLI rejects (wrong types, a
priority outside 0-999) is rejected here, too.  Two spellings of a key (``denyMessage``, ``deny_message``) are
read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
)

from nbtools.core.errors import PolicyError
from nbtools.core.schema.parameters import describe_errors
from nbtools.policy.importers.gemini_dangers import dangerous_commands
from nbtools.policy.importers.gemini_names import EVERY_TOOL, PATH_ARGUMENTS, allowed_tool, possible_tools
from nbtools.policy.importers.gemini_patterns import (
    allowed_arguments,
    allowed_beginning,
    allowed_command,
    allowed_folder,
    forbidding_rules,
    has_own_arguments,
)
from nbtools.policy.importers.imported import (
    ImportBuilder,
    ImportedPolicy,
    ToolNameLookup,
    is_available,
    rules_or_problem,
)
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

_Verb: TypeAlias = Literal["allow", "ask", "deny"]
_VERBS: Mapping[str, _Verb] = {"allow": "allow", "ask_user": "ask", "deny": "deny"}
_STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
MODES = {
    "default": Mode.DEFAULT,
    "autoEdit": Mode.AUTO_EDIT,
    "auto_edit": Mode.AUTO_EDIT,
    "yolo": Mode.YOLO,
    "plan": Mode.PLAN,
}
EVERY_COMMAND = r"\S"
"""The expression of an allow of every command."""
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
    redirects: StrictBool = Field(
        False, validation_alias=AliasChoices("allowRedirection", "allow_redirection")
    )
    message: StrictStr = Field("", validation_alias=AliasChoices("denyMessage", "deny_message"))

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
        """The conditions on arguments.  They are mutually exclusive."""
        return tuple(one for one in (self.prefixes, self.command, self.arguments) if one is not None)

    @property
    def title(self) -> str:
        """The rule as it appears in the file, for remarks."""
        what = ", ".join(filter(None, (*_several(self.prefixes), self.command, self.arguments)))
        server = f"{self.server}: " if self.server else ""
        return (
            f"{self.decision} {server}{', '.join(self.names)}{f' ({what})' if what else ''}, priority"
            f" {self.priority}"
        )


class _Checker(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    tools: _Name | tuple[_Name, ...] = Field(EVERY_TOOL, alias="toolName")
    server: _Name | None = Field(None, alias="mcpName")
    modes: tuple[StrictStr, ...] = ()

    @property
    def unknown_modes(self) -> str:
        return ", ".join(mode for mode in self.modes if mode not in MODES)


class _Policies(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    rule: tuple[_Rule, ...] = ()
    safety_checker: tuple[_Checker, ...] = ()


def read_gemini_policies(text: str, tool_named: ToolNameLookup) -> ImportedPolicy:
    """Imports the rules of a policy file.  Raises ``PolicyError`` for an invalid file."""
    try:
        policies = _Policies.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise PolicyError(f"{describe_errors('The policies', _Policies, error)}.") from None
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"The policies are not valid TOML: {error}.") from None
    gathering = ImportBuilder()
    checked = tuple(tool for checker in policies.safety_checker for tool in _tools_meant(checker, tool_named))
    converted = [(one, _convert(one, tool_named, checked, gathering)) for one in policies.rule]
    _report_overridden(converted, gathering)
    for checker in policies.safety_checker:
        names = ", ".join(_several(checker.tools))
        modes = () if checker.unknown_modes else _modes(checker.modes)
        gathering.add(
            "ask",
            *(
                Rule(tool, modes=modes)
                for tool in _tools_meant(checker, tool_named)
                if _RULE_NAME.fullmatch(tool)
            ),
        )
        gathering.remark(
            f"The safety checker for {names} was not imported, so these calls need approval; use a hook to"
            " check calls."
        )
    for key in policies.model_extra or {}:
        gathering.remark(f"{key} is not a known setting and was not imported.")
    return gathering.build()


def _convert(
    written: _Rule, tool_named: ToolNameLookup, checked: tuple[str, ...], gathering: ImportBuilder
) -> tuple[Rule, ...]:
    if written.verb == "allow":
        return _allowed(written, tool_named, checked, gathering)
    return _forbidden(written, tool_named, gathering)


# --- allow


def _allowed(
    written: _Rule, tool_named: ToolNameLookup, checked: tuple[str, ...], gathering: ImportBuilder
) -> tuple[Rule, ...]:
    """Adds the rules of an allow, without those that have no counterpart."""
    if problem := _why_left_out(written):
        gathering.remark(f"{written.title}: {problem}.")
        return ()
    found: list[Rule] = []
    for tool_name in written.names:
        tool = allowed_tool(tool_name, written.server or "", tool_named)
        if not (is_available(tool) or tool.startswith("discovered_tool_")):
            gathering.remark(f"{written.title}: nbtools has no tool {tool_name}.")
        elif any(_share_calls(Rule(tool), Rule(other)) for other in checked):
            gathering.remark(
                f"{written.title}: in Gemini CLI a safety checker checks its calls, and here none does."
            )
        elif isinstance(
            rules := rules_or_problem(partial(_allow_rules, written, tool_name, tool, tool_named)), str
        ):
            gathering.remark(f"{written.title}: {rules.removesuffix('.')}.")
        else:
            found += rules
    gathering.add("allow", *found)
    for rule in found:
        if rule.command == EVERY_COMMAND:
            gathering.add("ask", *dangerous_commands(rule.modes))
    return tuple(found)


def _why_left_out(written: _Rule) -> str:
    """Returns the first reason to leave out an allow; empty where there is none."""
    people = "a person can" if written.interactive else "nobody can"
    all_true = written.annotations is None or (
        bool(written.annotations) and all(value is True for value in written.annotations.values())
    )
    reasons = {
        f"{written.unknown_keys} is not known here and may narrow the rule": bool(written.unknown_keys),
        'it names no tool; an allow of every call needs toolName = "*"': (
            written.tools is None and written.server is None
        ),
        f"it applies to the subagent {written.subagent}, and nbtools has no subagents": (
            written.subagent is not None
        ),
        f"it applies only where {people} be asked, and an allow here applies everywhere": (
            written.interactive is not None
        ),
        f"nbtools has no mode {written.unknown_modes}": bool(written.unknown_modes),
        "commandPrefix, commandRegex and argsPattern are mutually exclusive": len(written.conditions) > 1,
        "one of its conditions is empty": not all((*written.conditions, *_several(written.prefixes))),
        "its toolAnnotations require other values than true": not all_true,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _allow_rules(written: _Rule, tool_name: str, tool: str, tool_named: ToolNameLookup) -> Iterable[Rule]:
    """Returns the rules of an allow, one for each prefix.
    Raises ``PolicyError`` for what has no counterpart.
    """
    base: dict[str, Any] = {
        "modes": tuple(MODES[mode] for mode in written.modes),
        "annotations": tuple(sorted((written.annotations or {}).items())),
        "redirects": written.redirects,
    }
    if (written.prefixes or written.command) and tool != "shell":
        raise PolicyError("only commands can be narrowed by their beginning")
    if written.prefixes:
        return [allowed_beginning(tool, prefix, base) for prefix in _several(written.prefixes)]
    if written.command:
        return [Rule(tool, command=allowed_command(written.command), **base, literal=True)]
    if written.arguments and has_own_arguments(tool):
        return [Rule(tool, arguments=allowed_arguments(written.arguments), **base)]
    if written.arguments:
        return [Rule(tool, allowed_folder(tool_name, written.arguments), **base)]
    if tool == EVERY_TOOL and not written.annotations:
        own = dict.fromkeys(tool_named(name) for name in PATH_ARGUMENTS)
        return [allow_every_call(one, base) for one in (*own, "mcp__*", "discovered_tool_*")]
    return [allow_every_call(tool, base)]


def allow_every_call(tool: str, base: Mapping[str, Any]) -> Rule:
    """Returns an allow rule for every call.
    Commands that cannot be parsed are not covered, nor redirects if the original covers none.
    """
    if tool == "shell":
        return Rule(tool, command=EVERY_COMMAND, **base, literal=True)
    return Rule(tool, **{**base, "redirects": False})


# --- deny and ask


def _forbidden(written: _Rule, tool_named: ToolNameLookup, gathering: ImportBuilder) -> tuple[Rule, ...]:
    """Adds the rules of a deny or an ask, none narrower than the original."""
    if written.subagent:
        gathering.remark(
            f"{written.title}: it applies to the subagent {written.subagent}, and nbtools has no subagents."
        )
        return ()
    verb = written.verb if written.interactive is not False else "ask"
    _report_wider(written, gathering)
    annotations = written.annotations or {}
    base: dict[str, Any] = {
        "modes": () if written.unknown_modes else _modes(written.modes),
        "annotations": (
            tuple(sorted(annotations.items()))
            if all(isinstance(value, bool) for value in annotations.values())
            else ()
        ),
    }
    found: list[Rule] = []
    for tool in _tools_meant(written, tool_named):
        if not _RULE_NAME.fullmatch(tool):
            gathering.remark(f"{written.title}: nbtools has no tool {tool}.")
            continue
        try:
            rules = _forbidding(written, tool, {**base, "message": written.message if verb == "deny" else ""})
            gathering.add(verb, *rules)
        except PolicyError as error:
            rules = (Rule(tool, **base),)
            gathering.add("ask", *rules)
            gathering.remark(
                f"{written.title}: {str(error).removesuffix('.')}. So every call of {tool} needs approval."
            )
        found += rules
    return tuple(found)


def _forbidding(written: _Rule, tool: str, base: dict[str, Any]) -> tuple[Rule, ...]:
    prefixes = tuple(filter(None, _several(written.prefixes)))
    if not (prefixes or written.command or written.arguments):
        return (Rule(tool, **base),)
    return tuple(dict.fromkeys(forbidding_rules(tool, prefixes, written.command, written.arguments, base)))


def _modes(named: tuple[str, ...]) -> tuple[Mode, ...]:
    """Returns the modes. A rule for ``default`` also applies in ``dont_ask``,
    which is the default mode where nobody can be asked.
    """
    modes = tuple(MODES[mode] for mode in named)
    return (*modes, Mode.DONT_ASK) if Mode.DEFAULT in modes else modes


def _report_wider(written: _Rule, gathering: ImportBuilder) -> None:
    values = (written.annotations or {}).values()
    wider = {
        f"{written.unknown_keys} is not known here and does not narrow the rule": bool(written.unknown_keys),
        "it names no tool, so it applies to all": written.tools is None and written.server is None,
        f"nbtools has no mode {written.unknown_modes}, so the rule applies in all modes": bool(
            written.unknown_modes
        ),
        "it applies only where nobody can be asked; here its calls need approval,"
        " or are denied without a person": (written.interactive is False),
        "commandPrefix, commandRegex and argsPattern are mutually exclusive; here each of them applies": (
            len(written.conditions) > 1
        ),
        "its toolAnnotations are not all true or false and do not narrow the rule": not all(
            isinstance(value, bool) for value in values
        ),
    }
    for sentence in (sentence for sentence, holds in wider.items() if holds):
        gathering.remark(f"{written.title}: {sentence}.")


def _tools_meant(written: _Rule | _Checker, tool_named: ToolNameLookup) -> tuple[str, ...]:
    names = _several(written.tools) or (EVERY_TOOL,)
    return tuple(
        dict.fromkeys(
            tool
            for tool_name in names
            for tool in possible_tools(tool_name, written.server or "", tool_named)
        )
    )


# --- what wins


def _report_overridden(converted: list[tuple[_Rule, tuple[Rule, ...]]], gathering: ImportBuilder) -> None:
    """Adds a remark for each rule that overrides a stronger action by its priority in Gemini CLI."""
    for written, rules in converted:
        beaten = [
            other
            for other, stronger in converted
            if _STRENGTH[other.verb] > _STRENGTH[written.verb]
            and other.priority < written.priority
            and any(_overlap(one, two) for one in rules for two in stronger)
        ]
        if beaten:
            others = "; ".join(other.title for other in beaten)
            gathering.remark(
                f"{written.title} overrides {others} in Gemini CLI. Here deny wins over ask and ask over"
                " allow, so the stricter applies."
            )


def _overlap(one: Rule, two: Rule) -> bool:
    """Whether some call may match both rules, as far as their texts show."""
    if not _share_calls(one, two):
        return False
    if one.modes and two.modes and not set(one.modes) & set(two.modes):
        return False
    mine, yours = one.spec.removesuffix(":*"), two.spec.removesuffix(":*")
    return not (mine and yours) or f"{mine} ".startswith(f"{yours} ") or f"{yours} ".startswith(f"{mine} ")


def _share_calls(one: Rule, two: Rule) -> bool:
    return one.applies_to(two.tool) or two.applies_to(one.tool)


def _several(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value
