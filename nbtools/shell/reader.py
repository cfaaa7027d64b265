"""A strict reader for the part of the shell language that dash, bash and busybox read identically.

It accepts simple commands in lists, pipelines, groups, subshells, ``for``, ``if``, ``while`` and ``until``;
words of plain characters, quotes, ``$NAME``, the POSIX parameter forms with literal words and ``$(…)``;
redirects to one word; here-documents whose text is not expanded.  Everything else is rejected with a reason,
and then no open-ended rule may allow the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from nbtools.shell.grammar import Redirect, SimpleCommand
from nbtools.shell.options import word_set
from nbtools.shell.words import BLANKS, ENDS, NAME, NotUnderstoodError, Word, WordReader

_DEEPEST = 20
"""The deepest nesting of compound commands and substitutions."""
_LONGEST = 100_000
_ENDING = frozenset(("", "\n", ";", "&", "|", ")"))
_REDIRECTING = frozenset("<>0123456789")
_COMPOUND = frozenset({"if", "while", "until", "for"})
_KEYWORDS = _COMPOUND | {"then", "elif", "else", "fi", "do", "done", "in", "{", "}", "!"}
_NOT_PORTABLE = word_set(
    """case esac select function coproc foreach end repeat always nocorrect noglob namespace [[ declare
    typeset local readonly let integer float private enum compound nameref -"""
)
"""Words that begin a command which not all shells know or read alike."""
_KEYWORD = re.compile(r"[a-z]+(?=[ \t\n;&|()]|\Z)")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_REDIRECT = re.compile(r"[0-9]?(>>|>\||>&|<&|<<-|<<|>|<)")
_VARIABLE = re.compile(r"\$\w+|\$\{\w+\}", re.ASCII)
_DESCRIPTOR = re.compile(r"(?:[0-9]|-)(?=[ \t\n;&|)]|\Z)")
_DELIMITER = re.compile(r"""'(\w[\w.-]*)'|"(\w[\w.-]*)"|\\?(\w+)""", re.ASCII)
_PLAIN_LINE = re.compile(r"[ \t]*([A-Za-z_./][\w./-]*(?:[ \t]+[\w./:,%+-][\w./=:,%+-]*)*)[ \t]*", re.ASCII)
"""A command of plain words, the most frequent case."""
_PLAIN_RUN = re.compile(r"(?:[ \t]+[\w./:,%+-][\w./=:,%+@-]*(?=[ \t\n;|&)]|\Z))+", re.ASCII)
"""Plain words after a program."""
_NOT_PLAIN = _KEYWORDS | _NOT_PORTABLE | {"time", "export", "unset", "unsetenv"}
_INACTIVE_BODY = re.compile(r"(?:[^$`\\]|\\[A-Za-z0-9])*\Z")
"""A here-document in which the shell expands nothing. It keeps a backslash before a letter or digit."""


@dataclass(slots=True)
class _Draft:
    """A simple command, or the redirects of a compound command, while it is parsed;
    the fields are those of ``SimpleCommand``.
    """

    begin: int
    operator: str
    nested: bool
    end: int = 0
    blocks: tuple[int, ...] = ()
    argv: list[str] = field(default_factory=list)
    dynamic: list[int] = field(default_factory=list)
    splits: list[int] = field(default_factory=list)
    assignments: list[str] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)

    def command(self, text: str) -> SimpleCommand:
        return SimpleCommand(
            text[self.begin : self.end].strip(),
            self.operator,
            tuple(self.argv),
            tuple(self.assignments),
            tuple(self.redirects),
            self.nested,
            tuple(self.dynamic),
            tuple(self.splits),
        )


class Loop(NamedTuple):
    """A ``for`` loop: its variable, the source of its words, and the block of its body."""

    name: str
    words: tuple[str, ...]
    body: int


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """The parsed commands.  ``problem`` is empty when the whole line was understood.
    There may be commands in spite of a problem.

    ``variables`` are those that loops and ``${NAME:=word}`` set.  ``blocks`` has for each command the lists
    of commands that it is in, outermost first, as numbers; empty for a line of one plain command.
    """

    commands: tuple[SimpleCommand, ...] = ()
    variables: tuple[str, ...] = ()
    problem: str = ""
    loops: tuple[Loop, ...] = ()
    blocks: tuple[tuple[int, ...], ...] = ()


def parse_strictly(text: str) -> ParsedLine:
    """Parses the commands of a line.  Never raises: ``problem`` says what was not understood."""
    if len(text) > _LONGEST:
        return ParsedLine(problem="it is too long")
    plain = _PLAIN_LINE.fullmatch(text)
    if plain:
        words = tuple(plain[1].split())
        if words[0] not in _NOT_PLAIN:
            return ParsedLine((SimpleCommand(plain[1], "", words, (), (), nested=False),))
    reader = _Reader(text)
    try:
        reader.program()
    except NotUnderstoodError as error:
        return ParsedLine(problem=str(error))
    drafts = [one for one in reader.drafts if one.argv or one.assignments or one.redirects]
    commands = tuple([one.command(text) for one in drafts])
    return ParsedLine(
        commands,
        tuple(reader.variables),
        reader.problem,
        tuple(reader.loops),
        tuple([one.blocks for one in drafts]),
    )


class _Reader(WordReader):
    """A recursive-descent parser over the characters of one line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.drafts: list[_Draft] = []
        self.loops: list[Loop] = []
        self.blocks: list[int] = []
        """The lists of commands being parsed, outermost first, numbered as they begin."""
        self.begun = 0
        self.problem = ""
        """Why the line is not read alike by all shells, although its commands are clear."""
        self.negated = 0
        """How many ``!`` precede; after such a command it is not known that it succeeded."""
        self.pending: list[tuple[_Draft, int, str, bool, bool]] = []
        """Here-documents whose text begins at the next newline: the command, the redirect's place in it, the
        delimiter, whether leading tabs are dropped, and whether the text is quoted.
        """

    # Lists

    def program(self) -> None:
        self.skip_lines()
        if self.at < len(self.text):
            self.list_until(lambda: self.at >= len(self.text))
        if self.pending:
            raise NotUnderstoodError("a here-document has no end")

    def list_until(self, ends: Callable[[], bool]) -> None:
        """Parses commands joined by operators and newlines, at least one, until ``ends`` is true."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotUnderstoodError("it is nested too deeply")
        self.begun += 1
        self.blocks.append(self.begun)
        while True:
            self.pipeline()
            if self.take("&&") or self.take("||"):
                self.operator = self.text[self.at - 2 : self.at]
                self.skip_lines()
                continue
            self.operator = "&" if self.peek() == "&" else ";"
            separated = self.separator()
            if ends():
                break
            if not separated:
                raise NotUnderstoodError(f"{self.snippet()} is not expected there")
        self.operator = ""
        self.blocks.pop()
        self.depth -= 1

    def separator(self) -> bool:
        """Consumes ``;``, ``&`` and newlines.  Returns whether a command may begin now."""
        separated = False
        if self.peek() in (";", "&"):
            self.at += 1
            if self.peek() in (";", "&", "|", ">", "<", "!"):
                operator = self.text[self.at - 1 : self.at + 1]
                raise NotUnderstoodError(f"{operator!r} is not read alike by all shells")
            separated = True
        self.skip_blanks()
        if self.peek() == "\n":
            separated = True
            self.skip_lines()
        if separated and self.peek() in (";", "&", "|"):
            raise NotUnderstoodError("a command is missing")
        return separated

    def pipeline(self) -> None:
        self.skip_blanks()
        following = self.text[self.at + 1 : self.at + 2]
        if self.peek() == "!" and following and following in BLANKS:
            self.at += 1
            self.skip_blanks()
            self.negated += 1
            self.command()
            self.negated -= 1
        else:
            self.command()
        self.skip_blanks()
        while self.peek() == "|" and self.text[self.at + 1 : self.at + 2] != "|":
            self.at += 1
            if self.peek() == "&":
                raise NotUnderstoodError("'|&' is not read alike by all shells")
            self.skip_lines()
            self.operator = "|"
            self.command()
            self.skip_blanks()

    # Commands

    def command(self) -> None:
        self.skip_blanks()
        if self.peek() in ("(", "{") and self.text[self.at : self.at + 2] != "{}":
            self.group()
            return
        found = _KEYWORD.match(self.text, self.at)
        if found and found[0] in _COMPOUND:
            own = self.placeholder()
            self.at = found.end()
            self.loop() if found[0] == "for" else self.conditions(found[0])
            self.outer_redirects(own)
            return
        self.simple()

    def group(self) -> None:
        own = self.placeholder()
        if self.take("("):
            if self.peek() == "(":
                raise NotUnderstoodError("'((' is not read alike by all shells")
            self.skip_lines()
            self.list_until(lambda: self.peek() == ")")
            self.at += 1
        else:
            self.at += 1
            if self.peek() not in (" ", "\t", "\n"):
                raise NotUnderstoodError(f"{self.snippet(-1)} is not read alike by all shells")
            self.skip_lines()
            self.list_until(lambda: self.at_keyword("}"))
            self.at += 1
        self.outer_redirects(own)

    def conditions(self, kind: str) -> None:
        """Parses ``if``, ``while`` and ``until``, after the keyword."""
        self.skip_lines()
        if kind != "if":
            self.list_until(lambda: self.at_keyword("do"))
            self.body()
            return
        while True:
            self.list_until(lambda: self.at_keyword("then"))
            self.keyword("then")
            self.list_until(lambda: any(map(self.at_keyword, ("elif", "else", "fi"))))
            if not self.at_keyword("elif"):
                break
            self.keyword("elif")
        if self.at_keyword("else"):
            self.keyword("else")
            self.list_until(lambda: self.at_keyword("fi"))
        self.at += len("fi")

    def loop(self) -> None:
        """Parses ``for NAME in words; do list; done``, after the keyword."""
        self.skip_blanks()
        name = NAME.match(self.text, self.at)
        if not name:
            raise NotUnderstoodError("the variable of a loop is not a plain name")
        self.at = name.end()
        self.skip_blanks()
        if not self.at_keyword("in"):
            raise NotUnderstoodError("a loop has no list of words")
        self.at += len("in")
        self.variables.append(name[0])
        self.skip_blanks()
        words = []
        while self.peek() not in (";", "\n"):
            begin = self.at
            self.word()
            words.append(self.text[begin : self.at])
            self.skip_blanks()
        self.at += self.peek() == ";"
        self.skip_lines()
        self.loops.append(Loop(name[0], tuple(words), self.begun + 1))
        self.body()

    def body(self) -> None:
        self.keyword("do")
        self.list_until(lambda: self.at_keyword("done"))
        self.at += len("done")

    def simple(self) -> None:
        own = self.placeholder()
        self.operator = ""
        while True:
            if own.argv and own.argv[0] != "time" and (run := _PLAIN_RUN.match(self.text, self.at)):
                own.argv.extend(run[0].split())
                own.end = self.at = run.end()
            self.skip_blanks()
            letter = self.peek()
            if letter in _ENDING:
                break
            is_redirect = letter in _REDIRECTING and self.redirect(own)
            if not is_redirect and (own.argv or not self.assignment(own)):
                self.argument(own)
            own.end = self.at
        if not own.argv and (own.redirects or not own.assignments):
            raise NotUnderstoodError("a command is missing")
        if own.argv[:1] == ["export"] and own.splits:
            raise NotUnderstoodError("what 'export' makes of a word without quotes differs between shells")

    def assignment(self, own: _Draft) -> bool:
        """Parses ``NAME=value`` before a program, if there is one."""
        begin = self.at
        assigned = _ASSIGNMENT.match(self.text, begin)
        if not assigned:
            return False
        self.at = assigned.end()
        if self.peek() and self.peek() not in ENDS:
            self.word()
        self.not_joined()
        own.assignments.append(self.text[begin : self.at])
        return True

    def argument(self, own: _Draft) -> None:
        """Parses the program, or a word after it."""
        bare = self.text[self.at] not in "'\"\\"
        word = self.word()
        self.not_joined()
        if not own.argv or (own.argv[0] == "time" and set(own.argv) <= {"time", "-p"}):
            self.check_program(word, bare=bare)
        elif word.dynamic:
            own.dynamic.append(len(own.argv))
        if word.splits:
            own.splits.append(len(own.argv))
        own.argv.append(word.text)

    def check_program(self, word: Word, *, bare: bool) -> None:
        """Checks the first word of a simple command: a literal name that all shells read alike."""
        if word.dynamic or not word.text or (word.text != "[" and set(word.text) & set("*?[]={}~")):
            raise NotUnderstoodError(f"{word.text!r} as a program is not read alike by all shells")
        if word.text in _NOT_PORTABLE or (word.text in _KEYWORDS and bare) or word.text.startswith("!"):
            raise NotUnderstoodError(f"{word.text!r} is not read alike by all shells")

    def not_joined(self) -> None:
        """Rejects a word followed by a parenthesis (a function, a pattern or an array), and ``{fd}>``,
        which opens a descriptor.
        """
        if self.peek() == "(":
            raise NotUnderstoodError("a parenthesis right after a word is not read alike by all shells")
        if self.peek() in ("<", ">") and self.text[self.at - 1] in "}<>":
            raise NotUnderstoodError(f"{self.snippet(-1)} is not read alike by all shells")

    # Redirects

    def redirect(self, own: _Draft) -> bool:
        """Parses one redirect, if there is one."""
        found = _REDIRECT.match(self.text, self.at)
        if not found:
            return False
        operator, self.at = found[1], found.end()
        if self.peek() in ("<", ">", "&", "|", "(", "!"):
            raise NotUnderstoodError(f"{self.snippet(-1)} is not read alike by all shells")
        if operator in (">&", "<&"):
            target = _DESCRIPTOR.match(self.text, self.at)
            if not target:
                raise NotUnderstoodError(f"what {operator!r} leads to is not a descriptor")
            self.at = target.end()
            closed = target[0] == "-"
            own.redirects.append(Redirect(f"{operator}-", "") if closed else Redirect(operator, target[0]))
            return True
        self.skip_blanks()
        if operator in ("<<", "<<-"):
            if found[0] != operator:
                raise NotUnderstoodError("a here-document is for another descriptor than the input")
            self.here_document(own, operator)
            return True
        if self.peek() in ("!", "&", "", "\n") or self.peek() in ENDS:
            raise NotUnderstoodError("a redirect has no target")
        word = self.word()
        if word.splits and self.peek() not in ("<", ">", "(") and _VARIABLE.fullmatch(word.text):
            self.problem = (
                f"{word.text} as the target of a redirect has no quotes, and shells differ in what they make"
                " of it"
            )
        elif word.splits or self.peek() in ("<", ">", "("):
            raise NotUnderstoodError("the target of a redirect is not read alike by all shells")
        own.redirects.append(Redirect(operator, word.text, word.dynamic))
        return True

    def here_document(self, own: _Draft, operator: str) -> None:
        found = _DELIMITER.match(self.text, self.at)
        if not found or (found.end() < len(self.text) and self.text[found.end()] not in ENDS):
            raise NotUnderstoodError("the delimiter of a here-document is not a plain word")
        self.at = found.end()
        delimiter = found[1] or found[2] or found[3]
        self.pending.append((own, len(own.redirects), delimiter, operator == "<<-", found[0] != delimiter))
        self.waits_for_text = True
        own.redirects.append(Redirect(operator, delimiter))

    def here_texts(self) -> None:
        """Parses the texts of the here-documents that begin after this newline."""
        for own, place, delimiter, dedented, quoted in self.pending:
            lines = []
            while True:
                if self.at >= len(self.text):
                    raise NotUnderstoodError("a here-document has no end")
                end = self.text.find("\n", self.at)
                line = self.text[self.at : end if end >= 0 else len(self.text)]
                self.at = end + 1 if end >= 0 else len(self.text)
                line = line.lstrip("\t") if dedented else line
                if line == delimiter:
                    break
                lines.append(line)
            body = "".join(f"{line}\n" for line in lines)
            if not quoted and not _INACTIVE_BODY.match(body):
                raise NotUnderstoodError("the shell expands something in a here-document")
            own.redirects[place] = Redirect(own.redirects[place].operator, delimiter, body=body)
        self.pending, self.waits_for_text = [], False

    def outer_redirects(self, own: _Draft) -> None:
        """Parses the redirects after a compound command, where nothing else may follow."""
        self.skip_blanks()
        own.begin = own.end = self.at
        while self.redirect(own):
            own.end = self.at
            self.skip_blanks()
        if self.at < len(self.text) and self.peek() not in ("\n", ";", "&", "|", ")"):
            raise NotUnderstoodError(f"{self.snippet()} is not expected there")

    def placeholder(self) -> _Draft:
        """Adds an empty command at its position in the line and returns it."""
        nested = self.depth > 1 or self.substitutions > 0 or self.negated > 0
        self.drafts.append(_Draft(self.at, self.operator, nested=nested, blocks=tuple(self.blocks)))
        return self.drafts[-1]
