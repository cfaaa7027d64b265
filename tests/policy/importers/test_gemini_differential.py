"""Imports of Gemini CLI's policies, compared with a small evaluation of its policy engine:
nothing is allowed here that it would not allow.

The evaluation follows ``policy-engine.ts`` and ``toml-loader.ts``, without parsers: lines are generated from
parts, so their commands are known.  Where Gemini CLI allows more by itself (its list of safe commands), the
evaluation asks, which makes the comparison stricter.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import PolicyError
from nbtools.core.tool import Kind
from nbtools.core.tool_names import mcp_rule
from nbtools.dialects import canonical_tool_name, dialect
from nbtools.policy.decide import PolicyEngine
from nbtools.policy.importers.gemini_policies import read_gemini_policies
from nbtools.policy.layers import Policy
from tests.policy.some_tools import AnyTool

GEMINI = dialect("gemini")
SHELL = "run_shell_command"
MODES = {"default": "default", "autoEdit": "auto_edit", "yolo": "yolo", "plan": "plan"}
KINDS = {
    "read": Kind.READ,
    "ls": Kind.SEARCH,
    "grep": Kind.SEARCH,
    "write": Kind.EDIT,
    "edit": Kind.EDIT,
    "shell": Kind.EXECUTE,
}
STRENGTH = {"allow": 0, "ask_user": 1, "deny": 2}


# --- calls


@dataclass(frozen=True)
class Line:
    """A command line and what it is made of:
    the simple commands, those inside ``bash -c``, and whether it has a redirect.
    """

    text: str
    parts: tuple[str, ...]
    inner: tuple[Line, ...] = ()
    redirect: bool = False


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Mapping[str, Any]
    server: str = ""
    annotations: Mapping[str, Any] | None = None
    line: Line | None = None


PLAIN = [
    *(
        "git log",
        "git log -p",
        "git logx",
        "git status",
        "git push origin main",
        "git --no-pager log",
        "git branch -D x",
        "git -c a.b=c log",
    ),
    *(
        "ls",
        "ls -l",
        "cd src",
        "rm x",
        "rm -rf build",
        "find . -delete",
        "make",
        "mkdir new",
        "echo 'git log'",
        'echo "a"',
        "LC_ALL=C git log",
    ),
    *(
        "timeout 5 git log",
        "nice rm -rf build",
        "sort -o out in",
        "git log --output=x",
        "npm run test",
        "npm run tests",
        "node é",
    ),
]


def joined(parts: Sequence[str], joint: str) -> Line:
    return Line(joint.join(parts), tuple(parts))


def changed(line: Line, form: str) -> Line:
    if form in ("> out", "2>&1", "< in", ">> out", "> /dev/null"):
        return Line(f"{line.text} {form}", line.parts, line.inner, redirect=True)
    if form == "(":
        return Line(f"({line.text})", line.parts, line.inner, line.redirect)
    if form == "bash":
        text = f"bash -c {shlex.quote(line.text)}"
        return line if "'" in line.text else Line(text, (text,), (line,), redirect=False)
    return line


LINES = st.builds(
    changed,
    st.builds(
        joined,
        st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3),
        st.sampled_from(["; ", " && ", " | ", " || ", "\n"]),
    ),
    st.sampled_from(["", "", "", "> out", ">> out", "2>&1", "< in", "> /dev/null", "(", "bash"]),
)
PATHS = st.sampled_from(
    ["docs/a.md", "docs/deep/b.md", "docs2/a.md", "src/a.py", "docs/../src/a.py", "secret", "docs"]
)
TEXTS = st.sampled_from(["x", "secret", "select 1", "é1", "a b", 'q"q', "docs/", "\u00a0"])
VALUES = st.dictionaries(
    st.sampled_from(["sql", "target", "file_path"]),
    st.one_of(TEXTS, st.integers(0, 20), st.booleans()),
    max_size=2,
)
ANNOTATIONS = st.sampled_from(
    [None, {}, {"readOnlyHint": True}, {"readOnlyHint": False}, {"readOnlyHint": True, "title": "x"}]
)
CALLS: st.SearchStrategy[Call] = st.one_of(
    LINES.map(lambda line: Call(SHELL, {"command": line.text}, line=line)),
    st.builds(lambda path: Call("read_file", {"file_path": path}), PATHS),
    st.builds(lambda path: Call("list_directory", {"dir_path": path}), PATHS),
    st.builds(lambda path: Call("grep_search", {"pattern": "x", "dir_path": path}), PATHS),
    st.builds(lambda path, text: Call("write_file", {"file_path": path, "content": text}), PATHS, TEXTS),
    st.builds(
        lambda server, tool, values, notes: Call(f"mcp_{server}_{tool}", values, server, notes),
        st.sampled_from(["docs", "my_docs", "db"]),
        st.sampled_from(["find", "find_all", "get"]),
        VALUES,
        ANNOTATIONS,
    ),
    st.builds(
        lambda name, values: Call(f"discovered_tool_{name}", values),
        st.sampled_from(["build", "test"]),
        VALUES,
    ),
)


# --- rules


def _with_few_conditions(rule: dict[str, Any]) -> dict[str, Any]:
    """Drops most keys of most rules, so that many rules match many calls."""
    digest = sum(map(ord, repr(rule)))
    optional = [key for key in rule if key not in ("toolName", "decision", "priority")]
    kept = (
        optional
        if digest % 5 == 0
        else [key for place, key in enumerate(optional) if (digest + place) % 4 == 0]
    )
    return {key: value for key, value in rule.items() if key not in optional or key in kept}


TOOLS = st.sampled_from(
    [
        *(
            "*",
            SHELL,
            SHELL,
            "read_file",
            "write_file",
            "list_directory",
            "grep_search",
            "search_file_content",
            "unknown",
            "Bash",
        ),
        *(
            "mcp_*",
            "mcp_docs_*",
            "mcp_my_docs_*",
            "mcp_docs_find",
            "mcp_docs_fi*",
            "mcp_docs_find_*",
            "mcp_my_docs_find",
            "mcp__docs__find",
        ),
        *("find", "get", "fi*", "discovered_tool_build", "discovered_tool_*"),
    ]
)
PATTERNS = st.sampled_from(
    [
        *(
            '"file_path":"docs/',
            '"file_path":"docs/.*',
            '"dir_path":"docs/',
            "secret",
            '"command":"git',
            '"command":"git log',
            "docs",
        ),
        *(
            r'"sql":"\w+"',
            r'"sql":"select\s',
            r'"target":"(x|secret)"',
            r"\d",
            r'\x00"sql":"x"\x00',
            ".",
            "(a+)+",
            "(",
            "(x+)(y)+",
            r"\W",
            "[^a-z]",
        ),
    ]
)
PREFIXES = st.sampled_from(
    [
        "git log",
        "git",
        "git status",
        "ls",
        "rm",
        "cd",
        "make",
        "npm run test",
        "timeout 5 git",
        "echo",
        "",
        "git log ",
        "bash -c",
        "git log; ls",
    ]
)
REGEXES = st.sampled_from(
    ["git (log|status)", "git", r"\w+", "ls$", "ls", "rm.*", "", "g(i+)t (x)?", "[a-z ]+", "(", "git log -p"]
)
MODE_LISTS = st.lists(st.sampled_from(list(MODES)), max_size=2, unique=True)
RULES = st.fixed_dictionaries(
    {
        "toolName": st.one_of(TOOLS, st.lists(TOOLS, min_size=1, max_size=3)),
        "decision": st.sampled_from(list(STRENGTH)),
        "priority": st.integers(0, 4),
    },
    optional={
        "mcpName": st.sampled_from(["docs", "my_docs", "*"]),
        "subagent": st.just("helper"),
        "argsPattern": PATTERNS,
        "commandPrefix": st.one_of(PREFIXES, st.lists(PREFIXES, max_size=2)),
        "commandRegex": REGEXES,
        "toolAnnotations": st.sampled_from(
            [{}, {"readOnlyHint": True}, {"readOnlyHint": False}, {"title": "x"}]
        ),
        "modes": MODE_LISTS,
        "interactive": st.booleans(),
        "allowRedirection": st.booleans(),
        "allow_redirection": st.booleans(),
        "denyMessage": st.just("no"),
        "deny_message": st.just("no"),
    },
).map(_with_few_conditions)
CHECKERS = st.fixed_dictionaries(
    {"toolName": TOOLS, "priority": st.just(1)}, optional={"modes": MODE_LISTS, "mcpName": st.just("docs")}
)


@st.composite
def cases(draw: st.DrawFn, most: int = 4) -> tuple[list[dict[str, Any]], Call]:
    """Rules and a call, where most rules are about the call's tool."""
    call = draw(CALLS)
    names = [call.name, "*", *([f"mcp_{call.server}_*", "mcp_*"] if call.server else [])]
    rules = draw(st.lists(RULES, min_size=1, max_size=most))
    return [
        {**rule, "toolName": draw(st.sampled_from(names))} if draw(st.integers(0, 3)) else rule
        for rule in rules
    ], call


def as_toml(rules: Sequence[Mapping[str, Any]], checkers: Sequence[Mapping[str, Any]] = ()) -> str:
    def value(one: Any) -> str:
        if isinstance(one, dict):
            return f"{{ {', '.join(f'{name} = {value(inner)}' for name, inner in one.items())} }}"
        return json.dumps(one, ensure_ascii=False)

    tables = [("rule", rule) for rule in rules] + [("safety_checker", checker) for checker in checkers]
    lines = [
        line
        for kind, table in tables
        for line in (f"[[{kind}]]", *(f"{key} = {value(one)}" for key, one in table.items()))
    ]
    return "\n".join(lines)


# --- Gemini CLI's engine

BLANKS = " \\t\\n\\r\\f\\v\\u00a0"
_UNSAFE = re.compile(r"\([^)]*[*+?{].*\)[*+?{]")


@dataclass(frozen=True)
class Engine:
    rules: tuple[Mapping[str, Any], ...]
    checkers: tuple[Mapping[str, Any], ...]
    mode: str
    interactive: bool

    def check(self, call: Call, *, inner: bool = False) -> tuple[str, bool]:
        """Returns the decision, and whether a rule made it, for the call or for one of its commands."""
        rule = next((one for one in self.rules if self._matches(one, call)), None)
        without_rule = "allow" if self.mode == "yolo" else "ask_user"
        decision = rule["decision"] if rule else without_rule
        if (
            rule
            and not inner
            and call.line
            and not rule["pattern"]
            and self.mode != "yolo"
            and dangerous(call.line.text)
        ):
            decision = max(decision, "ask_user", key=STRENGTH.__getitem__)
        matched = rule is not None
        if call.line and (rule or self.mode != "yolo"):
            decision, matched = self._command(
                call, call.line, decision, matched, bool(rule and rule["redirection"])
            )
        if any(self._matches(one, call) for one in self.checkers):
            return max(decision, "ask_user", key=STRENGTH.__getitem__), True
        return decision, matched

    def _command(
        self, call: Call, line: Line, decision: str, matched: bool, redirection: bool
    ) -> tuple[str, bool]:
        found = [decision]
        if line.redirect and not redirection and self.mode not in ("autoEdit", "yolo"):
            found.append("ask_user")
        parts = [] if line.parts == (line.text,) else [Line(part, (part,)) for part in line.parts]
        for part in (*parts, *line.inner):
            one, by_rule = self.check(replace(call, arguments={"command": part.text}, line=part), inner=True)
            found.append(one)
            matched = matched or by_rule
        return max(found, key=STRENGTH.__getitem__), matched

    def _matches(self, rule: Mapping[str, Any], call: Call) -> bool:
        server = rule.get("mcpName")
        return (
            (not rule.get("modes") or self.mode in rule["modes"])
            and "subagent" not in rule
            and (server is None or (bool(call.server) if server == "*" else server == call.server))
            and (
                _fits(rule["toolName"], call.name, call.server)
                or (call.name == "grep_search" and rule["toolName"] == "search_file_content")
            )
            and _annotated(rule.get("toolAnnotations"), call.annotations)
            and (
                not rule["pattern"] or javascript(rule["pattern"]).search(stable(call.arguments)) is not None
            )
            and rule.get("interactive", self.interactive) is self.interactive
        )


def _fits(pattern: str, name: str, server: str) -> bool:
    if pattern == "*":
        return True
    if "*" not in pattern:
        return pattern == name
    if pattern == "mcp_*":
        return bool(server)
    if pattern.startswith("mcp_") and pattern.endswith("_*"):
        return server == pattern[4:-2] and bool(server) and name.startswith(f"mcp_{server}_")
    return name == pattern


def _annotated(wanted: Mapping[str, Any] | None, present: Mapping[str, Any] | None) -> bool:
    if wanted is None:
        return True
    return present is not None and all(
        name in present and present[name] == value for name, value in wanted.items()
    )


def javascript(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("[\\s", f"[{BLANKS}").replace("\\s", f"[{BLANKS}]"), re.ASCII)


def stable(arguments: Mapping[str, Any]) -> str:
    return (
        "{"
        + ",".join(
            f"\0{json.dumps(name)}:{json.dumps(arguments[name], ensure_ascii=False)}\0"
            for name in sorted(arguments)
        )
        + "}"
    )


def dangerous(line: str) -> bool:
    words = shlex.split(line)
    while words[:1] == ["sudo"]:
        words = words[1:]
    program, *rest = words
    if program == "rm":
        return rest[:1] in (["-f"], ["-rf"], ["-fr"])
    if program == "find":
        return bool(
            {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"}
            & set(rest)
        )
    if program == "git":
        if any(word == "--config-env" or word.startswith(("-c", "--config-env=")) for word in rest):
            return True
        command, *options = [word for word in rest if not word.startswith("-")][:1] + rest[1:]
        shows = any(
            word in ("--ext-diff", "--textconv", "--paginate") or word.startswith(("--output", "--exec"))
            for word in options
        )
        return (command in ("status", "log", "diff", "show") and shows) or (
            command == "branch" and "-D" in options
        )
    return False


def loaded(tables: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields the rules as Gemini CLI loads them:
    one for each tool and prefix, without those with a bad expression.
    """
    for table in tables:
        for pattern in _patterns(table):
            try:
                re.compile(pattern or "")
            except re.error:
                continue
            if pattern and _UNSAFE.search(pattern):
                continue
            redirection = table.get("allowRedirection", table.get("allow_redirection", False))
            names = [table["toolName"]] if isinstance(table["toolName"], str) else table["toolName"]
            for name in names:
                yield {
                    **table,
                    "toolName": _full_name(name, table.get("mcpName")),
                    "pattern": pattern,
                    "redirection": redirection,
                }


def _full_name(name: str, server: str | None) -> str:
    if server is None:
        return name
    return "mcp_*" if server == name == "*" else f"mcp_{server}_{name}"


def _patterns(table: Mapping[str, Any]) -> list[str | None]:
    prefixes = table.get("commandPrefix")
    if prefixes or prefixes == []:
        listed = [prefixes] if isinstance(prefixes, str) else prefixes
        return [re.escape(f'"command":{json.dumps(prefix)[:-1]}') + r'(?:[\s"]|\\")' for prefix in listed]
    if table.get("commandRegex"):
        return [f'"command":"{table["commandRegex"]}']
    return [table.get("argsPattern") or None]


# --- the comparison


def here(policy: Policy, mode: str, call: Call) -> str:
    """Returns the decision of nbtools in this mode."""
    if call.server:
        tool, arguments = (
            AnyTool(mcp_rule(call.server, call.name.removeprefix(f"mcp_{call.server}_")), Kind.OTHER),
            dict(call.arguments),
        )
        tool.annotations = call.annotations or {}  # type: ignore[attr-defined]
    elif call.name.startswith("discovered_tool_"):
        tool, arguments = AnyTool(call.name, Kind.OTHER), dict(call.arguments)
    else:
        read = GEMINI.read(call.name, call.arguments)
        tool, arguments = AnyTool(read.tool, KINDS[read.tool]), dict(read.arguments)
    params = {"paths": [arguments["path"]]} if "path" in arguments and call.line is None else arguments
    return (
        PolicyEngine(replace(policy, mode=mode), tool_named=named)
        .decide(tool, tool.build(params), arguments)
        .action
    )


def named(name: str) -> str:
    return canonical_tool_name(name, GEMINI)


@pytest.mark.parametrize("interactive", [True, False])
@given(case=cases(), checkers=st.lists(CHECKERS, max_size=1), mode=st.sampled_from(list(MODES)))
def test_nothing_is_allowed_here_that_was_not_allowed_there(
    interactive: bool, case: tuple[list[dict[str, Any]], Call], checkers: list[dict[str, Any]], mode: str
) -> None:
    rules, call = case
    try:
        policy = read_gemini_policies(as_toml(rules, checkers), named).policy
    except PolicyError:
        return
    own_mode = MODES[mode] if interactive or mode != "default" else "dont_ask"
    if here(policy, own_mode, call) != "allow":
        return
    ordered = sorted(loaded(rules), key=lambda rule: -rule["priority"])
    there, by_rule = Engine(tuple(ordered), tuple(loaded(checkers)), mode, interactive).check(call)
    assert there == "allow" or (not by_rule and here(Policy(), own_mode, call) == "allow")


@given(case=cases(most=3))
def test_a_call_that_gemini_denies_does_not_run_in_yolo(case: tuple[list[dict[str, Any]], Call]) -> None:
    rules, call = case
    try:
        policy = read_gemini_policies(as_toml([{**rule, "decision": "deny"} for rule in rules]), named).policy
    except PolicyError:
        return
    ordered = tuple(loaded([{**rule, "decision": "deny"} for rule in rules]))
    if Engine(ordered, (), "yolo", interactive=True).check(call)[0] == "deny":
        assert here(policy, "yolo", call) != "allow"


def test_the_comparison_sees_allowed_calls() -> None:
    """The evaluation agrees on calls that both allow, so that the property is not empty."""
    both = [
        (
            {"toolName": SHELL, "commandPrefix": "git log"},
            Call(SHELL, {"command": "git log"}, line=Line("git log", ("git log",))),
        ),
        ({"toolName": SHELL}, Call(SHELL, {"command": "make; ls"}, line=joined(["make", "ls"], "; "))),
        ({"toolName": "*"}, Call("write_file", {"file_path": "docs/a.md", "content": "x"})),
        (
            {"toolName": "write_file", "argsPattern": '"file_path":"docs/'},
            Call("write_file", {"file_path": "docs/a.md", "content": "x"}),
        ),
        ({"toolName": "mcp_docs_*"}, Call("mcp_docs_find", {}, "docs")),
        (
            {"toolName": "*", "mcpName": "docs", "toolAnnotations": {"readOnlyHint": True}},
            Call("mcp_docs_find", {}, "docs", {"readOnlyHint": True}),
        ),
        (
            {"toolName": "discovered_tool_build", "argsPattern": '"target":"x"'},
            Call("discovered_tool_build", {"target": "x"}),
        ),
        (
            {"toolName": "find", "mcpName": "docs", "argsPattern": r'"sql":"\w+"'},
            Call("mcp_docs_find", {"sql": "x"}, "docs"),
        ),
    ]
    for keys, call in both:
        rule = {"decision": "allow", "priority": 1, **keys}
        assert here(read_gemini_policies(as_toml([rule]), named).policy, "default", call) == "allow", keys
        assert Engine(tuple(loaded([rule])), (), "default", interactive=True).check(call) == (
            "allow",
            True,
        ), keys
