"""The page of the docs says what the dialects say."""

from __future__ import annotations

from pathlib import Path

from nbtools.dialects import Dialect, ToolMapping, UnsupportedTool
from nbtools.dialects.claude.files import Read
from nbtools.dialects.table import agent_dialects, table

PAGE = Path(__file__).parents[2] / "docs" / "dialects.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == table(agent_dialects()), "make dialects makes it anew"


def test_names_parameters_and_reasons_are_in_it() -> None:
    spellings = (ToolMapping("Look", "read", Read, former=True), ToolMapping("Read", "read", Read))
    page = table(
        [
            Dialect(
                "other",
                spellings,
                (UnsupportedTool("Fly", "It has no wings."),),
                differences=("`Look` never blinks.",),
            )
        ]
    )
    assert "| `read` | `Read`, *`Look`* |" in page
    assert "| `Read` | `read` | `file_path`, `offset?`, `limit?`, `pages?` |" in page
    assert "- `Fly`: It has no wings." in page
    assert "Differences from other:\n\n- `Look` never blinks." in page
    assert "| `fetch` | – |" in page
