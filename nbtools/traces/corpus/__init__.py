"""Many logs, kept as tables that are asked by SQL and searched; what is in it is read again only where it has changed."""

from __future__ import annotations

from nbtools.traces.corpus.corpus import Corpus, Ingested
from nbtools.traces.corpus.finding import Found
from nbtools.traces.corpus.progress import Progress

__all__ = ["Corpus", "Found", "Ingested", "Progress"]
