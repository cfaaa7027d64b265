"""Converts the conditions of Gemini CLI's rules:
prefixes of commands, and regular expressions for the arguments as JSON.

Gemini CLI searches the arguments' JSON text with a JavaScript expression; ``commandPrefix`` and
``commandRegex`` are short for expressions that begin with ``"command":"``. An allow is converted only where
it matches the same calls or fewer in the text that rules here match.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from nbtools.core.errors import PolicyError
from nbtools.policy.importers.gemini_names import EVERY_TOOL, PATH_ARGUMENTS
from nbtools.policy.patterns import MAX_LENGTH, expression, literal_pattern
from nbtools.policy.rules import Rule

_PLAIN_PREFIX = re.compile(r"""[^\s!|&;<>(){}$`\\"'](?:[^\n\r\t|&;<>(){}$`\\"']*[^\s|&;<>(){}$`\\"'])?""")
"""Words without characters that quote, end a command or start another one."""
_FOLDER = re.compile(r'"(\w+)"\s*:\s*"(?:\./)?((?:/?[\w-][\w -]*)(?:/[\w -]+)*/)(?:\.\*)?')
"""An expression that consists only of the folder that a path begins with."""
_SAME = r"""
    \\ [sSdDwWbBtnrfv/.^$*+?()\[\]{}|"':\ ,;=<>!@\#%&~_-] | \\ \\      # escapes
  | \\ (?: x [0-9A-Fa-f]{2} | u [0-9A-Fa-f]{4} | 0 (?! \d ) )          # characters by number
  | \[ \^? (?: \\ [sdwtnrfv\]\[\\^/.$*+?(){}|"'-] | [^\]\[\\] )+ \]    # classes
  | \( (?: \? [:=!] | (?!\?) ) | \)                                    # groups
  | (?: [*+?] | \{ \d+ (?: , \d* )? \} ) (?: \? (?!\?) | (?!\?) ) (?! [*+{] )  # repetitions
  | [^\\\[\](){}*+?]
"""
_SAME_IN_BOTH = re.compile(f"(?:{_SAME})*", re.VERBOSE)
"""An expression that ``_in_python`` can convert from JavaScript without a change of its meaning."""
_UNSAFE = re.compile(r"\([^)]*[*+?{].*\)[*+?{]")
"""An expression that Gemini CLI takes for one that may run without end; it then ignores the rule."""
_ASCII = re.compile(r"\\[wWdDbB]")
_TOKEN = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])+\]|.", re.DOTALL)
_BLANKS = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CONVERTED = {"\\s": f"[{_BLANKS}]", "\\S": f"[^{_BLANKS}]"}
_LINE = r"[^\n\r\u2028\u2029]"
_PLAIN = r"""
    \\ [sdwb.*+?()\[\]{}|/-]                              # escapes
  | \[ (?: [a-z]-[a-z] | [A-Z]-[A-Z] | \d-\d | \\ [dw] | [\w\ .,:=@%/+*;&|<>] )+ -? \]
  | \( (?: \?: )? (?! \? ) | [)|]                         # groups
  | (?: [*+?] | \{ \d+ (?: , \d* )? \} ) \?? (?! [?*+{] )  # repetitions
  | [\w\ .,:=@%/~\#<>!&;'-]
"""
_ONLY_PLAIN = re.compile(f"(?:{_PLAIN})+", re.VERBOSE | re.ASCII)
"""An expression for a command's beginning that matches here only what it matches in JSON: it has no quotes,
anchors, lookaheads, or classes with characters that JSON escapes.
"""
_COMMAND = re.compile(r'"command\\?"(?:\s|\\s[*+?]?)*:(?:\s|\\s[*+?]?)*\\?"')
_NAMED = re.compile(r'"(\w+)(\\?"\s*:)')
_RENAMED = {"file_path": "path", "absolute_path": "path", "dir_path": "path", "is_background": "background"}
_UNCHANGED = frozenset({"command", "content", "pattern", "path"})
_UNCERTAIN = re.compile(r'"\s*:|_path|_string|\^|\$|\\s[*+?]*:')
"""Parts of an expression that may depend on the names, order or number of arguments."""
_TO_QUOTE = re.compile(r'(?:\\[^"]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^"\\\[])*', re.DOTALL)


# --- allow


def allowed_beginning(tool: str, prefix: str, base: dict[str, Any]) -> Rule:
    """Returns the rule for commands that begin with these words.
    Raises ``PolicyError`` where the text is more than words.
    """
    if not _PLAIN_PREFIX.fullmatch(prefix) or "  " in prefix:
        raise PolicyError(f"the prefix {prefix!r} is more than the first words of one command")
    if "*" in prefix:
        return Rule(tool, command=rf"{literal_pattern(prefix)}(?:[ \x22]|$)", **base, literal=True)
    return Rule(tool, f"{prefix}:*", **base, literal=True)


def allowed_command(regex: str) -> str:
    """Returns the expression if it matches no more here than in Gemini CLI.
    Raises ``PolicyError`` otherwise.
    """
    _check(regex, f'"command":"{regex}')
    if not _ONLY_PLAIN.fullmatch(regex):
        raise PolicyError(
            "its expression depends on more than the command's plain text, which is matched differently here"
        )
    return f"(?a){regex}" if _ASCII.search(regex) else regex


def allowed_arguments(regex: str) -> str:
    """Returns the expression for arguments that are the same here.
    Raises ``PolicyError`` if its meaning differs.
    """
    _check(regex, regex)
    return _in_python("".join(_LINE if part == "." else part for part in _TOKEN.findall(regex)))


def allowed_folder(tool_name: str, regex: str) -> str:
    """Returns the folder that an expression narrows the tool to, as a path pattern.
    Raises ``PolicyError`` for other expressions.

    A rule matches the resolved path, an expression the path as written.
    """
    found = _FOLDER.fullmatch(regex)
    if found is None or found[1] not in PATH_ARGUMENTS.get(tool_name, ()):
        raise PolicyError(
            "its pattern depends on how the arguments are written; use a rule like edit(docs/**) instead"
        )
    return f"/{found[2]}**"


def _check(regex: str, whole: str) -> None:
    """Raises ``PolicyError`` for an expression that is not valid or that Gemini CLI rejects with its rule."""
    expression(regex)
    if len(whole) > MAX_LENGTH or _UNSAFE.search(whole):
        raise PolicyError(
            "Gemini CLI ignores the rule, because its expression has a group that repeats or is too long"
        )


def _in_python(regex: str) -> str:
    """Returns the expression with the same meaning in Python.
    Raises ``PolicyError`` where that is not certain.

    In JavaScript letters, digits and word boundaries are those of ASCII, and blanks are those of Unicode.
    """
    expression(regex)
    if not _SAME_IN_BOTH.fullmatch(regex):
        raise PolicyError("its expression has another meaning in Python")
    parts = _TOKEN.findall(regex)
    text = "".join(
        part.replace("\\s", _BLANKS) if part[0] == "[" else _CONVERTED.get(part, part) for part in parts
    )
    converted = f"(?a){text}" if _ASCII.search(regex) else text
    expression(converted)
    return converted


def has_own_arguments(tool: str) -> bool:
    """Whether calls of the tool have the same arguments here as in Gemini CLI,
    as they do not depend on the dialect.
    """
    return tool.startswith(("mcp_", "discovered_tool_"))


# --- deny and ask


def forbidding_rules(
    tool: str, prefixes: tuple[str, ...], command: str | None, arguments: str | None, base: dict[str, Any]
) -> Iterator[Rule]:
    """Yields rules that together match wherever one of the conditions does.
    Raises ``PolicyError`` if that cannot be expressed.
    """
    commands = tool in ("shell", EVERY_TOOL)
    for prefix in prefixes:
        plain = _PLAIN_PREFIX.fullmatch(prefix) and "*" not in prefix
        if commands:
            yield (
                Rule("shell", f"{prefix}:*", **base)
                if plain
                else Rule("shell", command=rf"{literal_pattern(prefix.strip())}(?:[\s'\x22]|$)", **base)
            )
        if tool != "shell" or not plain:
            text = re.escape(json.dumps(prefix, ensure_ascii=False)[:-1])
            yield Rule(tool, arguments=rf'"command":{text}(?:[\s"]|\\")', **base)
    for regex in filter(None, (command and f'"command":"{command}', arguments)):
        for found in _COMMAND.finditer(regex) if commands else ():
            to_quote = _TO_QUOTE.match(regex, found.end())
            command_text = re.sub(r"(?:\\\\)+$", "", to_quote[0] if to_quote else "")
            # A dot matches newlines too, which are two characters in JSON.
            flags = "(?s)" if "." in command_text else ""
            yield Rule("shell", command=f"{flags}{command_text}" or r"\S", **base)
        yield Rule(tool, arguments=_portable(regex, tool), **base)


def _portable(regex: str, tool: str) -> str:
    """Returns the expression with the argument names used here.
    Raises ``PolicyError`` where it may match fewer calls here.
    """
    if has_own_arguments(tool):
        return _in_python(regex)
    names = [found[1] for found in _NAMED.finditer(regex)]
    if any(name not in _RENAMED and name not in _UNCHANGED for name in names) or _UNCERTAIN.search(
        _NAMED.sub("", regex)
    ):
        raise PolicyError("its pattern depends on arguments that have another form here")
    return _in_python(_NAMED.sub(lambda found: f'"{_RENAMED.get(found[1], found[1])}{found[2]}', regex))
