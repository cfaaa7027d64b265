"""Policies as people keep them: TOML with a mode, lists of rules, and tables for rules that are no plain text.

::

    mode = "auto_edit"
    allow = ["shell(git status)", "edit(src/**)"]
    deny = ["read(.env*)"]

    [[rule]]
    decision = "deny"
    tool = "shell"
    command = "curl .*"
    message = "Use fetch."

    [programs.mytool]
    flags = "-v --verbose"
    operands = "read"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import explain
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Table

VERBS = ("allow", "ask", "deny")
_HEAD = "Rules of nbtools: what runs unasked, what is asked, what never runs.  A deny wins over an ask, an ask over an allow."


class _RuleTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    decision: Literal["allow", "ask", "deny"]
    tool: str
    spec: str = ""
    command: str = ""
    arguments: str = ""
    modes: tuple[str, ...] = ()
    message: str = ""
    annotations: dict[str, bool] = {}
    redirects: bool = False

    @property
    def rule(self) -> Rule:
        said = self.model_dump(exclude={"decision", "annotations"})
        return Rule(**said, annotations=tuple(sorted(self.annotations.items())))


class _PolicyFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: str = ""
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    rule: tuple[_RuleTable, ...] = ()
    programs: dict[str, dict[str, Any]] = {}


def read_policy(text: str, name: str) -> Policy:
    """The policy that a file called ``name`` spells.  Raises ``PolicyError`` in one line: what is wrong, and what can be done."""
    try:
        found = _PolicyFile.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise PolicyError(f"{explain(name, _PolicyFile, error)}.") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits and deep nesting are no TOMLDecodeError
        raise PolicyError(f"{name} is no TOML: {error}.") from None
    if found.mode == Mode.YOLO:
        raise PolicyError(f"{name}: mode yolo ends with a session and is not kept in files. Take it out; %tools mode yolo sets it.")
    try:
        lists: dict[str, Any] = {verb: (*getattr(found, verb), *(one.rule for one in found.rule if one.decision == verb)) for verb in VERBS}
        return Policy(found.mode, **lists, programs=found.programs)
    except PolicyError as error:
        raise PolicyError(f"{name}: {error}") from None


def is_policy_file(text: str) -> bool:
    """Whether a TOML file is one of ours rather than another program's: by the keys that only ours has."""
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool({"mode", "programs", *VERBS} & found.keys()) or any("tool" in one for one in found.get("rule", ()) if isinstance(one, dict))


def with_policy(text: str, policy: Policy) -> str:
    """The file's text with the rules and the mode of ``policy`` added; whatever else it says, comments too, stays as it is."""
    import tomlkit  # noqa: PLC0415 - 60 ms: only saving pays for it

    document = tomlkit.parse(text)
    if not text.strip():
        document.add(tomlkit.comment(_HEAD))
        document.add(tomlkit.nl())
    if policy.mode and policy.mode != Mode.YOLO:
        document["mode"] = str(policy.mode)
    for verb in VERBS:
        _add(document, verb, getattr(policy, verb))
    if policy.programs:
        document.setdefault("programs", tomlkit.table(is_super_table=True)).update(
            {name: dict(raw) for name, raw in policy.programs.items()}
        )
    return tomlkit.dumps(document)


def _add(document: TOMLDocument, verb: str, rules: Iterable[str | Rule]) -> None:
    import tomlkit  # noqa: PLC0415 - as in with_policy

    plain = [str(rule) for rule in rules if isinstance(rule, str) or _is_plain(rule)]
    new = [rule for rule in dict.fromkeys(plain) if rule not in document.get(verb, ())]
    if new:
        listed = document.setdefault(verb, tomlkit.array())
        listed.extend(new)
        listed.multiline(len(listed) > 1)
    tables = [_table(verb, rule) for rule in rules if isinstance(rule, Rule) and not _is_plain(rule)]
    for table in tables:
        if table not in document.get("rule", ()):
            document.setdefault("rule", tomlkit.aot()).append(table)


def _is_plain(rule: Rule) -> bool:
    """Whether its text says all of it."""
    return rule == Rule(rule.tool, rule.spec)


def _table(verb: str, rule: Rule) -> Table:
    import tomlkit  # noqa: PLC0415 - as in with_policy

    table = tomlkit.table()
    table["decision"] = verb
    said = {**{field.name: getattr(rule, field.name) for field in fields(rule)}, "modes": list(rule.modes)}
    table.update({name: value for name, value in said.items() if value and name != "annotations"})
    if rule.annotations:
        table["annotations"] = tomlkit.inline_table()
        table["annotations"].update(dict(rule.annotations))
    return table
