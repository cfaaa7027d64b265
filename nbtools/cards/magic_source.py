"""Source of cells with a line magic."""

from __future__ import annotations

BLANKS = " \t\r\n"
"""Characters that end a word of a line."""


def is_plain_line(text: str) -> bool:
    """Whether ``text`` can be used on the line of a magic: it has only printable characters, spaces and tabs.

    IPython splits a cell where ``str.splitlines`` does: at U+000B, U+000C, U+001C to U+001E, U+0085, U+2028
    and U+2029 as well as at line feeds and carriage returns.  Text after such a character would run as a
    separate line.
    """
    return text.replace("\t", " ").isprintable()


def magic_line(name: str, line: str) -> str:
    """Returns the source of a cell that runs ``%name line``;
    a function call where the line has characters that would split the cell.
    """
    source = f"%{name} {line}"
    return source if is_plain_line(source) else f"get_ipython().run_line_magic({name!r}, {line!r})"


def quoted(text: str) -> str:
    """Returns ``text`` as one word of a line, quoted where necessary."""
    if text and not any(char in BLANKS + "\"'\\" for char in text) and not text.startswith(("-", "#")):
        return text
    if "'" not in text:
        return f"'{text}'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
