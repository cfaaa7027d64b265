"""PDF documents with text, written for tests."""

import io

import pypdf
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def written_document(pages: int, text: str, drawing: str = "") -> bytes:
    """A document in A4 whose pages have their number and ``text`` (ASCII without brackets),
    and ``drawing`` in PDF's operators.
    """
    writer = pypdf.PdfWriter()
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})
    for number in range(1, pages + 1):
        page = writer.add_blank_page(595, 842)
        content = DecodedStreamObject()
        content.set_data(f"{drawing} 0 g BT /F1 24 Tf 60 760 Td (Page {number}. {text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()
