"""Facets to filter the steps of a log by, besides those that follow from the steps themselves."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence


class Facet(ABC):
    """A group of choices by which lines can be filtered.

    A line matches a facet if it has one of the chosen keys, and the whole filter if it matches every facet.
    ``name`` has no colon.  ``menu``: the choices are a menu, because there are many, instead of chips.
    """

    name: str
    label: str
    menu = False

    @abstractmethod
    def lines(self) -> Mapping[str, Sequence[int]]:
        """Returns the lines of every key, in order; the keys in the order in which they are offered."""

    def title(self, key: str) -> str:
        """Returns what the choice means, to show on hover."""
        return ""

    def offered(self) -> Sequence[str]:
        """Returns the keys that are offered."""
        return tuple(self.lines())


class Facets:
    """The facets that were added to an explorer, by name."""

    def __init__(self) -> None:
        self._added: dict[str, Facet] = {}

    @property
    def added(self) -> Sequence[Facet]:
        return tuple(self._added.values())

    def add(self, facet: Facet) -> None:
        """Adds a facet, or replaces the one of the same name."""
        self._added[facet.name] = facet

    def changed(self) -> None:
        """Does nothing; it goes with the next release."""
        warnings.warn(
            "explorer.facets.changed() is not needed any more and goes with the next release: pages ask for"
            " the lines of a facet when they filter.",
            DeprecationWarning,
            stacklevel=2,
        )
