"""Warnings about names that go with the next release."""

from __future__ import annotations

import warnings


def warn_deprecated(old: str, new: str) -> None:
    """Warns the caller of the deprecated function ``old``, which calls this, that ``new`` replaces it."""
    # 3: the line that called the deprecated function
    warnings.warn(
        f"{old} is deprecated and goes with the next release. Use {new}.", DeprecationWarning, stacklevel=3
    )
