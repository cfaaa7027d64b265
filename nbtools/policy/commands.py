"""Rules about commands: word by word, found by their program, so that a command is held against few of many."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from nbtools.policy.layers import Sourced
from nbtools.policy.patterns import TooLong, expression, like

if TYPE_CHECKING:
    from nbtools.core.shell_acts import Act

_Word: TypeAlias = str | tuple[str, ...]
"""A word as it is, or the pieces between the stars of one."""
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

    def begins(self, words: Sequence[str]) -> bool:
        """Whether it goes on from these words, with something that they do not say."""
        return len(self.words) > len(words) and all(want == _REST or _is(want, word) for want, word in zip(self.words, words, strict=False))


class CommandRules:
    """Many rules about commands."""

    def __init__(self, rules: Iterable[Sourced], *, narrow: bool = False) -> None:
        """``narrow``: for rules that allow, where a star alone in the middle is one word."""
        self._narrow = narrow
        self._by_words: dict[tuple[str, ...], list[WordRule]] = defaultdict(list)
        self._by_program: dict[str, list[WordRule]] = defaultdict(list)
        self._others: list[WordRule] = []
        self._expressions: list[Sourced] = []
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
        words, exact, beginning = _words_of(one.rule.spec, self._narrow)
        rule = WordRule(one, words, exact, beginning)
        literal = tuple(word for word in words[:2] if isinstance(word, str))
        if not literal or not isinstance(words[0], str):
            self._others.append(rule)
            return
        self._by_words[literal].append(rule)
        self._by_program[literal[0]].append(rule)

    def touching(self, act: Act) -> Sourced | None:
        """A rule that forbids or asks: whatever stands before the command, and wherever its program lies."""
        for words in _readings(act):
            for rule in self._candidates(words):
                if rule.covers(words):
                    return rule.sourced
        return self._by_expression(act)

    def _by_expression(self, act: Act) -> Sourced | None:
        texts = (act.text, *map(" ".join, _readings(act))) if self._expressions else ()
        return next((one for one in self._expressions if any(_begins(one, text, late=True) for text in texts)), None)

    def perhaps(self, act: Act) -> Sourced | None:
        """A rule that could be meant by words that are only known when the command runs."""
        if not act.dynamic or not act.words:
            return None
        known = act.words[: act.dynamic[0]]
        if not known:
            listed: Iterable[WordRule] = (rule for rules in self._by_program.values() for rule in rules)
            first = next(iter(listed), None) or next(iter(self._others), None)
            return first.sourced if first else next(iter(self._expressions), None)
        words = (_base(known[0]), *known[1:])
        candidates = (*self._by_program.get(words[0], ()), *self._others)
        return next((rule.sourced for rule in candidates if rule.begins(words)), None)

    def allowing(self, act: Act) -> Iterator[WordRule]:
        """The rules that allow the command as it stands, assignments and all; such as change nothing need no mention."""
        if not act.words or 0 in act.dynamic:
            return
        words = (*act.assignments, *act.words)
        yield from (rule for rule in self._candidates(words) if rule.covers(words))
        if act.assignments and not act.risk:
            words = act.words
            yield from (rule for rule in self._candidates(words) if rule.covers(words))
        if self._expressions:
            text = " ".join(words)
            yield from (WordRule(one, (), exact=False) for one in self._expressions if _begins(one, text, late=False))
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
