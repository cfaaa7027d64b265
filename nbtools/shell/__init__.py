"""What a command line does: read by a strict reader of a small language, and judged by a table of what programs do with their words."""

from __future__ import annotations

from nbtools.core.shell_syntax import parse_shell
from nbtools.shell.act import Act, Acts
from nbtools.shell.line import understand
from nbtools.shell.table import Table

__all__ = ["Act", "Acts", "Table", "parse_shell", "understand"]
