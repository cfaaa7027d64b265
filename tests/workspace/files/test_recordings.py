"""Audio and video files are recognised by their bytes, and text never is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.workspace.files.media import media_type
from nbtools.workspace.files.recordings import identify_recording
from tests.examples import examples

HEADS = {
    "audio/mpeg": [b"ID3\x04\x00\x00\x00\x00\x00\x00", b"\xff\xfb\x90\x64\0\0", b"\xff\xf3\x40\xc0"],
    "audio/wav": [b"RIFF\x24\0\0\0WAVEfmt "],
    "audio/flac": [b"fLaC\0\0\0\x22"],
    "audio/ogg": [b"OggS\0\x02"],
    "audio/aac": [b"\xff\xf1\x50\x80", b"\xff\xf9\x50\x80"],
    "audio/aiff": [b"FORM\0\0\0\x10AIFFCOMM"],
    "audio/mp4": [b"\0\0\0\x20ftypM4A \0\0"],
    "video/mp4": [b"\0\0\0\x18ftypisom\0\0", b"\0\0\0\x18ftypmp42\0\0"],
    "video/quicktime": [b"\0\0\0\x14ftypqt  "],
    "video/webm": [b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm"],
    "video/x-matroska": [b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x88matroska"],
    "video/x-msvideo": [b"RIFF\x24\0\0\0AVI LIST"],
    "video/mpeg": [b"\0\0\x01\xba\x44"],
}
OTHERS = [
    b"",
    b"ID3 is a tag of MP3 files",
    b"OggS and fLaC",
    b"RIFF\x1a\0\0\0WEBPVP8 ",
    b"\xff\xfea\0b\0",
    b"\xfe\xff\0a\0b",
    b"\xff\xd8\xff\xe0\0\x10JFIF",
    b"\0\0\0\x20ftypavif",
    b"\0\0\0\x20ftypheic",
    b"\x89PNG\r\n\x1a\n",
    b"FORM\0\0\0\x10ILBM",
    b"GIF89a",
    b"\xff\xfb",
]


@pytest.mark.parametrize(("mime", "head"), [(mime, head) for mime, heads in HEADS.items() for head in heads])
def test_a_recording_is_recognised(mime: str, head: bytes) -> None:
    found = identify_recording(head + b"\0" * 100)
    assert found is not None
    assert found.mime_type == mime
    assert media_type(head + b"\0" * 100) == ""


@pytest.mark.parametrize("head", OTHERS)
def test_other_files_are_not(head: bytes) -> None:
    assert identify_recording(head) is None


@settings(max_examples=examples(200), deadline=None, database=None)
@given(
    text=st.text(st.characters(exclude_characters="\0")),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_no_text_is(text: str, encoding: str) -> None:
    assert identify_recording(text.encode(encoding, "replace")) is None
