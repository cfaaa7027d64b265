"""Pictures of the pages of a PDF document, drawn by `processes.page_renderer`."""

from __future__ import annotations

import base64
import importlib.util
from pathlib import Path

from nbtools.core.result import PagePicture
from nbtools.workspace.processes.capture import run_script

SECONDS = 15.0
"""The most seconds for all pages; the pages drawn until then are returned."""
MAX_PAGES = 10
"""The most pages that are drawn."""
MAX_TOTAL = 1_000_000
"""The most bytes of all pictures."""
_RENDERER = Path(__file__).parents[1] / "processes" / "page_renderer.py"


async def page_pictures(document: bytes, first: int = 1) -> tuple[PagePicture, ...]:
    """Returns pictures of a document's first pages, whose numbers start at ``first``.

    Empty where pypdfium2 is not installed, or the document cannot be drawn.
    """
    if importlib.util.find_spec("pypdfium2") is None:
        return ()
    try:
        _, output = await run_script([str(_RENDERER), str(MAX_PAGES)], document, SECONDS)
    except OSError:
        return ()
    # Only complete lines count; anything but base64 ends them, for instance where the drawing was stopped.
    pictures, size = list[PagePicture](), 0
    for number, line in enumerate(output.split(b"\n")[:-1], first):
        try:
            data = base64.b64decode(line, validate=True)
        except ValueError:
            break
        size += len(data)
        if size > MAX_TOTAL:
            break
        if data:
            pictures.append(PagePicture(number, data))
    return tuple(pictures)
