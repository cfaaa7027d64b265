"""Bytes to text and back: nothing is lost."""

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.text_lines import displayable, is_exact, split_lines
from nbtools.workspace.files.encoding import UTF8, decode, describe_content, encode

MARKS = st.sampled_from(
    [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE]
)


@given(MARKS, st.binary(max_size=200))
@example(codecs.BOM_UTF16_LE, b"\x3d\xd8")
@example(codecs.BOM_UTF16_LE, b"\0\0a\0")
@example(codecs.BOM_UTF8, codecs.BOM_UTF8)
def test_decoded_text_is_encoded_to_the_same_bytes(mark, data):
    text = decode(mark + data)
    if text is not None:
        assert encode(text.text, text.encoding) == mark + data
        assert "\0" not in text.text


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marks_are_understood(codec):
    text = decode("größer 𝄞\r\n".encode(codec))
    assert text is not None
    assert text.text == "größer 𝄞\r\n"


@pytest.mark.parametrize("codec", ["cp1252", "cp1251", "shift_jis", "euc_jp", "gbk"])
def test_text_in_an_older_encoding_is_text(codec):
    words = {"cp1252": "Größe: 5 €\n", "cp1251": "Привет, мир\n"}.get(codec, "日本\n") * 50
    text = decode(words.encode(codec))
    assert text is not None
    assert not is_exact(text.text)
    assert encode(text.text, text.encoding) == words.encode(codec)


@pytest.mark.parametrize(
    "data", [b"a\0b", b"\x89PNG\r\n\x1a\n\0", bytes(range(256)), codecs.BOM_UTF16_LE + b"a"]
)
def test_binary_files_are_not_text(data):
    assert decode(data) is None


def test_displayable_keeps_the_length():
    text = decode(b"a\xff\xe4b")
    assert text is not None
    assert displayable(text.text) == "a\ufffd\ufffdb"


def test_half_a_surrogate_pair_cannot_be_written():
    with pytest.raises(ToolFailure) as caught:
        encode("a\ud83d", UTF8)
    assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS


@given(st.text(alphabet="a\r\n\x0b\x0c\x85\u2028", max_size=30))
def test_only_lf_ends_a_line(text):
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.endswith("\n") for line in lines[:-1])
    assert len(lines) == text.count("\n") + (not text.endswith("\n") and text != "")


def test_content_type():
    assert describe_content(b"%PDF-1.7", "x") == "a PDF document"
    assert describe_content(b"\0", "a.mp4") == "binary data (video/mp4)"
    assert describe_content(b"\0", "a") == "binary data"
