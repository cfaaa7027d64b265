"""Writes a session as one HTML file that needs no kernel and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup
from msgspec.structs import asdict

from nbtools.core.errors import TraceError
from nbtools.core.message import counted
from nbtools.core.secret_search import Secret
from nbtools.traces.explorer.chips import Chips, StepChips
from nbtools.traces.explorer.export.new_file import create_file
from nbtools.traces.explorer.export.static_html import render
from nbtools.traces.explorer.line_style import StepLine
from nbtools.traces.explorer.log_rows import columns_of, seconds_at
from nbtools.traces.explorer.redaction import redacting
from nbtools.traces.explorer.row_messages import TraceExplorerParams, TraceRows
from nbtools.traces.export.removal import (
    HEAD,
    Patterns,
    Removal,
    RemovingRedactor,
    removal_for,
    without_secrets,
)
from nbtools.traces.parallel_reading import gc_paused
from nbtools.traces.sharing.notes import Notes, without_unreviewed
from nbtools.traces.sharing.shortening import shortened
from nbtools.traces.sharing.wire_texts import remove_from, texts_in
from nbtools.traces.trace import Trace

_STATIC = Path(__file__).parent / "static"
_LIMITS = (20_000, 8_000, 3_000, 1_000)
"""Characters of one block of a card, tried in this order until the file is small enough."""
_BYTES_PER_STEP, _LEAST_BYTES = 2_500, 2_500_000
"""The size from which texts are shortened further."""
_DATA = "the data of the session"
"""Stands for the data where the template is rendered, which copies its values several times."""
_UNESCAPED = {code: code + 0x100 for code in (*range(0x20), ord('"'), ord("\\"))}
"""Bytes that JSON would escape are other characters, of which the low byte is the same.  Most of the buffer
are texts that occur elsewhere in the data: in base64, they would not be compressed together with those.
"""
_MAX_PLACES = 40
"""Steps that are named for one kind of removed texts."""
_NO_FACTS = Markup("")
_ABOUT_STYLE = """
.nbtools-facts { padding: 12px 16px; font: 14px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
.nbtools-facts h1 { margin: 0 0 8px; font-size: 18px; }
.nbtools-facts h2 { margin: 12px 0 4px; font-size: 14px; }
.nbtools-facts th { padding: 2px 18px 2px 0; font-weight: normal; text-align: left; vertical-align: top; }
.nbtools-facts td { padding: 2px 0; vertical-align: top; white-space: pre-line; }
"""
_MAX_TOOL = 4_000
"""Characters of a call as a ``%tool`` cell; a longer one is left out, because the card shows the same."""


@dataclass(frozen=True, slots=True)
class ShareOptions:
    """``patterns`` are regular expressions of further secrets, ``keep`` the ids of secrets that stay.

    ``home``: home folders become ``~``.  ``notes``:
    the notes, labels and verdicts of the review are in the file.
    """

    patterns: tuple[str | re.Pattern[str], ...] = ()
    keep: tuple[str, ...] = ()
    home: bool = True
    notes: bool = False


@dataclass(frozen=True, slots=True)
class About:
    """Facts above the session, such as those about a learner. ``title`` is that of the page, and nothing is
    removed from it. ``tables`` are JSON: objects with a ``title`` and ``rows`` with ``name`` and ``value``.
    """

    title: str
    tables: tuple[dict[str, Any], ...]


def write_html(trace: Trace, path: str | Path, options: ShareOptions) -> tuple[Path, tuple[Secret, ...]]:
    """Writes ``trace`` to ``path``; if that exists, to the next free name beside it (``session-1.html``).

    Returns the path, and what was removed.  Raises ``TraceError`` for an invalid pattern, if the log has
    changed since it was read, and if the file cannot be written.
    """
    page, secrets = shared_page(trace, options)
    return write_page(page, Path(path).expanduser()), secrets


def write_page(page: str, target: Path) -> Path:
    """Writes a page to a free name.  Raises ``TraceError``."""
    try:
        return create_file(target, page.encode("utf-8", "replace"))
    except OSError as error:
        raise TraceError(f"{target}: {error.strerror or error}.") from error


def share(
    trace: Trace,
    path: str | Path,
    *,
    redact: Patterns = (),
    keep: Collection[str] = (),
    home: bool = True,
    notes: bool = False,
) -> Path:
    """Writes one HTML file for other people, with the explorer and all steps.
    It needs no kernel and loads nothing.

    Secrets are removed: ``find_secrets`` lists them, ``redact`` are regular expressions of further ones,
    and ``keep`` the ids of those that stay. With ``home``, home folders and the names of their owners
    become ``~``, with ``notes``, the review's notes, labels and verdicts are in the file. The raw records
    of the log are not included. Returns the path. An existing file is never overwritten; the next free
    name beside it is used.
    """
    return write_html(trace, path, options_of(redact, keep, home=home, notes=notes))[0]


def find_secrets(
    trace: Trace, *, redact: Patterns = (), home: bool = True, notes: bool = False
) -> tuple[Secret, ...]:
    """Returns the secrets that ``share`` and the other exports remove.

    Each has its kind, its beginning, and the steps in which it occurs.
    """
    return secrets_of(trace, options_of(redact, home=home, notes=notes))


def secrets_of(trace: Trace, options: ShareOptions) -> tuple[Secret, ...]:
    """Returns the secrets that are removed with these options, and those that stay."""
    return _SharedSession(trace, options).removal.secrets


def options_of(
    redact: Patterns, keep: Collection[str] = (), *, home: bool = True, notes: bool = False
) -> ShareOptions:
    return ShareOptions(
        (redact,) if isinstance(redact, str | re.Pattern) else tuple(redact), tuple(keep), home, notes
    )


def shared_page(
    trace: Trace, options: ShareOptions, about: About | None = None
) -> tuple[str, tuple[Secret, ...]]:
    """Returns the HTML, and what was removed from it.  Raises ``TraceError``."""
    session = _SharedSession(trace, options, about)
    return _smallest(session, session.removal.note), session.removal.secrets


def facts_page(about: About, options: ShareOptions) -> str:
    """Returns a page with facts only, without a session.  Raises ``TraceError``."""
    removal = removal_for((), options.patterns, options.keep, home=options.home)
    tables = without_secrets(about.tables, removal)
    return "".join(_frame(about.title, _about_html(about.title, tables, removal), has_session=False))


class _SharedSession:
    """A session without its secrets.  Steps are kept compressed,
    because opened steps are larger than their log.

    ``head`` has the fields of a ``SharedLog`` that belong to no step.  Raises ``TraceError``.
    """

    def __init__(self, trace: Trace, options: ShareOptions, about: About | None = None) -> None:
        self.about = about
        self.removal = removal_for(trace.sessions, options.patterns, options.keep, home=options.home)
        self._steps: list[bytes] = []
        touched = self._read(trace, notes=options.notes)
        self._remove(touched)

    def __len__(self) -> int:
        return len(self._steps)

    def frame(self) -> tuple[str, str]:
        """Returns the HTML before and after the data."""
        about = self.about
        if about is None:
            return _frame(self.head["view"]["title"])
        return _frame(about.title, _about_html(about.title, self.head["about"], self.removal))

    def steps(self) -> Iterator[dict[str, Any]]:
        """Yields the line and the details of each step."""
        return map(_unpacked, self._steps)

    def _read(self, trace: Trace, *, notes: bool) -> list[bool]:
        """Opens every step and searches it.
        Returns whether each step has something to remove; the head is the last of them.
        """
        from nbtools.traces.explorer.explorer import Explorer  # noqa: PLC0415 - the explorer offers to share

        removal, touched = self.removal, list[bool]()
        with gc_paused(), redacting(RemovingRedactor(removal=removal)):
            explorer = Explorer(trace)
            chips = Chips()
            step_chips = StepChips(chips, explorer.lines, explorer.answers.files)
            reviewed = Notes(trace, explorer) if notes else None
            self._numbers = explorer.lines.numbers
            for line, number in enumerate(self._numbers):
                removal.place = number
                details = _details(explorer.answers.open(line).model_dump(mode="json"))
                opened = details if reviewed is None else reviewed.added(line, details)
                step = {
                    "line": asdict(explorer.lines[line]),
                    "seconds": seconds_at(explorer.lines, line),
                    "chips": list(step_chips.ids_at(line)),
                    "opened": opened,
                }
                touched.append(_search(step, removal))
                self._steps.append(_packed(step))
            removal.place = HEAD
            view = explorer.view().model_dump(mode="json")
            added = explorer.methods.facets(TraceExplorerParams(explorer="")).model_dump(mode="json")
            rows = TraceRows(version=0, total=explorer.size, chips=chips.since(0)).model_dump(mode="json")
        view |= {
            "explorer": "",
            "actions": [],
            "fresh": False,
            "changed": 0,
        }
        self.head: dict[str, Any] = {
            "view": view,
            "rows": rows,
            "facets": without_unreviewed(added["facets"]),
            "about": [] if self.about is None else [*self.about.tables],
        }
        return [*touched, _search(self.head, removal)]

    def _remove(self, touched: Sequence[bool]) -> None:
        """Removes secrets, after everything has been searched,
        because a secret is removed wherever it occurs.
        """
        removal = self.removal
        for at, number in enumerate(self._numbers):
            if touched[at] or removal.has_found:
                removal.place = number
                step = _unpacked(self._steps[at])
                if touched[at] or _has_known(step, removal):
                    self._steps[at] = _packed(remove_from(step, removal))
        removal.place = HEAD
        if touched[-1] or _has_known(self.head, removal):
            self.head = remove_from(self.head, removal)


def _packed(step: dict[str, Any]) -> bytes:
    return zlib.compress(pickle.dumps(step, 5), 1)


def _unpacked(data: bytes) -> dict[str, Any]:
    step: dict[str, Any] = pickle.loads(zlib.decompress(data))  # noqa: S301 - packed above
    return step


def _search(part: dict[str, Any], removal: Removal) -> bool:
    """Notes the secrets of a part; returns whether there are any."""
    return sum(len(removal.spans(text)) for text in texts_in(part)) > 0


def _has_known(part: dict[str, Any], removal: Removal) -> bool:
    return removal.occurs_in("\0".join(texts_in(part)))


def _details(opened: dict[str, Any]) -> dict[str, Any]:
    """Drops what only a kernel can do, and the bytes of the record, which may contain what no card shows."""
    tool = opened["tool"] if len(opened["tool"]) <= _MAX_TOOL else ""
    return {**opened, "raw": "", "replay": "", "obstacle": "", "link": "", "tool": tool}


def _smallest(session: _SharedSession, note: str) -> str:
    """Returns the page with texts shortened as far as needed."""
    frame = session.frame()
    room = max(_LEAST_BYTES, _BYTES_PER_STEP * len(session)) - sum(map(len, frame))
    *longer, shortest = _LIMITS
    trials = (_data(session, note, limit, room) for limit in longer)
    data = next(filter(None, trials), None) or _data(session, note, shortest) or ""
    return data.join(frame)


def _data(session: _SharedSession, note: str, limit: int, room: int | None = None) -> str | None:
    """Returns the session, compressed, with texts of ``limit`` characters at most;
    None where it is larger than ``room``.
    """
    packer = zlib.compressobj(9)
    size, pieces, steps = 0, list[bytes](), list[dict[str, Any]]()

    def add(text: str) -> None:
        nonlocal size
        pieces.append(packer.compress(text.encode("utf-8", "surrogatepass")))
        size += len(pieces[-1])

    separator = '{"opened":['
    for step in session.steps():
        opened, card = step["opened"], step["opened"]["card"]
        card = {**card, "blocks": [shortened(block, limit) for block in card["blocks"]]}
        add(separator + _json({**opened, "card": card}))
        steps.append({name: step[name] for name in ("line", "seconds", "chips")})
        separator = ","
        if room is not None and size * 4 // 3 > room:
            return None
    head = {name: value for name, value in session.head.items() if name != "about"}
    rest = {**head, **_rows(session.head["rows"], steps), "note": note}
    add(f"{separator if not steps else ''}],{_json(rest)[1:]}")
    data = base64.b64encode(b"".join((*pieces, packer.flush()))).decode()
    return data if room is None or len(data) <= room else None


def _rows(head: dict[str, Any], steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the rows of the steps as columns, and their buffer as text."""
    # Two chips are the same where they differ only in what was removed.
    keys = [chip["key"] for chip in head["chips"]]
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    block, data = columns_of(
        [StepLine(**step["line"]) for step in steps],
        [step["seconds"] for step in steps],
        [sorted({first[keys[chip]] for chip in step["chips"]}) for step in steps],
    )
    return {
        "rows": {**head, "block": block.model_dump(mode="json")},
        "data": data.decode("latin-1").translate(_UNESCAPED),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_REMOVED = {"pattern": "names of other people, and patterns"}
"""Kinds of what was removed, in words for readers of the file."""


def _about_html(title: str, tables: Sequence[dict[str, Any]], removal: Removal) -> Markup:
    """Returns the facts with a list of what was removed, which tells no beginning of it."""
    places: dict[str, dict[str, None]] = {}
    for one in removal.secrets:
        if not one.kept:
            places.setdefault(_REMOVED.get(one.kind, one.kind), {}).update(dict.fromkeys(one.places))
    removed = [{"name": kind, "value": _places_text([*steps])} for kind, steps in places.items()]
    return Markup(  # noqa: S704 - the template escapes
        render("shared_facts", title=title, tables=tables, removed=removed)
    )


def _places_text(places: Sequence[str]) -> str:
    steps = [place for place in places if place != HEAD]
    if not steps:
        return "in the title and these facts"
    more = len(steps) - _MAX_PLACES
    listed = ", ".join(steps[:_MAX_PLACES])
    return f"in {counted(len(steps), 'step')}: {listed}{f' and {more:,} more' if more > 0 else ''}"


def _frame(title: str, about: Markup = _NO_FACTS, *, has_session: bool = True) -> tuple[str, str]:
    """Returns the HTML before and after the data.

    Its policy allows the one script and the style sheets inside it, by their hashes,
    and no request at all.
    """
    script, style = ((_STATIC / f"shared_page.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    page = render(
        "shared_page",
        title=title,
        script=Markup(script),  # noqa: S704 - our own
        style=Markup(style),  # noqa: S704 - our own
        script_hash=_hash(script),
        style_hash=_hash(style),
        about=about,
        about_style=Markup(_ABOUT_STYLE),  # noqa: S704 - as above
        about_hash=_hash(_ABOUT_STYLE) if about else "",
        has_session=has_session,
        data=_DATA,
    )
    before, _, after = page.rpartition(_DATA) if has_session else (page, "", "")
    return before, after


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
