"""Paths of the user's state and configuration folders, and a key for each workspace's part of them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import platformdirs

from nbtools.core.browser import IN_BROWSER

_MAX_NAME_LENGTH = 40
_HASH_LENGTH = 16
BROWSER_STORAGE = Path("/drive")
"""JupyterLite's files in Pyodide. They stay in the browser's storage;
the home folder ends with the kernel.
"""
_UNREADABLE = re.compile(r"[^A-Za-z0-9._-]+")


def state_folder() -> Path:
    """Returns ``$NBTOOLS_STATE``, else the user's state folder for nbtools;
    creates it, private to this user, if it is missing.

    Raises ``OSError``.
    """
    return private_folder(state_path())


def state_path() -> Path:
    """Returns the path of the state folder, whether it exists or not."""
    return Path(
        os.environ.get("NBTOOLS_STATE") or _in_browser_storage() or platformdirs.user_state_path("nbtools")
    )


def config_folder() -> Path:
    """Returns ``$NBTOOLS_CONFIG``, else the user's configuration folder for nbtools,
    whether it exists or not.
    """
    return Path(
        os.environ.get("NBTOOLS_CONFIG") or _in_browser_storage() or platformdirs.user_config_path("nbtools")
    )


def _in_browser_storage() -> Path | None:
    return BROWSER_STORAGE / "nbtools" if IN_BROWSER and BROWSER_STORAGE.is_dir() else None


def private_folder(folder: Path) -> Path:
    """Creates a folder that only this user can read, with its missing parents, and returns it.
    Raises ``OSError``.
    """
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def workspace_key(root: str | os.PathLike[str]) -> str:
    """Returns a key for the workspace at ``root``, a real path:
    its readable last component and a hash of the whole path.
    """
    path = os.fspath(root)
    readable = _UNREADABLE.sub("-", os.path.basename(path)).strip(".-")[:_MAX_NAME_LENGTH] or "root"
    return f"{readable}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:_HASH_LENGTH]}"


def project_folder(start: Path) -> Path:
    """Returns the nearest folder from ``start`` upwards that is a git checkout;
    ``start`` itself if there is none.
    """
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
