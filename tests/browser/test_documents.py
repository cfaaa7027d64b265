"""The card of a PDF document."""

from playwright.async_api import expect

from tests.waiting import eventually
from tests.workspace.files.documents import written_document

DRAWN = "images => images.every(image => image.complete && image.naturalWidth === 900)"


async def test_pages_are_pictures_and_all_are_shown_on_a_click(open_notebook, project):
    (project / "paper.pdf").write_bytes(
        written_document(4, "The total is exact.", "0 0 1 rg 100 100 200 200 re f")
    )
    tab = await open_notebook("%tool read paper.pdf")
    await tab.run(1)
    pages = tab.card(1).locator(".nbtools-page")
    await expect(pages).to_have_count(2)
    await expect(tab.card(1)).to_contain_text("The total is exact.")
    await tab.look("document", tab.cell(1))
    await tab.card(1).get_by_role("button", name="Show all 4").click()
    await expect(pages).to_have_count(4)
    await pages.last.scroll_into_view_if_needed()
    await expect(tab.card(1).get_by_role("img", name="paper.pdf, page 4")).to_be_visible()
    await pages.first.scroll_into_view_if_needed()
    await eventually(True, pages.evaluate_all, DRAWN)
    await tab.card(1).get_by_role("button", name="Collapse").first.click()
    await expect(pages).to_have_count(2)
    saved = await tab.save()
    assert "".join(saved["cells"][1]["outputs"][0]["data"]["text/html"]).count("<img") == 2
