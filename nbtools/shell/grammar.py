"""Finds the simple commands of a bash command line with tree-sitter's grammar.

It finds them in lists, pipes, groups, subshells, functions, loops, branches, here-documents and
substitutions.  Cards show these commands, and deny and ask rules are matched with them.  The grammar differs
from bash in places, so allow rules need the strict reader in ``nbtools.shell``.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from nbtools.shell import grammar_nodes as nodes
from nbtools.shell.grammar_nodes import Word, source_of, word_of

if TYPE_CHECKING:
    from tree_sitter import Language, Node


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect: ``> target``, ``2>> target``, ``<<< word``, ``<< delimiter``.
    ``target`` is unquoted if possible, empty for ``<&-``.

    ``dynamic``: the target is only known at run time.
    ``body`` is the text of a here-document; ``expands``: the shell expands it.
    """

    operator: str
    target: str
    dynamic: bool = field(default=False, compare=False)
    body: str = field(default="", compare=False)
    expands: bool = field(default=False, compare=False)

    @property
    def writes(self) -> bool:
        """Whether it opens a file for writing; descriptors and ``/dev/null`` do not count."""
        opens = self.operator in _WRITING
        if self.operator == ">&":
            opens = not re.fullmatch(r"\d*-?", self.target)
        return opens and not _NO_FILE.match(self.target)


_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_NO_FILE = re.compile(r"/dev/(?:null|stdout|stderr)\Z")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program, builtin or function with its arguments.

    ``operator`` joins it to the command before: ``""`` ``&&`` ``||`` ``;`` ``|`` ``|&`` ``&``.  Literal words
    in ``argv`` are unquoted.  A word in which the shell expands something keeps its source text, and its
    position is in ``dynamic``; also in ``splits`` if it may become several words or none.  ``assignments``
    are source text.  ``argv`` is empty for assignments alone, and for the redirects of a group or loop, which
    are a command of their own.  ``nested``: inside a substitution, subshell, group, function, loop or branch.
    """

    text: str
    operator: str
    argv: tuple[str, ...]
    assignments: tuple[str, ...]
    redirects: tuple[Redirect, ...]
    nested: bool
    dynamic: tuple[int, ...] = ()
    splits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A parsed command line, its commands in order. ``parse_error`` is empty if all was understood."""

    text: str
    commands: tuple[SimpleCommand, ...]
    has_substitution: bool
    has_redirection: bool
    parse_error: str
    functions: tuple[str, ...] = ()
    """The names of the functions that it defines."""

    @property
    def roots(self) -> tuple[str, ...]:
        """The programs it starts, each once, in order."""
        return tuple(dict.fromkeys(command.argv[0] for command in self.commands if command.argv))


def parse_shell(command: str) -> ShellCommand:
    """Parses a bash command line.  Never raises: ``parse_error`` says what was not understood."""
    problem = _unreadable(command) or _missing_grammar()
    if problem:
        return ShellCommand(command, (), False, False, problem)
    spelling = WideCharacterEncoding(command)
    if spelling.problem:
        return ShellCommand(command, (), False, False, spelling.problem)
    return spelling.decode(_Walk(spelling.text.encode(), command).result())


_LONGEST = 131_071
"""The most bytes of a command line: Linux passes no longer argument to a shell."""
_STRANGE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _unreadable(command: str) -> str:
    """Returns why the text is not parsed at all; the grammar takes some control characters for blanks."""
    if len(command.encode("utf-8", "replace")) > _LONGEST:
        return f"the command is longer than {_LONGEST:,} bytes, more than a shell accepts"
    strange = _STRANGE.search(command)
    return f"the command contains the character U+{ord(strange[0]):04X}" if strange else ""


@functools.cache
def _missing_grammar() -> str:
    if importlib.util.find_spec("tree_sitter_bash"):
        return ""
    return "the grammar of shell commands is not available here (tree-sitter-bash)"


def _respelled(source: bytes) -> bytes:
    """Replaces the ``-`` of ``python - <<EOF``, which the grammar drops; ``source_of`` restores it."""
    return re.sub(rb"(?<=[ \t])-(?=[ \t]+(?:<|\d*>))", b"\x1a", source)


def _first_error(root: Node) -> str:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_missing:
            return f"{node.type!r} is missing"
        if node.is_error:
            text = " ".join(source_of(node).split())
            return f"cannot parse {text if len(text) <= 40 else text[:39] + '…'!r}"
        stack.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return "cannot parse the command"


_CONTROLS = [chr(code) for code in range(0x80, 0xA0) if code != 0x85]
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_SPELLED = re.compile("[\x80-\x9f]{2}")


@functools.cache
def _language() -> Language:
    import tree_sitter  # noqa: PLC0415 - loaded when a command is first analysed
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Language(tree_sitter_bash.language())


def _tree(source: bytes) -> Node:
    from tree_sitter import Parser  # noqa: PLC0415 - see _language

    return Parser(_language()).parse(source).root_node


class WideCharacterEncoding:
    """Replaces characters above U+FFFF, which crash the grammar after a brace (tree-sitter-bash issue 337),
    and restores them.

    Each is encoded as two control characters with as many bytes in total,
    which cannot occur in a line otherwise.
    """

    def __init__(self, command: str) -> None:
        wide = sorted(set(_WIDE.findall(command)))
        self.problem = "it contains too many different characters" if len(wide) > len(_CONTROLS) ** 2 else ""
        pairs = (first + second for first in _CONTROLS for second in _CONTROLS)
        encoded = dict(zip(wide, pairs, strict=False))
        self._back = {pair: letter for letter, pair in encoded.items()}
        self.text = _WIDE.sub(lambda found: encoded.get(found[0], ""), command) if wide else command

    def decode(self, parsed: ShellCommand) -> ShellCommand:
        if not self._back:
            return parsed
        return replace(
            parsed,
            commands=tuple(map(self._command, parsed.commands)),
            functions=self._all(parsed.functions),
            parse_error=self._one(parsed.parse_error),
        )

    def _command(self, command: SimpleCommand) -> SimpleCommand:
        redirects = [
            replace(one, target=self._one(one.target), body=self._one(one.body)) for one in command.redirects
        ]
        return replace(
            command,
            text=self._one(command.text),
            argv=self._all(command.argv),
            assignments=self._all(command.assignments),
            redirects=tuple(redirects),
        )

    def _all(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self._one, texts))

    def _one(self, text: str) -> str:
        return _SPELLED.sub(lambda found: self._back.get(found[0], found[0]), text)


_DEEPEST = 300
"""The most visits of each byte, on average.
Texts of nested commands are copies, so deep nesting would take quadratic time.
"""


class _Visit(NamedTuple):
    """A node to visit, the operator before its first command, and whether that is nested."""

    node: Node
    operator: str
    nested: bool


class _Walk:
    """Walks a syntax tree with an explicit stack, as the input determines the depth."""

    def __init__(self, source: bytes, text: str) -> None:
        self.source = source
        self.text = text
        self.commands: list[SimpleCommand] = []
        self.outer: dict[int, list[Node]] = {}
        self.substitutes = False
        self.redirects = False
        self.functions: list[str] = []
        self.problem = ""

    def result(self) -> ShellCommand:
        root = _tree(_respelled(self.source))
        stack = [_Visit(root, "", nested=False)]
        effort = _DEEPEST * len(self.source)
        while stack and effort >= 0:
            effort -= stack[-1].node.end_byte - stack[-1].node.start_byte
            stack.extend(reversed(list(self._visit(stack.pop()))))
        if stack:
            self.problem = "it is nested too deeply"
        problem = self.problem or (_first_error(root) if root.has_error else "")
        commands, functions = tuple(self.commands), tuple(self.functions)
        return ShellCommand(self.text, commands, self.substitutes, self.redirects, problem, functions)

    def _visit(self, visit: _Visit) -> Iterator[_Visit]:
        kind = visit.node.type
        if nodes.is_simple(visit.node):
            return self._simple(visit)
        if kind == "redirected_statement":
            return self._redirected(visit)
        if kind == "function_definition":
            self.functions.extend(map(source_of, visit.node.children_by_field_name("name")))
        if kind in nodes.LISTS or kind in nodes.COMPOUND:
            return self._statements(visit, visit.operator, visit.nested or kind in nodes.COMPOUND)
        if kind in nodes.SUBSTITUTIONS:
            self.substitutes = True
            return self._statements(visit, "", True)
        return self._inside(visit)

    def _statements(self, visit: _Visit, operator: str, nested: bool) -> Iterator[_Visit]:
        """Yields a list's, compound command's or substitution's statements with the operator before each."""
        for child in visit.node.children:
            if child.type in nodes.OPERATORS:
                operator = child.type
            elif child.type in nodes.STARTERS:
                operator = ""
            elif child.type in nodes.REDIRECTS:
                self._add(_Visit(visit.node, operator, nested), "", [], [child])
                yield from self._inside_redirect(child, nested)
            elif child.is_named:
                yield _Visit(child, operator, nested)
                operator = ";" if nodes.is_statement(child) else operator

    def _inside(self, visit: _Visit) -> Iterator[_Visit]:
        """Yields the children of a word, expansion or here-document, which may contain substitutions."""
        return (_Visit(child, "", visit.nested) for child in visit.node.named_children)

    def _redirected(self, visit: _Visit) -> Iterator[_Visit]:
        """Assigns redirects to the last simple command before them;
        those of a group or loop become a command of their own.
        """
        body = visit.node.child_by_field_name("body")
        redirects = nodes.redirects_of(visit.node)
        owner = nodes.last_simple(body)
        if owner is None:
            self._add(visit, "", [], redirects)
        else:
            self.outer[owner.id] = [*self.outer.get(owner.id, []), *redirects]
        if body is not None:
            yield _Visit(body, visit.operator if owner else "", visit.nested)
        for redirect in redirects:
            yield from self._inside_redirect(redirect, visit.nested)

    def _inside_redirect(self, redirect: Node, nested: bool) -> Iterator[_Visit]:
        """Visits what follows ``<<EOF`` on its line: in this grammar a child of the redirect."""
        operator = ""
        for child in redirect.children:
            if child.type in nodes.OPERATORS:
                operator = child.type
            elif child.type in nodes.REDIRECTS:
                yield from self._inside_redirect(child, nested)
            elif child.is_named:
                yield _Visit(child, operator, nested)

    def _simple(self, visit: _Visit) -> Iterator[_Visit]:
        node = visit.node
        own = nodes.redirects_of(node)
        words = nodes.words_of(node)
        self._add(visit, source_of(node), words, own, self.outer.pop(node.id, []))
        for child in node.named_children:
            if child not in own:
                yield _Visit(child, "", visit.nested)
        for redirect in own:
            yield from self._inside_redirect(redirect, visit.nested)

    def _add(
        self, visit: _Visit, text: str, parts: list[Node], own: list[Node], outer: Sequence[Node] = ()
    ) -> None:
        """Adds a command.  ``own`` redirects are in ``text`` unless that is empty, ``outer`` ones are not."""
        redirects = list(nodes.flat_redirects([*own, *outer]))
        parts = [*parts, *(word for redirect in redirects for word in nodes.redirect_words(redirect)[1])]
        words = [word_of(group, self.source) for group in nodes.group_adjacent(parts)]
        texts = [text, *map(nodes.redirect_text, outer)] if text else map(nodes.redirect_text, own)
        self.redirects = self.redirects or bool(redirects)
        self.commands.append(
            SimpleCommand(
                text=" ".join(texts),
                operator=visit.operator,
                argv=tuple(word.text for word in words),
                assignments=tuple(map(source_of, nodes.assignments_of(visit.node))),
                redirects=tuple(map(self._redirect, redirects)),
                nested=visit.nested,
                dynamic=tuple(position for position, word in enumerate(words) if word.dynamic),
                splits=tuple(position for position, word in enumerate(words) if word.splits),
            )
        )

    def _redirect(self, node: Node) -> Redirect:
        target, _ = nodes.redirect_words(node)
        word = word_of(target, self.source) if target else Word("", False)
        body, expands = nodes.here_document(node)
        return Redirect(nodes.redirect_operator(node), word.text, word.dynamic, body, expands)
