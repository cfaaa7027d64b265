"""Pictures of a document's pages."""

import io

import pypdf
import pytest

from nbtools.workspace.files import page_pictures as module
from nbtools.workspace.files.media import identify_picture
from nbtools.workspace.files.page_pictures import MAX_PAGES, page_pictures
from tests.workspace.files.documents import written_document


async def test_pages_become_pictures_of_bounded_size():
    pictures = await page_pictures(written_document(12, "Total: 12"), 5)
    assert [picture.number for picture in pictures] == list(range(5, 5 + MAX_PAGES))
    size = identify_picture(pictures[0].data, "page")
    assert (size.width, size.height) == (900, 1274)
    assert len({picture.data for picture in pictures}) == MAX_PAGES  # each page has its number on it


async def test_a_page_with_colours_keeps_them():
    (grey,) = await page_pictures(written_document(1, "x"))
    (red,) = await page_pictures(written_document(1, "x", "1 0 0 rg 100 100 200 200 re f"))
    assert (grey.data[24:26], red.data[24:26]) == (
        b"\x04\0",
        b"\x08\2",
    )  # bits of a pixel, and the kind of colours


@pytest.mark.parametrize("width", [1, 14_400])
async def test_pages_of_extreme_shapes_are_small(width):
    writer = pypdf.PdfWriter()
    writer.add_blank_page(width, 14_400 // width)
    output = io.BytesIO()
    writer.write(output)
    (picture,) = await page_pictures(output.getvalue())
    size = identify_picture(picture.data, "page")
    assert max(size.width, size.height) <= 1_400


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"no document"])
async def test_pages_that_cannot_be_drawn_have_no_pictures(data):
    assert await page_pictures(data) == ()


async def test_all_pictures_together_are_bounded(monkeypatch):
    first, *_ = await page_pictures(written_document(3, "x"))
    monkeypatch.setattr(module, "MAX_TOTAL", len(first.data))
    assert await page_pictures(written_document(3, "x")) == (first,)
