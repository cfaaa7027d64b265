"""What a call changed is undone at its card, taken back there, and merged where both changes fit."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.project import CART
from tests.waiting import eventually

EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = Decimal(0)'"
OTHER = "p = 'src/cart.py'; text = open(p).read(); n = open(p, 'w').write(text.replace('what it costs', 'what it is'))"
SAME = "p = 'src/cart.py'; text = open(p).read(); n = open(p, 'w').write(text.replace('Decimal(0)', 'Decimal(1)'))"


async def edited(open_notebook, *cells, app="lab"):
    """A notebook whose second cell has made the edit."""
    tab = await open_notebook(EDIT, *cells, app=app)
    await tab.start(1)
    await tab.approve(1)
    await tab.done(1)
    return tab


async def press(tab, label):
    await tab.card(1).last.get_by_role("button", name=label, exact=True).click()


async def test_an_edit_is_undone_and_redone_at_its_card(open_notebook):
    tab = await edited(open_notebook)
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
    await expect(tab.notices).to_have_count(0)


async def test_what_was_changed_since_is_merged_when_the_person_says_so(open_notebook):
    tab = await edited(open_notebook, OTHER)
    await tab.run(2)
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
async def test_lines_changed_twice_are_kept_or_taken_back(open_notebook, label, text):
    tab = await edited(open_notebook, SAME)
    await tab.run(2)
    await press(tab, "undo")
    await expect(tab.status(1).last).to_have_text("Changed in the meantime")
    await expect(tab.card(1).last.get_by_role("button", name="Merge")).to_have_count(0)
    assert "Decimal(1)" in tab.read("src/cart.py")
    await tab.look("undo-conflict", tab.cell(1))
    await press(tab, label)
    await expect(tab.status(1).first).to_have_text("Undone")
    await expect(tab.status(1).nth(1)).to_have_text("Undone since")
    assert text in tab.read("src/cart.py")


async def test_an_undo_that_the_page_has_missed_is_on_the_card_after_a_reload(open_notebook):
    tab = await edited(open_notebook)
    await tab.save()
    await press(tab, "undo")
    await expect(tab.status(1)).to_have_text("Undone")
    await tab.load_again()  # what was saved says Done
    await tab.ready()
    await expect(tab.status(1)).to_have_text("Undone")
    await expect(tab.card(1).get_by_role("button", name="redo", exact=True)).to_be_visible()


@pytest.mark.parametrize("call", ["%tool read notes.txt", "%tool grep round src"])
async def test_what_changed_nothing_has_nothing_to_undo(open_notebook, call):
    tab = await open_notebook(call)
    await tab.run(1)
    await expect(tab.status(1)).not_to_be_empty()
    await expect(tab.card(1).get_by_role("button", name="undo")).to_have_count(0)


async def test_a_previewed_replacement_is_applied_below_its_card(open_notebook):
    """The Apply action makes a call of its own, which asks as every edit does."""
    tab = await open_notebook("%tool replace_in_files 'total = 0' 'total = 1' src")
    await tab.run(1)
    await press(tab, "Apply…")
    assert "total = 0" in tab.read("src/cart.py")
    await tab.approve(1)
    await expect(tab.card(1)).to_have_count(2)
    await expect(tab.status(1).last).to_have_text("Done")
    assert "total = 1" in tab.read("src/cart.py")
    await expect(tab.card(1).first.get_by_role("button", name="Apply…")).to_have_count(0)


async def test_an_undo_without_nbtools_says_so_and_offers_to_load_it(open_notebook, app):
    """After a restart of the kernel, the link of a card reaches nothing until nbtools is loaded again."""
    tab = await edited(open_notebook, app=app)
    await tab.restart()
    await press(tab, "undo")
    notice = tab.notices.filter(has_text="nbtools is not loaded")
    await expect(notice).to_be_visible()
    await tab.look(f"undo-not-loaded-{app}")
    assert "Decimal(0)" in tab.read("src/cart.py")
    await notice.get_by_role("button", name="Load nbtools").click()
    await tab.done(0)
    await press(tab, "undo")
    await eventually(CART, read_cart, tab)


async def read_cart(tab):
    return tab.read("src/cart.py")


async def test_a_redo_is_titled_redo(open_notebook):
    tab = await edited(open_notebook, "%tools undo", "%tools redo")
    await tab.run(2)
    await tab.run(3)
    await expect(tab.card(2).locator(".nbtools-tool")).to_have_text("undo")
    await expect(tab.card(3).locator(".nbtools-tool")).to_have_text("redo")
    assert "Decimal(0)" in tab.read("src/cart.py")
