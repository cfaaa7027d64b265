"""Reading web addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.web.address import parse_web_address


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://example.com", "https://example.com/"),
        (" HTTP://Example.COM.:80/A%20b?q=ä#part ", "http://example.com/A%20b?q=%C3%A4"),
        ("https://example.com:8443?x=1", "https://example.com:8443/?x=1"),
        ("https://bücher.example/ü b", "https://xn--bcher-kva.example/%C3%BC%20b"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),
        ("http://①②⑦.0.0.1/", "http://127.0.0.1/"),
        ("http://[0:0::FFFF:127.0.0.1]:81/", "http://[::ffff:7f00:1]:81/"),
        ("http://a_b.example/", "http://a_b.example/"),
    ],
)
def test_one_form(url, read):
    assert str(parse_web_address(url)) == read


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("example.com/x", "Did you mean https://example.com/x?"),
        ("localhost:8000/x", "must begin with https:// or http://"),
        ("ftp://example.com", "must begin with"),
        ("file:///etc/passwd", "must begin with"),
        ("http:127.0.0.1", "must begin with"),
        ("http:///x", "name a host"),
        ("", "must begin with"),
        ("http://me:secret@example.com/", "contains a user name or password; remove it."),
        ("http://@example.com/", "user name or password"),
        ("http://a\tb/", "control character"),
        ("http://a\\@127.0.0.1/", "backslash"),
        ("http://a b/", "not a web address"),
        ("http://%31%32%37.0.0.1/", "not a web address"),
        ("http://127.0.0.1../", "not a web address"),
        ("http://x:99999/", "not a web address"),
        ("http://[::1%25lo]/", "not a web address"),
        ("http://[::1/", "not a web address"),
        (f"http://{'a' * 64}.example/", "not a web address"),
    ],
)
def test_text_that_is_not_a_web_address_is_refused(url, words):
    with pytest.raises(ToolFailure) as caught:
        parse_web_address(url)
    assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS
    assert words in caught.value.message
    assert "secret" not in caught.value.message


def test_redirects():
    here = parse_web_address("https://example.com/a/b?c")
    assert str(here.resolve_redirect("../d e")) == "https://example.com/d%20e"
    assert str(here.resolve_redirect("//other.example")) == "https://other.example/"
    with pytest.raises(ToolFailure):
        here.resolve_redirect("file:///etc/passwd")


@given(st.text(alphabet="http://aZ.:@[]?#%\\ \t1é。_-", max_size=30))
def test_reading_it_again_changes_nothing(text):
    try:
        read = parse_web_address(text)
    except ToolFailure:
        return
    assert str(parse_web_address(str(read))) == str(read)
    assert str(read).isascii()
    assert not set(str(read)) & set(" \t\r\n\\@#") or "@" in read.target
