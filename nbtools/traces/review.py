"""The earlier name of the package ``nbtools.traces.reviews``; it goes with the next release.

``nbtools.traces.review`` is a function now. So that both ``traces.review(trace)`` and imports such as
``from nbtools.traces.review.exchange import write_jsonl`` work, this module replaces itself by the function.
"""

import sys
from importlib import import_module
from typing import Any

from nbtools.core.deprecation import warn_deprecated
from nbtools.traces.reviews.review import review

for _name in ("anchors", "code_book", "exchange", "records", "review", "signals", "statistics", "store"):
    sys.modules[f"{__name__}.{_name}"] = import_module(f"nbtools.traces.reviews.{_name}")
sys.modules[f"{__name__}.model"] = sys.modules[f"{__name__}.records"]
_modules: dict[str, Any] = sys.modules
_modules[__name__] = review  # the import system stores this as the attribute of nbtools.traces
warn_deprecated("nbtools.traces.review as a package", "nbtools.traces.reviews")
