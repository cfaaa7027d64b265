"""The settings editor shows the settings of nbtools; open cards follow them."""

from __future__ import annotations

from playwright.async_api import expect

EDIT = '%tool edit src/cart.py --old "total = 0" --new "total = 0.0"'
SETTINGS = {
    "Layout of diffs",
    "Lines of a preview",
    "Wrap lines",
    "Notifications",
    "Seconds before a notification",
    "Reload changed files",
}


async def open_editor(tab):
    await tab.command("settingeditor:open", query="nbtools")
    panel = tab.page.locator(".jp-SettingsPanel")
    await expect(panel.get_by_text("What tools may do is decided by the kernel").first).to_be_visible()
    return panel


async def test_the_editor_shows_every_setting_and_a_diff_follows_the_layout_that_is_set(open_notebook):
    tab = await open_notebook("%tools mode auto_edit", EDIT)
    await tab.run(1)
    await tab.run(2)
    diff = tab.page.locator(".nbtools-card .nbtools-diff")
    panel = await open_editor(tab)
    for title in SETTINGS:
        await expect(panel.get_by_text(title, exact=True).first).to_be_visible()
    layout = panel.locator("select").first
    await expect(layout.locator("option")).to_have_text(
        ["Side by side where there is room", "Side by side", "Unified"]
    )
    await tab.look("settings")
    await layout.select_option(label="Side by side")  # ends what an earlier story has chosen at a diff
    await expect(diff).to_have_attribute("data-layout", "split")
    await layout.select_option(label="Unified")
    await expect(diff).to_have_attribute("data-layout", "unified")
    await layout.select_option(label="Side by side where there is room")
    await expect(layout.locator("option:checked")).to_have_text("Side by side where there is room")
