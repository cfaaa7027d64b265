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
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
)

from nbtools.core.errors import PolicyError
from nbtools.core.schema.parameters import describe_errors
from nbtools.policy.importers.gemini_commands import add_allowed, allow_every_call
from nbtools.policy.importers.gemini_names import EVERY_TOOL, PATH_ARGUMENTS, allowed_tool, possible_tools
from nbtools.policy.importers.gemini_patterns import (
    allowed_arguments,
    allowed_beginning,
    allowed_command,
    allowed_folder,
    forbidding_rules,
    has_own_arguments,
)
from nbtools.policy.importers.imported import ImportBuilder, ImportedPolicy, ToolNameLookup, is_available
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

_VERBS = {"allow": "allow", "ask_user": "ask", "deny": "deny"}
_STRENGTH = ("allow", "ask", "deny")
MODES = {
    "default": Mode.DEFAULT,
    "autoEdit": Mode.AUTO_EDIT,
    "auto_edit": Mode.AUTO_EDIT,
    "yolo": Mode.YOLO,
    "plan": Mode.PLAN,
}
_RULE_NAME = re.compile(r"[\w.*-]+")
_one_or_several = BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
_Name: TypeAlias = Annotated[StrictStr, Field(min_length=1)]
_Names: TypeAlias = Annotated[tuple[_Name, ...], Field(min_length=1), _one_or_several]


class _Matcher(BaseModel):
    """The calls that a rule or a safety checker is about."""

    model_config = ConfigDict(frozen=True, extra="allow")

    tools: _Names = Field((EVERY_TOOL,), alias="toolName")
    server: _Name | None = Field(None, alias="mcpName")
    modes: tuple[StrictStr, ...] = ()

    @property
    def unknown_modes(self) -> str:
        return ", ".join(mode for mode in self.modes if mode not in MODES)

    def possible_modes(self) -> tuple[Mode, ...]:
        """Returns the modes of a deny or an ask, empty for all. A rule for ``default`` also applies in
        ``dont_ask``, which is the default mode where nobody can be asked.
        """
        modes = () if self.unknown_modes else tuple(MODES[mode] for mode in self.modes)
        return (*modes, Mode.DONT_ASK) if Mode.DEFAULT in modes else modes

    def possible_tools(self, tool_named: ToolNameLookup) -> dict[str, None]:
        server = self.server or ""
        return dict.fromkeys(tool for name in self.tools for tool in possible_tools(name, server, tool_named))


class _Rule(_Matcher):
    """One ``[[rule]]``; None for a key that is absent."""

    decision: Literal["allow", "deny", "ask_user"]
    priority: StrictInt = Field(ge=0, le=999)
    subagent: _Name | None = None
    arguments: StrictStr | None = Field(None, alias="argsPattern")
    prefixes: Annotated[tuple[StrictStr, ...], _one_or_several] | None = Field(None, alias="commandPrefix")
    command: StrictStr | None = Field(None, alias="commandRegex")
    annotations: dict[str, Any] | None = Field(None, alias="toolAnnotations")
    interactive: StrictBool | None = None
    redirects: StrictBool = Field(
        False, validation_alias=AliasChoices("allowRedirection", "allow_redirection")
    )
    message: StrictStr = Field("", validation_alias=AliasChoices("denyMessage", "deny_message"))

    @property
    def verb(self) -> str:
        return _VERBS[self.decision]

    @property
    def title(self) -> str:
        """The rule as it appears in the file, for remarks."""
        conditions = ", ".join(filter(None, (*(self.prefixes or ()), self.command, self.arguments)))
        server = f"{self.server}: " if self.server else ""
        narrowed = f" ({conditions})" if conditions else ""
        return f"{self.decision} {server}{', '.join(self.tools)}{narrowed}, priority {self.priority}"

    def differences(self) -> Iterator[str]:
        """Yields why it has no exact counterpart: an allow is then left out, a deny or an ask is wider."""
        allows = self.verb == "allow"
        conditions = [one for one in (self.prefixes, self.command, self.arguments) if one is not None]
        values = [] if self.annotations is None else list(self.annotations.values())
        if self.model_extra:
            yield f"{', '.join(self.model_extra)} is not known here"
        if not {"tools", "server"} & self.model_fields_set:
            yield 'it names no tool; an allow of every call needs toolName = "*"'
        if self.interactive is False or (self.interactive and allows):
            people = "a person can" if self.interactive else "nobody can"
            yield f"it applies only where {people} be asked, and a rule here applies everywhere"
        if self.unknown_modes:
            yield f"nbtools has no mode {self.unknown_modes}"
        if len(conditions) > 1:
            yield "commandPrefix, commandRegex and argsPattern are mutually exclusive"
        if not all((*conditions, *(self.prefixes or ()))):
            yield "one of its conditions is empty"
        if allows and self.annotations is not None and not (values and all(one is True for one in values)):
            yield "its toolAnnotations require other values than true"
        if not allows and not all(isinstance(one, bool) for one in values):
            yield "its toolAnnotations are not all true or false"


class _Policies(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    rule: tuple[_Rule, ...] = ()
    safety_checker: tuple[_Matcher, ...] = ()


def read_gemini_policies(text: str, tool_named: ToolNameLookup) -> ImportedPolicy:
    """Imports the rules of a policy file.  Raises ``PolicyError`` for an invalid file."""
    try:
        policies = _Policies.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise PolicyError(f"{describe_errors('The policies', _Policies, error)}.") from None
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"The policies are not valid TOML: {error}.") from None
    builder = ImportBuilder()
    checked = [tool for one in policies.safety_checker for tool in one.possible_tools(tool_named)]
    converted = [(one, _convert(one, tool_named, checked, builder)) for one in policies.rule]
    _report_overridden(converted, builder)
    for checker in policies.safety_checker:
        tools = filter(_RULE_NAME.fullmatch, checker.possible_tools(tool_named))
        builder.add("ask", *(Rule(tool, modes=checker.possible_modes()) for tool in tools))
        builder.remark(
            f"The safety checker for {', '.join(checker.tools)} was not imported, so these calls need"
            " approval; use a hook to check calls."
        )
    for key in policies.model_extra or {}:
        builder.remark(f"{key} is not a known setting and was not imported.")
    return builder.build()


def _convert(
    written: _Rule, tool_named: ToolNameLookup, checked: Sequence[str], builder: ImportBuilder
) -> list[Rule]:
    """Adds the rules that stand for one of Gemini CLI's, and returns them."""
    if written.subagent:
        builder.remark(
            f"{written.title}: it applies to the subagent {written.subagent}, and nbtools has no subagents."
        )
        return []
    differences = list(written.differences())
    if written.verb == "allow" and differences:
        builder.remark(f"{written.title}: {differences[0]}, so it was left out.")
        return []
    for difference in differences:
        builder.remark(f"{written.title}: {difference}, so the rule is wider here.")
    add = _add_allowed if written.verb == "allow" else _add_forbidden
    return add(written, tool_named, checked, builder)


# --- allow


def _add_allowed(
    written: _Rule, tool_named: ToolNameLookup, checked: Sequence[str], builder: ImportBuilder
) -> list[Rule]:
    """Adds the rules of an allow, without those that have no counterpart."""
    found: list[Rule] = []
    for name in written.tools:
        try:
            found += _allow_rules(written, name, tool_named, checked)
        except PolicyError as error:
            builder.remark(f"{written.title}: {str(error).removesuffix('.')}.")
    add_allowed(builder, *found)
    return found


def _allow_rules(written: _Rule, name: str, tool_named: ToolNameLookup, checked: Sequence[str]) -> list[Rule]:
    """Returns the rules of an allow, one for each prefix.
    Raises ``PolicyError`` for what has no counterpart.
    """
    tool = allowed_tool(name, written.server or "", tool_named)
    if not (is_available(tool) or tool.startswith("discovered_tool_")):
        raise PolicyError(f"nbtools has no tool {name}")
    if any(_share_calls(Rule(tool), Rule(other)) for other in checked):
        raise PolicyError("in Gemini CLI a safety checker checks its calls, and here none does")
    base: dict[str, Any] = {
        "modes": tuple(MODES[mode] for mode in written.modes),
        "annotations": tuple(sorted((written.annotations or {}).items())),
        "redirects": written.redirects,
    }
    if (written.prefixes or written.command) and tool != "shell":
        raise PolicyError("only commands can be narrowed by their beginning")
    if written.prefixes:
        return [allowed_beginning(tool, prefix, base) for prefix in written.prefixes]
    if written.command:
        return [Rule(tool, command=allowed_command(written.command), **base, literal=True)]
    if written.arguments and has_own_arguments(tool):
        return [Rule(tool, arguments=allowed_arguments(written.arguments), **base)]
    if written.arguments:
        return [Rule(tool, allowed_folder(name, written.arguments), **base)]
    tools = [tool]
    if tool == EVERY_TOOL and not written.annotations:
        tools = [*dict.fromkeys(map(tool_named, PATH_ARGUMENTS)), "mcp__*", "discovered_tool_*"]
    return [allow_every_call(one, base) for one in tools]


# --- deny and ask


def _add_forbidden(
    written: _Rule, tool_named: ToolNameLookup, _: Sequence[str], builder: ImportBuilder
) -> list[Rule]:
    """Adds the rules of a deny or an ask, none narrower than the original."""
    verb = written.verb if written.interactive is not False else "ask"
    annotations = written.annotations or {}
    are_flags = all(isinstance(value, bool) for value in annotations.values())
    base: dict[str, Any] = {
        "modes": written.possible_modes(),
        "annotations": tuple(sorted(annotations.items())) if are_flags else (),
    }
    message = written.message if verb == "deny" else ""
    prefixes = tuple(filter(None, written.prefixes or ()))
    conditions = (prefixes, written.command, written.arguments)
    found: list[Rule] = []
    for tool in written.possible_tools(tool_named):
        if not _RULE_NAME.fullmatch(tool):
            builder.remark(f"{written.title}: nbtools has no tool {tool}.")
            continue
        rules = [Rule(tool, **base, message=message)]
        try:
            if any(conditions):
                rules = list(forbidding_rules(tool, *conditions, {**base, "message": message}))
            builder.add(verb, *rules)
        except PolicyError as error:
            rules = [Rule(tool, **base)]
            builder.add("ask", *rules)
            builder.remark(
                f"{written.title}: {str(error).removesuffix('.')}. So every call of {tool} needs approval."
            )
        found += rules
    return found


# --- what wins


def _report_overridden(converted: list[tuple[_Rule, list[Rule]]], builder: ImportBuilder) -> None:
    """Adds a remark for each rule that overrides a stronger action by its priority in Gemini CLI."""
    for written, rules in converted:
        strength = _STRENGTH.index(written.verb)
        beaten = [
            other.title
            for other, stronger in converted
            if _STRENGTH.index(other.verb) > strength
            and other.priority < written.priority
            and any(_overlap(one, two) for one in rules for two in stronger)
        ]
        if beaten:
            builder.remark(
                f"{written.title} overrides {'; '.join(beaten)} in Gemini CLI. Here deny wins over ask and"
                " ask over allow, so the stricter applies."
            )


def _overlap(one: Rule, two: Rule) -> bool:
    """Whether some call may match both rules, as far as their texts show."""
    if not _share_calls(one, two) or (one.modes and two.modes and not set(one.modes) & set(two.modes)):
        return False
    mine, yours = one.spec.removesuffix(":*"), two.spec.removesuffix(":*")
    return not (mine and yours) or f"{mine} ".startswith(f"{yours} ") or f"{yours} ".startswith(f"{mine} ")


def _share_calls(one: Rule, two: Rule) -> bool:
    return one.applies_to(two.tool) or two.applies_to(one.tool)
