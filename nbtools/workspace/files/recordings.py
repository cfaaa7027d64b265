"""Recognises audio and video files by their bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recording:
    """An audio or video file's MIME type and the name of its format."""

    mime_type: str
    name: str


_MP4_BRANDS = {
    **dict.fromkeys((b"M4A ", b"M4B "), Recording("audio/mp4", "MPEG-4 audio")),
    b"qt  ": Recording("video/quicktime", "QuickTime video"),
    **dict.fromkeys((b"avif", b"avis", b"heic", b"heix", b"heif", b"mif1", b"msf1", b"crx "), None),
}
"""The brands of ISO media files that are no MPEG-4 video; None: no recording, but an image."""
_RIFF = {b"WAVE": Recording("audio/wav", "WAV audio"), b"AVI ": Recording("video/x-msvideo", "AVI video")}
_MP3 = Recording("audio/mpeg", "MP3 audio")
_SIGNATURES = (
    (b"fLaC\0", Recording("audio/flac", "FLAC audio")),
    (b"OggS\0", Recording("audio/ogg", "Ogg audio")),
    (b"\xff\xf1", Recording("audio/aac", "AAC audio")),
    (b"\xff\xf9", Recording("audio/aac", "AAC audio")),
    (b"\0\0\x01\xba", Recording("video/mpeg", "MPEG video")),
)


def identify_recording(head: bytes) -> Recording | None:
    """Returns the format of an audio or video file by its first bytes; None for any other."""
    if head[4:8] == b"ftyp":
        return _MP4_BRANDS.get(head[8:12], Recording("video/mp4", "MPEG-4 video"))
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return Recording("audio/aiff", "AIFF audio")
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return (
            Recording("video/webm", "WebM video")
            if b"webm" in head[:100]
            else Recording("video/x-matroska", "Matroska video")
        )
    if (head[:3] == b"ID3" and len(head) > 4 and 2 <= head[3] <= 4 and head[4] == 0) or _is_mp3_frame(head):
        return _MP3
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


def _is_mp3_frame(head: bytes) -> bool:
    """Whether the file begins with a frame of MPEG audio layer III; a UTF-16 mark is similar."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return False
    return head[1] & 0x18 != 0x08 and head[2] >> 4 not in (0, 15) and head[2] & 0x0C != 0x0C
