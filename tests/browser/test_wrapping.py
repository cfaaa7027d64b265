"""Long lines in cards, which wrap if a person wants that."""

from __future__ import annotations

from playwright.async_api import expect

from tests.waiting import eventually

WIDE = "boxes => boxes.some(box => box.scrollWidth > box.clientWidth + 1)"
ALIGNED = """([left, right]) => {
    const tops = pane => [...pane.querySelectorAll('.nbtools-line, .nbtools-gap')].map(row => row.getBoundingClientRect().top);
    return JSON.stringify(tops(left)) === JSON.stringify(tops(right));
}"""


async def test_lines_wrap_in_all_cards_of_the_kind(open_cells):
    long = "word " * 80
    edit = "%tool edit long.py --old 'b = 1' --new \"b = '" + "x" * 300 + "'\""
    tab = await open_cells(
        "%tools mode auto_edit", "%tool read long.py", "%tool grep word", "%tool read long.py", edit
    )
    (tab.folder / "long.py").write_text(f"a = '{long}'\nb = 1\n", encoding="utf-8")
    for index in range(1, 6):
        await tab.run(index)
    boxes = ".nbtools-scroll, .nbtools-pane"
    wrap = tab.card(2).get_by_role("button", name="Wrap lines")
    await expect(wrap).to_have_attribute("aria-pressed", "false")
    await eventually(True, tab.card(2).locator(boxes).evaluate_all, WIDE)
    await wrap.focus()
    await tab.page.keyboard.press("Enter")
    await expect(wrap).to_have_attribute("aria-pressed", "true")
    await expect(wrap).to_be_focused()
    for index in (2, 4):
        await eventually(False, tab.card(index).locator(boxes).evaluate_all, WIDE)
    assert await tab.card(3).locator(boxes).evaluate_all(WIDE)  # another kind
    await tab.card(5).get_by_role("button", name="Wrap lines").click()
    await expect(tab.card(5).locator(".nbtools-diff")).to_have_attribute("data-layout", "split")
    await eventually(True, tab.card(5).locator(".nbtools-pane").evaluate_all, ALIGNED)
    await eventually(False, tab.card(5).locator(boxes).evaluate_all, WIDE)
    await tab.look("wrapped")
    await wrap.click()
    await expect(wrap).to_have_attribute("aria-pressed", "false")
    await eventually(True, tab.card(4).locator(boxes).evaluate_all, WIDE)


async def test_a_card_without_long_lines_has_no_such_button(open_cells):
    tab = await open_cells("%tool read src/cart.py")
    await tab.run(1)
    await expect(tab.card(1).get_by_role("button", name="open file")).to_be_visible()
    await expect(tab.card(1).get_by_role("button", name="Wrap lines")).to_have_count(0)
