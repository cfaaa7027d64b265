"""Tab completion for the magics: tools, flags, values, workspace paths and sub-commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from nbtools.cards.magic_source import is_plain_line
from nbtools.core.errors import ToolFailure
from nbtools.core.tool_names import server_prefix
from nbtools.notebook.agent.magic import AGENT
from nbtools.notebook.magics.command_line import comment_start, complete_declared, words
from nbtools.notebook.magics.flags import Grammar, Parameter, grammar_of
from nbtools.notebook.traces.magic_arguments import TRACE

if TYPE_CHECKING:
    from nbtools.notebook.magics.tools import ToolsCommands
    from nbtools.notebook.runtime import NotebookRuntime

_LINE = re.compile(r"(?:^|=)\s*%%?(tools?|trace|agent)\s(.*)$", re.DOTALL)
_ATTRIBUTE = re.compile(r"(?:^|[^\w.])tools\.(?:quiet\.)?(\w*)$")
_CALL = re.compile(r"(?:^|[^\w.])tools\.(?:quiet\.)?(\w+)(?:\.start|\.background)?\(((?:[^()]*,)?\s*)(\w*)$")
"""The name of a tool whose call is open, the arguments before the cursor's word, and that word."""
_FRAGMENT = re.compile(r"(?:\\[\s\"'\\]|\S)*$")
_ESCAPED = re.compile(r"\\([\s\"'\\#])")
_SPECIAL = re.compile(r"([ \t\"'\\]|^#)")
"""Characters that need a backslash in a word, as ``command_line`` parses it."""
_MAX_PATHS = 200
Candidates: TypeAlias = Iterable[tuple[str, str]]
"""Completions with their kinds."""


def matcher_of(
    runtime: NotebookRuntime, commands: Callable[[], ToolsCommands], is_ours: Callable[[], bool]
) -> Callable[[CompletionContext], SimpleMatcherResult]:
    """Returns a matcher for IPython's completer (API version 2).

    ``is_ours`` tells whether the variable ``tools`` is nbtools' object,
    whose attributes are then completed with the tools' kinds.
    """

    @context_matcher()  # type: ignore[untyped-decorator]
    def nbtools_matcher(context: CompletionContext) -> SimpleMatcherResult:
        found = _LINE.search(context.text_until_cursor)
        attribute = None if found else _ATTRIBUTE.search(context.text_until_cursor)
        if attribute is not None and is_ours():
            return _attributes(runtime, attribute[1])
        call = None if found else _CALL.search(context.text_until_cursor)
        if call is not None and is_ours():
            return _keywords(runtime, call[1], call[2], call[3])
        if found is None or comment_start(found[2]) < len(found[2]):
            return {"completions": []}
        magic, text = found.groups()
        fragment = text[_FRAGMENT.search(text).start() :]  # type: ignore[union-attr]
        before = text[: len(text) - len(fragment)]
        try:
            previous = [word.text for word in words(before)]
        except ToolFailure:  # a quote is open: split at spaces
            previous = before.split()
        match magic:
            case "tool":
                candidates = _of_tool(runtime, previous, fragment)
            case "trace":
                candidates = complete_declared(TRACE, previous, fragment)
            case "agent":
                candidates = complete_declared(AGENT, previous, fragment)
            case _:
                candidates = commands().complete(previous, fragment)
        matching = [
            SimpleCompletion(text, type=kind)
            for text, kind in candidates
            if text.startswith(fragment) and is_plain_line(text)
        ]
        return {"completions": matching, "suppress": True, "matched_fragment": fragment, "ordered": True}

    matcher: Callable[[CompletionContext], SimpleMatcherResult] = nbtools_matcher
    return matcher


def _attributes(runtime: NotebookRuntime, fragment: str) -> SimpleMatcherResult:
    """Completes ``tools.``: the tools with their kinds (``read``, ``edit``, ``execute`` …),
    then the object's own attributes.
    """
    offered = [
        *((name, tool.kind.value) for name, tool in runtime.session.tools.items()),
        ("quiet", "instance"),
        ("session", "instance"),
    ]
    matching = [
        SimpleCompletion(name, type=kind)
        for name, kind in offered
        if name.startswith(fragment) and name.isidentifier()
    ]
    return {
        "completions": matching,
        "suppress": bool(matching),
        "matched_fragment": fragment,
        "ordered": True,
    }


def _keywords(runtime: NotebookRuntime, name: str, before: str, fragment: str) -> SimpleMatcherResult:
    """Completes the arguments of ``tools.grep(``:
    the parameters that are not given yet, beside what Python offers.
    """
    tool = runtime.session.tools.get(name)
    if tool is None or before.count('"') % 2 or before.count("'") % 2:
        return {"completions": []}
    known = set(re.findall(r"(\w+)\s*=", before))
    names = [parameter.name for parameter in grammar_of(tool).parameters if parameter.name not in known]
    matching = [SimpleCompletion(f"{one}=", type="param") for one in names if one.startswith(fragment)]
    return {"completions": matching, "suppress": False, "matched_fragment": fragment, "ordered": True}


def _of_tool(runtime: NotebookRuntime, previous: list[str], fragment: str) -> Candidates:
    tools = runtime.session.tools
    if not previous:
        return [
            *((name, "function") for name in tools),
            *((name, "module") for name in _unconnected_servers(runtime)),
        ]
    tool = tools.get(previous[0])
    if tool is None:
        return []
    grammar = grammar_of(tool)
    named, equals, value = fragment.partition("=")
    if fragment.startswith("--") and equals:
        parameter = grammar.flag(named)
        values = _values(runtime, parameter, value) if parameter else []
        return [(f"{named}={text}", kind) for text, kind in values]
    if fragment.startswith("-"):
        return _flags(grammar)
    parameter = grammar.flag(previous[-1]) if len(previous) > 1 else None
    if parameter is not None and not parameter.is_switch:
        return _values(runtime, parameter, fragment)
    required = [one for one in grammar.positional if one.required]
    choices = [(str(choice), "enum") for one in required for choice in one.choices]
    return [*choices, *_paths(runtime, fragment)]


def _unconnected_servers(runtime: NotebookRuntime) -> list[str]:
    """Returns the name prefixes of MCP servers that are not connected yet; completion never connects one."""
    session = runtime.session
    if not session.settings.servers:
        return []
    return [
        server_prefix(name)
        for name, one in session.mcp.connections.items()
        if one.state != "connected" and not one.server.disabled
    ]


def _flags(grammar: Grammar) -> Candidates:
    for flag, parameter in grammar.long.items():
        yield f"--{flag}", "param"
        if parameter.is_switch and parameter.default is True:
            yield f"--no-{flag}", "param"
    yield from ((f"-{letter}", "param") for letter in grammar.short)


def _values(runtime: NotebookRuntime, parameter: Parameter, fragment: str) -> Candidates:
    if parameter.choices:
        return [(str(choice), "enum") for choice in parameter.choices]
    if parameter.is_switch:
        return [("true", "enum"), ("false", "enum")]
    if parameter.name == "type" and parameter.types[0] == "string":
        from nbtools.workspace.search.ripgrep import file_types  # noqa: PLC0415 - starts a program

        return [(name, "enum") for name in file_types()]
    return _paths(runtime, fragment) if "string" in (*parameter.types, *parameter.item_types) else []


def workspace_paths(runtime: NotebookRuntime, fragment: str) -> Iterator[str]:
    """Yields workspace paths that start with ``fragment``, escaped for a line; dot files only after a dot."""
    folder, _, start = _ESCAPED.sub(r"\1", fragment).rpartition("/")
    if fragment.startswith(("/", "~")):
        return
    base = Path(runtime.session.workspace.root, folder)
    prefix = f"{folder}/" if folder else ""
    visible = (
        entry
        for entry in _entries(base, start)
        if not runtime.session.workspace.hides(f"{prefix}{entry[0]}", folder=entry[1])
    )
    for name, is_folder in islice(visible, _MAX_PATHS):
        yield _SPECIAL.sub(r"\\\1", f"{prefix}{name}{'/' if is_folder else ''}")


def _paths(runtime: NotebookRuntime, fragment: str) -> Candidates:
    return [(path, "path") for path in workspace_paths(runtime, fragment)]


def _entries(base: Path, start: str) -> list[tuple[str, Any]]:
    try:
        with os.scandir(base) as entries:
            found = [(entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(start)]
    except OSError:
        return []
    return sorted(entry for entry in found if start.startswith(".") or not entry[0].startswith("."))
