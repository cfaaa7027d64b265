"""The user's state folder: what outlasts a session, the journal and saved answers, lies there, apart for each workspace."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import platformdirs

_MOST_READABLE = 40
_KEPT_OF_HASH = 16
_UNREADABLE = re.compile(r"[^A-Za-z0-9._-]+")


def state_folder() -> Path:
    """``$NBTOOLS_STATE``, else the user's state folder for nbtools; made, for this user's eyes only, where it is missing.

    Raises ``OSError``.
    """
    return private_folder(state_path())


def state_path() -> Path:
    """Where the state folder is, or would be."""
    return Path(os.environ.get("NBTOOLS_STATE") or platformdirs.user_state_path("nbtools"))


def config_folder() -> Path:
    """``$NBTOOLS_CONFIG``, else the user's configuration folder for nbtools, made or not."""
    return Path(os.environ.get("NBTOOLS_CONFIG") or platformdirs.user_config_path("nbtools"))


def private_folder(folder: Path) -> Path:
    """Makes a folder that only this user can look into, with those it needs above it.  Raises ``OSError``."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def workspace_key(root: str | os.PathLike[str]) -> str:
    """A name for the workspace at ``root``, a real path: the end of it, for people, and a hash of all of it."""
    path = os.fspath(root)
    readable = _UNREADABLE.sub("-", os.path.basename(path)).strip(".-")[:_MOST_READABLE] or "root"
    return f"{readable}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:_KEPT_OF_HASH]}"


def project_folder(start: Path) -> Path:
    """The nearest folder from ``start`` upwards that is a git checkout; ``start`` itself where there is none."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
