"""Command analysis: what a command line does, by a strict parser and a table of what programs do with their arguments."""

from __future__ import annotations

from nbtools.core.shell_syntax import parse_shell
from nbtools.shell.analysis import analyse
from nbtools.shell.command_model import AnalysedCommand, CommandAnalysis
from nbtools.shell.program_table import ProgramTable

__all__ = ["AnalysedCommand", "CommandAnalysis", "ProgramTable", "analyse", "parse_shell"]
