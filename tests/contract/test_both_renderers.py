"""The card of a finished call looks the same in the extension and as HTML: icon, words of the head, colours and widths."""

import pytest
from playwright.sync_api import expect

from nbtools.notebook.cards.html import card_html
from tests.contract.sample_cards import CARDS
from tests.contract.test_renderer import address, browser, folder, page  # noqa: F401 - fixtures

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
