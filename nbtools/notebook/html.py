"""Renders the notebook's own templates."""

from __future__ import annotations

from pathlib import Path

from nbtools.cards.markup import templates

render = templates(Path(__file__).parent / "templates").render
"""Renders a template of the notebook: ``render("agent/head", part=…)``."""
