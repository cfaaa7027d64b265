"""A change is undone at the card of its call, redone there, and merged where both changes fit."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.project import CART
from tests.waiting import eventually

EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = Decimal(0)'"


def change(tab, before, after):
    """Changes the file as another program does."""
    path = tab.folder / "src" / "cart.py"
    path.write_text(tab.read("src/cart.py").replace(before, after), encoding="utf-8")


async def edited(opens, *cells):
    """Cells of which the second one has made the edit."""
    tab = await opens(EDIT, *cells)
    await tab.start(1)
    await tab.approve(1)
    await tab.done(1)
    return tab


async def press(tab, label):
    await tab.card(1).last.get_by_role("button", name=label, exact=True).click()


async def test_an_edit_is_undone_and_redone_at_its_card(open_cells):
    tab = await edited(open_cells)
    assert "Decimal(0)" in tab.read("src/cart.py")
    await tab.look("undo", tab.cell(1))
    for _ in range(2):
        await press(tab, "undo")
        await expect(tab.status(1)).to_have_text("Undone")
        await expect(tab.record(1)).to_contain_text("undone, ")
        assert tab.read("src/cart.py") == CART
        await tab.look("undone", tab.cell(1))
        await press(tab, "redo")
        await expect(tab.status(1)).to_have_text("Done")
        assert "Decimal(0)" in tab.read("src/cart.py")
    await expect(tab.card(1)).to_have_count(1)


async def test_later_changes_are_merged_on_request(open_cells):
    tab = await edited(open_cells)
    change(tab, "what it costs", "what it is")
    await press(tab, "undo")
    await expect(tab.card(1)).to_have_count(2)
    await expect(tab.status(1).last).to_have_text("Changed in the meantime")
    assert "Decimal(0)" in tab.read("src/cart.py")
    await tab.look("undo-merge", tab.cell(1))
    await press(tab, "Merge")
    await expect(tab.status(1).first).to_have_text("Undone")
    await expect(tab.status(1).nth(1)).to_have_text("Undone since")
    await expect(tab.card(1).nth(1).get_by_role("button", name="Merge")).to_have_count(0)
    assert tab.read("src/cart.py") == CART.replace("what it costs", "what it is")


@pytest.mark.parametrize(("label", "text"), [("Keep mine", "Decimal(1)"), ("Take back", "total = 0")])
async def test_lines_changed_twice_stay_or_are_undone(open_cells, label, text):
    tab = await edited(open_cells)
    change(tab, "Decimal(0)", "Decimal(1)")
    await press(tab, "undo")
    await expect(tab.status(1).last).to_have_text("Changed in the meantime")
    await expect(tab.card(1).last.get_by_role("button", name="Merge")).to_have_count(0)
    assert "Decimal(1)" in tab.read("src/cart.py")
    await tab.look("undo-conflict", tab.cell(1))
    await press(tab, label)
    await expect(tab.status(1).first).to_have_text("Undone")
    await expect(tab.status(1).nth(1)).to_have_text("Undone since")
    assert text in tab.read("src/cart.py")


async def test_an_undo_is_on_the_card_after_a_reload_and_offers_to_load_nbtools_after_a_restart(
    open_notebook,
):
    """A saved card says Done.  After a restart of the kernel,
    the link of a card reaches nothing until nbtools is loaded again.
    """
    tab = await edited(open_notebook)
    await tab.save()
    await press(tab, "undo")
    await expect(tab.status(1)).to_have_text("Undone")
    await expect(tab.notices).to_have_count(0)
    await tab.load_again()
    await tab.ready()
    await expect(tab.status(1)).to_have_text("Undone")
    await press(tab, "redo")
    await expect(tab.status(1)).to_have_text("Done")
    await tab.restart()
    await press(tab, "undo")
    notice = tab.notices.filter(has_text="nbtools is not loaded")
    await expect(notice).to_be_visible()
    await tab.look("undo-not-loaded")
    assert "Decimal(0)" in tab.read("src/cart.py")
    await notice.get_by_role("button", name="Load nbtools").click()
    await tab.done(0)
    await press(tab, "undo")
    await eventually(CART, read_cart, tab)


async def test_a_call_without_changes_offers_no_undo(open_cells):
    tab = await open_cells("%tool read notes.txt", "%tool grep round src")
    for index in (1, 2):
        await tab.run(index)
        await expect(tab.status(index)).not_to_be_empty()
        await expect(tab.card(index).get_by_role("button", name="undo")).to_have_count(0)


async def test_a_previewed_replacement_is_applied_below_its_card(open_cells):
    """The Apply action makes a call of its own, which asks as every edit does."""
    tab = await open_cells("%tool replace_in_files 'total = 0' 'total = 1' src")
    await tab.run(1)
    await press(tab, "Apply…")
    assert "total = 0" in tab.read("src/cart.py")
    await tab.approve(1)
    await expect(tab.card(1)).to_have_count(2)
    await expect(tab.status(1).last).to_have_text("Done")
    assert "total = 1" in tab.read("src/cart.py")
    await expect(tab.card(1).first.get_by_role("button", name="Apply…")).to_have_count(0)


async def read_cart(tab):
    return tab.read("src/cart.py")


async def test_a_redo_is_titled_redo(open_cells):
    tab = await edited(open_cells, "%tools undo", "%tools redo")
    await tab.run(2)
    await tab.run(3)
    await expect(tab.card(2).locator(".nbtools-tool")).to_have_text("undo")
    await expect(tab.card(3).locator(".nbtools-tool")).to_have_text("redo")
    assert "Decimal(0)" in tab.read("src/cart.py")
