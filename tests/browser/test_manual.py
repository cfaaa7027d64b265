"""The notebooks of the manual run through in JupyterLab, as its reader runs them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.tab import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(server):
    """A clone of this tree, with the notebooks as they stand."""
    folder = server.root / "checkout"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, folder / "notebooks")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["01_first_calls", "03_your_own_tool"])
async def test_run_all_runs_through(checkout, open_file, name):
    tab = await open_file(checkout / "notebooks" / f"{name}.ipynb")
    await tab.command("notebook:run-all-cells", wait=False)
    await tab.page.wait_for_function(
        "window.jupyterapp.shell.currentWidget.content.widgets.every(cell => cell.model.type !== 'code' || cell.model.executionCount)",
        timeout=2 * PATIENCE,
    )
    await tab.ready()
    await expect(tab.panel.locator(".nbtools-asking")).to_have_count(0)
    saved = await tab.save()
    outputs = [output for cell in saved["cells"] for output in cell.get("outputs", [])]
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error"]
    for index, _ in enumerate(saved["cells"]):
        if saved["cells"][index]["cell_type"] == "code":
            await tab.page.evaluate(
                "index => window.jupyterapp.shell.currentWidget.content.scrollToItem(index, 'smart')", index
            )
            await tab.look(f"{name}-{index:02}", tab.cell(index), themes=("light",))
