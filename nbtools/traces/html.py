"""HTML displays of queries, searches and corpora."""

from __future__ import annotations

from pathlib import Path

from nbtools.core.html_templates import HtmlTemplates

render = HtmlTemplates(Path(__file__).parent / "templates", thousands="{:,}".format).render
