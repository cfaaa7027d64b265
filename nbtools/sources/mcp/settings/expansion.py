"""Variables in settings."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}|\$(\w+)|%(\w+)%")


def variables_in(text: str) -> list[str]:
    """The names of those that ``text`` has, each once."""
    found = (one[1] or one[3] or one[4] for one in _VARIABLE.finditer(text))
    return list(dict.fromkeys(name for name in found if not name.isdigit()))


def expanded(text: str, environ: Mapping[str, str]) -> str:
    """``text`` with ``$NAME``, ``${NAME}``, ``${NAME:-default}``, Cursor's ``${env:NAME}`` and ``%NAME%`` replaced.

    ``$1`` and a lone ``%NAME%`` of no variable stay as they are.  Raises ``KeyError`` with the name of a variable that is not set.
    """

    def value(found: re.Match[str]) -> str:
        name, default, plain, percent = found[1], found[2], found[3], found[4]
        if name is not None:
            return environ.get(name) or default if default is not None else environ[name]
        if percent is not None:
            return environ.get(percent, found[0])
        return found[0] if plain.isdigit() else environ[plain]

    return _VARIABLE.sub(value, text)
