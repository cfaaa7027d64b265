"""The rules that outlast a session: the person's, the project's and saved grants, from the files they are kept in."""

from __future__ import annotations

import os
import re
import stat
import warnings
from pathlib import Path

from nbtools.core.errors import from_os_error
from nbtools.policy.layers import Layer
from nbtools.policy.paths import Grounds
from nbtools.policy.store import PolicyStore
from nbtools.workspace.paths import real_path
from nbtools.workspace.state import config_folder, state_folder, state_path, workspace_key


def policy_layers(root: str | os.PathLike[str] = ".") -> tuple[Layer, ...]:
    """What is kept for the workspace at ``root``, for ``Session(root, layers=policy_layers(root))``; notebooks have it by themselves.

    ``user``: ``policy.toml`` in ``$NBTOOLS_CONFIG`` or the user's configuration folder.  ``project``: ``.nbtools/policy.toml`` in the
    workspace, of which only what forbids or asks counts until the person has trusted it (``%tools trust``).  ``saved``: grants.
    A file that cannot be read is told in a warning, and then every call is asked.
    """
    store = policy_store(root)
    for problem in store.problems():
        warnings.warn(problem, stacklevel=2)
    return store.layers()


def policy_store(root: str | os.PathLike[str] = ".") -> PolicyStore:
    """Where they are kept.  Raises ``ToolFailure`` where there is no state folder and none can be made."""
    real = Path(os.path.realpath(root))
    try:
        return PolicyStore(real, config_folder(), state_folder(), workspace_key(real))
    except OSError as error:
        raise from_os_error(error, f"The state folder {error.filename}") from None


def grounds(root: Path) -> Grounds:
    """Where the paths in rules start, and which folders hold rules and records of nbtools itself."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where there is none
    homes = dict.fromkeys((home, os.path.realpath(home))) if home.startswith("/") else ()
    own = tuple(os.path.realpath(folder) for folder in (state_path(), config_folder()))
    start = str(root)
    return Grounds(
        start, tuple(homes), own, _programs(start), real=lambda path: _real(start, path), exists=_exists, odd_name=lambda: _odd_name(start)
    )


def _programs(root: str) -> tuple[str, ...]:
    """The folders of ``PATH`` in the workspace, by both names of a link: whoever writes there gives programs other meanings."""
    listed = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder.startswith("/")]
    named = dict.fromkeys(name for folder in listed for name in (os.path.normpath(folder), os.path.realpath(folder)))
    return tuple(folder for folder in named if folder == root or folder.startswith(f"{root.rstrip('/')}/"))


_ODD = re.compile(r"(?:\A|[\s'\"\\])-")
_MOST_NAMES = 50_000


def _odd_name(root: str) -> str:
    """A file or folder whose name, or a piece of it behind a blank or a quote, a program may take for an option.

    With more files than can be looked at in a moment, that there are so many.
    """
    folders, seen = [root], 0
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if _ODD.search(entry.name):
                        return f"a file is called {entry.name!r}"
                    if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue
        if seen > _MOST_NAMES:
            return "there are too many files to look at their names"
    return ""


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # NUL, or half of a letter
        return False


def _real(root: str, path: str) -> str:
    """With its links followed; a text that can be no path leads nowhere else.  ``root`` is real: only what is below it is looked at."""
    try:
        if not path.startswith(f"{root}/"):
            return os.path.realpath(path)
        below = path[len(root) + 1 :]
        return real_path(root, below) if _has_links(root, below) else path
    except (OSError, ValueError):  # links in a circle, a name that is too long; NUL, or half of a letter
        return path


def _has_links(root: str, below: str) -> bool:
    """Whether there is a link on the way: for most paths all there is to know, and told with less than a walk along them."""
    step = root
    for part in below.split("/"):
        step = f"{step}/{part}"
        try:
            mode = os.lstat(step).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        if stat.S_ISLNK(mode):
            return True
    return False
