"""Settings of reviews that pages remember, in a file beside the label file: the reviewer's name, whether the
reader is blind, and the sessions that are being reviewed.
"""

from __future__ import annotations

import getpass
import os
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from nbtools.core.errors import TraceError
from nbtools.storage.folder_lock import folder_lock
from nbtools.storage.state_folder import private_folder, state_path
from nbtools.traces.reviews.code_book import CodeBook

FILE_NAME = "settings.json"
MAX_QUEUE = 5_000
_MAX_BYTES = 5_000_000


class ReviewSettings(Struct, frozen=True, omit_defaults=True):
    """The remembered values. ``reviewer`` is empty for the default name; ``queue`` are the ids of logs in the
    list of sessions, in the order in which they are reviewed, and ``rubric`` their labels, if these are not
    those of the project or the person.
    """

    reviewer: Annotated[str, Meta(max_length=200)] = ""
    blind: bool = False
    queue: Annotated[tuple[Annotated[str, Meta(max_length=40)], ...], Meta(max_length=MAX_QUEUE)] = ()
    rubric: CodeBook | None = None

    @property
    def name(self) -> str:
        """The name under which pages write records, if they give no other one."""
        return self.reviewer or default_reviewer()


def default_reviewer() -> str:
    """Returns ``$NBTOOLS_REVIEWER``, else the name of the user."""
    try:
        return (os.environ.get("NBTOOLS_REVIEWER") or getpass.getuser())[:200]
    except (OSError, KeyError):  # no such user, as in some containers
        return "anonymous"


_DECODER = msgspec.json.Decoder(ReviewSettings)


def review_settings() -> ReviewSettings:
    """Returns the settings as they are now; the default ones where the file is missing or damaged."""
    try:
        with (state_path() / "review" / FILE_NAME).open("rb") as file:
            return _DECODER.decode(file.read(_MAX_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeError):
        return ReviewSettings()


def change_review_settings(**changes: Any) -> ReviewSettings:
    """Changes some of the settings, and returns all. Processes that do so at once do not undo each other.
    Raises ``TraceError`` where they cannot be written, or could not be read again.
    """
    folder = state_path() / "review"
    path, new = folder / FILE_NAME, folder / f"{FILE_NAME}.{os.getpid()}.new"
    try:
        private_folder(folder)
        with folder_lock(folder):
            settings = msgspec.structs.replace(review_settings(), **changes)
            content = msgspec.json.encode(settings)
            _check(content)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            new.replace(path)
    except OSError as error:
        problem = f"{path} cannot be written: {error.strerror or error}. Nothing was changed."
        raise TraceError(problem) from error
    return settings


def _check(content: bytes) -> None:
    """Raises ``TraceError`` for settings that are not valid: all of them would be lost."""
    try:
        _DECODER.decode(content)
    except msgspec.DecodeError as error:
        raise TraceError(
            f"These settings of a review are not valid: {error}. Nothing was changed."
        ) from error
    if len(content) > _MAX_BYTES:
        raise TraceError(
            f"These settings of a review have more than {_MAX_BYTES:,} bytes. Nothing was changed."
        )
