"""Reads and writes policy files: TOML with a mode, lists of rules, and tables for rules with more conditions.

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

from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.schema.parameters import describe_errors
from nbtools.policy.layers import Policy, is_plain
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule, read_spec

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Table

VERBS = ("allow", "ask", "deny")
_HEAD = (
    "Rules of nbtools: which calls run, which need approval, which are denied.  Deny wins over ask, ask over"
    " allow."
)


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
    literal: bool = False

    @property
    def rule(self) -> Rule:
        values = self.model_dump(exclude={"decision", "annotations", "spec"})
        return Rule(**values, spec=read_spec(self.spec), annotations=tuple(sorted(self.annotations.items())))


class _PolicyFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: str = ""
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    rule: tuple[_RuleTable, ...] = ()
    programs: dict[str, dict[str, Any]] = {}


def read_policy(text: str, name: str) -> Policy:
    """Parses the policy file ``name``. Raises ``PolicyError`` with problem and remedy in one line."""
    try:
        found = _PolicyFile.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise PolicyError(f"{describe_errors(name, _PolicyFile, error)}.") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # huge numbers and deep nesting raise other errors than TOMLDecodeError
        raise PolicyError(f"{name} is not valid TOML: {error}.") from None
    if found.mode == Mode.YOLO:
        raise PolicyError(
            f"{name}: mode yolo ends with the session, so a file cannot set it. Remove it and use %tools mode"
            " yolo."
        )
    try:
        lists: dict[str, Any] = {
            verb: (*getattr(found, verb), *(one.rule for one in found.rule if one.decision == verb))
            for verb in VERBS
        }
        return Policy(found.mode, **lists, programs=found.programs)
    except PolicyError as error:
        raise PolicyError(f"{name}: {error}") from None


def is_policy_file(text: str) -> bool:
    """Whether a TOML file is a policy file of nbtools, by the keys that only those have."""
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool({"mode", "programs", *VERBS} & found.keys()) or any(
        "tool" in one for one in found.get("rule", ()) if isinstance(one, dict)
    )


def add_policy(text: str, policy: Policy) -> str:
    """Returns the text with ``policy``'s rules and mode added; all else, comments too, stays."""
    import tomlkit  # noqa: PLC0415 - 60 ms: loaded only to save

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

    action = Action(verb)
    plain = [str(rule) for rule in rules if isinstance(rule, str) or is_plain(rule, action)]
    new = [rule for rule in dict.fromkeys(plain) if rule not in document.get(verb, ())]
    if new:
        listed = document.setdefault(verb, tomlkit.array())
        listed.extend(new)
        listed.multiline(len(listed) > 1)
    tables = [_table(verb, rule) for rule in rules if isinstance(rule, Rule) and not is_plain(rule, action)]
    for table in tables:
        if table not in document.get("rule", ()):
            document.setdefault("rule", tomlkit.aot()).append(table)


def _table(verb: str, rule: Rule) -> Table:
    import tomlkit  # noqa: PLC0415 - as in with_policy

    table = tomlkit.table()
    table["decision"] = verb
    values = {**{field.name: getattr(rule, field.name) for field in fields(rule)}, "modes": list(rule.modes)}
    table.update({name: value for name, value in values.items() if value and name != "annotations"})
    if rule.annotations:
        table["annotations"] = tomlkit.inline_table()
        table["annotations"].update(dict(rule.annotations))
    return table
