"""Code books: the labels of a review, with their keys and descriptions, in a small TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from nbtools.core.decoders import converted
from nbtools.core.errors import TraceError
from nbtools.storage.state_folder import config_folder, project_folder

FILE_NAME = "code_book.toml"
_MAX_BYTES = 100_000
_PATTERN = r"^[^\x00-\x1f\x7f]{1,100}$(?!\n)"
"""Names have no line breaks and no other control characters; ``$`` alone is also before a last line break."""


class Code(Struct, frozen=True, omit_defaults=True):
    """A label. ``key`` is 1 to 9, or empty for one that is chosen from a menu."""

    name: Annotated[str, Meta(pattern=_PATTERN)]
    key: Annotated[str, Meta(pattern=r"^[1-9]?$(?!\n)")] = ""
    description: Annotated[str, Meta(max_length=1_000)] = ""


class CodeBook(Struct, frozen=True, omit_defaults=True):
    """The labels of a review, in order."""

    name: Annotated[str, Meta(pattern=_PATTERN)] = "default"
    codes: Annotated[tuple[Code, ...], Meta(max_length=100)] = ()

    def code(self, name: str) -> Code:
        """Returns the code with this name or key. Raises ``TraceError`` where the book does not have it."""
        found = next((code for code in self.codes if name in {code.name, code.key} and name), None)
        if found is None:
            known = ", ".join(code.name for code in self.codes) or "none"
            raise TraceError(
                f"{name!r} is not in the code book {self.name}. Its codes: {known}. Add it to {FILE_NAME}, or"
                " use a note."
            )
        return found


DEFAULT = CodeBook(
    "default",
    (
        Code("wrong assumption", "1", "The agent took something for granted that is not so."),
        Code("misread output", "2", "The agent drew a wrong conclusion from what a tool returned."),
        Code("wrong tool", "3", "Another tool or command was the right one."),
        Code("loop", "4", "The agent repeats itself without progress."),
        Code("unverified claim", "5", "The agent says that something works and has not checked it."),
        Code("instruction ignored", "6", "The agent does not do what the person asked for."),
        Code("unsafe", "7", "The step could destroy or disclose something."),
        Code(
            "environment", "8", "A missing program, a network failure or another fault outside of the agent."
        ),
        Code("good", "9", "Worth showing to others."),
    ),
)


def code_book_paths(folder: Path | None = None) -> tuple[Path, Path]:
    """Returns where a code book is looked for:
    in the project that ``folder`` (by default the current one) is in, then for the person.
    """
    return project_folder(folder or Path.cwd()) / ".nbtools" / FILE_NAME, config_folder() / FILE_NAME


def load_code_book(path: str | Path | None = None) -> CodeBook:
    """Returns the code book at ``path``; without a path that of the project, of the person, or the default.

    Raises ``TraceError`` where the file cannot be read or is not a code book.
    """
    if path is None:
        path = next((one for one in code_book_paths() if one.is_file()), None)
        if path is None:
            return DEFAULT
    file = Path(path).expanduser()
    try:
        with file.open("rb") as opened:
            data = opened.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise TraceError(f"{file} is too large for a code book (more than {_MAX_BYTES:,} bytes).")
        book = converted(tomllib.loads(data.decode()), CodeBook)
    except OSError as error:
        raise TraceError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise TraceError(f"{file} is not a code book: {error}.") from error
    _check_unique(file, book)
    return book


def _check_unique(file: Path, book: CodeBook) -> None:
    for values in ([code.name for code in book.codes], [code.key for code in book.codes if code.key]):
        repeated = next((value for value in values if values.count(value) > 1), None)
        if repeated is not None:
            raise TraceError(f"{file} is not a code book: {repeated!r} occurs twice.")
