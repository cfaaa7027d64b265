"""Saved filters: their wire format, and their file, which is JSON lines in the state folder,
only ever appended to.  The last line about a name counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from nbtools.cards.card_model import Wire
from nbtools.core.errors import TraceError
from nbtools.storage.append_only import append_lines
from nbtools.storage.folder_lock import folder_lock
from nbtools.storage.state_folder import private_folder, state_path
from nbtools.traces.explorer.explorer_view import TraceOrder

MAX_NAME = 100
_MAX_FILTERS = 200
_MAX_LINE = 50_000


class SavedFilter(Wire):
    """A filter with a name: the steps that match the text and have one of the chips of each facet.

    ``chips`` are keys of choices; ``order`` lists the steps with the most tokens, or the longest calls,
    first.  They mean the same in every log.
    """

    name: str
    text: str = Field("", max_length=10_000)
    chips: tuple[Annotated[str, Field(max_length=10_000)], ...] = Field((), max_length=100)
    order: TraceOrder = ""


class SavedFiltersParams(Wire):
    """Asks for the saved filters, after saving ``filter``, or renaming or deleting the one named."""

    explorer: str
    action: Literal["list", "save", "rename", "delete"] = "list"
    name: str = Field("", max_length=20_000)
    to: str = Field("", max_length=20_000)
    filter: SavedFilter | None = None


class SavedFilters(Wire):
    """All saved filters, by name."""

    filters: tuple[SavedFilter, ...]


class _Line(SavedFilter):
    """A line of the file."""

    deleted: bool = False


class FilterFile:
    """The saved filters in a file. Several processes may change them: none replaces what another saved."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or state_path() / "explorer" / "filters.jsonl"

    def filters(self) -> Mapping[str, SavedFilter]:
        """Returns the filters in alphabetical order. Raises ``TraceError`` if the file cannot be read."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise TraceError(f"{self.path} cannot be read: {error.strerror or error}.") from error
        found: dict[str, SavedFilter] = {}
        for line in filter(None, map(_decoded, data.split(b"\n"))):
            if line.deleted:
                found.pop(line.name, None)
            else:
                found[line.name] = SavedFilter(**line.model_dump(exclude={"deleted"}))
        return dict(sorted(found.items(), key=lambda item: (item[0].casefold(), item[0])))

    def named(self, name: str) -> SavedFilter:
        """Returns the filter with this name.  Raises ``TraceError`` if there is none."""
        filters = self.filters()
        if name not in filters:
            none = "No filter is saved yet: save one in the explorer."
            saved = f"Saved are: {', '.join(filters)}." if filters else none
            raise TraceError(f"There is no saved filter {name[:MAX_NAME]!r}. {saved}")
        return filters[name]

    def save(self, new: SavedFilter) -> None:
        """Saves a filter under a name that no other one has.  Raises ``TraceError``."""
        if not (new.text or new.chips or new.order):
            raise TraceError(
                "Nothing is filtered, so there is nothing to save: choose chips, search, or sort the list"
                " first."
            )
        with self._changing():
            self._append(_Line(**{**new.model_dump(), "name": self._free_name(new.name)}))

    def rename(self, name: str, to: str) -> None:
        """Raises ``TraceError`` if there is no such filter, and if the new name is taken or is no name."""
        with self._changing():
            known = self.named(name)
            if to.strip() != name:
                self._append(
                    _Line(**{**known.model_dump(), "name": self._free_name(to)}),
                    _Line(name=name, deleted=True),
                )

    def delete(self, name: str) -> None:
        """Raises ``TraceError`` if there is no such filter."""
        with self._changing():
            self._append(_Line(name=self.named(name).name, deleted=True))

    def _free_name(self, text: str) -> str:
        name, filters = text.strip(), self.filters()
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise TraceError(
                f"This is no name for a filter: a name has 1 to {MAX_NAME} characters, all of them visible."
            )
        if name in filters:
            raise TraceError(
                f"There is already a filter {name!r}. Choose another name, or delete that one first."
            )
        if len(filters) >= _MAX_FILTERS:
            raise TraceError(
                f"There are {_MAX_FILTERS} saved filters, and no more are possible. Delete one first."
            )
        return name

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            private_folder(self.path.parent)
            with folder_lock(self.path.parent):
                yield
        except OSError as error:
            problem = f"{self.path} cannot be written: {error.strerror or error}. Nothing was changed."
            raise TraceError(problem) from error

    def _append(self, *lines: _Line) -> None:
        encoded = [line.model_dump_json(exclude_defaults=True).encode() + b"\n" for line in lines]
        if max(map(len, encoded)) > _MAX_LINE:
            raise TraceError(f"The filter cannot be saved: it has more than {_MAX_LINE:,} bytes.")
        append_lines(self.path, b"".join(encoded))


def _decoded(line: bytes) -> _Line | None:
    """Returns a line of the file; None for one that was cut, or that somebody else wrote."""
    try:
        return _Line.model_validate_json(line) if 0 < len(line) <= _MAX_LINE else None
    except ValidationError:
        return None


def answer_filters(task: SavedFiltersParams) -> SavedFilters:
    """Answers a request of a page.  Raises ``TraceError``, in which case nothing was changed."""
    file = FilterFile()
    match task.action:
        case "save":
            if task.filter is None:
                raise TraceError("There is no filter to save.")
            file.save(task.filter)
        case "rename":
            file.rename(task.name, task.to)
        case "delete":
            file.delete(task.name)
    return SavedFilters(filters=tuple(file.filters().values()))
