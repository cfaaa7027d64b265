"""Keeps a question mark at the end of a ``%tool`` line for the tool: ``%tool grep?`` asks for help, ``%tool shell echo why?`` does not.

IPython would take both for a question about a Python name.  This looks first, through IPython's own tokens, so that text in strings stays
what it is.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Sequence
from typing import Self

from IPython.core.inputtransformer2 import TokenTransformBase

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
