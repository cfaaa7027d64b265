"""Rules about commands: word by word, found by their program, so that a command is held against few of many."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING, TypeAlias

from nbtools.policy.layers import Sourced
from nbtools.policy.patterns import TooLong, expression, like

if TYPE_CHECKING:
    from nbtools.shell import Act

_Word: TypeAlias = str | tuple[str, ...]
"""A word as it is, or the pieces between the stars of one."""
_QUOTING = re.compile(r"""\\\n|['"\\]""")
_REST: tuple[str, ...] = ("", "", "")
"""Any number of words."""


@dataclass(frozen=True, slots=True)
class WordRule:
    """A rule with its words; ``exact``: whether they are spelled out, with no star anywhere."""

    sourced: Sourced
    words: tuple[_Word, ...]
    exact: bool
    beginning: tuple[_Word, ...] = ()
    """Its words, where they are spelled out but for the rest of the line; otherwise empty, as nothing is known without a look at each."""

    def covers(self, words: Sequence[str]) -> bool:
        """Whether these are its words, a star for any number where it stands alone; the classic walk with one way back."""
        if self.beginning:
            return tuple(words[: len(self.beginning)]) == self.beginning and not (self.exact and len(words) > len(self.beginning))
        place = at = 0
        star, resume = -1, 0
        while at < len(words):
            if place < len(self.words) and self.words[place] == _REST:
                star, resume = place, at
                place += 1
            elif place < len(self.words) and _is(self.words[place], words[at]):
                place, at = place + 1, at + 1
            elif star >= 0:
                resume += 1
                place, at = star + 1, resume
            else:
                return False
        return all(word == _REST for word in self.words[place:])

    def spells(self, count: int) -> bool:
        """Whether its first words are spelled out."""
        return 0 < count <= len(self.words) and all(isinstance(word, str) for word in self.words[:count])

    def past_options(self, words: Sequence[str]) -> tuple[bool, bool]:
        """Whether it covers the words, and whether it could with more of them, where options may stand before each of its own words.

        ``git push`` covers ``git -C sub --no-pager push``.  The word behind an option may be its value unless the option is known to have
        none, so this covers more than the command means: it is for rules that forbid or ask.
        """
        states = self._behind({(0, False)})
        for word in words:
            following = set()
            for place, perhaps_value in states:
                want = self.words[place] if place < len(self.words) else None
                if want == _REST:
                    following.add((place, False))
                elif want is not None and _is(want, word):
                    following.add((place + 1, False))
                if want is not None and place and word[:1] == "-":
                    following.add((place, not _stands_alone(words[0], word)))
                elif want is not None and perhaps_value:
                    following.add((place, False))
            states = self._behind(following)
            if not states:
                return False, False
        places = {place for place, _ in states}
        return len(self.words) in places, any(place < len(self.words) for place in places)

    def _behind(self, states: set[tuple[int, bool]]) -> set[tuple[int, bool]]:
        """The states with those that are reached where a star stands for no words."""
        for start, _ in tuple(states):
            stars = takewhile(lambda place: self.words[place] == _REST, range(start, len(self.words)))
            states.update((place + 1, False) for place in stars)
        return states


_ALONE = frozenset(("--", "--silent", "--quiet", "--verbose", "--yes", "--help", "--version"))
"""Options that have no value, whatever the program."""
_ALONE_OF_GIT = frozenset(
    ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "-p", "--paginate", "--bare")
)
_MOST_COMMANDS = 50
_PLAIN_WORDS = re.compile(r"[\w-]+")


class CommandRules:
    """Many rules about commands."""

    def __init__(self, rules: Iterable[Sourced], *, narrow: bool = False) -> None:
        """``narrow``: for rules that allow, where a star alone in the middle is one word."""
        self._narrow = narrow
        self._by_words: dict[tuple[str, ...], list[WordRule]] = defaultdict(list)
        self._by_program: dict[str, list[WordRule]] = defaultdict(list)
        self._odd: set[str] = set()
        """Programs whose names are not made of letters, digits and dashes alone."""
        self._others: list[WordRule] = []
        self._expressions: list[Sourced] = []
        self._texts: dict[str, Sourced] = {}
        self._filled = False
        for one in rules:
            self._add(one)

    def __bool__(self) -> bool:
        return self._filled

    def _add(self, one: Sourced) -> None:
        self._filled = True
        if one.rule.command:
            self._expressions.append(one)
            return
        if "*" not in one.rule.spec:
            self._texts.setdefault(one.rule.spec, one)
        words, exact, beginning = _words_of(one.rule.spec, self._narrow)
        rule = WordRule(one, words, exact, beginning)
        literal = tuple(word for word in words[:2] if isinstance(word, str))
        if not literal or not isinstance(words[0], str):
            self._others.append(rule)
            return
        self._by_words[literal].append(rule)
        if not _PLAIN_WORDS.fullmatch(literal[0]):
            self._odd.add(literal[0])
        self._by_program[literal[0]].append(rule)

    def spelling(self, line: str) -> Sourced | None:
        """The rule without a star whose text is this whole line."""
        return self._texts.get(line)

    def occurring(self, line: str) -> Sourced | None:
        """A rule whose program's name occurs anywhere in a line that was not understood, quotes and backslashes taken away."""
        bare = _QUOTING.sub("", line)
        if "$'" in line and "\\" in line:  # its escapes may spell any name
            return next(iter(self._listed()), None)
        words = (self._by_program[word][0].sourced for word in _PLAIN_WORDS.findall(bare) if word in self._by_program)
        odd = (self._by_program[program][0].sourced for program in self._odd if program in bare and _is_word_of(program, bare))
        others = (rule.sourced for rule in self._others)
        return next(words, None) or next(odd, None) or next(others, None) or next(iter(self._expressions), None)

    def _listed(self) -> Iterator[Sourced]:
        yield from (rule.sourced for rules in self._by_program.values() for rule in rules)
        yield from (rule.sourced for rule in self._others)
        yield from self._expressions

    def touching(self, act: Act) -> Sourced | None:
        """A rule that forbids or asks: whatever stands before the command, and wherever its program lies."""
        for words in _readings(act):
            for rule in self._candidates(words):
                if rule.covers(words):
                    return rule.sourced
            if len(words) > 2 and any(word[:1] == "-" for word in words[1:-1]):
                there = frozenset(words)
                for rule in self._about(words[0]):
                    if there.issuperset(rule.beginning) and rule.past_options(words)[0]:
                        return rule.sourced
        return self._by_expression(act)

    def _about(self, program: str) -> tuple[WordRule, ...]:
        return (*self._by_program.get(program, ()), *self._others)

    def _by_expression(self, act: Act) -> Sourced | None:
        if not self._expressions:
            return None
        readings = tuple(_readings(act))
        behind = [words for reading in readings for words in islice(_behind_options(reading), _MOST_COMMANDS + 1)]
        if len(behind) > _MOST_COMMANDS:
            return self._expressions[0]
        texts = (act.text, *map(" ".join, readings), *map(" ".join, behind))
        return next((one for one in self._expressions if any(_begins(one, text, late=True) for text in texts)), None)

    def perhaps(self, act: Act) -> Sourced | None:
        """A rule that could be meant by words that are only known when the command runs."""
        if not act.dynamic or not act.words:
            return None
        known = act.words[: act.dynamic[0]]
        if not known:
            return next(self._listed(), None)
        words = (_base(known[0]), *known[1:])
        return next((rule.sourced for rule in self._about(words[0]) if rule.past_options(words)[1]), None)

    def allowing(self, act: Act) -> Iterator[WordRule]:
        """The rules that allow the command as it stands, assignments and all; such as change nothing need no mention."""
        if not act.words or 0 in act.dynamic:
            return
        words = (*act.assignments, *act.words)
        yield from (rule for rule in self._candidates(words) if rule.covers(words))
        if act.assignments and not act.risk:
            words = act.words
            yield from (rule for rule in self._candidates(words) if rule.covers(words))
        plain = act.plain if act.plain and not act.risk else words
        if plain != words:
            yield from (rule for rule in self._candidates(plain) if rule.covers(plain))
        for one in self._expressions:
            if any(_begins(one, " ".join(text), late=False) for text in dict.fromkeys((words, plain))):
                yield WordRule(one, (), exact=False)
        if act.launched:
            yield from self._allowing_launched(act)

    def _allowing_launched(self, act: Act) -> Iterator[WordRule]:
        """``uv run pytest:*`` is as good as ``pytest:*``; ``uv run:*`` names nothing that it runs."""
        before = len(act.launched) - len(act.words)
        yield from (rule for rule in self._candidates(act.launched) if rule.spells(before + 1) and rule.covers(act.launched))
        text, unnamed = " ".join(act.launched), " ".join((*act.launched[:before], "\0"))
        for one in self._expressions:
            if _begins(one, text, late=False) and not _begins(one, unnamed, late=True):
                yield WordRule(one, (), exact=False)

    def _candidates(self, words: Sequence[str]) -> Sequence[WordRule]:
        if not self._others and words[0] not in self._by_program:
            return ()
        of_both = self._by_words.get(tuple(words[:2]), ())
        of_program = self._by_words.get((words[0],), ()) if len(words) > 1 else ()
        return (*of_both, *of_program, *self._others)


def _is_word_of(program: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(program)}(?![\w-])", text) is not None


def _readings(act: Act) -> Iterable[tuple[str, ...]]:
    """The command in all the ways in which a rule may name it."""
    if act.words and not (act.assignments or act.via or "/" in act.words[0]):
        return (act.words,)
    return _in_other_words(act)


def _in_other_words(act: Act) -> Iterator[tuple[str, ...]]:
    words = act.words
    if not words:
        if act.assignments:
            yield act.assignments
        return
    yield words
    base = (_base(words[0]), *words[1:])
    if base != words:
        yield base
    if act.assignments:
        yield (*act.assignments, *words)
        yield (*act.assignments, *base)
    for place, program in enumerate(act.via):
        yield (*map(_base, act.via[place:]), *base)
        if place < len(act.via) - 1:
            yield (_base(program), *base)


def _behind_options(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The program with what may be its command behind options, and the rest."""
    perhaps_value = False
    for place, word in enumerate(words[1:], 1):
        if word[:1] == "-":
            perhaps_value = not _stands_alone(words[0], word)
            continue
        if place > 1:
            yield (words[0], *words[place:])
        if not perhaps_value:
            return
        perhaps_value = False


def _stands_alone(program: str, option: str) -> bool:
    """Whether the word behind an option is surely not its value."""
    return option in _ALONE or (option.startswith("--") and "=" in option) or (program == "git" and option in _ALONE_OF_GIT)


def _base(program: str) -> str:
    return program.rpartition("/")[2] or program


def _begins(one: Sourced, text: str, *, late: bool) -> bool:
    """``late``: the answer for a text that is too long."""
    try:
        return expression(one.rule.command).begins(text)
    except TooLong:
        return late


@lru_cache(maxsize=65_536)
def _words_of(spec: str, narrow: bool) -> tuple[tuple[_Word, ...], bool, tuple[_Word, ...]]:
    """The words of a rule, whether they are exact, and its beginning; a star at the end, or ``:*``, is any words or none."""
    open_ended = spec.endswith((":*", " *"))
    plain = spec[:-2] if open_ended else spec
    words = tuple(_word(word, narrow=narrow) for word in _split(plain))
    exact = not open_ended and all(isinstance(word, str) for word in words)
    words = (*words, _REST) if open_ended else words
    return words, exact, _beginning(words)


def _beginning(words: tuple[_Word, ...]) -> tuple[_Word, ...]:
    spelled = words[:-1] if words[-1:] == (_REST,) else words
    return spelled if all(isinstance(word, str) for word in spelled) else ()


def _word(word: str, *, narrow: bool) -> _Word:
    if word == "*":
        return ("", "") if narrow else _REST
    return tuple(word.split("*")) if "*" in word else word


def _split(text: str) -> list[str]:
    if not any(quote in text for quote in "'\""):
        return text.split()
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _is(want: _Word, word: str) -> bool:
    return want == word if isinstance(want, str) else like(want, word)
