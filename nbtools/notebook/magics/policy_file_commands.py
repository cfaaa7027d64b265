"""The sub-commands of ``%tools`` about policy files:
listing rules, trusting a project, importing other agents' permissions.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.cards.tables import Sheet
from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.notebook.magics.completion import workspace_paths
from nbtools.notebook.magics.flags import refused, switch, word
from nbtools.notebook.magics.rule_commands import described, in_words
from nbtools.notebook.magics.sub_commands import SubCommand, inside, sheet_of_lines
from nbtools.policy.importers.claude import looks_like_claude, read_claude_settings
from nbtools.policy.importers.gemini_policies import read_gemini_policies
from nbtools.policy.importers.gemini_settings import read_gemini_settings
from nbtools.policy.importers.imported import ImportedPolicy
from nbtools.policy.layers import Layer, Policy, as_rule, grant_policy
from nbtools.policy.policy_file import VERBS, is_policy_file, read_policy
from nbtools.policy.store import StoredPolicy, Trust
from nbtools.workspace.files.read import read_bytes

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session

FROM_FILES = ("user", "project", "saved")
"""Names of the layers that are read from files."""
_TRUST_TITLES = {
    Trust.TRUSTED: "The project's rules are trusted.",
    Trust.UNKNOWN: "This project's allow rules are off until you trust them. Its ask and deny rules apply.",
    Trust.CHANGED: (
        "This project's allow rules are off, because the file has changed since you trusted it. Its ask and"
        " deny rules apply."
    ),
}


class LayerCommands:
    """The sub-commands about policy files."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self._displayed = ""
        self.commands = (
            SubCommand(
                "rules",
                "lists all rules with their source",
                self._rules,
                hint="takes no arguments. %tools allow, ask, deny and revoke change rules.",
            ),
            SubCommand(
                "trust",
                "shows the project's own rules; yes trusts them, no stops that",
                self._trust,
                (word("answer", choices=("yes", "no"), required=False),),
                "takes yes or no; without an argument it shows the project's rules.",
            ),
            SubCommand(
                "import",
                "imports the permission settings of Claude Code or Gemini CLI",
                self._import,
                (
                    switch("save"),
                    switch("project"),
                    word("path", offers=lambda _, fragment: workspace_paths(runtime, fragment), kind="path"),
                ),
                "takes one argument, as in %tools import .claude/settings.json.",
                usage="[--save|--project] PATH",
            ),
        )

    @property
    def _session(self) -> Session:
        return self._runtime.session

    # --- all rules

    def _rules(self) -> Sheet:
        session = self._session
        layers = (
            *session.layers,
            Layer("session", session.policy),
            Layer("this session's grants", grant_policy(session.grants)),
        )
        rows = tuple(row for layer in layers for row in _rows(layer))
        if not rows:
            return sheet_of_lines(f"There are no rules. The mode ({session.mode.value}) decides.")
        lines = (
            (
                f"The mode is {session.mode.value}. Deny rules win over ask rules, ask rules over allow"
                " rules, whatever their source."
            ),
        )
        return Sheet("", rows, (*lines, *session.store.problems()), ("", "rule", "source"), frozenset({1}))

    # --- trust

    def _trust(self, answer: str = "") -> Sheet:
        project, trust = self._session.store.project(), self._session.store.trust()
        if project.problem:
            raise PolicyError(project.problem)
        if trust is Trust.ABSENT:
            return sheet_of_lines(f"This project has no rules of its own: {project.path} does not exist.")
        if answer == "no":
            return self._set_trust(
                project, "", "Not trusted. The project's allow rules are off; its ask and deny rules apply."
            )
        if answer == "yes" and self._displayed in ("", project.digest):
            return self._set_trust(
                project, project.digest, "Trusted until the file changes. All of these rules apply now."
            )
        changed = answer == "yes"
        self._displayed = project.digest
        return self._trust_sheet(project, trust, changed=changed)

    def _set_trust(self, project: StoredPolicy, digest: str, title: str) -> Sheet:
        inside(self._runtime, lambda session: session.store.set_trust(digest))
        self.reload()
        self._displayed = ""
        revoke = ("%tools trust no revokes this.",) if digest else ()
        return replace(
            self._sheet_of(project, trusted=bool(digest)),
            title=title,
            lines=(f"The file is {project.path}.", *revoke),
        )

    def _trust_sheet(self, project: StoredPolicy, trust: Trust, *, changed: bool) -> Sheet:
        trusted = trust is Trust.TRUSTED
        title = _TRUST_TITLES[trust]
        if changed:
            title = "Not trusted, because the file has changed since you viewed it. These are its rules now."
        how = (
            "%tools trust no revokes this."
            if trusted
            else "%tools trust yes turns the allow rules on, until the file changes."
        )
        return replace(
            self._sheet_of(project, trusted=trusted), title=title, lines=(f"The file is {project.path}.", how)
        )

    def _sheet_of(self, project: StoredPolicy, *, trusted: bool) -> Sheet:
        """Returns the rules of the file, each with a description."""
        named = self._session.tool_named
        rules = [(verb, rule) for verb in VERBS for rule in getattr(project.policy, verb)]
        rows = [
            (verb, described(rule), in_words(as_rule(rule, Action(verb)), named), _state(verb, trusted))
            for verb, rule in rules
        ]
        about = "describes what the program does, so that rules can allow it"
        rows += [("program", name, about, _state("allow", trusted)) for name in project.policy.programs]
        if project.policy.mode:
            rows.insert(
                0,
                (
                    "mode",
                    project.policy.mode,
                    "applies where no rule does",
                    "on" if trusted else "on where it is stricter",
                ),
            )
        return Sheet("", tuple(rows), (), ("", "rule", "applies to", "state"), frozenset({1}))

    def reload(self) -> None:
        """Reloads the policy files."""
        inside(self._runtime, lambda session: setattr(session, "layers", with_files(session)))

    # --- permissions of other agents

    def _import(self, path: str, *, save: bool = False, project: bool = False) -> Sheet:
        if save and project:
            raise refused(
                "%tools import saves to one file: use either --save (your own) or --project (the project's)."
            )
        file = self._resolve(path)
        imported = read_permissions(file, self._session)
        if imported.policy == Policy():
            return replace(
                sheet_of_lines(f"{file} has no permissions that can be imported."),
                lines=_not_carried(imported),
            )
        if save or project:
            store = self._session.store
            result = self._save(imported.policy, store.project_path if project else store.user_path)
        else:
            result = self._add(imported.policy)
        mode = f" The mode is {imported.policy.mode}." if imported.policy.mode else ""
        lines = _not_carried(imported)
        rows = tuple((verb, described(rule)) for verb in VERBS for rule in getattr(imported.policy, verb))
        rows += tuple(("program", name) for name in imported.policy.programs)
        return Sheet(f"{result}{mode}", rows, lines, ("", "rule"), frozenset({1}))

    def _resolve(self, text: str) -> Path:
        """Returns the path relative to the workspace or, if it does not exist there,
        to the notebook's folder.
        """
        path = Path(text).expanduser()
        candidates = (self._session.workspace.root / path, Path.cwd() / path)
        return Path(os.path.realpath(next((one for one in candidates if one.exists()), candidates[0])))

    def _add(self, policy: Policy) -> str:
        own = self._session.policy
        lists = {verb: tuple(dict.fromkeys((*getattr(own, verb), *getattr(policy, verb)))) for verb in VERBS}
        joined = Policy(policy.mode or own.mode, **lists, programs={**own.programs, **policy.programs})
        inside(self._runtime, lambda session: setattr(session, "policy", joined))
        return (
            "Imported for this session. --save writes the rules to your own file, --project to the project's."
        )

    def _save(self, policy: Policy, path: Path) -> str:
        store = self._session.store
        inside(self._runtime, lambda session: session.store.add(path, policy))
        self.reload()
        trusted = path != store.project_path or store.trust() is Trust.TRUSTED
        return f"Added to {path}." + (
            "" if trusted else " Its allow rules are off until you trust the file: %tools trust."
        )


def with_files(session: Session) -> tuple[Layer, ...]:
    """Returns the session's layers, with those from files reloaded."""
    return (*(layer for layer in session.layers if layer.name not in FROM_FILES), *session.store.layers())


def read_permissions(path: Path, session: Session) -> ImportedPolicy:
    """Reads the permissions in a file of any supported agent.  Raises ``PolicyError`` or ``ToolFailure``."""
    text = read_bytes(path, str(path)).decode(errors="replace")
    if path.suffix == ".toml":
        return (
            ImportedPolicy(read_policy(text, path.name), ())
            if is_policy_file(text)
            else read_gemini_policies(text, session.tool_named)
        )
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise PolicyError(f"{path} is not valid JSON: {error}. (TOML files must end in .toml.)") from None
    if isinstance(settings, dict) and looks_like_claude(settings):
        return read_claude_settings(text, session.tool_named, source=_source(path, session))
    if path.parent.name == ".gemini" or (
        isinstance(settings, dict) and {"tools", "mcp", "mcpServers"} & set(settings)
    ):
        return read_gemini_settings(text, session.tool_named)
    raise PolicyError(
        f"{path} has no permissions of Claude Code (key permissions) or Gemini CLI (keys tools, mcp)."
    )


def _source(path: Path, session: Session) -> str:
    """Returns the folder that ``/path`` in a Claude Code file is relative to:
    the project's, or ``~/.claude`` for the person's file.
    """
    home = Path("~/.claude").expanduser()
    if path.parent == home:
        return "~/.claude"
    folder = path.parent.parent if path.parent.name == ".claude" else path.parent
    return "" if session.workspace.root in (folder, path.parent) else str(folder)


def _rows(layer: Layer) -> list[tuple[str, str, str]]:
    active = {verb: layer.trusted or verb != "allow" for verb in VERBS}
    source = {verb: layer.name if active[verb] else f"{layer.name}; off: not trusted" for verb in VERBS}
    rules = [
        (verb, described(rule), source[verb])
        for verb in ("deny", "ask", "allow")
        for rule in getattr(layer.policy, verb)
    ]
    return [*rules, *(("program", name, source["allow"]) for name in layer.policy.programs)]


def _state(verb: str, trusted: bool) -> str:
    return "on" if trusted or verb != "allow" else "off until trusted"


def _not_carried(imported: ImportedPolicy) -> tuple[str, ...]:
    if not imported.not_carried:
        return ("All of its permissions were imported.",) if imported.policy != Policy() else ()
    return ("Not imported:", *(f"· {sentence}" for sentence in imported.not_carried))
