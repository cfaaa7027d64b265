"""Converts rules with Claude Code's tool names, whose specs have the meaning that Claude Code documents.

``Read(secrets/**)`` in a deny or ask rule covers a folder ``secrets`` at any depth, in an allow rule only the
one in the workspace's root.  A star in ``Bash(…)`` matches any text, blanks included.
``Tool(parameter:value)`` matches a top-level parameter, in deny and ask rules only.  The importer of Claude
Code's settings and ``Policy`` both use this module.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache

from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.policy.patterns import literal_pattern
from nbtools.policy.rules import Rule

WRITERS = frozenset({"Write", "NotebookEdit", "MultiEdit"})
"""The tools that ``Edit`` rules cover in Claude Code.  ``READERS``: those that ``Read`` rules cover."""
READERS = frozenset({"Grep", "Glob", "LS", "NotebookRead"})
_KEYS = {"Agent": "subagent_type", "Task": "subagent_type", "Skill": "skill"}
"""The parameter that the spec of a tool matches if it names none."""
_PARAMETERS = {
    "Bash": frozenset(
        {"command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox"}
    ),
    "Read": frozenset({"file_path", "offset", "limit", "pages"}),
    "Edit": frozenset({"file_path", "old_string", "new_string", "replace_all"}),
    "Write": frozenset({"file_path", "content"}),
    "MultiEdit": frozenset({"file_path", "edits"}),
    "NotebookEdit": frozenset({"notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"}),
    "NotebookRead": frozenset({"notebook_path", "cell_id"}),
    "Glob": frozenset({"pattern", "path"}),
    "Grep": frozenset(
        {"pattern", "path", "glob", "type", "output_mode", "multiline", "head_limit", "offset"}
    ),
    "LS": frozenset({"path", "ignore"}),
    "WebFetch": frozenset({"url", "prompt"}),
}
"""The parameters of the tools that have a counterpart here."""
_HERE = {("Bash", "run_in_background"): "background"}
"""The parameters that calls have here, too, with the same values."""
_PARAMETER = re.compile(r"(?P<name>[A-Za-z_]\w*):(?P<value>.+)", re.DOTALL)
_ONE_FOLDER = re.compile(r"(?!\*\*/)[^!/][^/]*/\*\*")
_GLOB = re.compile(r"[*?]")
_OF_ONE_SERVER = re.compile(r"mcp__(?:(?!__)[^*?])+__.*|mcp_(?!_)[^*?]+_\*", re.DOTALL)


@lru_cache(maxsize=65_536)
def claude_meaning(rule: Rule, action: Action, source: str = "") -> Rule:
    """Returns the rule in the terms of nbtools; a rule that has no name of Claude Code is returned unchanged.

    ``source`` is the folder that ``/path`` is relative to; empty: the workspace.
    Raises ``PolicyError`` for a condition that cannot be matched.
    """
    tool, spec = rule.tool, rule.spec
    if not spec or not (tool in _PARAMETERS or tool in _KEYS or tool.startswith("mcp__")):
        return rule
    found = _PARAMETER.fullmatch(spec)
    if tool not in _PARAMETERS:
        if action is Action.ALLOW:
            raise PolicyError(
                f"The rule {rule} matches a parameter, and only deny and ask rules do. Allow {tool} without"
                " parentheses."
            )
        if found is None and tool not in _KEYS:
            raise PolicyError(f"The rule {rule} names no parameter. Write {tool}(parameter:value).")
        return parameter_rule(
            rule, spec if found else f"{_KEYS[tool]}:{spec.removesuffix(':*').removesuffix(' *')}"
        )
    if (
        found is not None
        and found["name"] in _PARAMETERS[tool]
        and not (tool == "Bash" and found["value"] == "*" and found["name"] in ("command", "timeout"))
    ):
        return _known_parameter(rule, found, action)
    if tool == "Bash":
        return _command(rule)
    if tool == "WebFetch":
        return rule
    if action is not Action.ALLOW and tool in (*WRITERS, *READERS):
        tool = "edit" if tool in WRITERS else "read"
    return replace(rule, tool=tool, spec=_anchored(spec, action, source))


def check_allowed_name(rule: Rule) -> None:
    """Raises ``PolicyError`` for an allow of tools of more than one MCP server by a pattern of names."""
    glob = _GLOB.search(rule.tool)
    literal = rule.tool[: glob.start()] if glob else ""
    may_be_any = (
        rule.tool != "*" and glob is not None and ("mcp__".startswith(literal) or literal.startswith("mcp_"))
    )
    if may_be_any and _OF_ONE_SERVER.fullmatch(rule.tool) is None:
        raise PolicyError(
            f"The rule {rule} would allow tools of every MCP server, and only deny and ask rules may have"
            " such a pattern. Name the server, as in mcp__docs__*."
        )


def parameter_rule(rule: Rule, spec: str) -> Rule:
    """Returns the rule for calls with the top-level parameter of ``name:value``; a star is any text.

    Lists, objects and absent parameters never match.
    """
    name, _, value = spec.partition(":")
    text = r"[^\0]*".join(
        re.escape(json.dumps(piece, ensure_ascii=False)[1:-1]) for piece in re.split(r"\*+", value.strip())
    )
    whole = r"(?:\.0)?" if re.fullmatch(r"-?\d+", value.strip()) else ""
    return replace(rule, spec="", arguments=rf'\0"{name}":(?![\[{{])"?{text}{whole}"?\0')


def custom_parameter(rule: Rule, action: Action) -> Rule:
    """Returns the rule for a parameter, if it is a deny or ask rule ``tool(parameter:value)``."""
    found = None if action is Action.ALLOW else _PARAMETER.fullmatch(rule.spec)
    about_custom = rule.tool not in CANONICAL_NAMES and not _GLOB.search(rule.tool)
    return parameter_rule(rule, rule.spec) if found and found["name"] != "domain" and about_custom else rule


def _known_parameter(rule: Rule, found: re.Match[str], action: Action) -> Rule:
    name = _HERE.get((rule.tool, found["name"]))
    if name is None or action is Action.ALLOW:
        why = (
            "only deny and ask rules match parameters"
            if name
            else f"calls here have no parameter {found['name']} of that form"
        )
        raise PolicyError(
            f"The rule {rule} cannot be matched, because {why}. Write {rule.tool} or {rule.tool}(what)."
        )
    return parameter_rule(rule, f"{name}:{found['value']}")


def _command(rule: Rule) -> Rule:
    """Returns the rule for commands, with a regular expression where a star may match blanks."""
    spec = rule.spec
    words, open_ended = (spec[:-2], True) if spec.endswith((":*", " *")) else (spec, False)
    if "*" not in words:
        return rule
    ending = "" if words.endswith("*") else "$"
    if open_ended:
        ending = r"(?:\s|$)"
    text = ".*".join(
        literal_pattern(piece) for piece in re.split(r"\*+", words if ending else words.rstrip("*"))
    )
    return replace(rule, spec="", command=f"(?s){text}{ending}")


def _anchored(spec: str, action: Action, source: str) -> str:
    """Returns the path pattern relative to the start that rules of nbtools use."""
    if spec.startswith(("//", "~")):
        return spec
    if spec.startswith("/"):
        start = source if source.startswith("~") else f"/{source}"
        return f"{start}{spec}" if source else spec
    if spec.startswith("./"):
        return spec.removeprefix(".")
    return f"**/{spec}" if action is not Action.ALLOW and _ONE_FOLDER.fullmatch(spec) else spec
