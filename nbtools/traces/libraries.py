"""Libraries that only tables, SQL and clusters need: found when they are used, named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbtools.core.errors import TraceError

_INSTALL = {
    "distributed": 'pip install "nbtools-agent[cluster]"',
    "duckdb": 'pip install "nbtools-agent[traces]"',
    "pyarrow": 'pip install "nbtools-agent[traces]"',
    "pyarrow.compute": 'pip install "nbtools-agent[traces]"',
    "pyarrow.parquet": 'pip install "nbtools-agent[traces]"',
    "pandas": "pip install pandas",
    "polars": "pip install polars",
}


def library(name: str) -> Any:
    """The module of this name.  Raises ``TraceError`` that says what to install where it is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise TraceError(f"This needs {name.partition('.')[0]}, which is not installed: {_INSTALL[name]}") from error
