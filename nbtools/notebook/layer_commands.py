"""The sub-commands of ``%tools`` about rules from files: to trust a project's, to bring in another program's."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.core.errors import PolicyError
from nbtools.notebook.rule_commands import described
from nbtools.notebook.rule_words import in_words
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.sub_commands import SubCommand, inside, one_of, refused, said, without_flags
from nbtools.policy.claude_settings import looks_like_claude, read_claude_settings
from nbtools.policy.gemini_policies import read_gemini_policies
from nbtools.policy.gemini_settings import read_gemini_settings
from nbtools.policy.imported import Imported
from nbtools.policy.layers import Layer, Policy
from nbtools.policy.policy_file import VERBS, is_policy_file, read_policy
from nbtools.policy.store import KeptPolicy, Trust
from nbtools.workspace.files import read_bytes

if TYPE_CHECKING:
    from nbtools.notebook.workbench import Workbench
    from nbtools.session import Session

FROM_FILES = ("user", "project", "saved")
"""The layers that come from files."""
_STANDS = {
    Trust.TRUSTED: "The project's rules are trusted.",
    Trust.UNKNOWN: "The project's rules are not trusted: only what forbids or asks counts.",
    Trust.CHANGED: "The project's rules have changed since you trusted them: only what forbids or asks counts.",
}


class LayerCommands:
    """The sub-commands.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._shown = ""
        self.commands = {
            "rules": SubCommand("", "every rule in force, and where it stands", self._rules),
            "trust": SubCommand("[yes|no]", "what the project's own rules would allow; let them, or not", self._trust),
            "import": SubCommand("[--save|--project] PATH", "take over the permissions of Claude Code or Gemini CLI", self._import),
        }

    @property
    def _session(self) -> Session:
        return self._bench.session

    # --- all there is

    def _rules(self, rest: list[str]) -> Sheet:
        if rest:
            raise refused("%tools rules takes nothing; %tools allow, ask, deny and revoke change them.")
        session = self._session
        layers = (*session.layers, Layer("session", session.policy), Layer("this session's grants", Policy(allow=session.grants)))
        rows = tuple(row for layer in layers for row in _rows(layer))
        if not rows:
            return said("No rule is in force: what runs, asks or is off is the mode's alone.", f"The mode is {session.mode.value}.")
        lines = (f"The mode is {session.mode.value}. A deny wins over an ask, an ask over an allow, wherever they stand.",)
        return Sheet("", rows, (*lines, *session.store.problems()), ("", "rule", "stands in"), frozenset({1}))

    # --- trust

    def _trust(self, rest: list[str]) -> Sheet:
        if rest and rest[0] not in ("yes", "no"):
            raise refused("%tools trust takes yes or no; alone it shows the project's rules.")
        project, trust = self._session.store.project(), self._session.store.trust()
        if project.problem:
            raise PolicyError(project.problem)
        if trust is Trust.ABSENT:
            return said(f"This project brings no rules of its own: there is no {project.path}.")
        if rest == ["no"]:
            return self._set_trust(project, "", "Not trusted: of the project's rules only what forbids or asks counts.")
        if rest == ["yes"] and self._shown in ("", project.digest):
            return self._set_trust(project, project.digest, "Trusted, as long as the file stays as it is: all of these rules count now.")
        changed = rest == ["yes"]
        self._shown = project.digest
        return self._about(project, trust, changed=changed)

    def _set_trust(self, project: KeptPolicy, digest: str, says: str) -> Sheet:
        inside(self._bench, lambda session: session.store.set_trust(digest))
        self.reload()
        self._shown = ""
        back = ("%tools trust no takes that back.",) if digest else ()
        return replace(self._sheet_of(project, trusted=bool(digest)), title=says, lines=(f"The file is {project.path}.", *back))

    def _about(self, project: KeptPolicy, trust: Trust, *, changed: bool) -> Sheet:
        trusted = trust is Trust.TRUSTED
        title = _STANDS[trust]
        if changed:
            title = "Not trusted, for the file has changed since you looked: these are its rules now."
        how = (
            "%tools trust no takes that back." if trusted else "%tools trust yes lets what they allow run unasked, until the file changes."
        )
        return replace(self._sheet_of(project, trusted=trusted), title=title, lines=(f"The file is {project.path}.", how))

    def _sheet_of(self, project: KeptPolicy, *, trusted: bool) -> Sheet:
        """The rules of the file, each with what it is about."""
        named = self._session.tool_named
        given = [(verb, rule) for verb in VERBS for rule in getattr(project.policy, verb)]
        rows = [(verb, described(rule), in_words(rule, named), counts(verb, trusted)) for verb, rule in given]
        about = "what it is known to do, so that rules on it allow that"
        rows += [("program", name, about, counts("allow", trusted)) for name in project.policy.programs]
        if project.policy.mode:
            rows.insert(
                0,
                ("mode", project.policy.mode, "what happens where no rule speaks", "counts" if trusted else "counts where it is stricter"),
            )
        return Sheet("", tuple(rows), (), ("", "rule", "what it is about", "now"), frozenset({1}))

    def reload(self) -> None:
        """Reads the files anew."""
        inside(self._bench, lambda session: setattr(session, "layers", with_files(session)))

    # --- other programs' permissions

    def _import(self, rest: list[str]) -> Sheet:
        words, flags = without_flags(rest, "import", "--save", "--project")
        if len(flags) > 1:
            raise refused("%tools import keeps what it reads in one place: --save for your own file, --project for the project's.")
        path = self._found(one_of(words, "import", ".claude/settings.json"))
        imported = read_permissions(path, self._session)
        if imported.policy == Policy():
            return replace(said(f"There is nothing in {path} that could be a rule here."), lines=_not_carried(imported))
        where = self._kept(imported.policy, flags) if flags else self._added(imported.policy)
        mode = f" The mode is {imported.policy.mode}." if imported.policy.mode else ""
        lines = _not_carried(imported)
        rows = tuple((verb, described(rule)) for verb in VERBS for rule in getattr(imported.policy, verb))
        rows += tuple(("program", name) for name in imported.policy.programs)
        return Sheet(f"{where}{mode}", rows, lines, ("", "rule"), frozenset({1}))

    def _found(self, text: str) -> Path:
        """As seen from the workspace or, where there is none, from the notebook's folder."""
        given = Path(text).expanduser()
        ways = (self._session.workspace.root / given, Path.cwd() / given)
        return Path(os.path.realpath(next((way for way in ways if way.exists()), ways[0])))

    def _added(self, policy: Policy) -> str:
        own = self._session.policy
        lists = {verb: tuple(dict.fromkeys((*getattr(own, verb), *getattr(policy, verb)))) for verb in VERBS}
        joined = Policy(policy.mode or own.mode, **lists, programs={**own.programs, **policy.programs})
        inside(self._bench, lambda session: setattr(session, "policy", joined))
        return "In force for this session; with --save they go into your own file, with --project into the project's."

    def _kept(self, policy: Policy, flags: frozenset[str]) -> str:
        store = self._session.store
        path = store.project_path if "--project" in flags else store.user_path
        inside(self._bench, lambda session: session.store.add(path, policy))
        self.reload()
        trusted = path != store.project_path or store.trust() is Trust.TRUSTED
        return f"Added to {path}." + ("" if trusted else " What they allow counts once you trust the file: %tools trust.")


def with_files(session: Session) -> tuple[Layer, ...]:
    """The session's layers, those from files as the files are now."""
    return (*(layer for layer in session.layers if layer.name not in FROM_FILES), *session.store.layers())


def read_permissions(path: Path, session: Session) -> Imported:
    """Of whatever program the file is.  Raises ``PolicyError`` or ``ToolFailure``."""
    text = read_bytes(path, str(path)).decode(errors="replace")
    if path.suffix == ".toml":
        return Imported(read_policy(text, path.name), ()) if is_policy_file(text) else read_gemini_policies(text, session.tool_named)
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise PolicyError(f"{path} is neither TOML (by its name) nor JSON: {error}.") from None
    if isinstance(settings, dict) and looks_like_claude(settings):
        return read_claude_settings(text, session.tool_named, source=_source(path, session))
    if path.parent.name == ".gemini" or (isinstance(settings, dict) and {"tools", "mcp", "mcpServers"} & set(settings)):
        return read_gemini_settings(text, session.tool_named)
    raise PolicyError(f"{path} has no permissions: neither those of Claude Code (permissions) nor of Gemini CLI (tools, mcp).")


def _source(path: Path, session: Session) -> str:
    """Where ``/path`` in a file of Claude Code counts from: the project's folder; the person's own file, from its own."""
    home = Path("~/.claude").expanduser()
    if path.parent == home:
        return "~/.claude"
    folder = path.parent.parent if path.parent.name == ".claude" else path.parent
    return "" if session.workspace.root in (folder, path.parent) else str(folder)


def _rows(layer: Layer) -> list[tuple[str, str, str]]:
    counts = {verb: layer.trusted or verb != "allow" for verb in VERBS}
    stands = {verb: layer.name if counts[verb] else f"{layer.name}; does not count: not trusted" for verb in VERBS}
    rules = [(verb, described(rule), stands[verb]) for verb in ("deny", "ask", "allow") for rule in getattr(layer.policy, verb)]
    return [*rules, *(("program", name, stands["allow"]) for name in layer.policy.programs)]


def counts(verb: str, trusted: bool) -> str:
    return "counts" if trusted or verb != "allow" else "counts once trusted"


def _not_carried(imported: Imported) -> tuple[str, ...]:
    if not imported.not_carried:
        return ("Everything in it could be carried over.",) if imported.policy != Policy() else ()
    return ("Not carried over:", *(f"· {sentence}" for sentence in imported.not_carried))
