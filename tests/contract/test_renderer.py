"""The extension draws cards in a real JupyterLab, in a notebook that nobody trusts.

A card looks the same there and as HTML: its head, colours and widths, and the text and the links of its blocks.
"""

import json
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import find_browser
import nbformat
import pytest
from playwright.sync_api import expect, sync_playwright

from nbtools.notebook.cards.card import bundle
from nbtools.notebook.cards.html import card_html
from tests.browser.catalogue import cards
from tests.contract.sample_cards import BUNDLES, CARDS
from tests.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(180)]
CATALOGUE = [card for card in cards() if card.id.startswith("block-")]
"""A finished card for each type of block."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project with a file and a notebook of finished cards, as it comes from somebody else."""
    root = tmp_path_factory.mktemp("project")
    (root / "src").mkdir()
    (root / "src" / "cart.py").write_text("".join(f"line {n}\n" for n in range(1, 61)))
    (root / "notebooks").mkdir()
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    for data in BUNDLES:
        cell = nbformat.v4.new_code_cell("%tool")
        cell.outputs = [nbformat.v4.new_output("display_data", data=data)]
        notebook.cells.append(cell)
    nbformat.write(notebook, root / "notebooks" / "cards.ipynb")
    notebook.cells = [
        nbformat.v4.new_code_cell("%tool", outputs=[nbformat.v4.new_output("display_data", data=bundle(card))]) for card in CATALOGUE
    ]
    nbformat.write(notebook, root / "notebooks" / "catalogue.ipynb")
    return root


@pytest.fixture(scope="module")
def address(folder):
    port = free_port()
    options = ["--no-browser", "--allow-root", "--expose-app-in-browser", "--ServerApp.token=", f"--ServerApp.root_dir={folder}"]
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", "--ServerApp.port_retries=0", *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/api")
            yield f"http://127.0.0.1:{port}/lab/tree/notebooks/cards.ipynb?reset"
        finally:
            end(server)


def end(server):
    """A server that was asked to end may wait for a thread of its own for ever."""
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()


def wait_for(url):
    deadline, pause = time.monotonic() + 60, threading.Event()
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            pause.wait(0.1)
    pytest.fail(f"nothing answers at {url}")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_browser.installed(), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def page(browser, address):
    """The notebook, opened once: what one test opens or folds, the next leaves alone.  The last tests change its theme, and hide it."""
    tab = browser.new_page(viewport={"width": 1300, "height": 2400})
    tab.goto(address, wait_until="domcontentloaded")
    expect(tab.locator(".nbtools-card")).to_have_count(len(CARDS), timeout=60_000)
    yield tab
    tab.close()


def drawn(page, tool):
    return page.locator(f".nbtools-card[aria-label^='{tool} ']")


COMPARE = """([index, html]) => {
    const live = document.querySelectorAll('.nbtools-card')[index];
    const host = document.createElement('div');
    host.innerHTML = html;
    live.parentElement.append(host);
    const measure = (card, head) => {
        const find = text => [...head.querySelectorAll('b, span')].find(node => node.textContent === text && !node.querySelector('span'));
        return {
            icon: head.querySelector('path').getAttribute('d'),
            iconColour: getComputedStyle(head.querySelector('svg')).color,
            accent: getComputedStyle(card).borderLeftColor,
            words: head.textContent.replaceAll('·', '').replace(/\\s+/g, ''),
            status: getComputedStyle(find('Done')).color,
            width: card.getBoundingClientRect().width,
            headHeight: Math.round(head.getBoundingClientRect().height / 4),
        };
    };
    const html_ = host.firstElementChild;
    const found = [measure(live, live.querySelector('.nbtools-head')), measure(html_, html_.firstElementChild)];
    host.remove();
    return found;
}"""


FINISHED = [index for index, card in enumerate(CARDS) if card.state in ("success", "error", "cancelled")]
"""The page changes the others, which have no kernel, to *Unknown*."""


@pytest.mark.parametrize("index", FINISHED, ids=[CARDS[index].id for index in FINISHED])
def test_both_renderers_draw_the_same_card(page, index):
    expect(page.locator(".nbtools-card")).to_have_count(len(CARDS))
    live, html = page.evaluate(COMPARE, [index, card_html(CARDS[index], view="unified")])
    assert live == html


CONTROLS = ".nbtools-more > button, .nbtools-gap > button, button.nbtools-number"
"""What only the extension has: buttons that show more, and line numbers that open the file."""
READ_BODY = """([body, controls]) => {
    const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    const parts = [];
    while (texts.nextNode()) {
        const parent = texts.currentNode.parentElement;
        const isControl = parent.closest('.nbtools-more > button');
        parent.checkVisibility({ contentVisibilityAuto: true }) && !isControl && parts.push(texts.currentNode.data);
    }
    const links = [...body.querySelectorAll('a[href], button.nbtools-link')].filter(link => !link.matches(controls));
    const code = [...body.querySelectorAll('.nbtools-line > code, .nbtools-hit > code')].map(line => line.textContent);
    return {
        text: parts.join('').replace(/\\s+/g, ''),
        links: links.filter(link => link.checkVisibility()).map(link => link.textContent),
        pictures: [...body.querySelectorAll('img')].map(({ src, alt, offsetWidth }) => [src.length, alt, offsetWidth]),
        code
    };
}"""


INSERT = """(node, html) => {
    const host = document.createElement('div');
    host.innerHTML = html;
    host.id = 'other';
    document.getElementById('other')?.remove();
    node.closest('.nbtools-card').parentElement.append(host);
}"""


@pytest.fixture(scope="module")
def catalogue(browser, address):
    """The notebook with a card for each type of block, narrow enough for unified diffs."""
    tab = browser.new_page(viewport={"width": 760, "height": 9000})
    tab.goto(address.replace("cards.ipynb", "catalogue.ipynb"), wait_until="domcontentloaded")
    expect(tab.locator(".nbtools-card")).to_have_count(len(CATALOGUE), timeout=60_000)
    expect(tab.locator(".nbtools-markdown h1")).to_be_visible()
    expect(tab.locator("[data-layout=split]")).to_have_count(0)
    yield tab
    tab.close()


@pytest.mark.parametrize("index", range(len(CATALOGUE)), ids=[card.tool for card in CATALOGUE])
def test_both_renderers_show_the_same_body(catalogue, index):
    body = catalogue.locator(".nbtools-card").nth(index).locator(".nbtools-body")
    live = body.evaluate(f"(body, controls) => ({READ_BODY})([body, controls])", CONTROLS)
    body.evaluate(INSERT, card_html(CATALOGUE[index], view="unified"))
    card = catalogue.locator("#other > .nbtools-html")
    html = card.evaluate(f"(card, controls) => {{ card.firstElementChild.remove(); return ({READ_BODY})([card, controls]); }}", CONTROLS)
    whole = card.evaluate("card => card.textContent")
    assert live["text"]
    assert live["text"] == html["text"]
    assert live["links"] == html["links"]
    assert live["pictures"] == html["pictures"]
    assert [line for line in live["code"] if line not in whole] == []  # with its white space


def test_a_folded_text_is_unfolded_by_its_title(catalogue):
    folded = catalogue.locator(".nbtools-card .nbtools-text details")
    expect(folded.locator("pre")).to_be_hidden()
    folded.locator("summary").press("Enter")
    expect(folded.locator("pre")).to_be_visible()
    folded.locator("summary").click()
    expect(folded.locator("pre")).to_be_hidden()


COLUMN = """(root, text) => {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (texts.nextNode()) {
        const at = texts.currentNode.data.indexOf(text);
        if (at >= 0) {
            range.setStart(texts.currentNode, at);
            return range.getBoundingClientRect().left - root.getBoundingClientRect().left;
        }
    }
}"""


@pytest.mark.parametrize(("tool", "text"), [("code", "x0 = 0"), ("matches", "next"), ("listing", "src/")])
def test_the_column_of_numbers_is_equally_wide(catalogue, tool, text):
    """Within a character: one renderer counts in characters, the other in pixels."""
    card = catalogue.locator(".nbtools-card").nth([card.tool for card in CATALOGUE].index(tool))
    live = card.locator(".nbtools-body").evaluate(COLUMN, text)
    card.evaluate(INSERT, card_html(next(card for card in CATALOGUE if card.tool == tool), view="unified"))
    html = catalogue.locator("#other > .nbtools-html").evaluate(COLUMN, text)
    assert html == pytest.approx(live, abs=8)


def test_an_untrusted_notebook_shows_cards_and_runs_nothing(page):
    assert page.evaluate("jupyterapp.shell.currentWidget.content.model.cells.get(0).trusted") is False
    expect(page.get_by_text("page of")).to_have_count(0)
    expect(drawn(page, "fail").locator("strong")).to_have_text("bold")
    assert page.evaluate("window.harm") is None


def test_a_card_of_another_version_falls_back_to_its_text(page):
    expect(page.locator(".nbtools-rendered").last).to_contain_text("another version of nbtools")
    expect(page.locator(".nbtools-rendered").last).to_contain_text("text of newer")


def test_a_place_outside_the_server_says_so_and_opens_nothing(page):
    link = drawn(page, "read").locator(".nbtools-foot button")
    expect(link).to_have_attribute("aria-disabled", "true")
    assert "outside" in (link.get_attribute("title") or "")


def test_the_keyboard_opens_a_folded_diff_and_keeps_the_focus(page):
    card = drawn(page, "edit")
    show = card.get_by_role("button", name="show diff")
    show.focus()
    page.keyboard.press("Enter")
    expect(card.locator(".nbtools-pane")).to_have_count(2)
    expect(card.locator("[aria-expanded=true]")).to_be_focused()
    card.get_by_role("button", name="23 unchanged lines").click()
    expect(card.locator(".nbtools-pane").first.locator(".nbtools-line")).to_have_count(25)
    card.get_by_role("button", name="unified").click()
    expect(card.locator(".nbtools-pane")).to_have_count(1)
    expect(card.locator(".nbtools-line")).to_have_count(26)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_all_text_reads_in_both_themes(page, theme):
    page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
    page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
    faint = page.evaluate(CONTRAST)
    assert faint == {}, json.dumps(faint, indent=1)


def test_a_line_number_opens_the_file_there(page):
    drawn(page, "grep").get_by_role("button", name="31").click()
    page.wait_for_function("jupyterapp.shell.currentWidget?.content?.editor?.getCursorPosition().line === 30")
    assert page.evaluate("jupyterapp.shell.currentWidget.context.path") == "src/cart.py"
