"""Index of rules about commands, matched word by word and found by their program, so that few are tried."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING, TypeAlias

from nbtools.policy.layers import SourcedRule
from nbtools.policy.patterns import TextTooLong, expression, matches_pieces

if TYPE_CHECKING:
    from nbtools.shell import AnalysedCommand

_Word: TypeAlias = str | tuple[str, ...]
"""A literal word, or the pieces between the stars of a pattern."""
_QUOTING = re.compile(r"""\\\n|['"\\]""")
_REST: tuple[str, ...] = ("", "", "")
"""The pattern that stands for any number of words."""


@dataclass(frozen=True, slots=True)
class WordRule:
    """A rule split into words.  ``exact``: whether it has no star anywhere."""

    sourced: SourcedRule
    words: tuple[_Word, ...]
    exact: bool
    beginning: tuple[_Word, ...] = ()
    """Its words, if literal but for a star at the end; else empty, and each word is compared."""

    def covers(self, words: Sequence[str]) -> bool:
        """Whether the rule matches; a star alone is any number of words (one point to backtrack to)."""
        if self.beginning:
            return tuple(words[: len(self.beginning)]) == self.beginning and not (
                self.exact and len(words) > len(self.beginning)
            )
        place = at = 0
        star, resume = -1, 0
        while at < len(words):
            if place < len(self.words) and self.words[place] == _REST:
                star, resume = place, at
                place += 1
            elif place < len(self.words) and _matches(self.words[place], words[at]):
                place, at = place + 1, at + 1
            elif star >= 0:
                resume += 1
                place, at = star + 1, resume
            else:
                return False
        return all(word == _REST for word in self.words[place:])

    def spells_out(self, count: int) -> bool:
        """Whether its first ``count`` words are literal."""
        return 0 < count <= len(self.words) and all(isinstance(word, str) for word in self.words[:count])

    def covers_past_options(self, words: Sequence[str]) -> tuple[bool, bool]:
        """Returns whether the rule matches, and whether it could with more words, with options in between.

        ``git push`` matches ``git -C sub --no-pager push``.  The word after an option may be its value unless
        the option is known to take none.  This matches more than the command means, so it is only for deny
        and ask rules.
        """
        states = self._with_empty_stars({(0, False)})
        for word in words:
            following = set()
            for place, perhaps_value in states:
                pattern = self.words[place] if place < len(self.words) else None
                if pattern == _REST:
                    following.add((place, False))
                elif pattern is not None and _matches(pattern, word):
                    following.add((place + 1, False))
                if pattern is not None and place and word[:1] == "-":
                    following.add((place, not _takes_no_value(words[0], word)))
                elif pattern is not None and perhaps_value:
                    following.add((place, False))
            states = self._with_empty_stars(following)
            if not states:
                return False, False
        places = {place for place, _ in states}
        return len(self.words) in places, any(place < len(self.words) for place in places)

    def _with_empty_stars(self, states: set[tuple[int, bool]]) -> set[tuple[int, bool]]:
        """Adds the states that are reached where a star matches no words."""
        for start, _ in tuple(states):
            stars = takewhile(lambda place: self.words[place] == _REST, range(start, len(self.words)))
            states.update((place + 1, False) for place in stars)
        return states


_ALONE = frozenset(("--", "--silent", "--quiet", "--verbose", "--yes", "--help", "--version"))
"""Options that take no value in any program."""
_WITH_GIT = "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects -p --paginate --bare"
_ALONE_OF_GIT = frozenset(_WITH_GIT.split())
_MOST_COMMANDS = 50
_PLAIN_WORDS = re.compile(r"[\w-]+")


class CommandRules:
    """An index of rules about commands."""

    def __init__(self, rules: Iterable[SourcedRule], *, narrow: bool = False) -> None:
        """Indexes the rules; ``narrow`` (allow rules): a star alone in the middle matches one word."""
        self._narrow = narrow
        self._by_words: dict[tuple[str, ...], list[WordRule]] = defaultdict(list)
        self._by_program: dict[str, list[WordRule]] = defaultdict(list)
        self._odd: set[str] = set()
        """Programs with other characters than letters, digits, underscores and dashes in their names."""
        self._others: list[WordRule] = []
        self._expressions: list[SourcedRule] = []
        self._texts: dict[str, SourcedRule] = {}
        self._literal: list[SourcedRule] = []
        self._filled = False
        for one in rules:
            self._add(one)

    def __bool__(self) -> bool:
        return self._filled

    def _add(self, one: SourcedRule) -> None:
        self._filled = True
        if one.rule.literal:
            self._literal.append(one)
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

    def find_exact(self, line: str) -> SourcedRule | None:
        """Returns the rule without a star whose text is exactly this line, or None."""
        return self._texts.get(line)

    def find_mentioned(self, line: str) -> SourcedRule | None:
        """Returns a rule whose program the line mentions, quotes and backslashes ignored."""
        bare = _QUOTING.sub("", line)
        if "$'" in line and "\\" in line:  # escapes in $'…' can spell any name
            return next(iter(self._listed()), None)
        words = (
            self._by_program[word][0].sourced
            for word in _PLAIN_WORDS.findall(bare)
            if word in self._by_program
        )
        odd = (
            self._by_program[program][0].sourced
            for program in self._odd
            if program in bare and re.search(rf"(?<![\w-]){re.escape(program)}(?![\w-])", bare) is not None
        )
        others = (rule.sourced for rule in self._others)
        return (
            next(words, None) or next(odd, None) or next(others, None) or next(iter(self._expressions), None)
        )

    def _listed(self) -> Iterator[SourcedRule]:
        yield from (rule.sourced for rules in self._by_program.values() for rule in rules)
        yield from (rule.sourced for rule in self._others)
        yield from self._expressions

    def find_touching(self, act: AnalysedCommand) -> SourcedRule | None:
        """Returns a deny or ask rule that matches, whatever starts the program or its folder is."""
        for words in _forms(act):
            for rule in self._candidates(words):
                if rule.covers(words):
                    return rule.sourced
            if len(words) > 2 and any(word[:1] == "-" for word in words[1:-1]):
                present = frozenset(words)
                for rule in self._about(words[0]):
                    if present.issuperset(rule.beginning) and rule.covers_past_options(words)[0]:
                        return rule.sourced
        return self._by_expression(act)

    def _about(self, program: str) -> tuple[WordRule, ...]:
        return (*self._by_program.get(program, ()), *self._others)

    def _by_expression(self, act: AnalysedCommand) -> SourcedRule | None:
        if not self._expressions:
            return None
        forms = tuple(_forms(act))
        after = [words for form in forms for words in islice(_after_options(form), _MOST_COMMANDS + 1)]
        if len(after) > _MOST_COMMANDS:
            return self._expressions[0]
        texts = (act.text, *map(" ".join, forms), *map(" ".join, after))
        return next(
            (one for one in self._expressions if any(_begins(one, text, if_too_long=True) for text in texts)),
            None,
        )

    def find_possible(self, act: AnalysedCommand) -> SourcedRule | None:
        """Returns a rule that could match, depending on words that are only known when the command runs."""
        if not act.dynamic or not act.words:
            return None
        known = act.words[: act.dynamic[0]]
        if not known:
            return next(self._listed(), None)
        words = (_base_name(known[0]), *known[1:])
        return next(
            (rule.sourced for rule in self._about(words[0]) if rule.covers_past_options(words)[1]), None
        )

    def find_allowing(self, act: AnalysedCommand) -> Iterator[WordRule]:
        """Yields allow rules for the command; harmless assignments may be missing in the rule."""
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
            if any(_begins(one, " ".join(text), if_too_long=False) for text in dict.fromkeys((words, plain))):
                yield WordRule(one, (), exact=False)
        if act.launched:
            yield from self._allowing_launched(act)

    def _allowing_launched(self, act: AnalysedCommand) -> Iterator[WordRule]:
        """Yields rules with a launcher: ``uv run pytest:*`` counts, but ``uv run:*`` names no program."""
        before = len(act.launched) - len(act.words)
        yield from (
            rule
            for rule in self._candidates(act.launched)
            if rule.spells_out(before + 1) and rule.covers(act.launched)
        )
        text, unnamed = " ".join(act.launched), " ".join((*act.launched[:before], "\0"))
        for one in self._expressions:
            if _begins(one, text, if_too_long=False) and not _begins(one, unnamed, if_too_long=True):
                yield WordRule(one, (), exact=False)

    def find_literal(self, text: str) -> SourcedRule | None:
        """Returns a literal rule whose words or expression the text begins with, unparsed."""
        return next((one for one in self._literal if _begins_literally(one, text)), None)

    def _candidates(self, words: Sequence[str]) -> Sequence[WordRule]:
        if not self._others and words[0] not in self._by_program:
            return ()
        of_both = self._by_words.get(tuple(words[:2]), ())
        of_program = self._by_words.get((words[0],), ()) if len(words) > 1 else ()
        return (*of_both, *of_program, *self._others)


def _forms(act: AnalysedCommand) -> Iterable[tuple[str, ...]]:
    """Returns the command in each form that a rule may use for it."""
    if act.words and not (act.assignments or act.via or "/" in act.words[0]):
        return (act.words,)
    return _all_forms(act)


def _all_forms(act: AnalysedCommand) -> Iterator[tuple[str, ...]]:
    words = act.words
    if not words:
        if act.assignments:
            yield act.assignments
        return
    yield words
    base = (_base_name(words[0]), *words[1:])
    if base != words:
        yield base
    if act.assignments:
        yield (*act.assignments, *words)
        yield (*act.assignments, *base)
    for place, program in enumerate(act.via):
        yield (*map(_base_name, act.via[place:]), *base)
        if place < len(act.via) - 1:
            yield (_base_name(program), *base)


def _after_options(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields the program with each possible sub-command after options, and the words after that."""
    perhaps_value = False
    for place, word in enumerate(words[1:], 1):
        if word[:1] == "-":
            perhaps_value = not _takes_no_value(words[0], word)
            continue
        if place > 1:
            yield (words[0], *words[place:])
        if not perhaps_value:
            return
        perhaps_value = False


def _takes_no_value(program: str, option: str) -> bool:
    """Whether the word after an option is certainly not its value."""
    return (
        option in _ALONE
        or (option.startswith("--") and "=" in option)
        or (program == "git" and option in _ALONE_OF_GIT)
    )


def _base_name(program: str) -> str:
    return program.rpartition("/")[2] or program


def _begins(one: SourcedRule, text: str, *, if_too_long: bool) -> bool:
    """Whether the expression matches at the beginning; ``if_too_long`` is the answer for a long text."""
    try:
        return expression(one.rule.command).matches_start(text)
    except TextTooLong:
        return if_too_long


def _begins_literally(one: SourcedRule, text: str) -> bool:
    if one.rule.command:
        return _begins(one, text, if_too_long=False)
    words = one.rule.spec.removesuffix(":*")
    return text == words or text.startswith((f"{words} ", f'{words}"'))


@lru_cache(maxsize=65_536)
def _words_of(spec: str, narrow: bool) -> tuple[tuple[_Word, ...], bool, tuple[_Word, ...]]:
    """Returns a rule's words, whether exact, and its beginning; `` *`` or ``:*`` ends it with any words."""
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


def _matches(pattern: _Word, word: str) -> bool:
    return pattern == word if isinstance(pattern, str) else matches_pieces(pattern, word)
