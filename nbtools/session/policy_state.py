"""The policy of a session: its layers, own rules and grants; loads the layers that outlast it."""

from __future__ import annotations

import os
import re
import stat
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from nbtools.core.decision import Action
from nbtools.core.errors import ToolFailure, from_os_error
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.grants import Grant
from nbtools.policy.layers import SAVED, SESSION, Layer, as_rule, grant_policy
from nbtools.policy.path_rules import PathContext
from nbtools.policy.rules import Rule, read_rule
from nbtools.policy.store import PolicyStore
from nbtools.storage.state_folder import config_folder, state_folder, state_path, workspace_key
from nbtools.workspace.files.read import read_bytes
from nbtools.workspace.paths import real_path
from nbtools.workspace.processes.environment import program_folders


def policy_layers(root: str | os.PathLike[str] = ".") -> tuple[Layer, ...]:
    """Loads the workspace's saved policy layers, for ``Session(root, layers=policy_layers(root))``.

    Notebooks load them by themselves.  ``user``: ``policy.toml`` in ``$NBTOOLS_CONFIG`` or the user's
    configuration folder.  ``project``: ``.nbtools/policy.toml`` in the workspace; until the person trusts it
    (``%tools trust``), only its deny and ask rules apply.  ``saved``: grants.  A file that cannot be read
    causes a warning, and then every call needs approval.
    """
    store = policy_store(root)
    for problem in store.problems():
        warnings.warn(problem, stacklevel=2)
    return store.layers()


def policy_store(root: str | os.PathLike[str] = ".") -> PolicyStore:
    """Returns the store of saved rules and grants. Raises ``ToolFailure`` without a state folder."""
    real = Path(os.path.realpath(root))
    try:
        return PolicyStore(real, config_folder(), state_folder(), workspace_key(real))
    except OSError as error:
        raise from_os_error(error, f"The state folder {error.filename}") from None


def path_context(root: Path) -> PathContext:
    """Returns the folders of rules about paths: workspace, home, nbtools' own, programs."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where there is none
    homes = dict.fromkeys((home, os.path.realpath(home))) if home.startswith("/") else ()
    own = tuple(os.path.realpath(folder) for folder in (state_path(), config_folder()))
    start = str(root)
    return PathContext(
        start,
        tuple(homes),
        own,
        _programs(start),
        real=lambda path: _real(start, path),
        exists=_exists,
        text=_text,
        option_like_name=lambda: _odd_name(start),
        has_links=_contains_links,
    )


def _programs(root: str) -> tuple[str, ...]:
    """Lists the folders of programs inside the workspace, links both by their own and by their real path."""
    # A write to such a folder can replace the program that a command starts.
    named = dict.fromkeys(
        name
        for folder in program_folders(os.environ)
        for name in (os.path.normpath(folder), os.path.realpath(folder))
    )
    return tuple(folder for folder in named if folder == root or folder.startswith(f"{root.rstrip('/')}/"))


_MAX_LOOKED_AT = 2_000


def _contains_links(folder: str) -> bool:
    """Whether there is a link anywhere in a folder, or so much that it is not known."""
    entries, pending = 0, [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > _MAX_LOOKED_AT or entry.is_symlink():
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            continue
    return False


_ODD = re.compile(r"(?:\A|[\s'\"\\])-")
_MAX_NAMES = 50_000


def _odd_name(root: str) -> str:
    """Reports a file whose name, or a part after blank or quote, a program may take for an option.

    With more than ``_MAX_NAMES`` files it reports that instead.
    """
    folders, seen = [root], 0
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if _ODD.search(entry.name):
                        return f"a file is named {entry.name!r}, which programs may read as an option"
                    if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue
        if seen > _MAX_NAMES:
            return f"there are more than {_MAX_NAMES:,} files, too many to check their names"
    return ""


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # NUL or a lone surrogate
        return False


_MAX_TEXT = 4_000_000


def _text(path: str) -> str | None:
    """Reads a regular file of at most ``_MAX_TEXT`` bytes; None for anything else."""
    try:
        data = read_bytes(Path(path), path, _MAX_TEXT)
    except (ToolFailure, OSError, ValueError):
        return None
    return data.decode("utf-8", "surrogateescape")


def _real(root: str, path: str) -> str:
    """Resolves symbolic links; a text that can be no path stays. ``root`` is resolved already.

    Returns an empty text for a path through a link in ``/proc``:
    for the command it leads elsewhere than for this process.
    """
    try:
        if not path.startswith(f"{root}/"):
            try:
                return real_path("/", path)
            except OSError:
                return os.path.realpath(path)
        below = path[len(root) + 1 :]
        return real_path(root, below) if _has_links(root, below) else path
    except ToolFailure:
        return ""
    except (OSError, ValueError):  # a cycle of links, a name that is too long; NUL or a lone surrogate
        return path


def _has_links(root: str, below: str) -> bool:
    """Whether a part of the path is a link. Cheaper than resolving, and most paths have none."""
    step = root
    for part in below.split("/"):
        step = f"{step}/{part}"
        try:
            mode = os.lstat(step).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        if stat.S_ISLNK(mode):
            return True
    return False


_OF_SERVER = re.compile(r"(?!mcp__)(?:mcp_|[^*]+__)")


class PolicyState:
    """The rules and grants of one session.

    ``judge`` decides by the current rules; ``changed`` is called with each new judge.
    ``tool_named`` returns the canonical tool that a name in a rule means.
    """

    def __init__(
        self,
        root: Path,
        policy: Policy,
        layers: Iterable[Layer],
        tool_named: Callable[[str], str],
        changed: Callable[[PolicyEngine], None],
    ) -> None:
        self._root = root
        self._policy = policy
        self._layers = tuple(layers)
        self._tool_named = tool_named
        self._changed = changed
        self._grounds = path_context(root)
        self._session_grants: dict[str, Grant] = {}
        self.judge = self._judge()

    def rebuild(self) -> None:
        """Builds a new judge, after the rules or the names of tools have changed."""
        self.judge = self._judge()
        self._changed(self.judge)

    def _judge(self) -> PolicyEngine:
        return PolicyEngine(
            (*self._layers, Layer(SESSION, self._policy)),
            self._session_grants,
            self._tool_named,
            self._grounds,
        )

    @property
    def names_servers(self) -> bool:
        """Whether a rule names an MCP tool as Gemini CLI does: ``mcp_server_tool``, ``server__tool``."""
        rules = (
            rule
            for policy in (self._policy, *(layer.policy for layer in self._layers))
            for action in Action
            for rule in policy.rules(action)
        )
        return any(
            _OF_SERVER.match((rule if isinstance(rule, Rule) else read_rule(rule)).tool)
            for rule in (*rules, *self._session_grants)
        )

    @property
    def policy(self) -> Policy:
        """The session's own rules."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._policy = policy
        self.rebuild()

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers below the session's own rules, the strongest last."""
        return self._layers

    @layers.setter
    def layers(self, layers: Iterable[Layer]) -> None:
        self._layers = tuple(layers)
        self.rebuild()

    @property
    def session_grants(self) -> tuple[str, ...]:
        """The grants for this session only, oldest first."""
        return tuple(self._session_grants)

    @property
    def saved_grants(self) -> tuple[str, ...]:
        """The saved grants, as far as they are among this session's layers."""
        return tuple(
            str(rule) for layer in self._layers if layer.name == SAVED for rule in layer.policy.allow
        )

    @property
    def all_grants(self) -> tuple[Grant, ...]:
        """All grants, saved ones first, with their time and origin; reads the saved ones from disk."""
        saved = self.saved_grants
        return (
            *(grant for grant in self.store.grants() if grant.rule in saved),
            *self._session_grants.values(),
        )

    @property
    def store(self) -> PolicyStore:
        """The store of the person's and the project's rules, the saved grants and the project's trust."""
        return policy_store(self._root)

    def allow(self, rule: str, *, save: bool, by: str) -> None:
        """Adds a grant. Raises ``PolicyError`` if invalid, ``ToolFailure`` if not saved; all stays then."""
        as_rule(rule, Action.ALLOW)
        grant = Grant(rule, save, time.time(), by)
        if save:
            self.store.save(self._session_grants.get(rule, grant))
            self._session_grants.pop(rule, None)
            self._set_saved((*(saved for saved in self.saved_grants if saved != rule), rule))
            return
        self._session_grants.setdefault(rule, grant)
        self.rebuild()

    def revoke(self, rule: str) -> bool:
        """Removes a grant, also from disk. Returns False if there is none. Raises ``ToolFailure``."""
        if rule not in self._session_grants and rule not in self.saved_grants:
            return False
        if rule in self.saved_grants:
            self.store.remove(rule)
        self._session_grants.pop(rule, None)
        self._set_saved(tuple(saved for saved in self.saved_grants if saved != rule))
        return True

    def _set_saved(self, rules: tuple[str, ...]) -> None:
        # Grants that other sessions have saved since apply to sessions opened later, not to this one.
        others = tuple(layer for layer in self._layers if layer.name != SAVED)
        self.layers = (*others, Layer(SAVED, grant_policy(rules))) if rules else others
