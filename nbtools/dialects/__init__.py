"""Dialects: tool names, parameters and result texts of other agents.
All other packages use canonical names only.
"""

from importlib import import_module

from nbtools.core.errors import SessionError
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.dialects.dialect_model import NBTOOLS, CanonicalCall, Dialect, ToolMapping, UnsupportedTool
from nbtools.dialects.dialect_tools import DialectTools

__all__ = [
    "NBTOOLS",
    "CanonicalCall",
    "Dialect",
    "DialectTools",
    "ToolMapping",
    "UnsupportedTool",
    "canonical_tool_name",
    "dialect",
    "dialect_names",
    "is_name_of",
]

_MODULES = {"gemini": "GEMINI", "claude": "CLAUDE", "void": "VOID", "codex": "CODEX"}


def dialect_names() -> tuple[str, ...]:
    return (NBTOOLS.name, *_MODULES)


def dialect(name: str) -> Dialect:
    """Returns the dialect of that name.  Raises ``SessionError`` that lists the available dialects."""
    if name == NBTOOLS.name:
        return NBTOOLS
    if name not in _MODULES:
        raise SessionError(f"There is no dialect {name!r}. Available dialects: {', '.join(dialect_names())}.")
    module = import_module(f"nbtools.dialects.{name}")
    found: Dialect = getattr(module, _MODULES[name])
    return found


def is_name_of(name: str, dialect: Dialect) -> bool:
    """Whether the agent has, or had, a tool of that name, also one that nbtools does not offer."""
    return name in dialect.by_name or any(one.name == name for one in dialect.unsupported)


def canonical_tool_name(name: str, first: Dialect) -> str:
    """Returns the canonical tool for an agent's name, looked up in ``first`` before the other dialects;
    unknown names unchanged.
    """
    if name in CANONICAL_NAMES or not name.isidentifier():
        return name
    others = (dialect(other) for other in _MODULES if other != first.name)
    return next(
        (candidate.by_name[name][0].tool for candidate in (first, *others) if name in candidate.by_name), name
    )
