"""Resolves references of a trajectory: continuations, sub-agents' files and images.

Files outside its folder are ignored.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.decoders import decoder_of
from nbtools.core.errors import TraceError
from nbtools.core.result import Media
from nbtools.traces.display_builders import media_of
from nbtools.traces.json_access import id_text, mapping, parse_json, string
from nbtools.traces.session_builder import unique
from nbtools.traces.source import DECODE_ERRORS, Source

_LINK = re.compile(rb'"(?:trajectory_path|continued_trajectory_ref)"\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")')
_MOST_FILES = 1_000
_MAX_IMAGE_BYTES = 32 << 20


class _Names(msgspec.Struct):
    session_id: Any = None
    trajectory_id: Any = None
    continued_trajectory_ref: Any = None


def linked_files(path: Path) -> Sequence[Path]:
    """Returns the existing files that a trajectory refers to, directly or indirectly, each once."""
    found = {path.resolve(): path}
    pending = [path]
    while pending and len(found) < _MOST_FILES:
        current = pending.pop(0)
        for name in _linked_names(current):
            other = _inside(current.parent, name)
            if other is not None and other not in found:
                found[other] = current.parent / name
                pending.append(found[other])
    return tuple(found.values())[1:]


def _linked_names(path: Path) -> Iterator[str]:
    try:
        text = path.read_bytes()
    except OSError:
        return
    links = (parse_json(link[1].decode("utf-8", "replace")) for link in _LINK.finditer(text))
    yield from filter(None, map(string, links))


def _inside(folder: Path, name: str) -> Path | None:
    """Returns the file of that name in the folder or below; None where it is elsewhere or does not exist."""
    try:
        path = (folder / name).resolve()
        return path if path.is_file() and path.is_relative_to(folder.resolve()) else None
    except (OSError, ValueError, RuntimeError):
        return None


def images_in(content: Sequence[Any], folder: Path) -> Iterator[Media]:
    """Yields the images in the content of results: embedded in the document, or beside it by path."""
    for part in (part for one in content for part in (one if isinstance(one, list) else [one])):
        yield from media_of(part)
        source = mapping(mapping(part).get("source"))
        path = _inside(folder, string(source.get("path"))) if source.get("path") else None
        if path is not None and path.stat().st_size <= _MAX_IMAGE_BYTES:
            mime = string(source.get("media_type")) or mimetypes.guess_type(path.name)[0]
            content = path.read_bytes()
            yield Media(string(source.get("path")), mime or "application/octet-stream", content)


class Links:
    """Assigns a unique session id to each file of a source and to each embedded trajectory,
    and resolves references to them.
    """

    def __init__(self, source: Source) -> None:
        self._ids: set[str] = set()
        self._files: dict[int, str] = {}
        self._by_name: dict[str, str] = {}
        """Sessions by the names that references use: an id or a file."""
        self.parents: dict[str, tuple[str, str]] = {}
        """The parent session and call of each sub-agent's session."""
        self.continued: dict[str, str] = {}
        """The previous session of each session that continues one."""
        continuations: dict[str, str] = {}
        for file, path in enumerate(source.files):
            names = _Names()
            with suppress(TraceError):
                names = _decode_names(source.read_file(file))
            candidates = (names.session_id, names.trajectory_id)
            if file:
                candidates = candidates[::-1]
            self._files[file] = self.register(*map(id_text, candidates), path.stem)
            self._by_name.setdefault(str(path.resolve()), self._files[file])
            if (other := _inside(path.parent, string(names.continued_trajectory_ref))) is not None:
                continuations[self._files[file]] = str(other)
        self.continued = {
            self._by_name[other]: first for first, other in continuations.items() if other in self._by_name
        }
        self.folder = source.path.parent

    def session_of(self, file: int) -> str:
        return self._files[file]

    def register(self, *names: str) -> str:
        """Registers a session and returns its unique id, derived from the first name that is not empty.

        References find the session by any of the names.
        """
        candidates = [name for name in names if name]
        unique_id = unique(candidates[0] if candidates else "", self._ids)
        for name in candidates[: len(names) - 1] or candidates:
            self._by_name.setdefault(name, unique_id)
        return unique_id

    def child(self, reference: Mapping[str, Any], session: str, call: str) -> str:
        """Returns the session that a reference in ``session`` names, and records ``call`` as its parent;
        empty where it does not exist.
        """
        recorded = reference.get("trajectory_path")
        path = _inside(self.folder, string(recorded)) if recorded else None
        names = (reference.get("trajectory_id"), str(path or ""), reference.get("session_id"))
        known = (self._by_name.get(id_text(name), "") for name in names if name)
        found = next((one for one in known if one not in {"", session}), "")
        if found:
            self.parents.setdefault(found, (session, call))
        return found


def embedded_names(raw: bytes) -> tuple[str, str]:
    names = _decode_names(raw)
    return id_text(names.trajectory_id), id_text(names.session_id)


def _decode_names(text: bytes) -> _Names:
    try:
        return decoder_of(_Names).decode(text)
    except DECODE_ERRORS:
        return _Names()
