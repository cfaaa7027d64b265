"""Documents cut to pages."""

import io

import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

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
    [
        ("3", [3]),
        ("2-4", [2, 3, 4]),
        (" 2 – 4 ", [2, 3, 4]),
        ("11-", [11, 12]),
        ("12-99", [12]),
        ("1-12", list(range(1, 13))),
    ],
)
def test_the_requested_pages_are_returned(pages, found):
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
def test_wrong_page_ranges_are_refused_with_a_reason(pages, words):
    with pytest.raises(ToolFailure, match=words) as caught:
        media.extract_pages(document(30), pages, "d")
    assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS


def test_locked_documents():
    with pytest.raises(ToolFailure, match="protected by a password"):
        media.extract_pages(document(2, "secret"), None, "d")
    assert media.extract_pages(document(2, ""), None, "d")[1] == 2


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n",
        b"%PDF-1.7\nxref\n0 1\ntrailer<</Size 1/Root 9 0 R>>\nstartxref\n9\n%%EOF",
        document(3)[:200],
    ],
)
def test_broken_documents(data):
    with pytest.raises(ToolFailure, match="cannot be read") as caught:
        media.extract_pages(data, None, "d")
    assert caught.value.code is ErrorCode.READ_CONTENT_FAILURE
    assert "\n" not in caught.value.message


def written(*texts):
    """Returns a document with one page for each text."""
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in texts:
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


def test_each_page_has_its_text():
    text = media.document_text(written("Hello", "", "Good bye"), 7)
    assert text == "— page 7 —\nHello\n— page 8: no text —\n— page 9 —\nGood bye"


def test_a_page_with_too_many_instructions_has_no_text():
    assert "Hello" not in media.document_text(written("Hello" + " " * media.MAX_CONTENT))


def test_a_long_text_is_cut():
    assert len(media.document_text(written(*["x" * 30_000] * 3))) == media.MAX_TEXT + 1
