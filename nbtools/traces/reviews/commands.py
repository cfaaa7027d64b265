"""Names the programs that a recorded command runs, and says whether it runs tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

LOOKUPS = frozenset(
    {
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "diff",
        "cmp",
        "test",
        "[",
        "which",
        "pgrep",
        "ls",
        "cat",
        "head",
        "tail",
        "stat",
        "find",
    }
    | {"file", "type", "git diff", "git grep", "git show"}
)
"""Programs whose failure is an answer: nothing was found, or files differ."""
_MAX_COMMAND = 2_000
"""Characters of a command in which its program is looked for."""
_SEPARATOR = re.compile(r"&&|\|\||[;|&\n(){}]")
_REDIRECTION = re.compile(r"\d{0,4}>&\d|&>>?")
_QUOTED = re.compile(r"'[^']*(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|<<.*", re.DOTALL)
_WRAPPED = re.compile(r"\s*(?:\S*/)?(?:ba|z)?sh\s+-\w*c\s+(['\"])(?P<command>.*)\1\s*", re.DOTALL)
_WORD = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\S+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PLAIN = frozenset(
    {
        "cd",
        "echo",
        "export",
        "set",
        "true",
        "false",
        ":",
        "source",
        ".",
        "printf",
        "sleep",
        "done",
        "fi",
        "exit",
        "for",
        "case",
        "esac",
    }
)
"""Words that begin a command and say nothing about its purpose."""
_PREFIXES = frozenset(
    {
        "sudo",
        "time",
        "env",
        "nohup",
        "exec",
        "command",
        "timeout",
        "if",
        "while",
        "then",
        "do",
        "else",
        "!",
        "npx",
        "bunx",
        "uvx",
    }
)
_WITH_SUBCOMMAND = frozenset(
    {
        "git",
        "npm",
        "yarn",
        "pnpm",
        "bun",
        "cargo",
        "go",
        "docker",
        "kubectl",
        "make",
        "pip",
        "uv",
        "poetry",
        "dotnet",
        "mvn",
        "gradle",
    }
    | {"apt", "apt-get", "brew"}
)
_TEST_RUNNERS = (
    r"\b(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|behave|minitest)\b",
    (
        r"\b(?:playwright|deno|swift|mix|go|cargo|dotnet|bazel|rake|rails|lein|sbt|stack|cabal|zig"
        r" build|flutter|dart)\s+test\b"
    ),
    r"\b(?:php artisan|manage\.py)\s+test\b|\bcargo\s+nextest\b",
    r"\b(?:npm|yarn|pnpm|bun)\s+(?:run\s+)?(?:test\S*|t)(?=\s|\Z)|\b(?:make|just|task)\s+\S*(?:test|check)\S*",
    r"\b(?:mvn|gradlew?)\b.*\b(?:test|verify|check)\b",
    r"\b(?:run_?)?tests?\.(?:sh|py|js)\b|(?:^|[\s/])tests?_\w+\.(?:py|js|ts|rb|sh)\b|\btests?/\S+\.(?:py|sh|js|rb)\b",
)
_TESTS = re.compile("|".join(_TEST_RUNNERS), re.IGNORECASE)
_OTHER_WORDS = (
    r" (?>-(?:[xpbcIPTfs]|pl|rf|-exclude-task|-project-dir|-file|-projects|-tests) \S+(?: |\Z)|\S+ )*"
)
"""Goals, tasks and options of Maven and Gradle, options with their values."""
_WITHOUT_TESTS = r"-(?:m|fn|-dry-run|-fail-never|D(?:skipTests|maven\.test\.(?:skip|failure\.ignore)))"
"""Options of Maven and Gradle with which they succeed although no test ran, or some failed."""
_PYTHON_MODULE = r"(?:\S*/)?python[\d.]*(?: -(?:[WX] \S+|(?!m )\S+))* -m "
_RUNNERS: dict[str, re.Pattern[str]] = {
    name: re.compile(f"(?:{command})(?=\\s|\\Z)")
    for name, command in {
        "pytest": rf"(?:{_PYTHON_MODULE})?(?:\S*/)?(?:pytest|py\.test)",
        "unittest": rf"{_PYTHON_MODULE}unittest|(?:\S*/)?python[\d.]* (?:\S*/)?manage\.py test",
        "jest": r"(?:\S*/)?jest",
        "vitest": r"(?:\S*/)?vitest",
        "mocha": r"(?:\S*/)?_?mocha",
        "node": r"node(?: \S+)*? --test",
        "tap": r"(?:\S*/)?tap",
        "tape": r"(?:\S*/)?tape",
        "go": r"go test",
        "cargo": r"cargo(?: \+\S+)? (?:test|t)",
        "maven": (rf"(?:\S*/)?mvnw?(?!.* {_WITHOUT_TESTS})(?={_OTHER_WORDS}(?:test|verify)(?: |\Z))"),
        "gradle": (
            rf"(?:\S*/)?gradlew?(?!.* {_WITHOUT_TESTS}(?: |\Z))(?={_OTHER_WORDS}(?:\S*:)?"
            r"(?:test|check|test\w*Test|(?!assemble|compile|package|process)[a-z]\w*Test)(?: |\Z))"
        ),
        "dotnet": r"dotnet test",
        "rspec": r"(?:\S*/)?rspec",
        "phpunit": r"(?:php )?(?:\S*/)?phpunit",
        "ctest": r"(?:\S*/)?ctest",
        "prove": r"(?:\S*/)?prove",
    }.items()
}
"""The test runner that a command names."""
_STARTERS = re.compile(
    r"(?:[A-Za-z_]\w*=\S*|(?:\S*/)?(?:env|time|nohup|exec|command|sudo|nice)"
    r"|timeout(?: -\S+)* \d[\d.]*[smh]?|(?:npx|bunx|uvx)(?: -\S+)*|xvfb-run(?: -a)?"
    r"|(?:uv|poetry|pipenv|pdm|hatch|rye) run(?: --\S+)*|bundle exec|npm exec(?: --)?|pnpm(?: exec)?"
    r"|yarn(?: run)?|coverage run(?: -\S+)*(?= -m ))\s+"
)
"""What stands before the program that a command starts."""
_READS = re.compile(
    r"\s*(?:cat|head|tail|less|ls|grep|rg|sed -n|wc|find|git|vim?|nano|echo|rm|mkdir|cp|mv|touch|chmod)\b"
)


@lru_cache(maxsize=1 << 14)
def programs_of(command: str) -> Sequence[str]:
    """Returns the programs that a command line runs, in order:
    ``git commit`` with its sub-command, ``pytest`` without arguments.
    """
    return [program for part in _parts(command) if (program := _program(part))]


def runs_tests(command: str) -> bool:
    """Returns whether the command runs a known test runner, or a file that is named like a test."""
    return any(map(is_test_command, _parts(command)))


def commands_of(command: str) -> list[tuple[str, str]]:
    """Returns the commands of a command line, each with the operator after it, such as ``|`` and ``&&``;
    empty for the last one.
    """
    pieces = re.split(f"({_SEPARATOR.pattern})", _REDIRECTION.sub(" ", _without_texts(command)))
    return [
        (part.strip(), operator)
        for part, operator in zip(pieces[::2], [*pieces[1::2], ""], strict=True)
        if part.strip()
    ]


def is_test_command(part: str) -> bool:
    """Returns whether a single command runs a known test runner, or a file that is named like a test."""
    return bool(_TESTS.search(part) or runner_of_tests(part)) and not _READS.match(part)


def runner_of_tests(part: str) -> str:
    """Returns the test runner that a single command starts; empty for another program, and for one that may
    start any runner, such as ``npm test``.
    """
    part = " ".join(part[:_MAX_COMMAND].split())
    while starter := _STARTERS.match(part):
        part = part[starter.end() :]
    part = part.replace("-m ", "python -m ", 1) if part.startswith("-m ") else part
    return next((name for name, command in _RUNNERS.items() if command.match(part)), "")


def _parts(command: str) -> Sequence[str]:
    """Splits a command line into its commands."""
    return _SEPARATOR.split(_without_texts(command))


def _without_texts(command: str) -> str:
    """Removes quoted texts with blanks, which are messages and scripts,
    and a shell around the command line.
    """
    if wrapped := _WRAPPED.fullmatch(command):
        command = wrapped["command"]
    return _QUOTED.sub(
        lambda quoted: "''" if " " in quoted[0] or "<<" in quoted[0] else quoted[0].strip("'\""), command
    )


def _program(part: str) -> str:
    words = _WORD.findall(part)
    while words and (
        _ASSIGNMENT.match(words[0]) or words[0] in _PREFIXES or words[0].startswith("-") or words[0].isdigit()
    ):
        words.pop(0)
    if not words or words[0] in _PLAIN or not re.match(r"[\w./~\[-]", words[0]):
        return ""
    name = words[0].rpartition("/")[2]
    if name in _WITH_SUBCOMMAND:
        rest = [word for word in words[1:] if not word.startswith("-")]
        return f"{name} {rest[0]}" if rest else name
    if re.fullmatch(r"python[\d.]*|node|ruby|bash|sh|perl", name):
        script = next(
            (
                word
                for at, word in enumerate(words[1:], 1)
                if not word.startswith("-") or words[at - 1] == "-m"
            ),
            "",
        )
        return f"{name} {script}" if script and script != "''" else str(name)
    return str(name)
