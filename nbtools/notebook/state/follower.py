"""The methods with which a page begins and ends to follow the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.core.methods import NoParams, method

if TYPE_CHECKING:
    from nbtools.notebook.channel import PageChannel
    from nbtools.notebook.state.comm import StateComm


class Follower:
    """One page, as it begins and ends to follow."""

    def __init__(self, state: StateComm, page: PageChannel) -> None:
        self._state = state
        self._page = page

    @method("state.follow")
    def follow(self, _: NoParams) -> None:
        self._state.follow(self._page)

    @method("state.leave")
    def leave(self, _: NoParams) -> None:
        self._state.leave(self._page)
