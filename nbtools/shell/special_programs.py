"""Analyses programs whose arguments are a language, which lists of options cannot describe."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from nbtools.shell.command_model import RUNS_INPUT, Effects, StartedProgram, is_input
from nbtools.shell.options import not_listed, read_options, word_set
from nbtools.shell.scripts import (
    awk_program_is_plain,
    jq_filter_is_plain,
    sed_script_is_plain,
    sql_only_queries,
    yq_expression_is_plain,
)
from nbtools.shell.search_programs import SEARCH_PROGRAMS
from nbtools.shell.shell_builtins import BUILTINS, Special

if TYPE_CHECKING:
    from nbtools.shell.program_table import Entry

# sed, awk, tar, dd, chmod, install: their own little languages


def _sed(started: StartedProgram, entry: Entry, _: int) -> Effects:
    parsed = read_options(started, entry)
    scripts = [(option.value or "", option.position) for option in parsed.values(word_set("-e --expression"))]
    operands = parsed.operands
    if not scripts and operands:
        scripts, operands = [(started.words[operands[0]], operands[0])], operands[1:]
    files = tuple(started.words[place] for place in operands)
    in_place = parsed.has(entry.rewrites)
    backups = [
        option.value for option in parsed.values(entry.rewrites) if option.value
    ]  # the last one counts
    copies = tuple(f"{name}{backup}" for name in files for backup in backups)
    dashed = (place for place in sorted(started.dashes) if started.words[place - 1] != "--")
    unclear = next((started.words[place] for place in dashed), "")
    risk = not_listed(entry, parsed) or (f"{unclear} may be an option of sed" if unclear else "")
    script = "\n".join(text for text, _ in scripts)
    if not all(started.is_literal(place) for _, place in scripts):
        risk = risk or "its script is only known when it runs"
    elif not sed_script_is_plain(script):
        risk = risk or f"its script {script!r} may start programs or write files"
    if re.search(r"[/*]", "".join(backups)):
        risk = risk or "the names of its backup files are not known"
    note = "changes files in place" if in_place else ""
    writes = (*files, *copies) if in_place else ()
    how = tuple(started.words[option.position] for option in parsed.options if option.name in entry.rewrites)
    return Effects(
        reads=files,
        writes=writes,
        named=writes,
        rewrites=how,
        risk=risk,
        harmless=not (in_place or risk),
        note=note,
    )


def _awk(started: StartedProgram, entry: Entry, _: int) -> Effects:
    parsed = read_options(started, entry, stop=True)
    if not parsed.operands:
        return Effects(risk=not_listed(entry, parsed) or "its program is in a file")
    place, *rest = parsed.operands
    program = started.words[place]
    files = tuple(started.words[at] for at in rest if not re.match(r"[A-Za-z_]\w*=", started.words[at]))
    risk = not_listed(entry, parsed)
    if any(re.match(r"/+inet[46]?/", file) for file in files):
        risk = risk or "it opens a network connection"
    if not started.is_literal(place):
        risk = risk or "its program is only known when it runs"
    elif not awk_program_is_plain(program):
        risk = risk or f"its program {program!r} may start programs or write files"
    return Effects(reads=files, risk=risk, harmless=not risk)


def _tar(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``tar``, whose first word may be letters without a dash: ``tar xzf a -C b``."""
    words = started.words
    if len(words) > 1 and started.is_literal(1) and re.fullmatch(r"[A-Za-z]+", words[1]):
        started = _with_dashes(started, entry)
    parsed = read_options(started, entry)
    files = [option.value or "" for option in parsed.values(word_set("-f --file"))]
    archive = tuple(file for file in files if file != "-")
    operands = tuple(started.words[place] for place in parsed.operands)
    folders = [option for option in parsed.options if option.name in entry.folder]
    into = (posixpath.join("", *(option.value or "" for option in folders)),) if folders else ()
    unclear = into if any(option.position in started.dynamic for option in folders) else ()
    named = tuple(option.value or "" for option in parsed.values(entry.writes - {"-f", "--file"}))
    risk = not_listed(entry, parsed)
    risk = risk or next((f"the archive {name} is on another machine" for name in archive if ":" in name), "")
    if parsed.has(word_set("-x --extract --get")):
        if not (into or parsed.has(word_set("-O --to-stdout"))):
            risk = risk or "the files that it unpacks are not known"
        written = (*(into or (".",)), *named)
        effects = Effects(reads=archive, writes=written, named=written, links=written, risk=risk)
        return effects._replace(unclear=unclear, note="unpacks files")
    if parsed.has(word_set("-t --list")):
        return Effects(reads=archive, writes=named, named=named, risk=risk, harmless=not (risk or named))
    removed = operands if parsed.has(entry.takes) else ()
    named = (*named, *removed)
    effects = Effects(reads=operands, writes=(*archive, *named), named=named, removes=removed, risk=risk)
    return effects._replace(note="writes an archive")


def _with_dashes(started: StartedProgram, entry: Entry) -> StartedProgram:
    """Converts ``tar cfC a b`` to ``tar -c -f a -C b``."""
    words, value_positions, position = [started.words[0]], {}, 2
    for letter in started.words[1]:
        words.append(f"-{letter}")
        if f"-{letter}" in entry.values and position < len(started.words):
            value_positions[position] = len(words)
            words.append(started.words[position])
            position += 1
    later = {place: len(words) + place - position for place in range(position, len(started.words))}
    return started.with_words((*words, *started.words[position:]), later | value_positions)


def _dd(started: StartedProgram, entry: Entry, _: int) -> Effects:
    named = [word.partition("=") for word in started.words[1:]]
    odd = next((name for name, _, _ in named if name not in entry.values | {"if", "of"}), "")
    unknown = f"{odd} is not a known operand of dd" if odd else ""
    risk = "what it reads and writes is only known when it runs" if started.dynamic else unknown
    reads, writes = (tuple(value for name, _, value in named if name == which) for which in ("if", "of"))
    unclear = (*reads, *writes) if started.dynamic else ()
    effects = Effects(reads=reads, writes=writes, named=writes, risk=risk, unclear=unclear)
    return effects._replace(note="writes raw data", warn=True)


def _chmod(started: StartedProgram, entry: Entry, _: int) -> Effects:
    parsed = read_options(started, entry)
    operands = tuple(started.words[place] for place in parsed.operands)
    if not parsed.has(word_set("--reference")):  # the first one is the mode
        operands = operands[1:]
    if parsed.strange and re.match(r"-[rwxXst]", parsed.strange):  # chmod -x file
        operands = tuple(word for word in started.words[1:] if not word.startswith("-"))
    removes = operands if parsed.has(word_set("-R --recursive")) else ()
    risk = not_listed(entry, parsed)
    return Effects(writes=operands, removes=removes, risk=risk, note="changes file permissions")


def _install(started: StartedProgram, entry: Entry, _: int) -> Effects:
    parsed = read_options(started, entry)
    operands = tuple(started.words[place] for place in parsed.operands)
    risk = not_listed(entry, parsed)
    if parsed.has(word_set("-d --directory")):
        return Effects(writes=operands, risk=risk)
    into = parsed.values(word_set("-t --target-directory"))
    sources, target = operands[:-1], operands[-1:] if len(operands) > 1 else ()
    if into:
        sources, target = operands, (into[0].value or "",)
    folder = target[0].rstrip("/") if target else ""
    inside = tuple(f"{folder}/{source.rpartition('/')[2]}" for source in sources if target)
    unclear = (*target, *inside) if started.dynamic else ()
    return Effects(reads=sources, writes=(*target, *inside), risk=risk, unclear=unclear, note="copies files")


# git checkout, python, git config, sqlite3

_EXCLUDES = re.compile(r":(?:[!^]|\([^)]*exclude)")
ANYWHERE_IN_REPOSITORY = "$(git rev-parse --show-toplevel)"


def pathspec_reach(word: str) -> str:
    """Returns the folder in which a pathspec of git may match anything; empty for one that is a plain path.

    Wildcards and exclusions match in the working directory.  Other magic may lead to the root of the
    repository (``:/x``) and change how the rest is matched (``:(icase)x``).
    """
    if word.startswith(":") and not _EXCLUDES.match(word):
        return ANYWHERE_IN_REPOSITORY
    return "." if re.search(r"[*?\[\\]", word) or word.startswith(":") else ""


_A_FILE = re.compile(r"\.|.*(?:\A|[\w-])\.[A-Za-z]\w{0,5}", re.DOTALL)
"""A word that is taken for a file where it could also be a branch."""
_FORCED = word_set("-f --force -m --merge --discard-changes --ours --theirs -p --patch --pathspec-from-file")


def _git_checkout(started: StartedProgram, entry: Entry, first: int) -> Effects:
    """Analyses ``git checkout``: ``HEAD x`` and ``x.py`` write files, ``main`` keeps changes."""
    parsed = read_options(started, entry, first)
    risk = not_listed(entry, parsed)
    operands = tuple(started.words[place] for place in parsed.operands)
    forced = parsed.has(_FORCED)
    if "--" in started.words[first:]:
        files = started.words[started.words.index("--", first) + 1 :]
    elif parsed.has(word_set("-b -B -c -C --orphan --create --force-create --detach")):
        files = ()
    else:
        first_is_file = any(_A_FILE.fullmatch(word) or pathspec_reach(word) for word in operands[:1])
        files = operands if first_is_file else operands[1:]
    files = tuple(pathspec_reach(word) or word for word in files)
    magic = (ANYWHERE_IN_REPOSITORY,) if ANYWHERE_IN_REPOSITORY in files else ()
    writes = files or ((".",) if forced else ())
    effects = Effects(writes=writes, links=(".",), risk=risk, unclear=magic)
    return effects._replace(note="may discard changes", warn=True)


_READ_OPTIONS = word_set("--get --get-all --get-regexp --get-urlmatch --list -l get list")
_DISPLAY_OPTIONS = word_set(
    "--global --local --system --worktree --show-origin --show-scope --name-only -z --null --includes --bool"
    " --int --path --type=bool"
)


_PYTHON_VALUE = re.compile(
    r"utf8(?:=[01])?|dev|importtime|faulthandler|tracemalloc(?:=\d+)?|error|ignore|default|always|module|once"
)


def _python(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``python file`` and ``python -m module``; all words after these are arguments."""
    words, place = started.words, 1
    while place < len(words) and words[place] in entry.flags and started.is_literal(place):
        place += 1
    while words[place : place + 1] in (("-X",), ("-W",)) and started.is_literal(place):
        if not _PYTHON_VALUE.fullmatch("".join(words[place + 1 : place + 2])):
            break
        place += 2
    rest = words[place:]
    if not rest:
        only_informs = place > 1 and words[1] in ("--version", "-V", "--help", "-h", "-VV")
        return Effects(harmless=only_informs, risk="" if only_informs else RUNS_INPUT)
    if rest[0] == "-m" and len(rest) > 1 and started.is_literal(place) and started.is_literal(place + 1):
        return Effects(starts=(started.part(place + 1),), spelled=place + 2, project=True)
    if rest[0].startswith("-") or not started.is_one_word(place) or is_input(rest[0]):
        may_have_code = f"{rest[0]} may give {started.name} code to run"
        return Effects(risk=RUNS_INPUT if rest[0] == "-" else may_have_code)
    risk = "" if started.is_literal(place) else "which code it runs is only known when it runs"
    return Effects(reads=(rest[0],), risk=risk, project=True)


def _git_config(started: StartedProgram, _: Entry, first: int) -> Effects:
    """Analyses ``git config``: reading is harmless, but a setting that is written may name a program."""
    words = started.words[first:]
    operands = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    is_command = operands[:1] in (["get"], ["list"])
    reads = words[:1] and (bool(options & _READ_OPTIONS) or is_command or len(operands) == 1)
    after_name = words[words.index(operands[0]) + 1 :] if operands and not is_command else ()
    # After the name of a setting, a word with a dash is the value.
    reads = reads and not any(word.startswith("-") for word in after_name)
    reads = reads and not started.dynamic and options <= _READ_OPTIONS | _DISPLAY_OPTIONS
    if reads and len(operands) <= (2 if is_command else 1):
        return Effects(harmless=True)
    named = [word for word in words if word not in ("--global", "--local", "--system", "set", "--add")]
    files = {"--global": "~/.gitconfig", "--system": "/etc/gitconfig"}
    if len(named) == 2 and not started.dynamic and re.fullmatch(r"(?i)user\.(?:name|email)", named[0]):
        return Effects(writes=tuple(file for option, file in files.items() if option in options))
    written = tuple(file for option, file in files.items() if option in options) or (".git/config",)
    return Effects(writes=written, named=written, risk="a setting of git may start programs")


def _sqlite(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``sqlite3``: a query is harmless only with ``-safe``,
    which switches off what writes files and starts programs.
    """
    operands = [word for word in started.words[1:] if word not in entry.flags]
    clear = not started.dynamic and len(operands) == 2 and not operands[0].startswith("-")
    files = tuple(operands[:1])
    # It creates a missing database.
    writes = () if "-readonly" in started.words or files == (":memory:",) else files
    if files and re.match(r"file:", files[0], re.IGNORECASE):
        # Its path may be escaped, and it may have parameters.
        return Effects(reads=files, risk=f"{files[0]} is an address, which SQLite decodes")
    risk = "it accepts commands that start programs; a query with -safe does not"
    if clear and "-safe" in started.words and sql_only_queries(operands[1]):
        risk = ""
    reads_code = len(operands) < 2 and not started.dynamic
    return Effects(reads=files, writes=writes, risk=risk, language=entry.language if reads_code else "")


def _jq(started: StartedProgram, entry: Entry, _: int) -> Effects:
    """Analyses ``jq`` and ``yq``: the first operand is a filter, the others are files.
    ``--arg`` takes two words.
    """
    names = [place for place, word in enumerate(started.words) if word in ("--arg", "--argjson")]
    skipped = frozenset(place + 2 for place in names)
    kept = [place for place in range(len(started.words)) if place not in skipped]
    moved = {place: new for new, place in enumerate(kept)}
    own = started.with_words(tuple(started.words[place] for place in kept), moved)
    parsed = read_options(own, entry)
    risk = not_listed(entry, parsed)
    if skipped & started.splits:
        risk = risk or "where its own arguments end is only known when it runs"
    operands = parsed.operands
    is_plain = yq_expression_is_plain if entry.name == "yq" else jq_filter_is_plain
    files = tuple(own.words[place] for place in operands[1:])
    if entry.name == "yq" and operands and own.words[operands[0]] in ("e", "ea", "eval", "eval-all"):
        operands, files = operands[1:], files[1:]
    if operands and not own.is_literal(operands[0]):
        risk = risk or "its filter is only known when it runs"
    elif operands and not is_plain(own.words[operands[0]]):
        risk = risk or f"its filter {own.words[operands[0]]!r} may read other files"
    in_place = [option for option in parsed.options if option.name in entry.rewrites]
    rewriting = tuple(own.words[option.position] for option in in_place)
    writes = files if rewriting else ()
    effects = Effects(reads=files, writes=writes, named=writes, rewrites=rewriting, risk=risk)
    return effects._replace(harmless=not (risk or writes))


SPECIAL: dict[str, Special] = {
    "sed": _sed,
    "awk": _awk,
    "tar": _tar,
    "dd": _dd,
    "chmod": _chmod,
    "install": _install,
    "python": _python,
    "git-config": _git_config,
    "git-checkout": _git_checkout,
    "sqlite": _sqlite,
    "jq": _jq,
    **SEARCH_PROGRAMS,
    **BUILTINS,
}
