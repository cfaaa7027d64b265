"""Removes secrets, and the names of home folders and their owners, from what is shared,
and lists what was removed.

Every export uses it: the shared page, notebooks, lessons, and the formats of other tools.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from nbtools.core.errors import TraceError
from nbtools.core.message import counted
from nbtools.core.redaction import MIN_LENGTH, Redactor, encodings
from nbtools.core.secret_search import Found, Secret, SecretSearch
from nbtools.core.secret_variables import secret_variables
from nbtools.core.shown_secrets import replace_spans
from nbtools.traces.model import Session

HEAD = "head"
"""The place of what belongs to no step: title, facts, tools and files."""
HOME_KIND = "home folder or user name"
_MIN_PART = 24
"""Characters of a line of a secret of several lines, such as a key,
from which it is removed by itself too.
"""
_SHOWN = 4
_SHORT = 100
"""Characters of texts that are remembered as they are:
words of cards and lines, which most of the texts are.
"""
_HOME = re.compile(
    r"(?<![\w.~])(?:/home|/Users|/export/home|[A-Za-z]:(?:\\{1,2}|/)Users)(?:\\{1,2}|/)([A-Za-z0-9][\w.\-]{0,63})"
)
_SHARED_NAMES = re.compile(
    r"root|users?|home|ubuntu|debian|runner|node|app|admin|vscode|jovyan|agent|test|dev|coder|work|build|docker|sandbox|shared|public"
    r"|default|guest|local|python|git|code|project|data|main",
    re.IGNORECASE,
)
"""Names of accounts that tell nothing about a person, or that are ordinary words."""


@dataclass(slots=True)
class _Entry:
    kind: str
    places: dict[str, None] = field(default_factory=dict)


class Removal:
    """Removes secrets from texts.  ``patterns`` are further regular expressions,
    ``keep`` the ids of secrets that stay.

    ``variables`` are known secrets by name.  ``place`` is the step to which the texts belong.
    """

    def __init__(
        self,
        patterns: Iterable[str | re.Pattern[str]] = (),
        *,
        keep: Collection[str] = (),
        variables: Mapping[str, str] | None = None,
        names: Collection[str] | None = None,
    ) -> None:
        """``names`` are the names of home folders' owners; None: home folders stay.
        Raises ``TraceError`` for an invalid pattern.
        """
        self.place = HEAD
        self._search = SecretSearch(tuple(map(_compiled, patterns)))
        self._keep = frozenset(keep)
        self._entries: dict[str, _Entry] = {}
        # the value for each text that stands for it: itself, its encodings, its lines
        self._known: dict[str, str] = {}
        # short texts without anything to remove: how many texts were known then
        self._clean: dict[str, int] = {}
        self._without_secrets: set[bytes] = set()
        self._names = None if names is None else _identifying(names)
        self._names_expression = re.compile(
            rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, self._names or ()))})(?![A-Za-z0-9_])"
        )
        for name, value in Redactor.of(variables or {}).values:
            self._add(value, f"value of {name}")

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The secrets that were found so far, in the order of kinds."""
        secrets = []
        for value, entry in sorted(self._entries.items(), key=lambda entry: entry[1].kind):
            # the head is made from the steps, so it counts only if there are none
            places = tuple(place for place in entry.places if place != HEAD) or (HEAD,)
            if entry.places:
                kept = id_of(value) in self._keep
                secrets.append(Secret(id_of(value), entry.kind, _abbreviated(value), places, kept))
        return tuple(secrets)

    @property
    def has_found(self) -> bool:
        """Whether there is a known secret that may occur without its context."""
        return bool(self._known)

    @property
    def note(self) -> str:
        """The number of removed secrets, without home folders, as text; empty where none was removed."""
        count = sum(not one.kept and one.kind != HOME_KIND for one in self.secrets)
        return f"{counted(count, 'secret')} removed" if count else ""

    def occurs_in(self, text: str) -> bool:
        """Returns whether a secret that was found so far occurs in the text, whatever its context."""
        return any(needle in text for needle in self._known)

    def text(self, text: str) -> str:
        """Returns a text without secrets, with as many lines."""
        return replace_spans(text, self.spans(text))

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Returns what to replace: start, end, and replacement, in order and without overlaps."""
        if self._clean.get(text) == len(self._known):
            return []
        found = []
        for kind, start, end in self._secrets_in(text):
            value = text[start:end].strip()
            if value and "[redacted: " not in value:
                self._add(value, kind)
                found.append((start, end, value))
        for needle, value in self._known.items():
            at = text.find(needle)
            while at >= 0:
                found.append((at, at + len(needle), value))
                at = text.find(needle, at + len(needle))
        removed = []
        for start, end, value in found:
            entry = self._entries[value]
            entry.places[self.place] = None
            if id_of(value) not in self._keep:
                removed.append((start, end, f"[redacted: {entry.kind}]"))
        spans = _in_order([*removed, *self._home_spans(text)])
        if not (spans or found or self._keep) and len(text) <= _SHORT:
            self._clean[text] = len(self._known)
        return spans

    def _secrets_in(self, text: str) -> Sequence[Found]:
        """Searches each text once: a step's texts are searched before they are cut,
        and again as they are shown.
        """
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in self._without_secrets:
            return ()
        found = self._search.find(text)
        if not found:
            self._without_secrets.add(digest)
        return found

    def _add(self, value: str, kind: str) -> None:
        if value in self._entries:
            return
        self._entries[value] = _Entry(kind)
        lines = map(str.strip, value.splitlines() if "\n" in value else ())
        for one in (value, *(line for line in lines if len(line) >= _MIN_PART and " " not in line)):
            if len(one) >= MIN_LENGTH and not (one.isalpha() and one.islower()):
                self._known |= dict.fromkeys(encodings(one), value)

    def _home_spans(self, text: str) -> list[tuple[int, int, str]]:
        if self._names is None:
            return []
        spans = []
        if "/home" in text or "Users" in text:
            spans = [(*one.span(), "~") for one in _HOME.finditer(text)]
        if any(name in text for name in self._names):
            spans += [(*one.span(), "~") for one in self._names_expression.finditer(text)]
        for start, end, _ in spans:
            value = f"home:{text[start:end]}"
            self._entries.setdefault(value, _Entry(HOME_KIND)).places[self.place] = None
        return [span for span in spans if id_of(f"home:{text[span[0] : span[1]]}") not in self._keep]


Patterns: TypeAlias = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]
IsLeft: TypeAlias = Callable[[Any, Any, str], bool]
"""Whether a value, of a list or of an object under a key, is left as it is."""
_MEDIA_KEYS = ({"media_type", "data"}, {"mime_type", "data"})


def removal_for(
    sessions: Iterable[Session], redact: Patterns = (), keep: Collection[str] = (), *, home: bool = True
) -> Removal:
    """Returns the removal for an export of ``sessions``:
    of known forms of secrets, of secret variables of this process, of ``redact``.

    ``keep`` are the ids of secrets that stay; with ``home``, home folders and the names of their owners
    become ``~``. Raises ``TraceError`` for an invalid pattern.
    """
    patterns = (redact,) if isinstance(redact, str | re.Pattern) else tuple(redact)
    return Removal(
        patterns, keep=keep, variables=secret_variables(os.environ), names=owners(sessions) if home else None
    )


def patterns_in(path: str) -> list[str]:
    """Returns the expressions in a file, one a line, without empty lines and those that begin with ``#``;
    none without a path. Raises ``TraceError``.
    """
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines() if path else []
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: {error}.") from error
    return [line for line in lines if line.strip() and not line.startswith("#")]


def without_secrets(records: Sequence[Any], removal: Removal) -> list[Any]:
    """Returns JSON without secrets. Everything is searched first,
    because a secret is removed wherever it occurs.
    """
    for record in records:
        for text in texts_of(record, _is_media):
            removal.spans(text)
    return [cleaned(record, removal, _is_media) for record in records]


def texts_of(value: Any, is_left: IsLeft) -> Iterator[str]:
    """Yields the texts of JSON, without the values for which ``is_left`` is true."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            if not is_left(item, value, ""):
                yield from texts_of(item, is_left)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not is_left(item, value, key):
                yield from texts_of(item, is_left)


def cleaned(value: Any, removal: Removal, is_left: IsLeft) -> Any:
    """Returns JSON without secrets; values for which ``is_left`` is true stay as they are."""
    if isinstance(value, str):
        return removal.text(value)
    if isinstance(value, list):
        return [one if is_left(one, value, "") else cleaned(one, removal, is_left) for one in value]
    if isinstance(value, dict):
        return {
            key: one if is_left(one, value, key) else cleaned(one, removal, is_left)
            for key, one in value.items()
        }
    return value


def _is_media(_: Any, parent: Any, key: str) -> bool:
    return key == "data" and any(keys <= parent.keys() for keys in _MEDIA_KEYS)


@dataclass(frozen=True)
class RemovingRedactor(Redactor):
    """Lets the explorer redact with a ``Removal``, before it shortens texts."""

    removal: Removal = field(default_factory=Removal)

    def text(self, text: str) -> str:
        return self.removal.text(text)


def owners(sessions: Iterable[Session]) -> set[str]:
    """Returns the names of the people in whose home folders the sessions ran,
    and of the person who runs this process.
    """
    folders = [session.cwd for session in sessions] + [str(Path.home())]
    return {one[1] for folder in folders if (one := _HOME.match(folder))} | {os.environ.get("USER", "")}


def id_of(value: str) -> str:
    """Returns a short id that does not tell the value."""
    return hashlib.blake2s(value.encode("utf-8", "replace"), digest_size=5, person=b"nbtools").hexdigest()


def _in_order(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Joins overlapping spans, so that nothing of either is left."""
    joined: list[tuple[int, int, str]] = []
    for start, end, text in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            first, last, label = joined[-1]
            joined[-1] = (first, max(last, end), label)
        else:
            joined.append((start, end, text))
    return joined


def _abbreviated(value: str) -> str:
    if value.startswith("home:"):
        return value.removeprefix("home:")
    line = value.split("\n", 1)[0]
    visible = min(_SHOWN, len(line) // 3)
    return f"{line[:visible]}… ({len(value):,} characters)"


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    if isinstance(pattern, re.Pattern):
        return pattern
    try:
        return re.compile(pattern)
    except re.error as error:
        raise TraceError(
            f"redact: {pattern!r} is not a regular expression ({error}). Escape special characters with"
            " re.escape."
        ) from error


def _identifying(names: Collection[str]) -> list[str]:
    """Returns the names that tell something about a person, the longest first."""
    return sorted(
        (name for name in names if len(name) >= 3 and not _SHARED_NAMES.fullmatch(name)),
        key=len,
        reverse=True,
    )
