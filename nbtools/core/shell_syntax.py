"""The earlier place of ``nbtools.shell.parse_shell``, for programs that import it from here."""

import nbtools

__all__ = ["parse_shell"]

parse_shell = nbtools.shell.parse_shell
