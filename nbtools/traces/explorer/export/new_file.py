"""Creates files without replacing one."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from pathlib import Path


def create_file(target: Path, content: bytes) -> Path:
    """Creates a new file, even if two programs write at the same time. Raises ``OSError``."""
    for number in count():
        path = target.with_stem(f"{target.stem}-{number}") if number else target
        with suppress(FileExistsError):
            file = path.open("xb")
            break
    with file:
        try:
            file.write(content)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    return path
