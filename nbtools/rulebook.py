"""The rules that a session goes by: those of its layers, its own, and what the person has allowed since."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from nbtools.core.decision import Action
from nbtools.layers import grounds, policy_store
from nbtools.policy.decide import Judge, Policy
from nbtools.policy.granted import Grant
from nbtools.policy.layers import SAVED, SESSION, Layer, as_rule
from nbtools.policy.rules import read_rule
from nbtools.policy.store import PolicyStore

_OF_SERVER = re.compile(r"(?!mcp__)(?:mcp_|[^*]+__)")


class Rulebook:
    """``judge`` decides by the rules as they are now; ``changed`` is told each new one.  ``tool_named``: which tool a rule's name means."""

    def __init__(
        self,
        root: Path,
        policy: Policy,
        layers: Iterable[Layer],
        tool_named: Callable[[str], str],
        changed: Callable[[Judge], None],
    ) -> None:
        self._root = root
        self._policy = policy
        self._layers = tuple(layers)
        self._tool_named = tool_named
        self._changed = changed
        self._grounds = grounds(root)
        self._given: dict[str, Grant] = {}
        self.judge = self._judge()

    def renew(self) -> None:
        """Judges anew: by other rules, or in other names for the tools."""
        self.judge = self._judge()
        self._changed(self.judge)

    def _judge(self) -> Judge:
        return Judge((*self._layers, Layer(SESSION, self._policy)), self._given, self._tool_named, self._grounds)

    @property
    def names_servers(self) -> bool:
        """Whether a rule names a tool of a server as Gemini CLI does: ``mcp_server_tool``, ``server__tool``."""
        rules = (
            rule
            for policy in (self._policy, *(layer.policy for layer in self._layers))
            for action in Action
            for rule in policy.rules(action)
        )
        return any(_OF_SERVER.match(as_rule(rule).tool) for rule in (*rules, *self._given))

    @property
    def policy(self) -> Policy:
        """The session's own rules."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._policy = policy
        self.renew()

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The rules below the session's own, the strongest last."""
        return self._layers

    @layers.setter
    def layers(self, layers: Iterable[Layer]) -> None:
        self._layers = tuple(layers)
        self.renew()

    @property
    def given(self) -> tuple[str, ...]:
        """What has been allowed for this session, oldest first."""
        return tuple(self._given)

    @property
    def saved(self) -> tuple[str, ...]:
        """What has been allowed for later sessions, too, as far as it is among the layers."""
        return tuple(str(rule) for layer in self._layers if layer.name == SAVED for rule in layer.policy.allow)

    @property
    def granted(self) -> tuple[Grant, ...]:
        """Both, with when and where they come from; reads what is kept on the disk."""
        saved = self.saved
        return (*(grant for grant in self.store.grants() if grant.rule in saved), *self._given.values())

    @property
    def store(self) -> PolicyStore:
        """Where rules of the person and of this project are kept, with the saved grants and whether the project is trusted."""
        return policy_store(self._root)

    def allow(self, rule: str, *, save: bool, by: str) -> None:
        """Raises ``PolicyError`` for what is no rule; ``ToolFailure`` where it cannot be kept, and then nothing has changed."""
        read_rule(rule)
        grant = Grant(rule, save, time.time(), by)
        if save:
            self.store.save(self._given.get(rule, grant))
            self._given.pop(rule, None)
            self._have_saved((*(one for one in self.saved if one != rule), rule))
            return
        self._given.setdefault(rule, grant)
        self.renew()

    def revoke(self, rule: str) -> bool:
        """Out of what is kept, too.  False when there is none like it.  Raises ``ToolFailure``."""
        if rule not in self._given and rule not in self.saved:
            return False
        if rule in self.saved:
            self.store.forget(rule)
        self._given.pop(rule, None)
        self._have_saved(tuple(one for one in self.saved if one != rule))
        return True

    def _have_saved(self, rules: tuple[str, ...]) -> None:
        """Only those of this session: what others have kept meanwhile is in force when a session is opened."""
        others = tuple(layer for layer in self._layers if layer.name != SAVED)
        self.layers = (*others, Layer(SAVED, Policy(allow=rules))) if rules else others
