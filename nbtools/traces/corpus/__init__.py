"""A corpus: many logs in tables that can be queried with SQL and searched.

Only logs that have changed are read again.
"""

from __future__ import annotations

from nbtools.traces.corpus.corpus import Corpus
from nbtools.traces.corpus.ingest import Ingested
from nbtools.traces.corpus.progress import Progress
from nbtools.traces.corpus.search_index import Found

__all__ = ["Corpus", "Found", "Ingested", "Progress"]
