"""Formatters and fixers: what they are given they write, by themselves or when told by an option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nbtools.core.shell_acts.options import grammar, read_options
from nbtools.core.shell_acts.started import NOTHING, Effects, Handler, Started, names


@dataclass(frozen=True, slots=True)
class Formatter:
    """``writes``: options that make it write, empty where it always does; ``shows``: those with which it only shows what it would do."""

    writes: str = ""
    shows: str = ""
    values: str = ""
    output: str = ""
    """Options whose value is a file it writes."""
    code: str = ""
    """Options whose value is code, or leads to some."""
    default: str = ""
    """What it is about when nothing is named."""
    skip: int = 0
    """Operands that are no files: its command."""

    def __call__(self, started: Started) -> Effects:
        known = grammar(f"{self.writes} {self.shows}", f"{self.values} {self.output} {self.code}")
        given = read_options(started, known)
        files = tuple(started.words[place] for place in given.operands[self.skip :]) or ((self.default,) if self.default else ())
        rewrites = (not self.writes or given.has(*self.writes.split())) and not given.has(*self.shows.split())
        written = tuple(option.value or "" for option in given.values(*self.output.split()))
        loaded = next((option.name for option in given.values(*self.code.split())), "")
        return Effects(
            reads=files,
            writes=(*(files if rewrites else ()), *written),
            risk=f"{loaded} may make {started.name} run code" if loaded else "",
        )


@dataclass(frozen=True, slots=True)
class ByCommand:
    """``ruff format``, ``cargo fmt``: the first operand says what it does."""

    commands: Mapping[str, Formatter]
    otherwise: Handler = field(default=lambda _: NOTHING)

    def __call__(self, started: Started) -> Effects:
        command = next((word for word in started.words[1:] if word in self.commands), "")
        return self.commands[command](started) if command else self.otherwise(started)


_RUFF = Formatter(
    "--fix --fix-only --add-noqa",
    "--diff",
    "--config --select --ignore --extend-select --extend-ignore --line-length --target-version --exclude --output-format --stdin-filename",
    output="-o --output-file",
    default=".",
    skip=1,
)
_RUFF_FORMAT = Formatter("", "--check --diff", _RUFF.values, default=".", skip=1)
_JS = "--config -c --plugin --plugins --parser --rulesdir --resolve-plugins-relative-to --custom-formatter --custom-syntax"
_PRETTIER = Formatter("-w --write", "", "--parser --tab-width --print-width --ignore-path --log-level", code="--plugin --config")
_ESLINT = Formatter(
    "--fix", "--fix-dry-run", "--ext --ignore-path --ignore-pattern --max-warnings --rule", "-o --output-file", f"-f --format {_JS}", "."
)
_GOFMT = Formatter("-w --w", "", "-r --r")
_BIOME = Formatter("--write --apply --apply-unsafe --fix", "", "--config-path", default=".", skip=1)
_ALWAYS = names("pyupgrade add-trailing-comma dos2unix unix2dos nbstripout stylua ufmt usort reorder-python-imports fixjsstyle")
_DECLARED = "--line-length --target-version --config --include --exclude --extend-exclude --workers --required-version --stdin-filename"
_IN_PLACE = "-i --in-place --inplace"

FORMATTERS: dict[str, Handler] = {
    **dict.fromkeys(_ALWAYS, Formatter(values="--config --config-path")),
    "ruff": ByCommand({"check": _RUFF, "format": _RUFF_FORMAT}, Formatter("--fix --add-noqa", default=".")),
    "black": Formatter("", "--check --diff --version --help -h", f"-l -t -c -W --code {_DECLARED}"),
    "isort": Formatter(
        "", "-c -d --check --check-only --diff --stdout --show-files --version", "-l -w -p -o -m -s --profile --settings-path"
    ),
    **dict.fromkeys(
        ("autopep8", "docformatter", "autoflake", "yapf"), Formatter(_IN_PLACE, "", "-l -p --style --imports --max-line-length")
    ),
    "codespell": Formatter("-w --write-changes", "", "-S -L -D -I --skip --ignore-words-list", default="."),
    "prettier": _PRETTIER,
    "eslint": _ESLINT,
    "stylelint": Formatter("--fix", "", "--ignore-path", "-o --output-file", f"-f --formatter {_JS}"),
    "standard": Formatter("--fix", "", "", "", "--plugin --parser", "."),
    "biome": _BIOME,
    "gofmt": _GOFMT,
    "goimports": _GOFMT,
    "gofumpt": _GOFMT,
    "rustfmt": Formatter("", "--check --emit --print-config --version", "--config --config-path --edition --style-edition"),
    "clang-format": Formatter("-i", "-n --dry-run", "--style --assume-filename --fallback-style --lines"),
    "shfmt": Formatter("-w --write", "", "-ln -i -p --indent --language-dialect", default=""),
    "rubocop": Formatter(
        "-a -A -x --autocorrect --autocorrect-all --fix-layout --auto-correct", "", "-c --config", "-o --out", "-r --require", "."
    ),
    "sd": Formatter("", "-p --preview", "-n -f --max-replacements --flags", skip=2),
    "terraform": ByCommand({"fmt": Formatter("", "-check -diff --check --diff", default=".", skip=1)}),
    **dict.fromkeys(("dprint", "deno-fmt"), ByCommand({"fmt": Formatter(default=".", skip=1)})),
    "mix": ByCommand({"format": Formatter("", "--check-formatted", default=".", skip=1)}),
    "dart": ByCommand({"format": Formatter("", "-o --output", default=".", skip=1), "fix": Formatter("--apply", default=".", skip=1)}),
}
