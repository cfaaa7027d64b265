"""Help pages of ``%tool``, ``%tool grep?`` and ``tools.grep?``, built from the tools' schemas and the active policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nbtools.core.decision import Action
from nbtools.core.tool import AnyToolBuilder, is_mcp_tool
from nbtools.core.tool_names import server_prefix
from nbtools.notebook.cards.tables import Sheet
from nbtools.notebook.magics.command_line import format_line
from nbtools.notebook.magics.flags import Grammar, Parameter, grammar_of
from nbtools.policy.modes import default_decision

if TYPE_CHECKING:
    from nbtools.session import Session


def overview(session: Session) -> Sheet:
    """Returns the list of all tools: usage, purpose, and what the policy does with them."""
    rows = tuple(
        (usage(grammar_of(tool)), _first_sentence(tool.description), default_answer(tool, session)) for tool in session.tools.values()
    )
    rows += tuple(_unconnected_servers(session))
    return Sheet("", rows, ("%tool NAME? explains a tool; %tools shows the session.",), ("tool", "what it does", "policy"))


def _unconnected_servers(session: Session) -> Iterator[tuple[str, str, str]]:
    """Yields a row for each MCP server that is not connected, whose tools are therefore unknown."""
    if session.settings.servers:
        from nbtools.notebook.mcp.status import state_of  # noqa: PLC0415 - not needed to load the extension

        for name, connection in session.mcp.connections.items():
            if connection.state != "connected":
                state = state_of(session, connection)
                about = f"tools of the MCP server {name}: %tools mcp connect {name}"
                yield f"{server_prefix(name)}…", about, "not connected yet" if state == "not connected" else state


def help_sheet(tool: AnyToolBuilder, session: Session) -> Sheet:
    """Returns the help page of a tool."""
    grammar = grammar_of(tool)
    rows = tuple((_spelled(parameter), _kind_of(parameter), parameter.description) for parameter in grammar.parameters)
    lines = (*_examples(tool, grammar), f"kind: {tool.kind.value}", f"policy: {policy_says(tool, session)}")
    return Sheet(f"%tool {usage(grammar)}\n{tool.description.strip()}", rows, lines)


def help_text(tool: AnyToolBuilder, session: Session) -> str:
    """Returns the help page of a tool as text, for its docstring."""
    return help_sheet(tool, session).text()


def usage(grammar: Grammar) -> str:
    """Returns a tool's usage without its flags: ``grep PATTERN [PATH]``, ``shell COMMAND …``."""
    if grammar.literal is not None:
        return f"{grammar.tool} {grammar.literal.name.upper()} …"
    required = [parameter.name.upper() for parameter in grammar.positional if parameter.required]
    path = ["[PATH]" for parameter in grammar.positional if parameter.name == "path" and not parameter.required]
    return " ".join([grammar.tool, *required, *path])


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
    from nbtools.policy.layers import Layer, as_rule, grant_policy  # noqa: PLC0415 - not needed to load the extension

    layers = (*session.layers, Layer("session", session.policy), Layer("grants", grant_policy(session.grants)))
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


def _kind_of(parameter: Parameter) -> str:
    kind = " or ".join(json.dumps(choice) for choice in parameter.choices) or " or ".join(parameter.types)
    return kind if parameter.required or parameter.default is None else f"{kind} = {json.dumps(parameter.default)}"


def _examples(tool: AnyToolBuilder, grammar: Grammar) -> tuple[str, ...]:
    examples: list[Any] = (tool.schema.get("parameters") or {}).get("examples", [])
    return tuple(f"%tool {tool.name} {format_line(grammar, example)}" for example in examples if isinstance(example, dict))


def _first_sentence(text: str) -> str:
    return text.strip().split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
