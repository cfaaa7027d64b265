"""Reads files in zip archives, including zstd-compressed ones.

An archive's directory is parsed once: an evaluation can have thousands of samples, each a file of its own.
"""

from __future__ import annotations

import importlib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from nbtools.core.errors import TraceError

_ZSTD = 93
_ENCRYPTED = 1
_ZSTD_NEEDED = (
    'is compressed with zstd, which this Python cannot read: pip install "nbtools-agent[traces]", or'
    " backports.zstd, or use Python 3.14."
)
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    OverflowError,
)
"""What ``zipfile`` raises for a damaged, encrypted or unknown archive."""
MAX_MEMBER = 1 << 30
"""Bytes of a file in an archive: a small archive can hold more than any memory."""


def archive_members(path: Path) -> tuple[str, ...]:
    """Returns the names of the files in an archive, each once, in its order;
    empty where ``path`` is not an archive.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return tuple(dict.fromkeys(archive.namelist()))
    except _ARCHIVE_ERRORS:
        return ()


class ArchiveDirectory:
    """The directory of an archive. Raises ``TraceError`` where ``file`` is not one."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            with zipfile.ZipFile(file) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except _ARCHIVE_ERRORS as error:
            raise TraceError(f"The archive cannot be read: {error}") from error

    def read(self, file: BinaryIO, name: str, most: int = MAX_MEMBER) -> bytes:
        """Returns the content of a file in the archive, which ``file`` is.

        Raises ``TraceError`` where it does not exist, cannot be unpacked, or has more than ``most`` bytes.
        """
        info = self._members.get(name)
        if info is None:
            raise TraceError(f"{name} is not in the archive.")
        if info.file_size > most:
            raise TraceError(
                f"{name} has {info.file_size:,} bytes when it is unpacked; at most {most:,} are read."
            )
        try:
            return _verified(_unpacked(file, info), info)
        except _ARCHIVE_ERRORS as error:
            raise TraceError(f"{name} cannot be read from the archive: {error}") from error


def _unpacked(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """Returns at most ``file_size`` bytes of content:
    what a header promises is the limit of what is unpacked.
    """
    if info.flag_bits & _ENCRYPTED:
        raise zipfile.BadZipFile("it is encrypted")
    if info.compress_type == zipfile.ZIP_STORED:
        return _compressed_data(file, info)[: info.file_size]
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(
            _compressed_data(file, info), max(info.file_size, 1)
        )
    if info.compress_type == _ZSTD:
        return _zstd_decompressor(info.filename)(_compressed_data(file, info), info.file_size)
    with zipfile.ZipFile(file) as archive, archive.open(info) as member:
        return member.read(info.file_size)


def _compressed_data(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """Returns the compressed data: a local header has two lengths at 26 and 28,
    and the data follows name and extra field.
    """
    file.seek(info.header_offset)
    header = file.read(30)
    if header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("its header is missing")
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    return file.read(info.compress_size)


def _verified(data: bytes, info: zipfile.ZipInfo) -> bytes:
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise zipfile.BadZipFile(f"bad CRC-32 for {info.filename}")
    return data


def _zstd_decompressor(name: str) -> Callable[[bytes, int], bytes]:
    """Returns the decompression function of the first installed zstd library;
    its second argument is the maximum number of bytes.
    """
    for library, unpack in _ZSTD_LIBRARIES.items():
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        return lambda data, size, module=module, unpack=unpack: unpack(module, data, size)  # type: ignore[misc]
    raise TraceError(f"{name} {_ZSTD_NEEDED}")


def _decompress_with_arrow(pyarrow: Any, data: bytes, size: int) -> bytes:
    with pyarrow.input_stream(pyarrow.py_buffer(data), compression="zstd") as stream:
        return bytes(stream.read(size))


_ZSTD_LIBRARIES: dict[str, Callable[[Any, bytes, int], bytes]] = {
    "compression.zstd": lambda zstd, data, size: bytes(zstd.ZstdDecompressor().decompress(data, size)),
    "backports.zstd": lambda zstd, data, size: bytes(zstd.ZstdDecompressor().decompress(data, size)),
    "pyarrow": _decompress_with_arrow,
    "zstandard": lambda zstd, data, size: bytes(zstd.ZstdDecompressor().stream_reader(data).read(size)),
}
"""Python's own since 3.14, and libraries."""
