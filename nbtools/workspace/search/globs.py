"""Glob patterns for paths: ``*`` and ``?`` within a name, ``**`` across folders, ``[a-z]``, ``{one,two}``,
and a backslash before each.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

_MOST = 1000
_CLASS = re.compile(r"\[(?P<not>[!^]?+)(?P<inside>[^/][^]]*)\]", re.DOTALL)
_CHOICE = re.compile(rf"\\.|{_CLASS.pattern}|[{{}},]", re.DOTALL)
"""Braces and commas; those inside brackets and after a backslash are literal."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"[*?\[{]")


@functools.lru_cache(maxsize=256)
def compile_glob(pattern: str, folder: str = ".", *, ignore_case: bool = False) -> re.Pattern[str]:
    """Returns a regex for whole paths by a pattern relative to ``folder``. Raises ``ValueError``.

    Names may begin with a dot; ``folder`` is matched literally.
    Matching takes at most linear time in the length of a name, so no pattern can block.
    """
    prefix = "" if folder == "." else re.escape(f"{folder}/")
    flag = "i" if ignore_case else ""
    try:
        return re.compile(
            f"{prefix}(?{flag}:{'|'.join(_path(variant) for variant in _variants(pattern))})", re.DOTALL
        )
    except re.error:
        raise ValueError("a range in [ ] goes backwards") from None


def literal_folder(pattern: str) -> str:
    """Returns the literal folders at the start of the pattern, ``.`` if there are none."""
    names = pattern.split("/")
    fixed: list[str] = []
    for name in names[:-1]:
        if _SPECIAL.search(_ESCAPED.sub("", name)) or name == "..":
            break
        fixed.append(_ESCAPED.sub(r"\1", name))
    return "/".join(name for name in fixed if name not in ("", ".")) or "."


def has_wildcard(name: str) -> bool:
    """Returns whether a name has special characters."""
    return _SPECIAL.search(_ESCAPED.sub("", name)) is not None


def last_name(pattern: str) -> str:
    """Returns the pattern of the file name, ``*`` if it is arbitrary or cannot be determined."""
    name = pattern.rpartition("/")[2]
    whole = pattern.count("{") == pattern.count("}") == name.count("{") == name.count("}")
    return name if whole and "**" not in name and name else "*"


def is_only_name(pattern: str) -> bool:
    """Returns whether the pattern restricts only the file name, with simple wildcards: ``**/*.py``."""
    return re.fullmatch(r"(?:\./)*(?:\*\*/)+(?!\*\*)[\w*?.-]+", pattern, re.ASCII) is not None


def any_case(name: str) -> str:
    """Returns a case-insensitive glob of a name, ``*`` if that cannot be expressed."""
    if "[" in name or "\\" in name or not name.isascii():
        return "*"
    return "".join(f"[{letter.lower()}{letter.upper()}]" if letter.isalpha() else letter for letter in name)


def escape(name: str) -> str:
    """Returns a glob that matches exactly this name."""
    return re.sub(r"[*?\[\]{}\\]", r"[\g<0>]", name)


def names_hidden(pattern: str) -> bool:
    """Returns whether a name in the pattern begins with a literal dot."""
    return any(re.match(r"\\?\.[^./]", name) for variant in _variants(pattern) for name in variant.split("/"))


def _variants(pattern: str) -> list[str]:
    """Expands the braces: one pattern for each combination of choices."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        variant = todo.pop()
        start, end = _braces(variant)
        if end < 0:
            done.append(variant)
        else:
            todo.extend(
                variant[:start] + choice + variant[end + 1 :]
                for choice in reversed(list(_choices(variant[start + 1 : end])))
            )
        if len(done) + len(todo) > _MOST:
            raise ValueError(f"its braces expand to more than {_MOST:,} patterns")
    return done


def _braces(text: str) -> tuple[int, int]:
    """Returns the positions of the first outermost braces; the end is -1 if there are none."""
    depth = start = 0
    for found in _CHOICE.finditer(text):
        if found[0] == "{":
            start = found.start() if depth == 0 else start
            depth += 1
        elif found[0] == "}" and depth:
            depth -= 1
            if depth == 0:
                return start, found.start()
    if depth:
        raise ValueError("a { is not closed")
    return 0, -1


def _choices(inside: str) -> Iterator[str]:
    depth = start = 0
    for found in _CHOICE.finditer(inside):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if found[0] == "," and depth == 0:
            yield inside[start : found.start()]
            start = found.end()
    yield inside[start:]


def _path(pattern: str) -> str:
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    parts: list[str] = []
    for position, name in enumerate(names):
        last = position == len(names) - 1
        if name == "**":
            if not last and names[position + 1] == "**":
                continue
            parts.append(".+" if last else "(?:[^/]+/)*")
        else:
            parts.append(_name(name) + ("" if last else "/"))
    return "".join(parts)


def _name(name: str) -> str:
    """Returns the regex of one name."""
    # As in fnmatch, the text from a star to its next fixed part is an atomic group,
    # which avoids backtracking.
    pieces = (
        [_fixed(piece) for piece in re.split(r"\*+", name)]
        if "[" not in name and "\\" not in name
        else _with_classes(name)
    )
    first, *rest = pieces
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle) + "[^/]*" + last


def _with_classes(name: str) -> list[str]:
    """Splits a name at stars that are not in brackets or escaped; converts the pieces to regexes."""
    pieces = [""]
    position = 0
    while position < len(name):
        if letters := _CLASS.match(name, position):
            pieces[-1] += _class(letters["not"], letters["inside"])
            position = letters.end()
        elif escaped := _ESCAPED.match(name, position):
            pieces[-1] += re.escape(escaped[1])
            position = escaped.end()
        elif name[position] == "*":
            pieces.append("")
            position += 1
        else:
            pieces[-1] += _fixed(name[position])
            position += 1
    return pieces


def _class(negation: str, inside: str) -> str:
    ranges = re.findall(r"(.)(?:-(.))?", inside, re.DOTALL)
    letters = "".join("-".join(re.escape(end) for end in ends if end) for ends in ranges)
    return f"(?!/)[{'^' if negation else ''}{letters}]"


def _fixed(text: str) -> str:
    return "".join("[^/]" if letter == "?" else re.escape(letter) for letter in text)
