"""The policies of Gemini CLI: files of ``[[rule]]`` tables.

There the rule of the highest priority answers; here a deny wins over an ask and an ask over an allow, so what comes over is never freer.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import PolicyError
from nbtools.core.parameters import explain
from nbtools.core.server_names import rule_of
from nbtools.policy.imported import Gathering, Imported, ToolNamed, is_here, literally, ruled
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

_VERBS: dict[str, Literal["allow", "ask", "deny"]] = {"allow": "allow", "ask_user": "ask", "deny": "deny"}
_STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
MODES = {"default": Mode.DEFAULT, "autoEdit": Mode.AUTO_EDIT, "auto_edit": Mode.AUTO_EDIT, "yolo": Mode.YOLO, "plan": Mode.PLAN}
_ARGUMENTS = {"file_path": "path", "absolute_path": "path", "dir_path": "path", "is_background": "background"}
_SAME = frozenset({"command", "content", "pattern", "path"})
_PATH = re.compile(r'"(?:file_path|absolute_path|dir_path|path)\\?"\s*:')
_FOLDER = re.compile(r'"(?:file_path|absolute_path|dir_path|path)"\s*:\s*"(?:\./)?([\w/ -]+/)(?:\.\*)?')
"""A pattern that is nothing but the folder that a path begins with."""
_TITLES = {
    "ShellTool": "run_shell_command",
    "ReadFileTool": "read_file",
    "WriteFileTool": "write_file",
    "EditTool": "replace",
    "LSTool": "list_directory",
    "GlobTool": "glob",
    "GrepTool": "grep_search",
    "WebFetchTool": "web_fetch",
    "MemoryTool": "save_memory",
    "ReadManyFilesTool": "read_many_files",
}


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    tools: str | tuple[str, ...] = Field("*", alias="toolName")
    decision: Literal["allow", "deny", "ask_user"]
    priority: int
    server: str = Field("", alias="mcpName")
    subagent: str = ""
    arguments: str = Field("", alias="argsPattern")
    prefixes: str | tuple[str, ...] = Field((), alias="commandPrefix")
    command: str = Field("", alias="commandRegex")
    annotations: dict[str, bool] = Field({}, alias="toolAnnotations")
    modes: tuple[str, ...] = ()
    interactive: bool | None = None
    redirects: bool = Field(False, alias="allowRedirection")
    message: str = Field("", alias="denyMessage")

    @property
    def verb(self) -> Literal["allow", "ask", "deny"]:
        return _VERBS[self.decision]

    @property
    def title(self) -> str:
        """The rule as a person finds it in the file."""
        narrowed = [*_several(self.prefixes), self.command, self.arguments]
        what = ", ".join(filter(None, narrowed))
        server = f"{self.server}: " if self.server else ""
        return f"{self.decision} {server}{', '.join(_several(self.tools))}{f' ({what})' if what else ''}, priority {self.priority}"


class _Policies(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    rule: tuple[_Rule, ...] = ()
    safety_checker: tuple[dict[str, Any], ...] = ()


def read_gemini_policies(text: str, tool_named: ToolNamed) -> Imported:
    """The rules of a policy file.  Raises ``PolicyError`` for what is no such file."""
    try:
        policies = _Policies.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise PolicyError(f"{explain('The policies', _Policies, error)}.") from None
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"The policies are no TOML: {error}.") from None
    gathering = Gathering()
    taken: list[tuple[_Rule, tuple[Rule, ...]]] = []
    for written in policies.rule:
        rules = _taken(written, tool_named, gathering)
        gathering.add(written.verb, *rules)
        taken.append((written, rules))
    _say_what_wins(taken, gathering)
    for checker in policies.safety_checker:
        gathering.remark(f"The safety checker for {checker.get('toolName', '*')} does not run here; a hook can look at calls.")
    for key in policies.model_extra or {}:
        gathering.remark(f"{key} is not known here.")
    return gathering.imported()


def _taken(written: _Rule, tool_named: ToolNamed, gathering: Gathering) -> tuple[Rule, ...]:
    left_out = _why_left_out(written)
    if left_out:
        gathering.remark(f"{written.title}: {left_out}.")
        return ()
    found: list[Rule] = []
    for said in _several(written.tools):
        tool = gemini_tool(said, written.server, tool_named)
        if not is_here(tool) and "*" not in tool and not tool.startswith("discovered_tool_"):
            gathering.remark(f"{written.title}: there is no tool {said} here.")
            continue
        rules = ruled(lambda tool=tool: _rules(written, tool))  # type: ignore[misc]
        if isinstance(rules, str):
            gathering.remark(f"{written.title}: {rules}")
        else:
            found += rules
    return tuple(found)


def _why_left_out(written: _Rule) -> str:
    unknown = ", ".join(written.model_extra or {})
    strange = ", ".join(mode for mode in written.modes if mode not in MODES)
    if unknown and written.verb == "allow":
        return f"{unknown} is not known here, and may be what narrows it"
    if written.subagent:
        return f"it is for the agent {written.subagent}, and no agents work for others here"
    if written.interactive is False:
        return "it holds only where nobody can be asked, and there what is not allowed is denied anyway"
    if written.interactive and written.verb == "allow":
        return "it holds only where somebody can be asked, and an allow here holds everywhere"
    return f"there is no mode {strange} here" if strange else ""


def _rules(written: _Rule, tool: str) -> Iterable[Rule]:
    """One for each prefix.  Raises ``PolicyError`` for what cannot be said."""
    base: dict[str, Any] = {
        "modes": tuple(MODES[mode] for mode in written.modes),
        "message": written.message if written.verb == "deny" else "",
        "annotations": tuple(sorted(written.annotations.items())),
        "redirects": written.redirects and written.verb == "allow",
    }
    if tool != "shell" and (written.prefixes or written.command):
        raise PolicyError("only commands have a beginning.")
    if written.prefixes:
        return [beginning(tool, prefix, base) for prefix in _several(written.prefixes)]
    if written.verb == "allow" and _PATH.search(written.arguments) and not tool.startswith("mcp__"):
        return [Rule(tool, _folder(written.arguments), **base)]
    arguments = _arguments(written.arguments, tool)
    return [Rule(tool, command=written.command, arguments=arguments, **base)]


def beginning(tool: str, prefix: str, base: dict[str, Any]) -> Rule:
    """A prefix ends with a word."""
    words = prefix.strip()
    return Rule(tool, f"{words}:*", **base) if "*" not in words else Rule(tool, command=rf"{literally(words)}(?:[\s'\x22]|$)", **base)


def _folder(pattern: str) -> str:
    """The folder that a pattern allows, held against where a path leads and not how it is written.  Raises ``PolicyError`` for others."""
    found = _FOLDER.fullmatch(pattern)
    if found is None:
        raise PolicyError("it goes by how a path is written, and .. leads out of that; a rule like edit(docs/**) says it safely.")
    return f"/{found[1]}**"


def _arguments(pattern: str, tool: str) -> str:
    """The pattern with our names of arguments.  Raises ``PolicyError`` where one has no counterpart."""
    if tool.startswith("mcp__"):
        return pattern
    for name in re.findall(r'"(\w+)\\?"\s*:', pattern):
        if name not in _ARGUMENTS and name not in _SAME:
            raise PolicyError(f"its pattern looks at {name}, which has another form here.")
    return re.sub(r'"(\w+)(\\?"\s*:)', lambda found: f'"{_ARGUMENTS.get(found[1], found[1])}{found[2]}', pattern)


def gemini_tool(said: str, server: str, tool_named: ToolNamed) -> str:
    """Names of servers' tools are ``mcp_server_tool`` there, and a server's name has no underscore."""
    if server:
        return rule_of(server, said.removeprefix(f"mcp_{server}_"))
    if said == "mcp_*":
        return "mcp__*"
    of_server = re.fullmatch(r"mcp_([^_]+)_(.+)", said)
    return f"mcp__{of_server[1]}__{of_server[2]}" if of_server else tool_named(_TITLES.get(said, said))


def _say_what_wins(taken: list[tuple[_Rule, tuple[Rule, ...]]], gathering: Gathering) -> None:
    """Where a weaker action stood over a stronger one by its priority."""
    for written, rules in taken:
        beaten = [
            other
            for other, stronger in taken
            if _STRENGTH[other.verb] > _STRENGTH[written.verb]
            and other.priority < written.priority
            and any(_overlap(one, two) for one in rules for two in stronger)
        ]
        if beaten:
            others = "; ".join(other.title for other in beaten)
            gathering.remark(
                f"{written.title} stood over {others}: here no allow beats an ask or a deny, and no ask a deny, so those hold."
            )


def _overlap(one: Rule, two: Rule) -> bool:
    """Whether a call may fall under both, as far as that is plain."""
    if not (one.concerns(two.tool) or two.concerns(one.tool)):
        return False
    if one.modes and two.modes and not set(one.modes) & set(two.modes):
        return False
    mine, yours = one.spec.removesuffix(":*"), two.spec.removesuffix(":*")
    return not (mine and yours) or f"{mine} ".startswith(f"{yours} ") or f"{yours} ".startswith(f"{mine} ")


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
