"""Writes a session as one HTML file that needs no kernel and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from markupsafe import Markup

from nbtools.core.errors import TraceError
from nbtools.core.secret_search import Secret
from nbtools.notebook.cards.markup import render
from nbtools.notebook.cards.phrases import counted
from nbtools.notebook.explorer.export.new_file import create_file
from nbtools.notebook.explorer.facets import Facets
from nbtools.notebook.explorer.listing import wire_line
from nbtools.notebook.explorer.model import OpenTask
from nbtools.notebook.explorer.redaction import redacting
from nbtools.notebook.explorer.sharing.notes import Notes, without_unreviewed
from nbtools.notebook.explorer.sharing.removal import HEAD, HOME_KIND, Removal, RemovingRedactor, owners
from nbtools.notebook.explorer.sharing.shortening import shortened
from nbtools.notebook.explorer.sharing.wire_texts import remove_from, texts_in
from nbtools.traces.trace import Trace
from nbtools.workspace.processes.environment import secret_variables

Patterns: TypeAlias = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]
_STATIC = Path(__file__).parents[2] / "static"
_LIMITS = (20_000, 8_000, 3_000, 1_000)
"""Characters of one block of a card, tried in this order until the file is small enough."""
_BYTES_PER_STEP, _LEAST_BYTES = 2_500, 2_500_000
"""The size from which texts are shortened further."""
_MAX_TOOL = 4_000
"""Characters of a call as a ``%tool`` cell; a longer one is left out, because the card shows the same."""


@dataclass(frozen=True, slots=True)
class ShareOptions:
    """``patterns`` are regular expressions of further secrets, ``keep`` the ids of secrets that stay.

    ``home``: home folders become ``~``.  ``notes``: the notes, labels and verdicts of the review are in the file.
    """

    patterns: tuple[str | re.Pattern[str], ...] = ()
    keep: tuple[str, ...] = ()
    home: bool = True
    notes: bool = False


def write_html(trace: Trace, path: str | Path, options: ShareOptions) -> tuple[Path, tuple[Secret, ...]]:
    """Writes ``trace`` to ``path``; if that exists, to the next free name beside it (``session-1.html``).

    Returns the path, and what was removed.  Raises ``TraceError`` for an invalid pattern, if the log has changed since it was read, and
    if the file cannot be written.
    """
    page, secrets = shared_page(trace, options)
    return write_page(page, Path(path).expanduser()), secrets


def write_page(page: str, target: Path) -> Path:
    """Writes a page to a free name.  Raises ``TraceError``."""
    try:
        return create_file(target, page.encode("utf-8", "replace"))
    except OSError as error:
        raise TraceError(f"{target}: {error.strerror or error}.") from error


def trace_to_html(trace: Trace, path: str | Path, redact: Patterns, keep: Collection[str], home: bool, notes: bool) -> Path:
    """``Trace.to_html``."""
    return write_html(trace, path, options_of(redact, keep, home=home, notes=notes))[0]


def find_secrets(trace: Trace, redact: Patterns, home: bool, notes: bool) -> tuple[Secret, ...]:
    """``Trace.find_secrets``."""
    return shared_page(trace, options_of(redact, home=home, notes=notes))[1]


def options_of(redact: Patterns, keep: Collection[str] = (), *, home: bool = True, notes: bool = False) -> ShareOptions:
    return ShareOptions((redact,) if isinstance(redact, str | re.Pattern) else tuple(redact), tuple(keep), home, notes)


def shared_page(trace: Trace, options: ShareOptions) -> tuple[str, tuple[Secret, ...]]:
    """Returns the HTML, and what was removed from it.  Raises ``TraceError``."""
    removal = Removal(
        options.patterns,
        keep=options.keep,
        variables=secret_variables(os.environ),
        names=owners(trace.sessions) if options.home else None,
    )
    log = _content(trace, removal, notes=options.notes)
    log["note"] = _note(removal.secrets)
    return _smallest(log), removal.secrets


def _content(trace: Trace, removal: Removal, *, notes: bool) -> dict[str, Any]:
    """Returns a ``SharedLog`` as JSON, without its note."""
    from nbtools.notebook.explorer.explorer import Explorer  # noqa: PLC0415 - the explorer offers to share

    with redacting(RemovingRedactor(removal=removal)):
        explorer = Explorer(trace)
        reviewed = Notes(trace, explorer) if notes else None
        numbers = explorer.lines.numbers
        opened = []
        for line, number in enumerate(numbers):
            removal.place = number
            details = _details(explorer.answer(OpenTask(line=line)).model_dump(mode="json"))
            opened.append(details if reviewed is None else reviewed.added(line, details))
        lines = []
        for line, number in enumerate(numbers):
            removal.place = number
            lines.append(wire_line(explorer.lines, line).model_dump(mode="json"))
        removal.place = HEAD
        view = explorer.view().model_dump(mode="json")
    view |= {"explorer": "", "page": {**view["page"], "lines": []}, "actions": [], "fresh": False, "changed": 0}
    facets = view["page"]["facets"] = without_unreviewed(view["page"]["facets"])
    head = {"view": view, "chips": _chips(explorer.facets, facets)}
    steps = [{"line": line, "opened": details} for line, details in zip(lines, opened, strict=True)]
    head, steps = _removed(head, steps, numbers, removal)
    return {**head, "lines": [step["line"] for step in steps], "opened": [step["opened"] for step in steps]}


def _details(opened: dict[str, Any]) -> dict[str, Any]:
    """Drops what only a kernel can do, and the bytes of the record, which may contain what no card shows."""
    tool = opened["tool"] if len(opened["tool"]) <= _MAX_TOOL else ""
    return {**opened, "raw": "", "replay": "", "obstacle": "", "link": "", "tool": tool}


def _chips(known: Facets, facets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"key": choice["key"], "lines": list(known.matching([choice["key"]])[facet["name"]])}
        for facet in facets
        for choice in facet["choices"]
    ]


def _removed(
    head: dict[str, Any], steps: list[dict[str, Any]], numbers: Sequence[str], removal: Removal
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Searches everything first, because a secret is removed wherever it occurs; then removes."""
    parts, places, touched = [head, *steps], [HEAD, *numbers], []
    for place, part in zip(places, parts, strict=True):
        removal.place = place
        touched.append(sum(len(removal.spans(text)) for text in texts_in(part)) > 0)
    for at, part in enumerate(parts):
        removal.place = places[at]
        if touched[at] or any(map(removal.occurs_in, texts_in(part))):
            parts[at] = remove_from(part, removal)
    return parts[0], parts[1:]


def _note(secrets: Sequence[Secret]) -> str:
    removed = [one for one in secrets if not one.kept and one.kind != HOME_KIND]
    return f"{counted(len(removed), 'secret')} removed" if removed else ""


def _smallest(log: dict[str, Any]) -> str:
    """Returns the page with texts shortened as far as needed."""
    room = max(_LEAST_BYTES, _BYTES_PER_STEP * len(log["lines"]))
    page = ""
    for limit in _LIMITS:
        opened = [_with_blocks(one, [shortened(block, limit) for block in one["card"]["blocks"]]) for one in log["opened"]]
        page = _page({**log, "opened": opened})
        if len(page) <= room:
            break
    return page


def _with_blocks(opened: dict[str, Any], blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {**opened, "card": {**opened["card"], "blocks": blocks}}


def _page(log: dict[str, Any]) -> str:
    """Returns the HTML.  Its policy allows the one script and the one style sheet inside it, by their hashes, and no request at all."""
    script, style = ((_STATIC / f"shared_page.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    packed = zlib.compress(json.dumps(log, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"), 9)
    return render(
        "explorer/shared_page",
        title=log["view"]["title"],
        script=Markup(script),  # noqa: S704 - our own
        style=Markup(style),  # noqa: S704 - our own
        script_hash=_hash(script),
        style_hash=_hash(style),
        data=base64.b64encode(packed).decode(),
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
