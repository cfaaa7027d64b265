"""Sphinx extension: fills the placeholders ``<!-- generated: NAME -->`` of reference pages from the code."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import nbtools
from nbtools.cli import command_line_parser
from nbtools.notebook.agent.magic import AGENT, VERBS
from nbtools.notebook.magics.examples import example_line, examples_for
from nbtools.notebook.magics.flags import Grammar, grammar_of
from nbtools.notebook.magics.help_pages import help_sheet
from nbtools.notebook.magics.setting_commands import descriptions
from nbtools.notebook.magics.sub_commands import CommandSet
from nbtools.notebook.magics.tools import ToolsCommands
from nbtools.notebook.mcp.commands import mcp_commands
from nbtools.notebook.traces.magic_arguments import TRACE

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
_PLACEHOLDER = re.compile(r"<!-- generated: ([\w-]+) -->")


def tools() -> Iterator[str]:
    """Each tool with its parameters and examples."""
    with nbtools.Session(".").sync() as blocking:
        for tool in blocking.session.tools.values():
            grammar, sheet = grammar_of(tool), help_sheet(tool, blocking.session)
            yield f"## {tool.name}\n\n{_text(tool.description)}\n"
            yield (
                f"Kind: `{tool.kind.value}`. In mode `default`:"
                f" {_text(sheet.lines[1].removeprefix('policy: '))}.\n"
            )
            yield _table(
                ("parameter", "value", ""),
                ((f"`{name}`", _text(kind), _text(about)) for name, kind, about in sheet.rows),
            )
            for example in examples_for(tool, grammar):
                yield (
                    f"{_text(example.about)}\n\n```ipython\n{example_line(grammar, example.arguments)}\n```\n"
                )


def magics() -> Iterator[str]:
    """The sub-commands of ``%tools`` and ``%tools mcp``, and the flags of ``%trace`` and ``%%agent``."""
    nobody = cast("Any", None)  # the commands are described, not run
    yield "## %tools\n"
    yield _commands(ToolsCommands(nobody))
    yield "### %tools mcp\n"
    yield _commands(mcp_commands(nobody))
    yield (
        "## %trace\n\n`%trace` alone lists all sessions, `%trace LOG` opens one, `%trace A B …` compares"
        " several.\n"
    )
    yield _flags("flag", TRACE)
    yield (
        "## %%agent\n\n`%%agent` lets the model work on the cell's text; `%agent` alone shows and changes"
        " settings.\n"
    )
    yield _flags("flag or word", AGENT)
    yield _table(("word", ""), ((f"`%agent {verb}`", _text(about)) for verb, about in VERBS.items()))


def settings() -> Iterator[str]:
    """The settings of a session, and those of JupyterLab."""
    values = {name: getattr(nbtools.Settings(), name) for name in descriptions()}
    rows = (
        (f"`{name}`", f"`{'as the dialect' if values[name] is None else values[name]}`", _text(about))
        for name, about in descriptions().items()
    )
    yield "## Of a session\n"
    yield _table(("setting", "default", ""), rows)
    yield "## Of JupyterLab\n\n*Settings → nbtools*. No setting here changes what tools may do.\n"
    schema = json.loads((ROOT / "labextension/schema/plugin.json").read_text(encoding="utf-8"))["properties"]
    yield _table(
        ("setting", "default", ""),
        ((_text(one["title"]), f"`{one['default']}`", _text(one["description"])) for one in schema.values()),
    )


def command_line() -> Iterator[str]:
    """The help of the program ``nbtools`` and its commands."""
    parser = command_line_parser()
    yield f"```text\n{_help(parser)}\n```\n"
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001 - argparse has no other way
    for name, command in commands.choices.items():
        if command.add_help:
            yield f"## nbtools {name}\n\n```text\n{_help(command)}\n```\n"


def wire() -> Iterator[str]:
    """The JSON of each display, by the models that both sides are made from."""
    sys.path.insert(0, str(ROOT / "labextension/scripts"))
    from wire_types import FORMATS  # noqa: PLC0415 - a script beside the front end

    for one in FORMATS:
        package = Path(one.source).parent.as_posix().removeprefix("nbtools/notebook/")
        yield f"## {package}\n\nFrom `{one.source}`.\n"
        if mime := [value for name, value in one.constants.items() if name.endswith("MIME")]:
            yield f"MIME types: {', '.join(f'`{value}`' for value in mime)}.\n"
        if one.methods:
            yield _table(
                ("method", "parameters", "result"),
                (
                    (f"`{known.name}`", known.params.__name__, known.result.__name__ if known.result else "")
                    for known in one.methods
                ),
            )
        for name, schema in sorted(one.models.items()):
            if name not in one.known:
                yield f"### {name}\n\n{_text(schema.get('description', ''))}\n"
                yield _table(
                    ("field", "type"),
                    ((f"`{field}`", f"`{_kind(part)}`") for field, part in schema["properties"].items()),
                )


_PAGES: dict[str, Callable[[], Iterable[str]]] = {
    "tools": tools,
    "magics": magics,
    "settings": settings,
    "command-line": command_line,
    "wire": wire,
}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}


def _fill(_: Sphinx, __: str, source: list[str]) -> None:
    source[0] = _PLACEHOLDER.sub(lambda found: "\n".join(_PAGES[found[1]]()), source[0])


def _commands(commands: CommandSet) -> str:
    return _table(("command", ""), ((f"`{usage}`", _text(about)) for usage, about in commands.help().rows))


def _flags(title: str, grammar: Grammar) -> str:
    rows = ((f"`--{flag}`", _text(one.description)) for flag, one in grammar.long.items())
    return _table((title, ""), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table, or nothing without rows."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join((f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *lines, "")) if lines else ""


def _text(text: str) -> str:
    """A docstring's text as one line of Markdown:
    its code stays, everything else is shown as it is written.
    """
    parts = re.split(r"(`+[^`]+`+)", " ".join(text.split()))
    return "".join(
        f"`{part.strip('`')}`" if at % 2 else re.sub(r"([\\*_<>\[\]{}|$#~])", r"\\\1", part)
        for at, part in enumerate(parts)
    )


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=88)
    return parser.format_help().strip()


def _kind(schema: dict[str, Any]) -> str:
    """A schema's type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema or "oneOf" in schema:
        return " | ".join(_kind(part) for part in schema.get("anyOf") or schema["oneOf"])
    if schema.get("type") == "array":
        return (
            f"list of {_kind(schema['items'])}"
            if "items" in schema
            else f"[{', '.join(map(_kind, schema['prefixItems']))}]"
        )
    return str(schema.get("type", "any"))
