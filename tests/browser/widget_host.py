"""A page that shows the outputs of a real kernel as VS Code, Colab or a bare host of widgets does:
no extension, only comms.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import Locator, Page

from tests.browser.questions import QuestionButtons
from tests.browser.server import Server

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
VSCODE = {
    "light": "--vscode-editor-foreground: #3b3b3b; --vscode-editor-background: #ffffff; --vscode-textLink-foreground: #005fb8;",
    "dark": "--vscode-editor-foreground: #cccccc; --vscode-editor-background: #1f1f1f; --vscode-textLink-foreground: #4daafc;",
}
VSCODE_FONTS = "--vscode-font-family: system-ui; --vscode-font-size: 13px; --vscode-editor-font-family: monospace; --vscode-editor-font-size: 14px;"
COLAB = {
    "light": "--colab-primary-text-color: #212121; --colab-primary-surface-color: #fff;",
    "dark": "--colab-primary-text-color: #d5d5d5; --colab-primary-surface-color: #383838;",
}
PAPER = {
    "vscode": {"light": "#ffffff", "dark": "#1f1f1f"},
    "colab": {"light": "#ffffff", "dark": "#383838"},
    "bare": {"light": "#ffffff", "dark": "#181818"},
}
CELL = {
    "vscode": {"cellId": "vscode-notebook-cell:/story.ipynb#W0"},
    "colab": {"cellId": "colab-1"},
    "bare": {"cellId": "1"},
}
"""Metadata of a request: what tells a notebook from a console, and JupyterLab from others."""
DRESS = """([theme, style, className, paper, metadata]) => {
    const { documentElement: root, body } = document;
    root.setAttribute('theme', theme);
    root.style.cssText = style;
    body.className = className;
    body.style.cssText = `margin: 8px; background: ${paper}`;
    window.kernel.metadata = metadata;
}"""
HTML = f'<!doctype html><html lang="en"><head><title>widget host</title></head><body><script>{SCRIPT}</script></body></html>'


class WidgetHost(QuestionButtons[int]):
    """``cells`` are the outputs of the cells that have run."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def cells(self) -> Locator:
        return self.page.locator(".cell")

    def question(self, place: int) -> Locator:
        """The question in a cell, numbered from 0."""
        return self.cells.nth(place).locator(".nbtools-asking")

    async def run(self, code: str) -> list[dict[str, Any]]:
        """Runs a cell to its end; returns its outputs."""
        return list(await self.page.evaluate("code => window.runCell(code)", code))

    async def start(self, code: str) -> None:
        await self.page.evaluate("code => void window.runCell(code)", code)


async def open_host(page: Page, server: Server, path: str) -> WidgetHost:
    """Opens the page, as a bare host, and starts a kernel for the notebook at ``path``,
    which need not exist.
    """
    address = urlsplit(server.address("widget-host"))
    base = f"{address.scheme}://{address.netloc}/"
    await page.route(
        re.compile("/widget-host"), lambda route: route.fulfill(body=HTML, content_type="text/html")
    )
    await page.goto(server.address("widget-host"))
    await page.evaluate(
        "([base, token, path, metadata]) => window.startKernel(base, token, path, metadata)",
        [base, parse_qs(address.query)["token"][0], path, CELL["bare"]],
    )
    return WidgetHost(page)


async def dress(page: Page, kind: str, theme: str = "light") -> None:
    """Gives a page what VS Code, Colab or a bare host give theirs:
    colours, fonts, and the metadata of what cells run from now on.
    """
    style = {"vscode": VSCODE, "colab": COLAB}.get(kind, {}).get(theme, "")
    fonts = VSCODE_FONTS if kind == "vscode" else ""
    class_name = f"vscode-{theme}" if kind == "vscode" else ""
    await page.evaluate(DRESS, [theme, f"{style} {fonts}", class_name, PAPER[kind][theme], CELL[kind]])
