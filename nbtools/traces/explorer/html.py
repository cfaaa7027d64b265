"""Renders the templates of explorer, comparison and shared page."""

from __future__ import annotations

from pathlib import Path

from nbtools.cards.markup import templates

render = templates(Path(__file__).parent / "templates").render
"""Renders a template: ``render("trace", summary=…)``."""
