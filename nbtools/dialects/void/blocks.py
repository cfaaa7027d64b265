"""Search/replace blocks, and nothing else: what stands around them names no file and is no patch of another kind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbtools.core.errors import ErrorCode, ToolFailure

_START = re.compile(r"<{7} (?:ORIGINAL|SEARCH)\s*")
_END = re.compile(r">{7} (?:UPDATED|REPLACE)\s*")
_MARKERS = re.compile(rf"\s*(?:{_START.pattern}|{_END.pattern})+")


def only_blocks(text: str) -> str:
    """The text with an empty line for each line outside of blocks, so that lines keep their numbers.

    Lines that contain only misplaced markers stay: the reader of the blocks refuses them.

    Raises ``ToolFailure`` (``invalid_tool_params``) where there is no block.
    """
    lines = text.split("\n")
    if not any(map(_START.fullmatch, lines)):
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            "No Search/Replace blocks were received! Each begins with the line <<<<<<< ORIGINAL and ends with the line >>>>>>> UPDATED, "
            "with the line ======= between its two texts.",
        )
    return "\n".join(_kept(lines))


def _kept(lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        ends = _END.fullmatch(line) is not None
        inside = inside or _START.fullmatch(line) is not None
        yield line if inside or _MARKERS.fullmatch(line) else ""
        inside = inside and not ends
