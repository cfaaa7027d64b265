"""The documentation site: it builds without a warning, every link leads somewhere, nothing is fetched,
and it is accessible.
"""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.accessibility import AXE_SCRIPT
from tests.browser.tab import PATIENCE

ROOT = Path(__file__).parents[2]
PAGES = (
    "docs/index",
    "docs/tutorials",
    "notebooks/01_first_calls",
    "notebooks/07_compared_and_run_again",
    "docs/how-to/write-a-rule",
    "docs/reference/tools",
    "docs/peers",
)
TAGS = ["wcag2a", "wcag2aa", "wcag21aa"]
VARIANTS: tuple[tuple[int, Literal["light", "dark"], bool, bool], ...] = (
    (1280, "light", True, True),
    (1280, "dark", False, True),
    (380, "light", True, False),
)
"""Width, colour scheme, whether all rules but contrast are checked, and whether contrast is."""
RUN = """runOnly => axe.run(
    { include: ['main'] }, { runOnly, rules: { 'color-contrast': { enabled: false } }, resultTypes: ['violations'] })"""
CONTRAST = """() => {
    const grounds = new Map([[null, '']]), looks = new Map();
    const ground = node => {
        if (!grounds.has(node)) {
            const { backgroundColor, backgroundImage, filter, opacity, position } = getComputedStyle(node);
            const own = [backgroundColor, backgroundImage, filter, opacity, position, node.ariaDisabled, node.matches(':disabled')];
            grounds.set(node, `${ground(node.parentElement)} ${own}`);
        }
        return grounds.get(node);
    };
    const text = node => [...node.childNodes].map(({ nodeType, data }) => nodeType === Node.TEXT_NODE ? data.trim() : '').join('');
    for (const node of document.querySelectorAll('main *')) {
        const { color, fontSize, fontWeight, textShadow, visibility } = getComputedStyle(node);
        const look = [ground(node), color, fontSize, fontWeight, textShadow, visibility, node.localName === 'label'].join();
        const isRead = text(node) || node.matches('input, select, textarea');
        isRead && node.checkVisibility() && looks.set(look, [...looks.get(look) ?? [], node]);
    }
    const longest = nodes => nodes.sort((a, b) => text(b).length - text(a).length).slice(0, 3);
    const include = [...looks.values()].flatMap(longest);
    return axe.run({ include }, { runOnly: ['color-contrast'], resultTypes: ['violations'] });
}"""
"""Measures the contrast of the three longest texts of each look:
the same colours, and the same behind them, have the same contrast.

axe takes seconds for all words of a page.
It reports nothing about a text of one letter, or one that something else covers in part.
"""


class Links(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and values.get("href"):
            self.links.add(values["href"])
        self.loads.update(
            values[name] for name in ("src", "srcset", "data") if tag != "a" and values.get(name)
        )
        if tag == "link" and values.get("rel") in {"stylesheet", "icon", "preload", "modulepreload"}:
            self.loads.add(values["href"])


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-c",
        "docs",
        ".",
        str(folder),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(site))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, address: str) -> AsyncIterator[Page]:
    page = await browser.new_page(base_url=address)
    page.set_default_timeout(PATIENCE)
    page.foreign = []  # type: ignore[attr-defined]
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((address, "data:", "blob:")) else page.foreign.append(request.url)
        ),
    )  # type: ignore[attr-defined]
    yield page
    assert page.foreign == []  # type: ignore[attr-defined]
    await page.close()


def test_every_link_leads_somewhere(site: Path) -> None:
    written = [
        path
        for path in site.rglob("*.html")
        if path.relative_to(site).parts[0] != "_static" and path.parent.name != "gallery"
    ]
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in written}
    ids = {path: links.ids for path, links in pages.items()}
    exist = {site, *site.rglob("*")}
    broken = []
    for path, found in pages.items():
        for link in found.links | found.loads:
            parts = urlsplit(link)
            if parts.scheme in {"http", "https", "mailto", "data"}:
                assert link not in found.loads or parts.scheme == "data", f"{path} loads {link}"
                continue
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            fragment = unquote(parts.fragment)
            if target not in exist or (fragment and target in ids and fragment not in ids[target]):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []
    assert len(pages) > 40


def test_language_models_find_every_page(site: Path) -> None:
    lines = [
        line
        for line in (site / "llms.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("- [")
    ]
    linked = {line.split("](")[1].split(")")[0] for line in lines}
    pages = {
        str(path.relative_to(site))
        for folder in ("docs", "notebooks")
        for path in (site / folder).rglob("*.html")
    }
    assert linked >= {page for page in pages if not page.startswith("docs/gallery/")} - {"docs/index.html"}


@pytest.mark.parametrize("name", PAGES)
async def test_pages_are_accessible(page: Page, name: str) -> None:
    """Contrast in both colour schemes, and every other rule at both widths,
    because colours and widths have no rule in common.
    """
    for width, scheme, all_rules, contrast in VARIANTS:
        await page.set_viewport_size({"width": width, "height": 900})
        await page.emulate_media(color_scheme=scheme)
        await page.goto(f"/{name}.html")  # the theme makes what scrolls at this width focusable
        await page.evaluate(AXE_SCRIPT)
        assert await page.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        ), width
        rules = await page.evaluate(RUN, TAGS) if all_rules else {"violations": [], "passes": []}
        colours = await page.evaluate(CONTRAST) if contrast else {"violations": [], "passes": []}
        found = [*rules["violations"], *colours["violations"]]
        assert [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]] == [], (
            width,
            scheme,
        )
        assert bool(rules["passes"]) == all_rules, (width, scheme)
        assert bool(colours["passes"]) == contrast, (width, scheme)


async def test_search_finds_a_page(page: Page) -> None:
    await page.goto("/search.html?q=sandbox")
    await expect(page.get_by_role("link", name="Run commands in a sandbox")).to_be_visible()


async def test_a_session_of_the_gallery_opens_and_leaves_the_page_where_it_is(page: Page) -> None:
    await page.goto("/docs/gallery.html")
    frame = page.frame_locator("iframe")
    await expect(frame.locator(".nbtools-trace [role=option]").first).to_be_visible()
    assert await page.evaluate("document.activeElement === document.body")
    assert await page.evaluate("scrollY") == 0
    await page.get_by_role("link", name="Codex", exact=True).click()
    await expect(page.locator(".nbtools-trace [role=option]").first).to_be_visible()


async def test_the_root_leads_to_the_start_page(page: Page) -> None:
    await page.goto("/")
    await page.wait_for_url("**/docs/index.html")
    await expect(page.get_by_role("heading", name="nbtools", level=1)).to_be_visible()
