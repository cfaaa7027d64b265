"""The icons of cards and of the explorer, as SVG paths in a 16 × 16 view box, stroked in the text colour."""

from __future__ import annotations

import json
from pathlib import Path

ICON_PATHS: dict[str, str] = json.loads(Path(__file__).with_name("icons.json").read_text(encoding="utf-8"))
"""SVG path by name; also written into ``labextension/src/cards/model.ts``."""
