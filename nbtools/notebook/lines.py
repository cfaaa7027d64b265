"""Keeps for the tool what IPython would take for itself.

A question mark at the end of a ``%tool`` line: ``%tool grep?`` asks for help, ``%tool shell echo why?`` does not.  This looks first,
through IPython's own tokens, so that text in strings stays what it is.

And the text of a ``%%tool`` or ``%%agent`` cell: IPython takes off what looks like a prompt, such as ``>>> `` in a doctest or the end of a
search/replace block.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Sequence
from typing import Any, Self

from IPython.core.inputtransformer2 import TokenTransformBase, cell_magic, classic_prompt

_LINE = re.compile(r"(?P<before>[^%#'\"]*?=\s*)?%(?P<magic>tools?)[ \t]+(?P<rest>.*\S.*\?|\S*\?)\s*$")


class ToolLine(TokenTransformBase):
    """A line that calls one of our magics and ends with a question mark."""

    priority = 1

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[tokenize.TokenInfo]]) -> Self | None:
        for tokens in tokens_by_line:
            first = next((token for token in tokens if token.type not in (tokenize.INDENT, tokenize.DEDENT)), None)
            if first is not None and len(tokens) > 2 and tokens[-2].string == "?" and _LINE.match(first.line[first.start[1] :]):
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
    """The cell as the call of the magic, where it is one of ours; it goes before whatever changes a cell's text."""
    return list(cell_magic(lines)) if lines and _CELL.match(lines[0]) else lines  # type: ignore[no-untyped-call]


_CELL = re.compile(r"%%(?:tool[ \t]|agent\s)")


def keep_cells(transforms: list[Any]) -> None:
    """Puts ``tool_cell`` where it is needed, among IPython's own transforms."""
    transforms.insert(transforms.index(classic_prompt) if classic_prompt in transforms else 0, tool_cell)
