"""Documents cut to pages."""

import io

import pypdf
import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.files import media


def document(pages, password=None):
    writer = pypdf.PdfWriter()
    for number in range(pages):
        writer.add_blank_page(100 + number, 100)
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


def widths(data):
    return [int(page.mediabox.width) - 99 for page in pypdf.PdfReader(io.BytesIO(data)).pages]


@pytest.mark.parametrize(
    ("pages", "found"),
    [("3", [3]), ("2-4", [2, 3, 4]), (" 2 – 4 ", [2, 3, 4]), ("11-", [11, 12]), ("12-99", [12]), ("1-12", list(range(1, 13)))],
)
def test_the_pages_that_were_asked_for(pages, found):
    part, total, numbers = media.extract_pages(document(12), pages, "d")
    assert (widths(part), total, list(numbers)) == (found, 12, found)


def test_a_short_document_is_given_as_it_is():
    assert media.extract_pages(document(10), None, "d") == (document(10), 10, range(1, 11))


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        (None, 'has 30 pages. Say which to read, at most 20 in one call, such as the call with pages="1-20"'),
        ("1-21", "21 pages are more than the 20"),
        ("31", "page 31 does not exist"),
        ("0", "is not a page range"),
        ("4-2", "ends before it begins"),
        ("all", "is not a page range"),
    ],
)
def test_what_is_wrong_with_pages(pages, words):
    with pytest.raises(ToolFailure, match=words) as caught:
        media.extract_pages(document(30), pages, "d")
    assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS


def test_locked_documents():
    with pytest.raises(ToolFailure, match="protected by a password"):
        media.extract_pages(document(2, "secret"), None, "d")
    assert media.extract_pages(document(2, ""), None, "d")[1] == 2


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\n", b"%PDF-1.7\nxref\n0 1\ntrailer<</Size 1/Root 9 0 R>>\nstartxref\n9\n%%EOF", document(3)[:200]]
)
def test_broken_documents(data):
    with pytest.raises(ToolFailure, match="cannot be read") as caught:
        media.extract_pages(data, None, "d")
    assert caught.value.code is ErrorCode.READ_CONTENT_FAILURE
    assert "\n" not in caught.value.message
