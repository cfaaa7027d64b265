"""Imports the libraries that only tables, SQL and clusters need, and says how to install a missing one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbtools.core.browser import IN_BROWSER
from nbtools.core.errors import TraceError

_INSTALL = {
    "distributed": 'pip install "nbtools-agent[cluster]"',
    "duckdb": 'pip install "nbtools-agent[traces]"',
    "genai_prices": 'pip install "nbtools-agent[prices]"',
    "numpy": 'pip install "nbtools-agent[traces]"',
    "pyarrow": 'pip install "nbtools-agent[traces]"',
    "pyarrow.compute": 'pip install "nbtools-agent[traces]"',
    "pyarrow.dataset": 'pip install "nbtools-agent[traces]"',
    "pyarrow.parquet": 'pip install "nbtools-agent[traces]"',
    "pandas": "pip install pandas",
    "polars": "pip install polars",
    "tqdm": 'pip install "nbtools-agent[traces]"',
}


def import_library(name: str) -> Any:
    """Returns the module of this name. Raises ``TraceError`` where it is missing,
    with the install command.
    """
    try:
        return import_module(name)
    except ImportError as error:
        if IN_BROWSER:
            raise TraceError(
                f"{name.partition('.')[0]} is needed for this, and Python in this browser does not have it."
            ) from error
        raise TraceError(
            f"{name.partition('.')[0]} is needed for this but not installed. Install it: {_INSTALL[name]}"
        ) from error
