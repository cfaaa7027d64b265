"""The conditions of Gemini CLI's rules: beginnings of commands, and expressions for the arguments as JSON.

Gemini CLI searches the arguments' JSON text with a JavaScript expression; ``commandPrefix`` and ``commandRegex`` are short for expressions
that begin with ``"command":"``. An allow takes only what means the same, or less, in the text that a rule of ours looks at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from nbtools.core.errors import PolicyError
from nbtools.policy.gemini_names import EVERY_TOOL, PATH_ARGUMENTS
from nbtools.policy.imported import literally
from nbtools.policy.patterns import expression
from nbtools.policy.rules import Rule

_PLAIN_PREFIX = re.compile(r"""[^\s!|&;<>(){}$`\\"'](?:[^\n\r\t|&;<>(){}$`\\"']*[^\s|&;<>(){}$`\\"'])?""")
"""Words, with no sign that quotes, ends a command or starts another one."""
_FOLDER = re.compile(r'"(\w+)"\s*:\s*"(?:\./)?((?:/?[\w-][\w -]*)(?:/[\w -]+)*/)(?:\.\*)?')
"""An expression that is nothing but the folder that a path begins with."""
_SAME = r"""
    \\ [sSdDwWbBtnrfv/.^$*+?()\[\]{}|"':\ ,;=<>!@\#%&~_-] | \\ \\      # escapes
  | \[ \^? (?: \\ [sSdDwWtnrfv\]\[\\^/.$*+?(){}|"'-] | [^\]\[\\] )+ \]  # classes
  | \( (?: \? [:=!] | (?!\?) ) | \)                                    # groups
  | (?: [*+?] | \{ \d+ (?: , \d* )? \} ) (?: \? (?!\?) | (?!\?) ) (?! [*+{] )  # repetitions, each read in one way
  | [^\\\[\](){}*+?]
"""
_SAME_IN_BOTH = re.compile(f"(?:{_SAME})*", re.VERBOSE)
"""An expression that JavaScript and Python read alike."""
_NARROWER = r"""
    \\ [sdwb.*+?()\[\]{}|/-]
  | \[ \^? [\w\ .,:=@%/+*;&|<>-]+ \]
  | \( (?: \?: )? (?! \? )
  | [)|] | [*+?] (?! [*+{] )
  | \{ \d+ (?: , \d* )? \}
  | [\w\ .,:=@%/~\#<>!&;'-]
"""
_NARROWER_HERE = re.compile(f"(?:{_NARROWER})+", re.VERBOSE)
"""An expression for a command's beginning that holds here only where it holds in JSON: without quotes, anchors and lookaheads."""
_COMMAND = re.compile(r'"command\\?"(?:\s|\\s[*+?]?)*:(?:\s|\\s[*+?]?)*\\?"')
_NAMED = re.compile(r'"(\w+)(\\?"\s*:)')
_RENAMED = {"file_path": "path", "absolute_path": "path", "dir_path": "path", "is_background": "background"}
_KEPT = frozenset({"command", "content", "pattern", "path"})
_UNCERTAIN = re.compile(r'"\s*:|_path|_string|\^|\$|\\s[*+?]*:')
"""What may speak of the names, the order or the number of arguments."""
_TO_QUOTE = re.compile(r'(?:\\[^"]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^"\\\[])*', re.DOTALL)


# --- allow


def allowed_beginning(tool: str, prefix: str, base: dict[str, Any]) -> Rule:
    """The rule for commands that begin with these words.  Raises ``PolicyError`` where the text is more than words."""
    if not _PLAIN_PREFIX.fullmatch(prefix) or "  " in prefix:
        raise PolicyError(f"{prefix!r} is more than the first words of one command")
    if "*" in prefix:
        return Rule(tool, command=_literal_beginning(prefix), **base)
    return Rule(tool, f"{prefix}:*", **base)


def allowed_command(regex: str) -> str:
    """The expression, where it describes no more here.  Raises ``PolicyError`` otherwise."""
    expression(regex)
    if not _NARROWER_HERE.fullmatch(regex):
        raise PolicyError("its expression looks at more than a command's plain text, which is read differently here")
    return regex


def allowed_arguments(regex: str) -> str:
    """The expression for arguments of a server's tool, which are the same here.  Raises ``PolicyError`` where it is read differently."""
    expression(regex)
    if not _SAME_IN_BOTH.fullmatch(regex):
        raise PolicyError("its expression is read differently here")
    return regex


def allowed_folder(said: str, regex: str) -> str:
    """The folder to which an expression narrows the tool, as a pattern of paths.  Raises ``PolicyError`` for every other expression.

    A rule goes by where a path leads, an expression by how it is written.
    """
    found = _FOLDER.fullmatch(regex)
    if found is None or found[1] not in PATH_ARGUMENTS.get(said, ()):
        raise PolicyError("its pattern goes by how the arguments are written; a rule like edit(docs/**) says it safely")
    return f"/{found[2]}**"


# --- deny and ask


def forbidden(tool: str, prefixes: tuple[str, ...], command: str | None, arguments: str | None, base: dict[str, Any]) -> Iterator[Rule]:
    """Rules that together hold wherever one of the conditions does.  Raises ``PolicyError`` where that cannot be said."""
    commands = tool in ("shell", EVERY_TOOL)
    for prefix in prefixes:
        plain = _PLAIN_PREFIX.fullmatch(prefix) and "*" not in prefix
        if commands:
            yield Rule("shell", f"{prefix}:*", **base) if plain else Rule("shell", command=_literal_beginning(prefix), **base)
        if tool != "shell" or not plain:
            text = re.escape(json.dumps(prefix, ensure_ascii=False)[:-1])
            yield Rule(tool, arguments=rf'"command":{text}(?:[\s"]|\\")', **base)
    for regex in filter(None, (command and f'"command":"{command}', arguments)):
        for found in _COMMAND.finditer(regex) if commands else ():
            yield Rule("shell", command=_dotted(_TO_QUOTE.match(regex, found.end())), **base)
        yield Rule(tool, arguments=_read_alike(regex, tool), **base)


def _literal_beginning(prefix: str) -> str:
    return rf"{literally(prefix.strip())}(?:[\s'\x22]|$)"


def _dotted(found: re.Match[str] | None) -> str:
    """A dot stands for every character: in JSON a newline is two."""
    text = re.sub(r"(?:\\\\)+$", "", found[0] if found else "")
    return f"(?s){text}" if "." in text else text or r"\S"


def _read_alike(regex: str, tool: str) -> str:
    """The expression with our names of arguments.  Raises ``PolicyError`` where it may not hold here for what it held for."""
    expression(regex)
    if not _SAME_IN_BOTH.fullmatch(regex):
        raise PolicyError("its expression is read differently here")
    if tool.startswith("mcp__"):
        return regex
    names = [found[1] for found in _NAMED.finditer(regex)]
    if any(name not in _RENAMED and name not in _KEPT for name in names) or _UNCERTAIN.search(_NAMED.sub("", regex)):
        raise PolicyError("its pattern looks at arguments that have another form here")
    return _NAMED.sub(lambda found: f'"{_RENAMED.get(found[1], found[1])}{found[2]}', regex)
