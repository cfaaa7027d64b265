"""From what a server sent to what is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import ToolFailure
from nbtools.workspace.web.pages import PageMedia, PageText, divide_limit, read_page

HTML = """<!doctype html><html><head><title> A &amp; B
 page </title><style>p{color:red}</style><script>evil()</script></head><body>
<nav><a href="/nav">menu</a></nav>
<form><article><header><h1>Heading</h1></header>
<p>Text with <a href="sub/x?y=1">a link</a> and <b>bold</b>.
<img src="/i.png" alt="picture"><img src="data:image/png;base64,AAAA" alt="tiny"></p>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<pre><code class="language-python">x = 1
&lt;b&gt;</code></pre></article></form><div hidden>unseen</div><footer>foot</footer></body></html>"""
URL = "https://example.com/docs/page.html"


def read(body, header="text/html", **more):
    return read_page(body.encode() if isinstance(body, str) else body, header, URL, **more)


def test_html_becomes_markdown():
    page = read(HTML)
    assert page.title == "A & B page"
    assert page.text.startswith(
        "# A & B page\n\n# Heading\n\nText with [a link](https://example.com/docs/sub/x?y=1) and **bold**."
    )
    assert "![picture](https://example.com/i.png)" in page.text
    assert "| a | b |\n| --- | --- |\n| 1 | 2 |" in page.text
    assert "```python\nx = 1\n<b>\n```" in page.text
    for junk in ("evil", "color", "menu", "foot", "unseen", "base64"):
        assert junk not in page.text


def test_raw_is_as_it_was_sent():
    assert read(HTML, raw=True) == PageText(HTML, "A & B page")
    assert read('{"a":1}', "application/json", raw=True).text == '{"a":1}'


def test_a_title_that_the_page_contains_is_not_repeated():
    assert read("<title>One - Site</title><h1>One</h1><p>x").text == "# One\n\nx"


@pytest.mark.parametrize(
    "page",
    [
        "<b>" * 100_000,
        "<" * 200_000,
        "<table>" * 3_000,
        "<div>" * 50_000 + "x" + "</div>" * 50_000,
        "<title>" * 20_000,
        "<!--" * 50_000,
        "",
    ],
)
def test_no_page_breaks_it(page):
    assert isinstance(read(page), PageText)


def test_a_very_long_page_notes_the_omitted_part():
    page = read("<p>word " * 250_001)
    assert "only the first 2,000,000 characters" in page.note


@pytest.mark.parametrize(
    ("body", "header", "text"),
    [
        ("grün".encode(), "text/plain; charset=utf-8", "grün"),
        ("grün".encode("latin-1"), "text/plain; charset=ISO-8859-1", "grün"),
        ("„grün“".encode("cp1252"), "text/plain; charset=latin1", "„grün“"),
        ("grün".encode("latin-1"), "text/plain; charset=utf-8", "gr\ufffdn"),
        ("grün".encode(), "text/plain; charset=ascii", "grün"),
        ("grün".encode(), "text/plain; charset=nonsense", "grün"),
        ("grün".encode(), "text/plain; charset=unicode_escape", "grün"),
        ("grün".encode("latin-1"), "text/plain", "grün"),
        ("日本".encode("shift_jis"), "text/plain; charset=Shift_JIS", "日本"),
        ("日本".encode("gb18030"), 'text/plain; charset="gb2312"', "日本"),
        ("日本".encode("utf-16"), "text/plain; charset=utf-8", "日本"),
        ("日本".encode("utf-16-le"), "text/plain; charset=utf-16le", "日本"),
        ("\ufeffx".encode(), "text/plain; charset=latin1", "x"),
        (
            b"<?xml version='1.0' encoding='iso-8859-1'?><a>gr\xfcn</a>",
            "application/xml",
            "<?xml version='1.0' encoding='iso-8859-1'?><a>grün</a>",
        ),
        (b"body {}", "text/css", "body {}"),
        (b"key: 1", "application/octet-stream", "key: 1"),
        (b"key: 1", "", "key: 1"),
        (b"<svg/>", "image/svg+xml", "<svg/>"),
        (b"a\tb", "garbage", "a\tb"),
    ],
)
def test_text_in_whatever_encoding(body, header, text):
    assert read(body, header) == PageText(text)


def test_the_declared_encoding_of_a_page_is_used():
    meta = '<meta charset="iso-8859-2"><p>žluťoučký'.encode("iso-8859-2")
    assert read(meta).text == "žluťoučký"
    assert read(meta, "text/html; charset=iso-8859-2").text == "žluťoučký"
    assert read("<meta charset='utf-16'><p>grün").text == "grün"


def test_html_without_a_type_is_recognized():
    assert read("<!-- x -->\n<!DOCTYPE html><p>hi", "").text == "hi"
    assert read("<p>hi", "text/plain").text == "<p>hi"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_json_is_laid_out(value):
    assert read(json.dumps(value), "application/json; charset=utf-8") == PageText(json.dumps(value, indent=2))


@pytest.mark.parametrize(
    "text", ['{"a": 1e400, "a": 2.50}', '{"n":123456789012345678901234567890}', "{", "[" * 100_000, "no json"]
)
def test_json_keeps_its_spelling(text):
    assert "".join(read(text, "application/vnd.api+json").text.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("body", "mime"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"\xff\xd8\xffrest", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF0000WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7 rest", "application/pdf"),
    ],
)
def test_content_types_of_pictures_are_returned_as_media(body, mime):
    assert read(body, "application/octet-stream") == PageMedia(mime, body)


@pytest.mark.parametrize(
    ("body", "header", "words"),
    [
        (b"PK\x03\x04\0\0", "application/zip", "is application/zip, 6 bytes"),
        (b"\x1f\x8b\0\xff", "", "is gzip data, 4 bytes"),
        (b"\0\1\2\3\xff", "application/octet-stream", "is binary data (text/html), 5 bytes"),
        (b"\0\0\0 ftypavif\xff", "image/avif", "is image/avif"),
    ],
)
def test_other_binaries_are_refused_by_name_and_size(body, header, words):
    with pytest.raises(ToolFailure) as caught:
        read(body, header)
    assert words in caught.value.message


@given(
    st.binary(max_size=60),
    st.sampled_from(
        ["", "text/html", "text/plain; charset=utf-7", "application/json", "image/png", "x/y; charset=idna"]
    ),
)
def test_whatever_is_sent_is_read_or_refused(body, header):
    try:
        page = read(body, header)
    except ToolFailure:
        return
    if isinstance(page, PageText):
        page.text.encode()


@given(st.lists(st.integers(0, 1000), max_size=20), st.integers(0, 5000))
def test_shares_are_fair(lengths, limit):
    given_out = divide_limit(lengths, limit)
    assert all(0 <= share <= length for share, length in zip(given_out, lengths, strict=True))
    assert sum(given_out) == min(sum(lengths), limit)
    cut = [share for share, length in zip(given_out, lengths, strict=True) if share < length]
    assert not cut or max(cut) - min(cut) <= 1
    assert not cut or max(given_out) <= max(cut) + 1
