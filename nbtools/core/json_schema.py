"""``jsonschema``, loaded for a tenth of what it costs where Jupyter is."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_GRAMMAR = "rfc3987_syntax"


def jsonschema() -> Any:
    """The package.  Whoever needs it gets it here, when it is needed: importing it elsewhere first takes seconds of processor time."""
    with _grammar_later():
        return importlib.import_module("jsonschema")


@contextmanager
def _grammar_later() -> Iterator[None]:
    """Jupyter installs ``rfc3987_syntax``, for which jsonschema compiles a grammar while it is imported, so that IRIs can be checked.

    We check no formats.  A stand-in takes the grammar's place just then, which compiles it when somebody in this process does.
    """
    if not {_GRAMMAR, "jsonschema"}.isdisjoint(sys.modules) or importlib.util.find_spec(_GRAMMAR) is None:
        yield
        return
    stand_in: Any = ModuleType(_GRAMMAR)
    stand_in.is_valid_syntax = _is_valid_syntax
    sys.modules[_GRAMMAR] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(_GRAMMAR) is stand_in:
            del sys.modules[_GRAMMAR]


def _is_valid_syntax(term: str, value: str) -> bool:
    return bool(importlib.import_module(_GRAMMAR).is_valid_syntax(term, value))
