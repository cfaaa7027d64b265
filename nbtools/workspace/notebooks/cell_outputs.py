"""Converts cell outputs to text, pictures and displays."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nbtools.core.result import CommandOutput, LlmContent, Media
from nbtools.core.terminal_text import plain_text
from nbtools.diff.text_lines import split_lines

Output = Mapping[str, Any]
"""One output in nbformat's structure."""

_TEXTS = ("text/plain", "text/markdown", "text/latex", "application/json", "text/html")
"""MIME types that are converted to text, preferred first."""
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def outputs_text(outputs: Iterable[Output]) -> str:
    """Returns the outputs as text without colours; a picture becomes one line with its type and size."""
    return plain_text(_coloured(outputs)).removesuffix("\n")


def outputs_terminal(outputs: Iterable[Output], exit_code: int | None, status: str = "") -> CommandOutput:
    """Returns the outputs as text with colours; ``exit_code`` is None while the cell is running."""
    text = _coloured(outputs)
    return CommandOutput(text, len(split_lines(text)), exit_code, status=status)


def outputs_display(outputs: Sequence[Output], subject: str, *, failed: bool) -> CommandOutput | Media:
    """Returns the display of a run: the picture if it is the only output, otherwise the text."""
    pictures = tuple(outputs_pictures(outputs))
    if len(pictures) == len(outputs) == 1:
        return Media(subject, pictures[0].mime_type, pictures[0].data)
    return (
        outputs_terminal(outputs, 1, f"Raised {_raised(outputs)}") if failed else outputs_terminal(outputs, 0)
    )


def _raised(outputs: Iterable[Output]) -> str:
    names = (str(output.get("ename") or "") for output in outputs if output.get("output_type") == "error")
    return next(filter(None, names), "an error")


def outputs_content(text: str, outputs: Iterable[Output]) -> LlmContent:
    """Returns ``text`` followed by the pictures of ``outputs`` as parts."""
    pictures = [
        (picture.mime_type, base64.b64encode(picture.data).decode("ascii"))
        for picture in outputs_pictures(outputs)
    ]
    parts = tuple({"inline_data": {"mime_type": mime, "data": data}} for mime, data in pictures)
    return ({"text": text}, *parts) if parts else text


def outputs_pictures(outputs: Iterable[Output]) -> Iterator[Media]:
    """Yields the pictures of outputs, one format of each."""
    for output in outputs:
        for mime in _PICTURES:
            data = _bytes(_data(output).get(mime))
            if data:
                yield Media("", mime, data)
                break


def join_lines(value: object) -> str:
    """Returns text that a notebook stores as one string or as a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _coloured(outputs: Iterable[Output]) -> str:
    return "\n".join(part for part in (_output_text(output) for output in outputs) if part)


def _output_text(output: Output) -> str:
    if output.get("output_type") == "stream":
        return join_lines(output.get("text", "")).removesuffix("\n")
    if output.get("output_type") == "error":
        traceback = output.get("traceback")
        lines = "\n".join(map(str, traceback)) if isinstance(traceback, list) else ""
        return lines or f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    data = _data(output)
    pictures = [f"[{mime}, {len(_bytes(data[mime])):,} bytes]" for mime in _PICTURES if mime in data][:1]
    text = next((join_lines(data[mime]) for mime in _TEXTS if mime in data), "")
    texts = [text.removesuffix("\n")] if text else []
    return "\n".join(texts + pictures) or f"[{', '.join(data)}]" if data else ""


def _data(output: Output) -> Mapping[str, Any]:
    data = output.get("data")
    return data if isinstance(data, dict) else {}


def _bytes(value: object) -> bytes:
    try:
        return base64.b64decode(join_lines(value)) if value else b""
    except binascii.Error:
        return b""
