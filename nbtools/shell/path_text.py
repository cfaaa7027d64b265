"""Normalises paths as texts, and follows the links of ``/proc`` and ``/dev`` that differ for each process."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

_PROCESS = re.compile(
    r"/proc/[^/]+(?:/task/[^/]+)?/(?:(?P<cwd>cwd)|(?P<root>root)|fd/[^/]+)\Z|/dev/(?:fd/[^/]+|std(?:in|out|err))\Z"
)
"""A path that is such a link: a working directory, a root, an open file."""


def normal_path(path: str) -> str:
    """Returns the path without empty components, ``.`` and ``..``; always with one leading slash at most.

    ``posixpath.normpath`` keeps two, which POSIX lets a system read in its own way.
    To Linux and macOS they mean one.
    """
    path = posixpath.normpath(path)
    return path[1:] if path.startswith("//") else path


class FollowedPath(NamedTuple):
    """An absolute path.  ``unclear`` says why it may be another one when the command runs."""

    path: str
    unclear: str = ""


def is_open_file(path: str) -> bool:
    """Whether the normalised path is an open file of some process, which may be any file."""
    found = _PROCESS.match(path)
    return found is not None and not (found["cwd"] or found["root"])


def follow_process_links(path: str, folder: str) -> FollowedPath:
    """Resolves ``path`` in the absolute ``folder``, component by component.

    ``/proc/*/cwd`` becomes the folder and ``/proc/*/root`` the root.  What an open file is (``/proc/*/fd/3``,
    ``/dev/fd/3``) is not known.  A ``..`` behind a component of ``path`` leads elsewhere where that is a
    link.
    """
    base = [part for part in normal_path(folder).split("/") if part]
    parts, written, unclear = [] if path.startswith("/") else [*base], 0, ""
    pending = [part for part in path.split("/") if part not in ("", ".")]
    for part in pending:
        if part == "..":
            unclear = unclear or (f"{path} goes up from a folder that may be a link" if written else "")
            parts, written = parts[:-1], max(written - 1, 0)
            continue
        parts.append(part)
        written += 1
        if (link := _PROCESS.match("/" + "/".join(parts))) is None:
            continue
        if link["cwd"] or link["root"]:
            unclear = f"{path} differs for each process"
            parts = [*base] if link["cwd"] else []
            written = 0
        else:
            unclear = f"{path} is an open file, which is only known when it runs"
    return FollowedPath("/" + "/".join(parts), unclear)
