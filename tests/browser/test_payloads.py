"""Nothing that a tool, a file, a server or a model says can run in the notebook, load anything,
or be drawn outside its card.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import BrowserContext, Frame, Page, expect

from nbtools.cards.card_model import GROUP_MIME, MIME, Card
from tests.browser import hostile
from tests.browser.canary import Canary
from tests.browser.project import write_notebook
from tests.browser.server import Server
from tests.browser.tab import Tab

HARM = (Path(__file__).parent / "harm.js").read_text(encoding="utf-8")
"""A function that says what on the page should not be there."""

PREPARE = """\
import os, pathlib, sys
sys.path.insert(0, os.getcwd())
import hostile
from nbtools.tools.fetch import FetchTool
said = hostile.payloads("{canary}")
session = tools._runtime.session
words = hostile.words(said)
for name, kind, markdown in (("shows", "read", False), ("blocks", "read", False), ("says", "read", True), ("asks", "other", False)):
    session.tools.register(hostile.HostileTool(f"hostile_{name}", hostile.Kind(kind), said, markdown=markdown))
session.tools.unregister("fetch")
session.tools.register(FetchTool(session.workspace, allowed=["{canary}".removeprefix("http://")]), replace=True)
session.hooks = hostile.hooks(said)
def tried(call, *values, **named):
    try:
        return call(*values, **named)
    except Exception:
        pass"""
SHOWS = """\
for what in (*hostile.SHOWN, "streams", "fails", "crashes"):
    tried(tools.hostile_shows, what=what)
tried(tools.hostile_blocks, what="text")"""
MARKDOWN = """\
tried(tools.hostile_says, what="text")
for one in said[-40:-28]:
    tried(tools.hostile_says, what=one[4:])
%tools allow fetch
tried(tools.fetch, ["{canary}/page"])"""
FILES = """\
for name, more in (("ls", ("names",)), ("glob", ("names/*",)), ("tree", ("names",)), ("grep", ("‡", "names")), ("grep", ("‡", "all.txt")),
                   ("read", ("all.txt",)), ("read", ("all.md",)), ("read", ("all.ipynb",)), ("read_many", (["all.txt", "all.md"],)),
                   ("read", ("drawing.svg",)), ("read", ("picture.png",)), ("cells", ())):
    tried(getattr(tools, name), *more)"""
COMMANDS = """\
%tools allow shell todo "edit(*.txt)"
tried(tools.shell, "python3 -u print.py")
tried(tools.shell, "python3 -u print.py >&2; exit 3")
tried(tools.todo, [{"text": one, "status": "pending"} for one in words])
tried(tools.edit, "all.txt", old=said[0], new=said[1] + "\\n" + said[0])
for one in words:
    patch = "--- a/all.txt\\n+++ b/all.txt\\n@@ -1 +1 @@ {0}\\n-no such line {0}\\n+new\\n".format(one.replace("\\n", " "))
    tried(tools.patch, patch) if words.index(one) % 8 == 0 else None
tried(tools.read, "".join(words))
tried(tools.hostile_shows, what="text", **{one: one for one in words})
%tools revoke shell"""
RAISES = """\
try:
    tools.hostile_shows(what="fails")
except Exception:
    get_ipython().showtraceback()"""
MAGIC = "%tool {everything}\ntools.quiet.hostile_shows(what='text')"
SHEETS = """\
for one in words:
    try:
        session.allow(f"shell({one})")
    except Exception:
        pass
%tools
%tools grants
%tools history
%tool
%tool hostile_shows?"""
ASKS = "asking = [tools.hostile_asks.background(what=what) for what in hostile.ASKED]"
MORE = """\
text = "\\n".join(words)
more = [tools.edit.background("notes.md", old="one", new=text)]
more += [tools.shell.background("git status; " + "\\n".join("echo " + repr(one) for one in words))]
more += [tools.memory.background(" ".join(words)[:9000]), tools.write.background(hostile.name_of(said[1]), text)]"""
CELLS = (PREPARE, SHOWS, MARKDOWN, FILES, COMMANDS, RAISES, SHEETS, ASKS, MORE, MAGIC)
SEVERAL = 60
"""Payloads that every channel has at least."""


@dataclass
class Watch:
    """Returns the forbidden effects of a page."""

    page: Page
    canary: Canary
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lab = self.page.url.split("/lab")[0]
        self.page.on(
            "request",
            lambda request: (
                self.heard.append(request.url) if request.url.startswith(self.canary.address) else None
            ),
        )
        self.page.on("dialog", lambda dialog: self.heard.append(f"a dialog: {dialog.message}"))
        self.page.on("popup", lambda page: self.heard.append(f"a window: {page.url}"))
        self.page.on("framenavigated", self._navigated)

    def _navigated(self, frame: Frame) -> None:
        """JupyterLab says in its address which file is open."""
        if frame.parent_frame is not None or not frame.url.startswith(f"{self.lab}/lab"):
            self.heard.append(f"went to {frame.url}")

    async def nothing_happened(self) -> None:
        """Asks the page itself, too, with everything opened that can be."""
        assert await self.page.evaluate(HARM) == []
        assert self.heard == []
        assert self.canary.asked == []
        assert await self.page.evaluate("window.__pwned") is None


@pytest_asyncio.fixture(loop_scope="session")
async def canary() -> AsyncIterator[Canary]:
    async with Canary() as canary:
        canary.page = (
            "<html><body>" + "\n".join(hostile.words(hostile.payloads(canary.address))) + "</body></html>"
        )
        yield canary


def prepare(folder: Path, canary: Canary) -> Path:
    """A project of payloads, and the notebook that shows them."""
    said = [one for one in hostile.payloads(canary.address) if "\0" not in one]
    shutil.copy(hostile.__file__, folder / "hostile.py")
    (folder / "names").mkdir()
    for one in said:
        (folder / "names" / hostile.name_of(one)).write_text(f"{one}\n", encoding="utf-8")
    for name in ("all.txt", "all.md"):
        (folder / name).write_text("\n".join(said) + "\n", encoding="utf-8")
    (folder / "all.ipynb").write_text(hostile.notebook(said), encoding="utf-8")
    (folder / "notes.md").write_text("one\n", encoding="utf-8")
    (folder / "drawing.svg").write_text(
        f"<svg xmlns='http://www.w3.org/2000/svg' onload='{hostile.RUN}'/>", encoding="utf-8"
    )
    (folder / "picture.png").write_text(f"<script>{hostile.RUN}</script>", encoding="utf-8")
    (folder / "print.py").write_text(
        f"import time\nfor one in {said!r}:\n    print(one)\n    time.sleep(0.002)\n", encoding="utf-8"
    )
    everything = " ".join(one for one in hostile.words(said) if len(one.splitlines()) == 1)
    write_notebook(
        folder / "hostile.ipynb",
        [cell.replace("{canary}", canary.address).replace("{everything}", everything) for cell in CELLS],
    )
    return folder / "hostile.ipynb"


async def all_drawn(tab: Tab, card: str = ".nbtools-card", *, open_questions: bool = False) -> None:
    """Has the notebook draw all of its cells wherever they are, and the cards open what they keep closed.

    A question is drawn when it comes into view, so cards are counted only where no question is open.
    """
    await tab.page.wait_for_function(DRAW_ALL, polling=300)
    if not open_questions:
        await expect(tab.panel.locator(card)).to_have_count(
            await tab.page.evaluate(CARDS, [MIME, GROUP_MIME])
        )
    await tab.page.evaluate("""async () => {
        document.querySelectorAll('.nbtools-foot [aria-expanded=false]').forEach(button => button.click());
        document.querySelectorAll('.jp-OutputArea details').forEach(details => { details.open = true; });
        await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
    }""")


DRAW_ALL = """() => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const drawn = notebook.widgets.every(cell => !cell.isPlaceholder());
    for (const windowingMode of drawn ? [] : ['full', 'none']) {
        notebook.notebookConfig = { ...notebook.notebookConfig, windowingMode };
    }
    return drawn;
}"""
"""Cells that come after the mode was set are not drawn until it is set again."""
CARDS = """([mime, group]) => {
    const outputs = [...window.jupyterapp.shell.currentWidget.content.model.cells].flatMap(cell => cell.toJSON().outputs ?? []);
    const bundles = outputs.flatMap(({ data }) => data?.[group]?.parts ?? data ?? []);
    return bundles.filter(bundle => mime in bundle).length;
}"""
"""How many cards the notebook holds, alone or in groups."""


async def finished(tab: Tab) -> None:
    """Waits until every cell has run."""
    await tab.page.wait_for_function(
        "[...window.jupyterapp.shell.currentWidget.content.model.cells].every(cell => cell.executionCount)"
    )


def message_of(cell: dict[str, Any]) -> set[str]:
    """The marks of the payloads that a saved cell's outputs hold, also in the compressed blocks of cards."""
    data = [output.get("data", {}) for output in cell["outputs"]]
    bundles = [bundle for one in data for bundle in one.get(GROUP_MIME, {}).get("parts", [one])]
    cards = [Card.model_validate(bundle[MIME]).model_dump_json() for bundle in bundles if MIME in bundle]
    return set(re.findall(r"‡\d\d", json.dumps(cell["outputs"], ensure_ascii=False) + "".join(cards)))


async def test_nothing_runs_and_nothing_leaves_its_card(open_file, project, canary, plain_server, context):
    """Live, then saved: in an untrusted notebook, and without the extension, untrusted and trusted."""
    path = prepare(project, canary)
    tab: Tab = await open_file(path)
    watch = Watch(tab.page, canary)
    await tab.run_all()
    await finished(tab)
    await all_drawn(tab, open_questions=True)
    questions = tab.panel.locator(".nbtools-asking")
    await questions_drawn(tab)
    await expect(questions).to_have_count(len(hostile.ASKED) + 4)
    await watch.nothing_happened()

    await press_all(tab, "modify")
    await expect(tab.panel.locator(".nbtools-asking .nbtools-modify-pane")).to_have_count(
        len(hostile.ASKED) + 3
    )
    await watch.nothing_happened()
    await press_all(tab, "back")

    await helped(tab)
    await watch.nothing_happened()
    await answered(tab)
    await all_drawn(tab)
    await watch.nothing_happened()

    saved = await tab.save()
    counts = {"".join(cell["source"])[:40]: len(message_of(cell)) for cell in saved["cells"][2:-1]}
    assert min(counts.values()) >= SEVERAL, counts
    for cell in saved["cells"]:
        cell["metadata"]["from"] = "a stranger"
    foreign = path.with_name("foreign.ipynb")
    foreign.write_text(json.dumps(saved), encoding="utf-8")
    again: Tab = await open_file(foreign)
    await all_drawn(again)
    assert (
        await again.page.evaluate(
            "window.jupyterapp.shell.currentWidget.content.widgets.some(cell => cell.model.trusted)"
        )
        is False
    )
    await watch.nothing_happened()
    await without_the_extension(plain_server, context, foreign, canary)


async def questions_drawn(tab: Tab) -> None:
    """Scrolls to each output of the two cells that ask, by which its question is drawn."""
    for index in (CELLS.index(ASKS), CELLS.index(MORE)):
        for output in await tab.output(index + 1).all():
            await output.scroll_into_view_if_needed()
            await expect(output.locator(".nbtools-asking")).to_be_visible()


async def press_all(tab: Tab, role: str) -> None:
    await tab.page.evaluate(
        "role => document.querySelectorAll(`.nbtools-asking button.nbtools-${role}`).forEach(one => one.click())",
        role,
    )


async def helped(tab: Tab) -> None:
    """Has Jupyter explain what describes itself by payloads."""
    cell = tab.panel.locator(".jp-Cell").last.locator(".cm-content")
    await cell.click()
    await cell.fill("tools.hostile_shows")
    await tab.page.keyboard.press("Shift+Tab")
    await expect(tab.page.locator(".jp-Tooltip")).to_contain_text("‡00")


async def answered(tab: Tab) -> None:
    """Declines what can be declined, approves the rest: their records stay."""
    questions = tab.panel.locator(".nbtools-asking")
    await questions.first.locator("button.nbtools-approve").click()
    await expect(questions).to_have_count(len(hostile.ASKED) + 3)
    while count := await questions.count():
        await questions.first.locator("button.nbtools-cancel").click()
        await expect(questions).to_have_count(count - 1)


async def without_the_extension(
    server: Server, context: BrowserContext, notebook: Path, canary: Canary
) -> None:
    shutil.copy(notebook, server.root)
    page = await context.new_page()
    await page.goto(server.address("lab/workspaces/payloads/tree", notebook.name))
    plain = Tab(page, server.root / notebook.name, notebook.parent)
    await plain.ready()
    watch = Watch(page, canary)
    await all_drawn(plain, ".nbtools-html")
    assert await page.locator(".nbtools-card").count() == 0
    await watch.nothing_happened()
    await plain.command("notebook:trust", wait=False)
    await page.locator(".jp-Dialog").get_by_role("button", name="Trust").click()
    await page.wait_for_function(
        "window.jupyterapp.shell.currentWidget.content.widgets.every(cell => cell.model.trusted !== false)"
    )
    await all_drawn(plain, ".nbtools-html")
    await watch.nothing_happened()
    await page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await page.close()
