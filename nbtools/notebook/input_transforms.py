"""Input transforms that prevent IPython from changing the text of our magics.

A question mark at the end of a ``%tool`` line is part of the line (``%tool shell echo why?``); IPython would
treat it as its own help.  Lines are found through IPython's tokens, so that strings are unaffected.  The
text of a ``%%tool`` or ``%%agent`` cell is protected from the removal of prompts such as ``>>> ``, which also
match doctests and search/replace blocks.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Sequence
from typing import Any, Self

from IPython.core.inputtransformer2 import TokenTransformBase, cell_magic, classic_prompt

_LINE = re.compile(r"(?P<before>[^%#'\"]*?=\s*)?%(?P<magic>tools?)[ \t]+(?P<rest>.*\S.*\?|\S*\?)\s*$")


class ToolLine(TokenTransformBase):
    """Transforms a line that calls one of our magics and ends with a question mark."""

    priority = 1

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[tokenize.TokenInfo]]) -> Self | None:
        for tokens in tokens_by_line:
            first = next(
                (token for token in tokens if token.type not in (tokenize.INDENT, tokenize.DEDENT)), None
            )
            if (
                first is not None
                and len(tokens) > 2
                and tokens[-2].string == "?"
                and _LINE.match(first.line[first.start[1] :])
            ):
                return cls(first.start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        line = lines[self.start_line]
        found = _LINE.match(line[self.start_col :])
        if found is None:
            raise SyntaxError(line)
        call = f"{found['before'] or ''}get_ipython().run_line_magic({found['magic']!r}, {found['rest']!r})\n"
        return [*lines[: self.start_line], line[: self.start_col] + call, *lines[self.start_line + 1 :]]


def tool_cell(lines: list[str]) -> list[str]:
    """Converts a cell of one of our magics to a function call,
    before other transforms can change its text.
    """
    if not lines or not _CELL.match(lines[0]):
        return lines
    if lines[0].startswith("%%agent") and not any(line.strip() for line in lines[1:]):
        lines = [lines[0], "\n"]  # IPython refuses an empty cell, but a recorded session needs no text
    return list(cell_magic(lines))  # type: ignore[no-untyped-call]


_CELL = re.compile(r"%%(?:tool[ \t]|agent\s)")


def insert_tool_cell(transforms: list[Any]) -> None:
    """Inserts ``tool_cell`` before IPython's own transforms that remove prompts."""
    transforms.insert(transforms.index(classic_prompt) if classic_prompt in transforms else 0, tool_cell)
