"""Decoders of structs that threads may use at the same time.

msgspec looks at the fields of a struct or a dataclass when it is first decoded, and two threads that are the
first at the same time crash the process (SIGSEGV, as of 0.22).  They are therefore decoded by these
functions, or by decoders that are made when a module is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_making = Lock()
_made: dict[type[Any], msgspec.json.Decoder[Any]] = {}


def decoder_of(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Returns the decoder of a type, which is made once."""
    with _making:
        if kind not in _made:
            _made[kind] = msgspec.json.Decoder(kind)
        return _made[kind]


def converted(value: Any, kind: type[T]) -> T:
    """Returns plain values as ``kind``.  Raises ``msgspec.ValidationError``."""
    decoder_of(kind)
    return msgspec.convert(value, kind)


def decoded_msgpack(data: bytes, kind: type[T], dec_hook: Callable[[type, Any], Any]) -> T:
    """Returns what MessagePack contains.  Raises ``msgspec.MsgspecError``."""
    decoder_of(kind)
    return msgspec.msgpack.decode(data, type=kind, dec_hook=dec_hook)
