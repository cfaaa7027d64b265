"""Loads nbtools in every kernel and IPython terminal, through one file in the profile's startup folder."""

from __future__ import annotations

from pathlib import Path

from IPython.paths import get_ipython_dir

from nbtools.workspace.files.atomic_write import make_folders, replace_content

_NAME = "50-nbtools.py"
_CODE = b'''"""Written by `nbtools enable`; removed by `nbtools disable`, or by deleting this file."""

try:
    get_ipython().run_line_magic("load_ext", "nbtools")
except ModuleNotFoundError:
    pass  # this kernel's environment has no nbtools
'''


def enable(profile: str = "default") -> tuple[Path, bool]:
    """Writes the startup file; returns its path and whether it was written now.  Raises ``ToolFailure``."""
    path = startup_file(profile)
    if path.exists():
        return path, False
    real = path.resolve()  # the profile folder may be a symbolic link
    make_folders(real, str(path))
    replace_content(real, _CODE, None, str(path))
    return path, True


def disable(profile: str = "default") -> tuple[Path, bool]:
    """Deletes the startup file; returns its path and whether it existed.  Raises ``OSError``."""
    path = startup_file(profile)
    existed = path.exists()
    path.unlink(missing_ok=True)
    return path, existed


def startup_file(profile: str = "default") -> Path:
    """Returns the path of the startup file, whether it exists or not."""
    return Path(get_ipython_dir(), f"profile_{profile}", "startup", _NAME)
