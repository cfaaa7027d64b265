"""The extension draws cards in JupyterLab, in a notebook that nobody trusts.

A card looks the same there and as HTML: its head, colours and widths,
and the text and the links of its blocks.
"""

import json
from pathlib import Path

import nbformat
import pytest
from playwright.async_api import expect

from nbtools.cards.card import bundle
from nbtools.cards.html import card_html
from tests.browser.catalogue import cards
from tests.contract.sample_cards import BUNDLES, CARDS

CATALOGUE = [card for card in cards() if card.id.startswith("block-")]
"""A finished card for each type of block."""
FINISHED = [index for index, card in enumerate(CARDS) if card.state in ("success", "error", "cancelled")]
"""The page changes the others, which have no kernel, to *Unknown*."""
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
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


@pytest.fixture
def open_cards(open_file, project, lab):
    """Opens a notebook of finished cards, as it comes from somebody else, beside the file that they name;
    draws all of it.
    """

    async def open_cards(bundles, **window):
        (project / "src" / "cart.py").write_text("".join(f"line {n}\n" for n in range(1, 61)))
        (project / "notebooks").mkdir()
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
        for data in bundles:
            notebook.cells.append(
                nbformat.v4.new_code_cell(
                    "%tool", outputs=[nbformat.v4.new_output("display_data", data=data)]
                )
            )
        nbformat.write(notebook, project / "notebooks" / "cards.ipynb")
        await lab.set_viewport_size(window)
        return await open_file(project / "notebooks" / "cards.ipynb")

    return open_cards


async def test_cards_that_nobody_trusts_look_like_their_html_run_nothing_and_can_be_used(open_cards):
    tab = await open_cards(BUNDLES, width=1300, height=2400)
    await expect(tab.panel.locator(".nbtools-card")).to_have_count(len(CARDS))
    for index in FINISHED:
        live, html = await tab.page.evaluate(COMPARE, [index, card_html(CARDS[index], view="unified")])
        assert live == html, CARDS[index].id
    assert (
        await tab.page.evaluate("jupyterapp.shell.currentWidget.content.model.cells.get(0).trusted") is False
    )
    await expect(tab.panel.get_by_text("page of")).to_have_count(0)
    await expect(drawn(tab, "fail").locator("strong")).to_have_text("bold")
    assert await tab.page.evaluate("window.harm") is None
    await falls_back_to_its_text(tab)
    await opens_no_place_outside_the_server(tab)
    await keyboard_opens_a_folded_diff_and_keeps_the_focus(tab)
    for theme in ("light", "dark"):
        await tab.theme(theme)
        faint = await tab.page.evaluate(CONTRAST)
        assert faint == {}, json.dumps(faint, indent=1)
    await tab.theme("light")
    await line_number_opens_the_file_there(tab)


def drawn(tab, tool):
    return tab.panel.locator(f".nbtools-card[aria-label^='{tool} ']")


async def falls_back_to_its_text(tab):
    """A card of another version of nbtools."""
    await expect(tab.panel.locator(".nbtools-rendered").last).to_contain_text("another version of nbtools")
    await expect(tab.panel.locator(".nbtools-rendered").last).to_contain_text("text of newer")


async def opens_no_place_outside_the_server(tab):
    link = drawn(tab, "read").locator(".nbtools-foot button")
    await expect(link).to_have_attribute("aria-disabled", "true")
    assert "outside" in (await link.get_attribute("title") or "")


async def keyboard_opens_a_folded_diff_and_keeps_the_focus(tab):
    card = drawn(tab, "edit")
    await card.get_by_role("button", name="show diff").focus()
    await tab.page.keyboard.press("Enter")
    await expect(card.locator(".nbtools-pane")).to_have_count(2)
    await expect(card.locator("[aria-expanded=true]")).to_be_focused()
    await card.get_by_role("button", name="23 unchanged lines").click()
    await expect(card.locator(".nbtools-pane").first.locator(".nbtools-line")).to_have_count(25)
    await card.get_by_role("button", name="unified").click()
    await expect(card.locator(".nbtools-pane")).to_have_count(1)
    await expect(card.locator(".nbtools-line")).to_have_count(26)


async def line_number_opens_the_file_there(tab):
    await drawn(tab, "grep").get_by_role("button", name="31").click()
    await tab.page.wait_for_function(
        "jupyterapp.shell.currentWidget?.content?.editor?.getCursorPosition().line === 30"
    )
    assert (
        await tab.page.evaluate("jupyterapp.shell.currentWidget.context.path")
        == f"{tab.folder.parent.name}/src/cart.py"
    )


async def test_each_type_of_block_has_the_same_text_and_links_as_its_html(open_cards):
    tab = await open_cards([bundle(card) for card in CATALOGUE], width=560, height=9000)
    await expect(tab.panel.locator(".nbtools-card")).to_have_count(len(CATALOGUE))
    await expect(tab.panel.locator(".nbtools-markdown h1")).to_be_visible()
    await expect(tab.panel.locator("[data-layout=split]")).to_have_count(0)
    for index in range(len(CATALOGUE)):
        await shows_the_same_body(tab, index)
    await unfolds_a_text_by_its_title(tab)
    for tool, text in (("code", "x0 = 0"), ("matches", "next"), ("listing", "src/")):
        await numbers_are_equally_wide(tab, tool, text)


async def shows_the_same_body(tab, index):
    body = tab.panel.locator(".nbtools-card").nth(index).locator(".nbtools-body")
    live = await body.evaluate(f"(body, controls) => ({READ_BODY})([body, controls])", CONTROLS)
    await body.evaluate(INSERT, card_html(CATALOGUE[index], view="unified"))
    card = tab.panel.locator("#other > .nbtools-html")
    html = await card.evaluate(
        f"(card, controls) => {{ card.firstElementChild.remove(); return ({READ_BODY})([card, controls]); }}",
        CONTROLS,
    )
    whole = await card.evaluate("card => card.textContent")
    assert live["text"], CATALOGUE[index].tool
    assert live["text"] == html["text"]
    assert live["links"] == html["links"]
    assert live["pictures"] == html["pictures"]
    assert [line for line in live["code"] if line not in whole] == []  # with its white space


async def unfolds_a_text_by_its_title(tab):
    folded = tab.panel.locator(".nbtools-card .nbtools-text details")
    await expect(folded.locator("pre")).to_be_hidden()
    await folded.locator("summary").press("Enter")
    await expect(folded.locator("pre")).to_be_visible()
    await folded.locator("summary").click()
    await expect(folded.locator("pre")).to_be_hidden()


async def numbers_are_equally_wide(tab, tool, text):
    """Within a character: one renderer counts in characters, the other in pixels."""
    index = [card.tool for card in CATALOGUE].index(tool)
    card = tab.panel.locator(".nbtools-card").nth(index)
    live = await card.locator(".nbtools-body").evaluate(COLUMN, text)
    await card.evaluate(INSERT, card_html(CATALOGUE[index], view="unified"))
    html = await tab.panel.locator("#other > .nbtools-html").evaluate(COLUMN, text)
    assert html == pytest.approx(live, abs=8), tool
