"""Names of code that was typed into a notebook or a terminal."""

from __future__ import annotations

import sys


def cell_name(filename: str) -> str:
    """Returns ``cell 5`` for the file name under which IPython compiled the cell ``In [5]``;
    empty for any other file.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    named = None if shell is None else shell.compile.format_code_name(filename)
    return (
        f"cell {named[1].removeprefix('In[').rstrip(']')}"
        if named is not None and named[1].startswith("In[")
        else ""
    )
