"""How each agent speaks.  Inside there is one vocabulary; a dialect exists only where a call is read and a reply is worded."""

from nbtools.dialects.dialect import NBTOOLS, Dialect, Spelling, SpokenParams, dialect

__all__ = ["NBTOOLS", "Dialect", "Spelling", "SpokenParams", "dialect"]
