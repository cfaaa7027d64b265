"""Decides which variables a command line may set without risk."""

from __future__ import annotations

import re

from nbtools.shell.options import word_set

_EXPORTED = word_set(
    """LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM CI DEBUG
    VERBOSE QUIET NODE_ENV APP_ENV RAILS_ENV RACK_ENV FLASK_ENV FLASK_DEBUG ENVIRONMENT RUST_BACKTRACE
    RUST_LOG LOG_LEVEL LOGLEVEL PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING
    PYTHONUTF8 PYTHONFAULTHANDLER PYTHONASYNCIODEBUG PYTHONDEVMODE PYTHONNOUSERSITE PYTHONOPTIMIZE
    PYTHONTRACEMALLOC GOOS GOARCH GOMAXPROCS CGO_ENABLED OMP_NUM_THREADS MKL_NUM_THREADS
    OPENBLAS_NUM_THREADS CUDA_VISIBLE_DEVICES TOKENIZERS_PARALLELISM TF_CPP_MIN_LOG_LEVEL PORT HOST
    DEBIAN_FRONTEND SOURCE_DATE_EPOCH PY_COLORS TEST_ENV LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC
    LC_TIME RUN_SLOW SKIP_SLOW MPLBACKEND HYPOTHESIS_PROFILE CARGO_TERM_COLOR NPM_CONFIG_LOGLEVEL
    PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT UV_OFFLINE HF_HUB_OFFLINE TRANSFORMERS_OFFLINE
    GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS"""
)
"""Variables that only change how programs report or how much they do."""
_LOCALE = word_set("LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME")
_LOCALE_VALUE = re.compile(r"(?:(?:C|POSIX|(?:C|[a-z]{2,3}_[A-Z]{2})\.(?:UTF-8|utf-?8)))?")
"""In GBK, Shift-JIS or Big5 a backslash can be the second byte of a character, and zh_TW alone is Big5."""
_LANGUAGES = re.compile(r"(?:[a-z]{2,3}(?:_[A-Z]{2})?(?::[a-z]{2,3}(?:_[A-Z]{2})?)*|C)?")
"""Languages of messages, in order; gettext would follow a path."""
_EXPORTED_VALUE = re.compile(r"(?!.*\.\.)[\w.:,/+@%=-]*")
"""Values without a meaning for make and other programs that evaluate variables."""
_VALUES = {**dict.fromkeys(_LOCALE, _LOCALE_VALUE), "LANGUAGE": _LANGUAGES}
_REMOVABLE = word_set(
    "VIRTUAL_ENV VIRTUAL_ENV_PROMPT CONDA_PREFIX PYTHONPATH PYTHONHOME NODE_PATH OLDPWD DISPLAY"
)
"""Further variables without which no program does more."""
_IDLE = re.compile(r"(?:GIT_|MAN)?PAGER=(?:cat|''|\"\")?|(?:GIT_)?EDITOR=(?:true|:)")
"""Variables that name a program, with a value that does nothing."""
_FOLDER = r"(?:\.?[\w-][\w.-]*|\.)(?:/[\w-][\w.-]*)*"
_OF_PROJECT = re.compile(rf"(?:PYTHONPATH|NODE_PATH)={_FOLDER}(?::{_FOLDER})*")
"""Variables with folders of the project, for a program that runs the project's code anyway."""
_EVALUATED = "PS0|PS1|PS2|PS4|PROMPT_COMMAND|BASH_ENV"
_EVALUATED_VALUE = re.compile(rf"({_EVALUATED})\+?=(.*)", re.DOTALL)
_SETS_EVALUATED = re.compile(rf"(?<!\$)(?<!\$\{{)\b(?:{_EVALUATED})\b|\$\{{(?:{_EVALUATED}):?=")
_OWN = re.compile(r"[a-z](?:[a-z0-9]{0,11}|[a-z0-9]{0,9}_[a-z0-9]{1,9})")
_NOT_OWN = re.compile(r"\w+_proxy|(?:npm|pip|uv|git|ld|dyld|lc)_\w+")
_OF_SHELLS = word_set(
    """path fpath cdpath manpath mailpath module_path fignore prompt prompt2 prompt3 prompt4 psvar watch
    status argv signals histchars history keyboard_hack term home cwd shell user group term_program nullcmd
    readnullcmd env options aliases functions commands parameters builtins reswords dirstack
    jobstates"""
)
"""Lower-case names with a special meaning in some shell."""
_OWN_CAPITALS = word_set(
    """F I J K N X Y Z A B C D S T V FILE FILES NAME NAMES LINE OUT OUTPUT MSG MESSAGE COUNT TOTAL NUM
    RESULT RESULTS RES RET RC CODE VERSION VER TAG BRANCH COMMIT SHA REV HASH REF BASE HEAD DATE DAY MONTH
    YEAR NOW START END ELAPSED TIME STAMP TIMESTAMP URL QUERY PATTERN WORD WORDS TEXT SRC DST DEST DIR DIRS
    FOLDER ROOT TARGET TEST TESTS CHANGED DIFF LIST ITEM ITEMS KEY VALUE VAL SIZE ID PID INDEX FIRST LAST
    LOG LOGS DATA INPUT RESPONSE BODY JSON MODULE PACKAGE PKG PROJECT REPO AUTHOR TITLE LABEL MATCHES FOUND
    MISSING"""
)
"""Upper-case names that people use in a line, and that no known program reads."""


def name_of(assignment: str) -> str:
    return re.split(r"[=\[+]", assignment, maxsplit=1)[0]


def _has_plain_value(assignment: str) -> bool:
    """Returns whether a variable of ``_EXPORTED`` gets a value that no program evaluates."""
    name, equals, value = assignment.partition("=")
    if not equals:
        return False  # the value comes from elsewhere, as in ``for LANG in …`` and ``read LANG``
    if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
        value = value[1:-1]
    allowed = _VALUES.get(name, _EXPORTED_VALUE)
    return name in _EXPORTED and bool(allowed.fullmatch(value))


def evaluated_value(assignment: str) -> tuple[str, str] | None:
    """Returns name and value of an assignment whose value bash evaluates as code:
    before each traced command, at prompts or at its start.

    None for any other variable.
    """
    found = _EVALUATED_VALUE.fullmatch(assignment)
    return (found[1], found[2]) if found else None


def literal_value(source: str) -> str | None:
    """Returns the value of an assignment's source text; None where the shell expands or joins parts."""
    if re.fullmatch(r"'[^']*'", source):
        return source[1:-1]
    found = re.fullmatch(r'"([^"$`\\]*)"|([\w+:,./@%=-]*)', source)
    return (found[1] or found[2] or "") if found else None


def names_evaluated_variable(text: str) -> bool:
    """Whether a word may name such a variable, to set it; ``$PS1`` only reads it."""
    return _SETS_EVALUATED.search(text) is not None


def exported_risk(assignments: tuple[str, ...], *, project: bool = False) -> str:
    """Returns why environment variables may change what a program does; empty where they do not."""
    for assignment in assignments:
        named = _IDLE.fullmatch(assignment) or (project and _OF_PROJECT.fullmatch(assignment))
        if not named and not _has_plain_value(assignment):
            return f"the variable {name_of(assignment)} may change what it does"
    return ""


def removed_risk(name: str) -> str:
    """Returns why a program may do more without an environment variable; empty where it does not."""
    return "" if name in _EXPORTED or name in _REMOVABLE else f"without the variable {name} it may do more"


def variable_risk(assignment: str) -> str:
    """Returns why a shell variable, exported or not, may change later commands; empty if it cannot."""
    name = name_of(assignment)
    own = name in _OWN_CAPITALS or (
        _OWN.fullmatch(name) and not _NOT_OWN.fullmatch(name) and name not in _OF_SHELLS
    )
    if own or (name in _EXPORTED and _has_plain_value(assignment)) or _IDLE.fullmatch(assignment):
        return ""
    return f"the variable {name} may change what later commands do"
