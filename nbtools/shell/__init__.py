"""Command analysis: what a command line does,
by a strict parser and a table of what programs do with their arguments.

A module is imported when one of its names is first used: analysis needs the large tables of programs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.shell.analysis import analyse as analyse
    from nbtools.shell.command_model import AnalysedCommand as AnalysedCommand
    from nbtools.shell.command_model import CommandAnalysis as CommandAnalysis
    from nbtools.shell.grammar import parse_shell as parse_shell
    from nbtools.shell.program_table import Entry as Entry
    from nbtools.shell.program_table import ProgramTable as ProgramTable
    from nbtools.shell.program_table import included_table as included_table
    from nbtools.shell.program_table import included_tables as included_tables
    from nbtools.shell.special_programs import SPECIAL as SPECIAL

_MODULES = {
    "AnalysedCommand": "command_model",
    "CommandAnalysis": "command_model",
    "Entry": "program_table",
    "ProgramTable": "program_table",
    "SPECIAL": "special_programs",
    "analyse": "analysis",
    "included_table": "program_table",
    "included_tables": "program_table",
    "parse_shell": "grammar",
}

__all__ = sorted(_MODULES)  # noqa: PLE0605 - the imports above say the same to type checkers


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'nbtools.shell' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"nbtools.shell.{module}"), name)
    return value
