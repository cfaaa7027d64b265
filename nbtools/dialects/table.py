"""Generates the page of tool names per agent: ``python -m nbtools.dialects.table > docs/dialects.md``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from nbtools.core.schema.documented_model import accepted_names
from nbtools.core.schema.parameters import schema_of
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.dialects import Dialect, ToolMapping, dialect, dialect_names
from nbtools.dialects.field_map import Fixed

_HEAD = """\
# Tool names in every dialect

<!-- made by `make dialects` from nbtools/dialects -->

Every tool exists once, under the canonical name in the first column. A session uses one dialect \
(`Session(dialect="claude")`,
`%tools use claude`): it lists the tools under that agent's names, accepts that agent's parameters, and \
returns results in that agent's
wording: they name only that agent's tools and parameters, and leave out advice that it cannot follow, \
such as `%tools allow`.
Canonical names work in every dialect. Names in *italics* are former ones: still accepted, but not declared \
to a model.
An arrow leads from an agent's parameter to the canonical one that it gives, in its unit or as its opposite; \
`=` is the value in every call.
"""
_TITLES = {"claude": "Claude Code", "gemini": "Gemini CLI", "void": "Void", "codex": "Codex"}


def table(dialects: Sequence[Dialect]) -> str:
    """Returns the page in Markdown: an overview, then each agent's tools with parameters, differences,
    and unsupported tools.
    """
    return "\n".join([_HEAD, *_overview(dialects), *(line for agent in dialects for line in _section(agent))])


def _overview(dialects: Sequence[Dialect]) -> Iterator[str]:
    yield _row(["nbtools", *map(_title, dialects)])
    yield _row(["---"] * (len(dialects) + 1))
    for tool in sorted(CANONICAL_NAMES):
        yield _row([f"`{tool}`", *(_names(agent, tool) for agent in dialects)])
    yield ""


def _names(agent: Dialect, tool: str) -> str:
    """Lists an agent's names of one tool, current ones first."""
    names = agent.names_of(tool)
    former = dict.fromkeys(
        spelling.name for spelling in agent.mappings if spelling.tool == tool and spelling.name not in names
    )
    return ", ".join([*(f"`{name}`" for name in names), *(f"*`{name}`*" for name in former)]) or "–"


def _name(spelling: ToolMapping) -> str:
    return f"*`{spelling.name}`*" if spelling.former else f"`{spelling.name}`"


def _section(agent: Dialect) -> Iterator[str]:
    yield f"## {_title(agent)}\n"
    if agent.reads_first:
        yield "An existing file must be read before it is changed.\n"
    yield _row(["tool", "canonical tool", "parameters", "canonical parameters"])
    yield _row(["---"] * 4)
    for spelling in agent.mappings:
        cells = [", ".join(_parameters(spelling)), ", ".join(_canonical_parameters(spelling)) or "–"]
        yield _row([_name(spelling), f"`{spelling.tool}`", *cells])
    yield ""
    if agent.differences:
        yield f"Differences from {_title(agent)}:\n"
        yield from (f"- {difference}" for difference in agent.differences)
        yield ""
    if agent.unsupported:
        yield "Unsupported tools:\n"
        for reason, tools in groupby(agent.unsupported, key=lambda tool: tool.reason):
            yield f"- {', '.join(f'`{tool.name}`' for tool in tools)}: {reason}"
        yield ""


def _parameters(spelling: ToolMapping) -> Iterable[str]:
    """Lists the parameters' names, optional ones with a question mark."""
    schema = schema_of(spelling.params)
    required = set(schema.get("required", ()))
    return (f"`{name}{'' if name in required else '?'}`" for name in schema.get("properties", {}))


def _canonical_parameters(spelling: ToolMapping) -> Iterator[str]:
    """Lists the canonical parameters that have another name or the same value in every call."""
    declared, params = spelling.params.canonical, spelling.params
    for canonical, entry in declared.entries.items():
        if isinstance(entry, Fixed):
            yield f"`{canonical}` = `{json.dumps(entry.value)}`"
        elif (name := accepted_names(entry.name, params.model_fields[entry.name])[0]) != canonical:
            yield f"`{canonical}` ← `{name}`"


def _title(agent: Dialect) -> str:
    return _TITLES.get(agent.name, agent.name)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def agent_dialects() -> tuple[Dialect, ...]:
    """Returns all dialects except the canonical one."""
    return tuple(agent for agent in map(dialect, dialect_names()) if agent.mappings)


if __name__ == "__main__":
    sys.stdout.write(table(agent_dialects()))
