"""Help pages of ``%tool``, ``%tool grep?`` and ``tools.grep?``,
built from the tools' schemas and the active policy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtools.cards.tables import Sheet
from nbtools.core.decision import Action
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.tool import AnyToolBuilder, is_mcp_tool
from nbtools.core.tool_names import server_prefix
from nbtools.notebook.magics.command_line import comment_hint
from nbtools.notebook.magics.examples import example_line, examples_for, function_call
from nbtools.notebook.magics.flags import ANY_TYPES, Grammar, Parameter, grammar_of
from nbtools.policy.modes import default_decision

if TYPE_CHECKING:
    from nbtools.session import Session


def overview(session: Session) -> Sheet:
    """Returns the list of all tools: usage, purpose, and what the policy does with them."""
    rows = tuple(
        (
            usage(grammar_of(tool)),
            tool.description.strip().split("\n", 1)[0].split(". ", 1)[0].rstrip("."),
            default_answer(tool, session),
        )
        for tool in session.tools.values()
    )
    rows += tuple(_unconnected_servers(session))
    return Sheet(
        "",
        rows,
        ("%tool NAME? explains a tool; %tools shows the session.",),
        ("tool", "what it does", "policy"),
    )


def _unconnected_servers(session: Session) -> Iterator[tuple[str, str, str]]:
    """Yields a row for each MCP server that is not connected, whose tools are therefore unknown."""
    if session.settings.servers:
        from nbtools.notebook.mcp.status import state_of  # noqa: PLC0415 - not needed to load the extension

        for name, connection in session.mcp.connections.items():
            if connection.state != "connected":
                state = state_of(session, connection)
                about = f"tools of the MCP server {name}: %tools mcp connect {name}"
                yield (
                    f"{server_prefix(name)}…",
                    about,
                    "not connected yet" if state == "not connected" else state,
                )


def help_sheet(tool: AnyToolBuilder, session: Session, *, python: bool = False) -> Sheet:
    """Returns the help page of a tool; its examples are magics or, with ``python``, functions."""
    grammar = grammar_of(tool)
    rows = tuple(
        (_spelled(parameter), _kind_of(parameter), parameter.description) for parameter in grammar.parameters
    )
    write = partial(function_call, grammar) if python else partial(example_line, grammar)
    examples = tuple((write(example.arguments), example.about) for example in examples_for(tool, grammar))
    lines = (f"kind: {tool.kind.value}", f"policy: {policy_says(tool, session)}")
    return Sheet(f"%tool {usage(grammar)}\n{tool.description.strip()}", rows, lines, examples=examples)


def help_text(tool: AnyToolBuilder, session: Session) -> str:
    """Returns the help page of a tool as text, for its docstring."""
    return help_sheet(tool, session, python=True).text()


def usage(grammar: Grammar) -> str:
    """Returns a tool's usage without its flags: ``grep PATTERN [PATH]``, ``shell COMMAND …``."""
    if grammar.literal is not None:
        return " ".join(
            [
                grammar.tool,
                *(parameter.name.upper() for parameter in grammar.lead),
                grammar.literal.name.upper(),
                "…",
            ]
        )
    required = [parameter.name.upper() for parameter in grammar.positional if parameter.required]
    path = [
        "[PATH]" for parameter in grammar.positional if parameter.name == "path" and not parameter.required
    ]
    return " ".join([grammar.tool, *required, *path])


def check_required(grammar: Grammar, arguments: Mapping[str, Any], line: str) -> None:
    """Raises ``ToolFailure`` with the tool's usage if a required argument is missing on the line."""
    missing = [
        parameter.name
        for parameter in grammar.parameters
        if parameter.required and parameter.name not in arguments
    ]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        hint = comment_hint(line).removesuffix(".")
        how = f"Usage: %tool {usage(grammar)}. %tool {grammar.tool}? has examples{hint}."
        message = f"{grammar.tool}: {' and '.join(missing)} {verb} required. {how}"
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)


def default_answer(tool: AnyToolBuilder, session: Session) -> str:
    """Returns ``runs``, ``asks`` or ``off``, disregarding rules about paths and commands."""
    whole = [rule for rule in _rules_on(tool, session) if "(" not in rule]
    action = default_decision(session.mode, tool.asks, tool.kind).action.value
    word = {"allow": "runs", "ask": "asks", "deny": "off"}[action]
    return f"{word}, rules apply" if whole or _rules_on(tool, session) else word


def policy_says(tool: AnyToolBuilder, session: Session) -> str:
    """Returns the reason of the default decision, and the rules about the tool."""
    rules = _rules_on(tool, session)
    default = default_decision(session.mode, tool.asks, tool.kind, of_server=is_mcp_tool(tool))
    return default.reason + (f"; rules: {', '.join(rules)}" if rules else "")


def _rules_on(tool: AnyToolBuilder, session: Session) -> list[str]:
    from nbtools.policy.layers import (  # noqa: PLC0415 - not needed to load the extension
        Layer,
        as_rule,
        grant_policy,
    )

    layers = (
        *session.layers,
        Layer("session", session.policy),
        Layer("grants", grant_policy(session.grants)),
    )
    return [
        f"{verb} {rule}"
        for verb in (Action.ALLOW, Action.ASK, Action.DENY)
        for layer in layers
        if layer.trusted or verb is not Action.ALLOW
        for rule in getattr(layer.policy, verb)
        if as_rule(rule, verb).applies_to(session.tool_named(tool.name))
    ]


def _spelled(parameter: Parameter) -> str:
    short = f" -{parameter.short}" if parameter.short else ""
    return f"{parameter.name}{short}" if parameter.required else f"--{parameter.flag}{short}"


_KINDS = {
    "string": "text",
    "integer": "whole number",
    "array": "list",
    "object": "JSON object",
    "boolean": "true or false",
}


def _kind_of(parameter: Parameter) -> str:
    """Returns the kind of a parameter in words: ``lines, files or count, default lines``; ``flag``;
    ``whole number, default 100``.
    """
    if parameter.is_switch:
        return f"flag, on unless --no-{parameter.flag}" if parameter.default is True else "flag"
    kinds = [str(choice) for choice in parameter.choices]
    chosen = {"string"} if any(isinstance(choice, str) for choice in parameter.choices) else set()
    kinds += [_KINDS.get(kind, kind) for kind in parameter.types if kind not in {"null", *chosen}]
    words = (
        " or ".join(filter(None, (", ".join(kinds[:-1]), *kinds[-1:])))
        if set(parameter.types) != set(ANY_TYPES)
        else "any value"
    )
    default = parameter.default
    if parameter.required or default in (None, "", []):
        return words
    return f"{words}, default {default if isinstance(default, str) else json.dumps(default)}"
