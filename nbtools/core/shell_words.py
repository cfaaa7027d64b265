"""What a shell word means before anything is expanded: quotes removed, escapes done, and whether the shell would still change it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node


class Word(NamedTuple):
    """``text`` is the word as the program gets it; where the shell expands something in it, its source text and ``dynamic``.

    ``splits``: it may turn out to be several words, or none.
    """

    text: str
    dynamic: bool
    splits: bool = False


class _Piece(NamedTuple):
    """A part of a word: its meaning (None: known only when it runs), what stands outside quotes, whether it may be several words."""

    meaning: str | None
    bare: str
    splits: bool = False


_EXPANDS = re.compile(r"(?:\A|[=:])~|[$`].|[*?]", re.DOTALL)
_PLAIN = {
    *("word", "number", "variable_name", "file_descriptor", "test_operator"),
    *("command_name", "subscript", "extglob_pattern", "regex", "heredoc_start"),
}
_SEVERAL = re.compile(r"[*?`$\[]")
_ONE = frozenset({"string", "process_substitution", "ansi_c_string"})
_LIST = re.compile(r"\$@|\$\{@|@\]|@\}|\*\]|\$\*|\$\{\*")
_JOINED = frozenset({"concatenation", "command_name", "variable_assignment", "translated_string"})


def source_of(node: Node) -> str:
    """The node's own text; see ``shell_syntax`` for the one letter that is put back."""
    return (node.text or b"").decode("utf-8", "replace").replace("\x1a", "-")


def word_of(nodes: list[Node], source: bytes) -> Word:
    """The one word that ``nodes``, which touch each other, make together."""
    pieces = list(_pieces(nodes))
    bare = "".join(piece.bare for piece in pieces)
    if any(piece.meaning is None for piece in pieces) or may_expand(bare):
        splits = any(piece.splits for piece in pieces) or bool(_SEVERAL.search(bare)) or _braces(bare)
        return Word(source[nodes[0].start_byte : nodes[-1].end_byte].decode("utf-8", "replace"), True, splits)
    return Word("".join(piece.meaning or "" for piece in pieces), False)


def may_expand(bare: str) -> bool:
    """Whether the shell would make something else of what stands outside quotes."""
    return bool(_EXPANDS.search(bare)) or "]" in bare.partition("[")[2] or _braces(bare)


def _braces(bare: str) -> bool:
    """``{a,b}`` and ``{1..3}``; split, as a search would take the square of the length."""
    return any("," in inside or ".." in inside for inside in (piece.partition("}")[0] for piece in bare.split("{")[1:]))


def _pieces(nodes: Iterable[Node]) -> Iterable[_Piece]:
    stack = list(nodes)[::-1]
    end = stack[-1].start_byte if stack else 0
    while stack:
        node = stack.pop()
        if node.start_byte > end:
            yield _Piece(None, "", splits=True)  # something between the parts that the grammar does not show: leave it alone
        end = max(end, node.end_byte if node.type not in _JOINED or not node.child_count else node.start_byte)
        if node.type in _JOINED and node.child_count:
            stack.extend(reversed(node.children))
        elif node.type != "$" or not stack or stack[-1].type != "string":  # $"…" is "…", translated
            yield _piece(node)


def _piece(node: Node) -> _Piece:
    text = source_of(node)
    if node.type in _PLAIN or not node.is_named:
        bare = re.sub(r"\\.", "", text, flags=re.DOTALL)
        return _Piece(_unescape(text), bare)
    if node.type == "raw_string":
        return _Piece(text[1:-1], "")
    if node.type == "string" and all(child.type == "string_content" for child in node.named_children):
        return _Piece(re.sub(r'\\([$`"\\\n])', lambda found: found[1].strip("\n"), text[1:-1]), "")
    if node.type == "ansi_c_string":
        return _Piece(_ansi_c(text[2:-1]), "")
    several = node.type not in _ONE or bool(_LIST.search(text))
    return _Piece(None, "", splits=several)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: found[1].strip("\n"), text, flags=re.DOTALL)


_ANSI_C = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def _ansi_c(text: str) -> str | None:
    """The text of ``$'…'``; None for what is not worth guessing: NUL ends the word there, and bytes above 127 need not be a character."""
    meaning = _ANSI_C.sub(_ansi_c_escape, text)
    return None if "\0" in meaning else meaning


def _ansi_c_escape(found: re.Match[str]) -> str:
    hexadecimal, short, long, octal, letter = found.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter if letter in "\\'\"?" else "\0")
    code = int(octal, 8) if octal else int(hexadecimal or short or long, 16)
    is_byte = bool(octal or hexadecimal)
    return chr(code) if code < (0x80 if is_byte else 0xD800) else "\0"
