"""Interprets nodes of tree-sitter-bash's syntax trees:
words with quotes and escapes removed, redirects, kinds of statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from nbtools.shell.options import word_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node


class Word(NamedTuple):
    """A shell word.  ``text`` is the word as the program gets it;
    if the shell expands something in it, its source, and ``dynamic`` is set.

    ``splits``: it may expand to several words or none.
    """

    text: str
    dynamic: bool
    splits: bool = False


class _Piece(NamedTuple):
    """A part of a word: its meaning (None:
    only known at run time), its unquoted text, whether it may become several words.
    """

    meaning: str | None
    bare: str
    splits: bool = False


_EXPANDS = re.compile(r"(?:\A|[=:])~|[$`].|[*?]", re.DOTALL)
_PLAIN = word_set(
    """word number variable_name file_descriptor test_operator command_name subscript extglob_pattern regex
    heredoc_start"""
)
_SEVERAL = re.compile(r"[*?`$\[]")
_ONE = frozenset({"string", "process_substitution", "ansi_c_string"})
_LIST = re.compile(r"\$@|\$\{@|@\]|@\}|\*\]|\$\*|\$\{\*")
_JOINED = frozenset({"concatenation", "command_name", "variable_assignment", "translated_string"})


def source_of(node: Node) -> str:
    """Returns the node's text, with the ``-`` that ``shell_syntax`` replaced before parsing."""
    return (node.text or b"").decode("utf-8", "replace").replace("\x1a", "-")


def word_of(nodes: list[Node], source: bytes) -> Word:
    """Returns the word that adjacent ``nodes`` form together."""
    pieces = list(_pieces(nodes))
    bare = "".join(piece.bare for piece in pieces)
    if any(piece.meaning is None for piece in pieces) or may_expand(bare):
        splits = any(piece.splits for piece in pieces) or bool(_SEVERAL.search(bare)) or _braces(bare)
        return Word(source[nodes[0].start_byte : nodes[-1].end_byte].decode("utf-8", "replace"), True, splits)
    return Word("".join(piece.meaning or "" for piece in pieces), False)


def may_expand(bare: str) -> bool:
    """Whether the shell may expand the unquoted text."""
    return bool(_EXPANDS.search(bare)) or "]" in bare.partition("[")[2] or _braces(bare)


def _braces(bare: str) -> bool:
    """Whether the text has ``{a,b}`` or ``{1..3}``. Splitting is linear, a search quadratic."""
    insides = (piece.partition("}")[0] for piece in bare.split("{")[1:])
    return any("," in inside or ".." in inside for inside in insides)


def _pieces(nodes: Iterable[Node]) -> Iterable[_Piece]:
    stack = list(nodes)[::-1]
    end = stack[-1].start_byte if stack else 0
    while stack:
        node = stack.pop()
        if node.start_byte > end:
            # The grammar omits something between the parts, so the meaning is not known.
            yield _Piece(None, "", splits=True)
        end = max(end, node.end_byte if node.type not in _JOINED or not node.child_count else node.start_byte)
        if node.type in _JOINED and node.child_count:
            stack.extend(reversed(node.children))
        elif node.type != "$" or not stack or stack[-1].type != "string":  # $"…" means "…", translated
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


_ANSI_C = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_LETTERS = dict(zip("ntrabeEfv", "\n\t\r\a\b\x1b\x1b\f\v", strict=True))


def _ansi_c(text: str) -> str | None:
    """Returns the text of ``$'…'``; None where it contains NUL, which ends the word, or bytes above 127,
    which may be no character.
    """
    meaning = _ANSI_C.sub(_ansi_c_escape, text)
    return None if "\0" in meaning else meaning


def _ansi_c_escape(found: re.Match[str]) -> str:
    hexadecimal, short, long, octal, letter = found.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter if letter in "\\'\"?" else "\0")
    code = int(octal, 8) if octal else int(hexadecimal or short or long, 16)
    end = 0x80 if octal or hexadecimal else 0xD800  # bytes above may be no character, nor is a surrogate
    return chr(code) if code < end else "\0"


OPERATORS = frozenset({"&&", "||", ";", "|", "|&", "&"})
STARTERS = frozenset({"then", "do", "else", "in", ")", ";;", ";&", ";;&"})
SIMPLE = word_set(
    """command test_command declaration_command unset_command variable_assignment variable_assignments"""
)
LISTS = frozenset({"program", "list", "pipeline", "negated_command"})
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
COMPOUND = word_set(
    """subshell compound_statement do_group function_definition if_statement elif_clause else_clause
    while_statement for_statement c_style_for_statement case_statement case_item"""
)
REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})

_HOLDERS = (LISTS | COMPOUND | SUBSTITUTIONS | {"redirected_statement", "ERROR", "heredoc_redirect"}) - {
    "c_style_for_statement"
}
_STATEMENTS = SIMPLE | LISTS | COMPOUND | {"redirected_statement"}
_CONDITIONS = frozenset(
    {"binary_expression", "unary_expression", "parenthesized_expression", "negated_expression"}
)


def is_simple(node: Node) -> bool:
    """Whether the node is a simple command.  An assignment is one only in the position of a command."""
    if node.type not in SIMPLE:
        return False
    return node.type != "variable_assignment" or node.parent is None or node.parent.type in _HOLDERS


def is_statement(node: Node) -> bool:
    return node.type in _STATEMENTS


def assignments_of(node: Node) -> list[Node]:
    if node.type == "variable_assignment":
        return [node]
    if node.type not in ("command", "variable_assignments"):
        return []
    return [child for child in node.children if child.type == "variable_assignment"]


def redirects_of(node: Node) -> list[Node]:
    return [child for child in node.children if child.type in REDIRECTS]


def words_of(node: Node) -> list[Node]:
    """Returns the parts of a simple command's words, in order."""
    if node.type in ("variable_assignment", "variable_assignments"):
        return []
    skipped = REDIRECTS | {"comment"} | ({"variable_assignment"} if node.type == "command" else frozenset())
    words = [child for child in node.children if child.type not in skipped]
    return list(_condition_words(words)) if node.type == "test_command" else words


def _condition_words(words: list[Node]) -> Iterator[Node]:
    stack = words[::-1]
    while stack:
        node = stack.pop()
        if node.type in _CONDITIONS:
            stack.extend(reversed(node.children))
        else:
            yield node


def group_adjacent(nodes: list[Node]) -> Iterator[list[Node]]:
    """Groups adjacent nodes, each group being one word."""
    group: list[Node] = []
    for node in nodes:
        if group and node.start_byte != group[-1].end_byte:
            yield group
            group = []
        group.append(node)
    if group:
        yield group


def last_simple(body: Node | None) -> Node | None:
    """Returns the simple command that a redirect after ``body`` belongs to; None for a group or loop."""
    while body is not None and body.type not in SIMPLE:
        if body.type == "redirected_statement":
            body = body.child_by_field_name("body")
        elif body.type in LISTS and body.named_children:
            body = body.named_children[-1]
        else:
            return None
    return body


def flat_redirects(redirects: list[Node]) -> Iterator[Node]:
    """Yields the redirects, including those written after ``<<EOF``."""
    for redirect in redirects:
        yield redirect
        yield from redirects_of(redirect)


def redirect_operator(redirect: Node) -> str:
    return next((child.type for child in redirect.children if not child.is_named), "")


def redirect_words(redirect: Node) -> tuple[list[Node], list[Node]]:
    """Returns the parts of the target, and those of arguments after it: ``a > f b`` calls a with b."""
    if redirect.type == "heredoc_redirect":
        start = [child for child in redirect.children if child.type == "heredoc_start"]
        return start, redirect.children_by_field_name("argument")
    others = ("file_descriptor", redirect_operator(redirect))
    words = [child for child in redirect.children if child.type not in others]
    target = next(group_adjacent(words), [])
    if redirect_operator(redirect) in ("<&-", ">&-"):
        return [], words
    return target, words[len(target) :]


def here_document(redirect: Node) -> tuple[str, bool]:
    """Returns a here-document's text and whether the shell expands it; empty for other redirects."""
    body = next((child for child in redirect.children if child.type == "heredoc_body"), None)
    if redirect.type != "heredoc_redirect" or body is None:
        return "", False
    starts = [child for child in redirect.children if child.type == "heredoc_start"]
    quoted = any(set(source_of(start)) & set("'\"\\") for start in starts)
    text = source_of(body)
    return text, not quoted and bool(set(text) & set("$`\\"))


def redirect_text(redirect: Node) -> str:
    """Returns a redirect as written, a here-document without its body."""
    if redirect.type != "heredoc_redirect":
        return source_of(redirect)
    start, words = redirect_words(redirect)
    inner = [redirect_text(child) for child in redirects_of(redirect)]
    own = redirect_operator(redirect) + "".join(map(source_of, start))
    return " ".join([own, *inner, *map(source_of, words)])
