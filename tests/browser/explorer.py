"""The explorer of a log in a cell of a notebook, or of a page of views, as a person uses it."""

from __future__ import annotations

from playwright.async_api import Locator, expect

from tests.browser.tab import Tab
from tests.browser.views import Views

TO_END = "list => { list.scrollTop = list.scrollHeight; }"


class Explorer:
    """The one that cell ``index`` shows."""

    def __init__(self, tab: Tab | Views, index: int) -> None:
        self.tab = tab
        self.cell = tab.cell(index)
        self.node = self.cell.locator(".nbtools-trace")
        self.list = self.node.locator(".nbtools-trace-list")
        self.search = self.node.locator(".nbtools-trace-search")
        self.found = self.node.locator(".nbtools-trace-found")
        self.panel = self.node.locator(".nbtools-trace-panel")
        self.card = self.panel.locator(".nbtools-card")
        self.notice = self.node.locator(".nbtools-trace-notice")
        self.still = self.cell.locator(".nbt-trace")
        """What stands in its place where no kernel answers."""

    @property
    def rows(self) -> Locator:
        return self.list.locator(".nbtools-trace-row:visible")

    def row(self, text: str) -> Locator:
        """The first row in view with this text."""
        return self.rows.filter(has_text=text).first

    @property
    def chosen(self) -> Locator:
        return self.rows.and_(self.node.locator('[aria-selected="true"]'))

    def chip(self, name: str) -> Locator:
        return self.node.locator(".nbtools-trace-chip").filter(has_text=name)

    async def choose(self, menu: str, label: str) -> None:
        """Chooses by what the choice begins with."""
        choices = self.node.get_by_label(menu, exact=True)
        value = await choices.locator("option").filter(has_text=label).first.get_attribute("value")
        await choices.select_option(value)

    async def to_end(self) -> None:
        await self.list.evaluate(TO_END)

    async def leaves(self, count: int) -> None:
        """Waits until the filter lists that many lines."""
        await expect(self.found).to_contain_text(f"{count:,} of")
