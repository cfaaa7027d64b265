"""Programs that start others by a command of theirs, ``uv run pytest``: seen through, or asked where they fetch what they start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nbtools.core.shell_acts.options import grammar, read_options
from nbtools.core.shell_acts.runners import Runner
from nbtools.core.shell_acts.started import NOTHING, Effects, Handler, Started, names
from nbtools.core.shell_acts.wrappers import Wrapper

_FETCHES = "it fetches a program and runs it"
_SECRETS = "it gives what it starts secrets or other rights"
_ANYWHERE = names(
    """sh bash dash zsh env node python python3 perl ruby rm mv cp ln chmod chown dd find xargs git curl wget tee sudo sed awk nice nohup
    timeout busybox exec eval"""
)
"""Programs that a package manager takes from the system when the project has no script of that name."""


def _behind(started: Started, verb: int, wrapper: Wrapper) -> Effects:
    """What the wrapper makes of the words behind the one at ``verb``; a rule may name the program with what stands before it."""
    own = started.part(verb)
    effects = wrapper(replace(own, words=(" ".join(started.words[: verb + 1]), *own.words[1:])))
    inner = next((start for start in effects.starts if isinstance(start, Started)), None)
    program = inner.words[0] if inner else ""
    risk = effects.risk or ("which code it runs is only known when it runs" if program == "-" or "://" in program else "")
    named = wrapper.risk == _FETCHES and re.fullmatch(r"[\w@][\w./@-]*", program) and started.words[verb + 1] == program
    return replace(
        effects,
        risk=risk,
        transparent=bool(effects.starts) and not risk,
        launched=started.words,
        spelled=verb + 2 if named and started.fixed(verb + 1) else 0,
    )


@dataclass(frozen=True, slots=True)
class Launcher:
    """``verbs`` start what stands behind them; ``flags`` are its own options before them, ``values`` those that lead it elsewhere."""

    verbs: Mapping[str, Wrapper]
    flags: str = ""
    values: str = ""
    otherwise: Handler = field(default=lambda _: NOTHING)

    def __call__(self, started: Started) -> Effects:
        given = read_options(started, grammar(f"{self.flags} -h -V --help --version", self.values), stop=True)
        verb = given.operands[0] if given.operands else len(started.words)
        words = started.words[verb : verb + 2]
        deep = " ".join(words) in self.verbs
        wrapper = self.verbs.get(" ".join(words)) or self.verbs.get("".join(words[:1]))
        effects = _behind(started, verb + deep, wrapper) if wrapper else self.otherwise(started)
        moved = next((option.name for option in given.options if option.value is not None), "")
        risk = f"{given.strange or moved} may lead {started.name} elsewhere" if given.strange or moved else ""
        if not all(map(started.one_word, range(1, min(verb + 1, len(started.words))))):
            risk = "which of its commands it is shows only when it runs"
        return replace(effects, risk=risk, transparent=False) if risk else effects


@dataclass(frozen=True, slots=True)
class BehindDashes:
    """``mise exec node@20 -- npm test``: the program stands behind ``--``; a ``risk``, or words before it, are asked."""

    verbs: str
    risk: str = ""

    def __call__(self, started: Started) -> Effects:
        words = started.words
        if not set(words[1:2]) & set(self.verbs.split()) and self.verbs:
            return Effects() if all(map(started.one_word, range(1, min(3, len(words))))) else Effects(risk="it may start a program")
        if "--" not in words[:-1]:
            return Effects(risk="where its own words end is not known")
        end = words.index("--")
        risk = self.risk or (_FETCHES if end > 1 + bool(self.verbs) else "")
        return Effects((started.part(end + 1),), risk=risk, transparent=not risk, launched=words)


@dataclass(frozen=True, slots=True)
class Fetcher:
    """``npx tsc``: what it runs is the word after it, which no rule for ``npx`` alone has named."""

    wrapper: Wrapper

    def __call__(self, started: Started) -> Effects:
        return _behind(started, 0, self.wrapper)


def _hatch(started: Started) -> Effects:
    """``hatch run env:program``."""
    effects = _HATCH(started)
    inner = effects.starts[0] if effects.starts else None
    if not isinstance(inner, Started) or 0 in inner.dynamic:
        return effects
    program = inner.words[0].rpartition(":")[2]
    odd = next((word for word in inner.words if "{" in word), "") or (program if program[:1] in ("", "+", "-") else "")
    risk = effects.risk or (f"what hatch makes of {odd} is not understood" if odd else "")
    named = replace(inner, words=(program or "hatch", *inner.words[1:]))
    return replace(effects, starts=(named,), risk=risk, transparent=not risk)


def _direnv(started: Started) -> Effects:
    """``direnv exec folder program``."""
    if started.words[1:2] != ("exec",):
        return Effects(risk="it starts what stands in a file") if started.words[1:2] not in (("status",), ("version",)) else NOTHING
    effects = _behind(started, 1, Wrapper(operands=1))
    away = started.words[2:3] != (".",)
    return replace(effects, risk="it takes the surroundings of another folder", transparent=False) if away and not effects.risk else effects


def _packages(wrappers: Mapping[str, Wrapper], takes: str = "") -> Handler:
    """Those of npm and its like: ``takes`` are their commands that fall back to any program of the system; "" where they have none."""
    launcher = Launcher(wrappers, "-s --silent", otherwise=_PACKAGES)

    def packages(started: Started) -> Effects:
        words = started.words
        if words[1:2] in (("init",), ("create",), ("innit",)) and not any(not word.startswith("-") for word in words[2:]):
            return _PACKAGES(started)
        place = 2 if words[1:2] == ("run",) else 1
        if takes and words[place : place + 1] and words[place] in _ANYWHERE - {*wrappers} and (place == 2 or takes == "all"):
            return _behind(started, place - 1, Wrapper())
        if started.name == "bun" and re.search(r"\A(?:-|.*\.[cm]?[jt]sx?\Z)", "".join(words[1:2])):
            return Effects(risk="its code may do anything")
        if words[1:2] in (("run",), ("run-script",)):
            return replace(
                NOTHING, risk=_PACKAGES.risk(replace(started.part(0), words=(*words[:2], *("run" for _ in words[2:3]), *words[3:])))
            )
        return launcher(started) if words[1:2] and words[1] in wrappers else _PACKAGES(started)

    return packages


_PACKAGES = Runner(
    words=r"(?:^|\b)(?:exec|dlx|explore|x)\Z|^(?:set|edit|node)\Z|^--?(?:[cC]|call|script-shell|node-options|prefix|globalconfig|userconfig|git|shell|editor|viewer)(?:=|\Z)"
)
_NPX = Wrapper(
    "-y -q -s --yes --no --no-install --quiet --silent --ignore-existing", "-pc --package --call", risk=_FETCHES, script="-c --call"
)
_LOCAL = Wrapper("-rT --recursive --silent")
_RUN_UV = Wrapper(
    "-qvn --quiet --verbose --no-sync --frozen --locked --isolated --active --no-project --all-extras --no-dev --dev --only-dev --exact "
    "--offline --no-cache --no-progress --all-packages --all-groups --no-default-groups --no-env-file --no-config",
    "-p --python --extra --no-extra --group --no-group --only-group --package",
    strange="-m --module --with --with-editable --with-requirements --env-file --directory --project --index --index-url --default-index",
)
_HATCH = Launcher(
    {"run": Wrapper(), "env run": Wrapper("", "-ie --env --include")},
    "-qv --quiet --verbose --no-color --color",
    "-epc --env --project --config",
)
_CONDA = Launcher(
    {
        "run": Wrapper(
            "-vs --no-capture-output --live-stream --dev --debug-wrapper-scripts",
            "-n --name --cwd",
            strange="-p -e --prefix --env",
            folder="--cwd",
        )
    },
    "-qv",
)
_POETRY = Launcher(
    {"run": Wrapper()}, "-qnv --quiet --no-interaction --ansi --no-ansi --verbose --no-plugins --no-cache", "-CP --directory --project"
)
_SHIMS = Launcher({"exec": Wrapper()})

LAUNCHERS: dict[str, Handler] = {
    "uv": Launcher(
        {"run": _RUN_UV, "tool run": Wrapper("-qv", "-p --from --with --python --index-url", risk=_FETCHES)},
        "-qvn --quiet --verbose --offline --no-cache --no-progress --no-config",
        "--directory --project --config-file --cache-dir --color",
    ),
    "poetry": _POETRY,
    "hatch": _hatch,
    "pdm": Launcher(
        {"run": Wrapper("-svl --site-packages --venv --list", strange="-p -e --project --env-file")}, "-qv", "-cp --config --project"
    ),
    "pipenv": Launcher({"run": Wrapper()}, "-qv --quiet --verbose"),
    "rye": Launcher({"run": Wrapper("-l --list")}),
    "bundle": Launcher({"exec": Wrapper("--keep-file-descriptors --no-keep-file-descriptors", strange="--gemfile")}, "", "--gemfile"),
    "pipx": Launcher({"run": Wrapper("-qv --no-cache", "--spec --python --pip-args", risk=_FETCHES)}, otherwise=Runner(words=r"^runpip\Z")),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _CONDA),
    **dict.fromkeys(("asdf", "rbenv", "pyenv", "nodenv", "goenv", "jenv", "plenv", "fnm"), _SHIMS),
    "volta": Launcher({"run": Wrapper("", "--node --npm --yarn", risk=_FETCHES)}),
    "direnv": _direnv,
    "mise": BehindDashes("exec x"),
    "rtx": BehindDashes("exec x"),
    **dict.fromkeys(
        ("op", "doppler", "infisical", "dotenvx", "aws-vault", "chamber", "teller", "envchain"), BehindDashes("run exec", _SECRETS)
    ),
    **dict.fromkeys(("npx", "pnpx"), Fetcher(_NPX)),
    "bunx": Fetcher(Wrapper("--bun --silent --verbose", "-p --package", risk=_FETCHES)),
    "uvx": Fetcher(Wrapper("-qv", "-p --from --with --python --index-url", risk=_FETCHES)),
    "npm": _packages({"exec": _NPX, "x": _NPX, "init": _NPX, "create": _NPX, "innit": _NPX}),
    "pnpm": _packages({"exec": _LOCAL, "dlx": _NPX, "create": _NPX}, "all"),
    "yarn": _packages({"exec": _LOCAL, "dlx": _NPX, "create": _NPX}, "run"),
    "bun": _packages({"x": _NPX, "create": _NPX}, "run"),
}
