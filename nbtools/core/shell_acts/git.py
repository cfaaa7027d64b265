"""git: what its commands read and write, and the many ways in which it starts other programs."""

from __future__ import annotations

import re

from nbtools.core.shell_acts.options import Given, Grammar, grammar, read_options
from nbtools.core.shell_acts.started import NOTHING, Effects, Handler, Script, Started, names

_GLOBAL: Grammar = grammar(
    "-pPhv --version --help --no-pager --paginate --no-replace-objects --no-optional-locks --no-advice --no-lazy-fetch --literal-pathspecs "
    "--glob-pathspecs --noglob-pathspecs --icase-pathspecs --html-path --man-path --info-path",
    "-Cc --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source --list-cmds",
)
_HARMLESS_SETTING = re.compile(
    r"(?i)(?:core\.pager=(?:cat)?\Z|color\.[\w.]+|core\.(?:quotepath|abbrev|autocrlf|precomposeunicode|longpaths)|advice\.\w+|log\.\w+|diff\.(?:renames|context|algorithm|noprefix|color\w*)"
    r"|user\.(?:name|email)|init\.defaultbranch|commit\.(?:gpgsign|verbose)|tag\.gpgsign|pull\.(?:rebase|ff)|merge\.(?:ff|conflictstyle)|status\.\w+|blame\.\w+|grep\.linenumber)"
    r"(?:=|\Z)"
)
_LOOKS = names(
    """status log diff show rev-parse ls-files ls-tree blame annotate describe shortlog cat-file rev-list merge-base for-each-ref name-rev
    whatchanged count-objects check-ignore check-attr check-ref-format show-ref show-branch diff-tree diff-index diff-files cherry
    range-diff
    var version help get-tar-commit-id patch-id fsck verify-commit verify-tag verify-pack grep ls-remote"""
)
_CHANGES = names(
    """add commit push pull fetch merge checkout switch restore reset stash rm mv branch tag clone init worktree cherry-pick revert rebase
    remote clean apply am notes submodule gc prune reflog bisect archive bundle format-patch update-index update-ref symbolic-ref write-tree
    commit-tree read-tree hash-object sparse-checkout stage merge-tree pack-refs repack request-pull replace"""
)
_STARTS = [
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--config",
    "--template",
    "--separate-git-dir",
    "--reference",
    "--textconv",
    "--output",
    "--output-directory",
    "--server-option",
    "--edit-description",
    "--git-dir",
    "--filter-process",
    "--strategy",
    "--strategy-option",
    "--interactive",
    "--remote",
    "--shell-path",
    "--config-env",
    "--gui",
    "--tool",
    "--to-command",
    "--gpg-sign",
    "--local-user",
    "--index-output",
    "--unsafe-paths",
    "--batch-command",
    "--filters",
]
_SHORT = {
    "clone": "uc",
    "rebase": "xis",
    "grep": "O",
    "difftool": "x",
    "merge": "sS",
    "pull": "sS",
    "commit": "S",
    "tag": "su",
    "archive": "o",
    "cherry-pick": "sS",
    "revert": "sS",
    "format-patch": "o",
    "help": "w",
}
"""Letters that make a command start a program or write a file, wherever they stand in a cluster."""
_TAKES = {
    "clone": "bjo",
    "grep": "efABCm",
    "merge": "mFX",
    "commit": "mFCct",
    "tag": "mF",
    "notes": "mFcC",
    "stash": "m",
    "cherry-pick": "mX",
    "revert": "mX",
    "rebase": "XC",
    "format-patch": "v",
    "log": "LGSn",
    "show": "LGS",
    "diff": "GS",
    "blame": "LS",
    "checkout": "bB",
    "switch": "cC",
}
"""Letters that take what comes after them for a value, be it attached or the next word."""
_TEXTS = names("--message --author --date --since --until --after --before --grep --committer --format")
_TAKE_TEXTS = {
    **dict.fromkeys(("log", "show", "shortlog", "rev-list"), _TEXTS - {"--message", "--date", "--format"}),
    "commit": names("--message --author --date"),
    **dict.fromkeys(("merge", "tag", "notes", "stash"), names("--message")),
}
"""Long options whose value is the next word, and nothing but a text."""
_SHORT_OPTION = re.compile(r"-[^-]")
_EXEC_TRANSPORT = re.compile(r"(?:--url=)?(?:ext|fd)::")
_OPERANDS = grammar(
    "", "-mFCcnGSLbB --message --file --author --date --since --until --after --before --grep --format --pretty --max-count"
)


_WRITES = names("rm mv restore checkout switch clean reset apply am clone worktree init bundle read-tree stash")
_FORCED = names("-f --force -m --merge --discard-changes --ours --theirs -p --patch --pathspec-from-file --overwrite-ignore")
_A_FILE = re.compile(r"\.|.*(?:\A|[\w-])\.[A-Za-z]\w{0,5}", re.DOTALL)
"""What is a file rather than a branch, where both may stand."""


def _git(started: Started) -> Effects:
    given = read_options(started, _GLOBAL, stop=True)
    risk = _global_risk(started, given)
    if not given.operands:
        return Effects(risk=risk or ("" if not given.strange else f"{given.strange} is no option that is known of git"), harmless=not risk)
    command = given.operands[0]
    if not started.fixed(command):
        return Effects(risk="which command of git it is shows only when it runs")
    aliases = tuple(
        Script((option.value or "").partition("!")[2])
        for option in given.values("-c")
        if re.match(r"(?i)alias\.[^=]+=\s*!", option.value or "")
    )
    inner = started.part(command)
    effects = _command(inner)
    risk = risk or (f"{given.strange} is no option that is known of git" if given.strange else "")
    if not (risk or aliases):
        return effects
    return Effects(
        (*aliases, *effects.starts),
        effects.reads,
        effects.writes,
        effects.removes,
        risk or effects.risk,
        harmless=effects.harmless,
    )


def _global_risk(started: Started, given: Given) -> str:
    before = started.words[: given.operands[0]] if given.operands else started.words
    if given.unclear and given.unclear in before:
        return f"{given.unclear} may be an option of git that starts programs"
    for option in given.options:
        if option.name == "-c":
            if not _HARMLESS_SETTING.match(option.value or "") or not started.one_word(option.position):
                return f"the setting {option.value} may start programs"
        elif option.name in ("-p", "--paginate"):
            return "it starts a pager"
        elif option.value is not None:
            return f"{option.name} trusts another place or its programs"
    return ""


def _command(inner: Started) -> Effects:
    name = inner.words[0]
    special = _SPECIAL.get(name)
    if special is not None:
        return special(inner)
    if name not in _LOOKS and name not in _CHANGES:
        return Effects(risk=f"git {name} may be an alias, or start programs")
    risk = _option_risk(inner)
    looked_in = (words[words.index("--") + 1 :] if "--" in (words := inner.words) else (".",)) if name == "grep" else ()
    return Effects(reads=looked_in, writes=_written(inner) if name in _WRITES else (), risk=risk, harmless=name in _LOOKS)


def _option_risk(inner: Started) -> str:
    """Options that start programs or open files, abbreviated ones too."""
    name, after, skipped = inner.words[0], False, False
    for place, word in enumerate(inner.words[1:], 1):
        if _EXEC_TRANSPORT.match(word):
            return f"{word} is an address that starts a program"
        after = after or (word == "--" and inner.fixed(place))
        if after:
            continue
        if place not in inner.splits and place > 1 and _takes_next(name, inner.words[place - 1], options=not skipped):
            skipped = True
            continue
        skipped = False
        if not inner.one_word(place):
            return f"{word} may be an option that makes git {name} start a program"
        if word.startswith("--") and any(long.startswith(word.partition("=")[0]) for long in _STARTS):
            return f"{word} may make git {name} start a program or write a file"
        if _SHORT_OPTION.match(word) and set(_cluster(name, word)[0]) & set(_SHORT.get(name, "")):
            return f"{word} may make git {name} start a program or write a file"
    return ""


def _cluster(name: str, word: str) -> tuple[str, str]:
    """The letters of ``-am`` up to one that takes a value, and the value that is attached to it."""
    taking = set(_TAKES.get(name, "")) - set(_SHORT.get(name, ""))
    end = next((place for place, letter in enumerate(word[1:], 2) if letter in taking), len(word))
    return word[1:end], word[end:]


def _takes_next(name: str, word: str, *, options: bool) -> bool:
    """Whether an option takes the word after it for a text; ``options``: whether it is no such text itself."""
    if not options:
        return False
    if not word.startswith("-"):
        return False
    if word.startswith("--"):
        return word in _TAKE_TEXTS.get(name, ())
    letters, value = _cluster(name, word)
    return bool(_SHORT_OPTION.match(word) and letters and letters[-1] in _TAKES.get(name, "") and not value)


def _written(inner: Started) -> tuple[str, ...]:
    """What ``checkout -- x``, ``restore x``, ``clean``, ``reset --hard``, ``rm x``, ``mv a b`` change in the folder."""
    name, words = inner.words[0], inner.words
    given = read_options(inner, _OPERANDS)
    operands = tuple(words[place] for place in given.operands)
    if name == "init" or (name in ("rm", "mv", "restore") and "--cached" not in words and not ("--staged" in words and len(words) == 3)):
        return operands
    if name in ("checkout", "switch"):
        return _checked_out(inner, operands)
    if name == "stash":
        looks = operands[:1] in (("list",), ("show",), ("create",), ("store",), ("branch",))
        return () if looks else words[words.index("--") + 1 :] if "--" in words else (".",)
    if name == "clean":
        return operands or (".",)
    if name in ("apply", "am") or (name in ("reset", "read-tree") and any(re.match(r"--(?:h|me|k)|-u", word) for word in words)):
        return (".",)
    return operands[1:2] if name == "clone" or (name, operands[:1]) in (("worktree", ("add",)), ("bundle", ("create",))) else ()


def _checked_out(inner: Started, operands: tuple[str, ...]) -> tuple[str, ...]:
    """``checkout HEAD x`` and ``checkout x.py`` write files, ``checkout main`` goes to a branch and keeps what was changed."""
    words = inner.words
    if "--" in words:
        return words[words.index("--") + 1 :]
    forced = any(word.partition("=")[0] in _FORCED for word in words)
    if inner.words[0] == "switch" or set(words) & {"-b", "-B", "--orphan"}:
        return (".",) if forced else ()
    files = tuple(word for place, word in enumerate(operands) if place or _A_FILE.fullmatch(word))
    return files or ((".",) if forced else ())


_LOOKING = names("--get --get-all --get-regexp --get-urlmatch --list -l")
_WHERE = names("--global --local --system --worktree --show-origin --show-scope --name-only -z --null --includes --bool --int --path")


def _config(inner: Started) -> Effects:
    """Reading a setting is harmless; every setting may name a program."""
    options = {word for word in inner.words[1:] if word.startswith("-")}
    operands = [word for word in inner.words[1:] if not word.startswith("-")]
    if (
        not inner.dynamic
        and options <= _LOOKING | _WHERE
        and (options & _LOOKING or operands[:1] in (["get"], ["list"]) or len(operands) < 2)
    ):
        return Effects(harmless=True)
    named = [word for word in inner.words[1:] if word not in ("--global", "--local", "--system", "set", "--add")]
    if len(named) == 2 and not inner.dynamic and re.match(r"(?i)user\.(?:name|email)\Z", named[0]):
        return NOTHING
    return Effects(risk="a setting of git may start programs")


def _lists(inner: Started) -> Effects:
    """``branch``, ``tag``, ``remote``, ``stash``, ``reflog``, ``worktree``: looking is harmless."""
    looks = {
        "-v",
        "-vv",
        "-a",
        "-r",
        "-l",
        "--list",
        "list",
        "show",
        "--all",
        "--verbose",
        "--show-current",
        "--merged",
        "--no-merged",
        "get-url",
    }
    words = inner.words[1:]
    looking = (
        not inner.dynamic and (not words or words[0] in looks) and not set(words) & {"-d", "-D", "-m", "-M", "-f", "--delete", "--force"}
    )
    empty = not words and inner.words[0] == "stash"
    risk = _option_risk(inner)
    return Effects(writes=_written(inner), risk=risk, harmless=looking and not empty and not risk)


def _submodule(inner: Started) -> Effects:
    given = read_options(inner, grammar("-q --quiet"), stop=True)
    command = inner.words[given.operands[0]] if given.operands else "status"
    if command == "foreach":
        places = [place for place in given.operands[1:] if inner.words[place] not in ("--recursive", "-q", "--quiet")]
        text = " ".join(inner.words[place] for place in places)
        return Effects(starts=(Script(text, all(map(inner.fixed, places))),), risk="" if places else "it runs a command in each submodule")
    return Effects(risk=_option_risk(inner), harmless=command in ("status", "summary"))


def _bisect(inner: Started) -> Effects:
    if inner.words[1:2] == ("run",):
        return Effects(starts=(inner.part(2),) if len(inner.words) > 2 else ())
    return Effects(
        risk=_option_risk(inner) or ("" if inner.words[1:2] != ("visualize",) and inner.words[1:2] != ("view",) else "it starts a program")
    )


def _rebase(inner: Started) -> Effects:
    given = read_options(inner, grammar("-inqvfkmSr", "-xsXC --exec --onto --strategy"))
    scripts = tuple(Script(option.value or "", inner.fixed(option.position)) for option in given.values("-x", "--exec"))
    return Effects(starts=scripts, risk=_option_risk(inner))


_SPECIAL: dict[str, Handler] = {
    "config": _config,
    **dict.fromkeys(("branch", "tag", "remote", "stash", "reflog", "worktree", "notes"), _lists),
    "submodule": _submodule,
    "bisect": _bisect,
    "rebase": _rebase,
}
GIT: dict[str, Handler] = {"git": _git}
