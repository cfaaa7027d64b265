"""A card looks the same in the extension and as HTML: its head, colours and widths, and the text and the links of its blocks."""

import pytest
from playwright.sync_api import expect

from nbtools.notebook.cards.html import card_html
from tests.contract.sample_cards import CARDS
from tests.contract.test_renderer import CATALOGUE, address, browser, folder, page  # noqa: F401 - fixtures

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(180)]

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
def test_both_renderers_draw_the_same_card(page, index):  # noqa: F811 - the fixture
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
def catalogue(browser, address):  # noqa: F811 - the fixtures
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
