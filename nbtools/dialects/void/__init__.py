"""The dialect of Void.  Source: voideditor/void, src/vs/workbench/contrib/void,
and names used in descriptions of it.
"""

from __future__ import annotations

from nbtools.dialects.deviations import deviations
from nbtools.dialects.dialect_model import Dialect
from nbtools.dialects.void.commands import COMMANDS
from nbtools.dialects.void.files import FILES
from nbtools.dialects.void.replies import refuse
from nbtools.dialects.void.search import SEARCH

VOID = Dialect(
    "void",
    (*FILES, *SEARCH, *COMMANDS),
    refuse=refuse,
    differences=deviations("void").differences,
    reads_whole_lines=True,
)
