"""The earlier place of ``nbtools.shell.parse_shell``, for programs that import it from here."""

from nbtools.core.extension_points import extension

__all__ = ["parse_shell"]

parse_shell = extension("core.parse_shell")
