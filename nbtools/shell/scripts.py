"""Checks scripts of ``sed``, ``awk`` and SQLite: whether they start no program and write no file."""

from __future__ import annotations

import re

_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*|\\([^\n\\])(?:(?!\1)[^\\\n]|\\.)*?\1[IM]*)"
_TO = r"(?:\s*,\s*(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/[IM]*))?"
_COMMAND = re.compile(
    rf"""(?xs)\s*(?:{_ADDRESS}{_TO}\s*!?\s*)?
    (?: [{{}}]
      | \#[^\n]*
      | :\s*[\w.-]+
      | [pPdDgGhHxnNz=] (?=\s*(?:[;}}\n\#]|\Z))
      | [btT](?:\ *[\w.-]+)? (?=\s*(?:[;}}\n\#]|\Z))
      | [qQlL]\ *\d* (?=\s*(?:[;}}\n\#]|\Z))
      | [aic](?:\\\n|\\|\ )(?:[^\\\n]|\\.)*(?=\n|\Z)
      | s(?P<s>[^\w\s\\])(?:(?!(?P=s))[^\\]|\\.)*(?P=s)(?:(?!(?P=s))[^\\]|\\.)*(?P=s)[gpiIM0-9]*(?=\s*(?:[;}}\n\#]|\Z))
      | y(?P<y>[^\w\s\\])(?:(?!(?P=y))[^\\]|\\.)*(?P=y)(?:(?!(?P=y))[^\\]|\\.)*(?P=y)(?=\s*(?:[;}}\n\#]|\Z))
      | (?=;|\n)
    )\s*[;\n]?"""
)


def sed_script_is_plain(script: str) -> bool:
    """Whether all commands of a ``sed`` script only change text: none runs a program (``e``) or opens a file (``w``, ``r``)."""
    position = 0
    while position < len(script) and not script[position:].isspace():
        found = _COMMAND.match(script, position)
        if found is None or found.end() == position:
            return False
        position = found.end()
    return True


_AWK_CALLS = frozenset(
    """if while for switch in return print printf atan2 cos exp int log rand sin sqrt srand gensub gsub index length match patsplit split
    sprintf strtonum sub substr tolower toupper asort asorti mktime strftime systime and or xor lshift rshift compl""".split()  # noqa: SIM905
)
"""What may precede a parenthesis: keywords, and functions without side effects."""
_SQL_CALLS = frozenset(
    """in and or not as on using values select where over abs avg cast char coalesce count date datetime exists format group_concat hex iif
    ifnull instr julianday length like lower ltrim max min nullif printf random replace round row_number rank dense_rank rtrim sign strftime
    substr substring sum time total trim typeof unicode unixepoch upper table_info with json json_extract json_each""".split()  # noqa: SIM905
)
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_DEFINED = re.compile(r"\b(?:function|func)\s+(\w+)")


def _calls_only(text: str, known: frozenset[str]) -> bool:
    """Whether each name before a parenthesis is known, including names in strings and comments."""
    return known.issuperset(map(str.lower, _CALL.findall(text)))


def awk_program_is_plain(program: str) -> bool:
    """Whether an ``awk`` program starts nothing and writes no file: by functions, pipes, ``getline``, ``@`` or ``print >``."""
    if re.search(r"getline|ARGV|@|\\\n|(?<!\|)\|(?!\|)|print.*>", program.replace("||", "  ") if "|||" not in program else "|", re.DOTALL):
        return False
    return _calls_only(program, _AWK_CALLS.union(map(str.lower, _DEFINED.findall(program))))


def sql_only_queries(sql: str) -> bool:
    """Whether the text is one query with harmless functions.  Others in SQLite's shell write files and start programs."""
    sql = sql.strip().removesuffix(";")
    query = re.match(r"(?i)(?:select|with|explain|pragma table_info)\b", sql) is not None
    return query and ";" not in sql and not re.search(r"(?m)^\s*\.", sql) and _calls_only(sql, _SQL_CALLS)
