"""The colours of HTML have the names that the style sheet of the front end defines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nbtools.cards import style

THEME = (Path(__file__).parents[2] / "labextension" / "style" / "theme.css").read_text(encoding="utf-8")
DEFINED = set(re.findall(r"--nbtools-([a-z0-9-]+):", THEME))


@pytest.mark.parametrize("name", [*style.TOKENS, *(f"ansi-{number}" for number in range(16))])
def test_the_style_sheet_defines_every_colour(name: str) -> None:
    assert name in DEFINED


def test_every_variable_of_a_style_is_a_colour() -> None:
    styles = " ".join(
        [
            *style.STYLES.values(),
            *style.SPANS.values(),
            *style.MARKS.values(),
            style.span_style("fg3"),
            *style.ACCENTS.values(),
        ]
    )
    used = set(re.findall(r"var\(--nbtools-([a-z0-9-]+),", styles))
    assert used <= {*style.TOKENS, "ansi-3"}
    assert {"amber", "rule", "added", "removed-mark", "hit", "k", "ansi-3"} <= used
