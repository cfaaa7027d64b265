"""docs/architecture.md and docs/glossary.md name modules that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP = sorted(
    path.stem
    for path in (ROOT / "nbtools").iterdir()
    if path.suffix == ".py" or (path / "__init__.py").is_file()
)


def exists(dotted: str) -> bool:
    """Whether ``dotted`` is a module, a package or a name defined in one, below nbtools."""
    path = ROOT / "nbtools" / dotted.replace(".", "/")
    if path.with_suffix(".py").is_file() or path.is_dir():
        return True
    module, _, name = dotted.rpartition(".")
    source = ROOT / "nbtools" / f"{module.replace('.', '/')}.py"
    return (
        source.is_file()
        and re.search(
            rf"^(class|def|async def) {name}\b|^{name}\b", source.read_text(encoding="utf-8"), re.MULTILINE
        )
        is not None
    )


@pytest.mark.parametrize("page", ["architecture.md", "glossary.md"])
def test_modules_named_in_the_docs_exist(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(rf"`((?:{'|'.join(TOP)})(?:\.\w+)*)/?`", text))
    assert len(named) > 30
    assert [name for name in sorted(named) if not exists(name)] == []


def test_every_package_has_its_row() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {path.name for path in (ROOT / "nbtools").iterdir() if (path / "__init__.py").is_file()}
    assert packages <= set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
