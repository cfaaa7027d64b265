"""Checks scripts of ``sed``, ``awk``, ``jq``, ``yq`` and SQLite:
whether they start nothing and open no file by themselves.

Each language has a small subset that is understood completely; whatever is not in it needs approval.  A
script is split into tokens first, so that a text in a string or a comment is never taken for code, or code
for text.  ``tests/shell/test_script_languages.py`` and ``tests/fuzz/run_scripts.py`` run what is accepted
with the programs themselves.
"""

from __future__ import annotations

import re

from nbtools.shell.options import word_set

_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\[^\n])*/[IM]*|\\([^\w\s\\])(?:(?!\1)[^\\\n]|\\[^\n])*?\1[IM]*)"
_TO = r"(?:[ \t]*,[ \t]*(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\[^\n])*/[IM]*))?"
_ENDS = r"(?=[ \t]*(?:[;}\n]|\Z))"
_COMMAND = re.compile(rf"""(?xsa)[ \t\n;]*(?:{_ADDRESS}{_TO}[ \t]*!?[ \t]*)?
    (?: \{{
      | \}} {_ENDS}
      | \#[^\n]*
      | :[ \t]*[\w.-]+ (?=[ \t]*(?:[;\n]|\Z))
      | [pPdDgGhHxnNz=] {_ENDS}
      | [btT](?:[ \t]*[\w.-]+)? {_ENDS}
      | [qQlL][ \t]*\d* {_ENDS}
      | [aic](?:\\\n|[ \t]+)(?=[^\\\s])(?:[^\\\n]|\\.)*(?=\n|\Z)
      | s(?P<s>[^\w\s\\;{{}}\#])(?:(?!(?P=s))[^\\\n]|\\[^\n])*(?P=s)
        (?:(?!(?P=s))[^\\\n]|\\.)*(?P=s)[gpiIM0-9]* {_ENDS}
      | y(?P<y>[^\w\s\\;{{}}\#])(?:(?!(?P=y))[^\\\n]|\\[^\n])*(?P=y)
        (?:(?!(?P=y))[^\\\n]|\\[^\n])*(?P=y) {_ENDS}
      | (?=[;\n]|\Z)
    )[ \t]*[;\n]?""")


def sed_script_is_plain(script: str) -> bool:
    """Whether all commands of a ``sed`` script only change text:
    none runs a program (``e``) or opens a file (``w``, ``r``).
    """
    position = 0
    while position < len(script) and script[position:].strip(" \t\n;"):
        found = _COMMAND.match(script, position)
        if found is None or found.end() == position:
            return False
        position = found.end()
    return True


# awk

_AWK_TOKEN = re.compile(r"""(?xa)
    (?P<blank>[ \t]+)
  | (?P<comment>\#[\t -\[\]-~]*(?=\n|\Z))
  | (?P<newline>\n)
  | (?P<string>"(?:[^"\\\n\r\0]|\\[^\n\r])*")
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator>\|\||&&|\+\+|--|\+=|-=|\*=|%=|\^=|==|<=|>=|!=|!~|[-+*%^!<>~?:,;=$(){}\[\]])
  | (?P<slash>/)
    """)
_AWK_PATTERN = re.compile(
    r"/(?:[^/\\\n\r\[\]\0]|\\[^\n\r]|\[\^?(?:\[:[a-z]+:\]|[^\]\[/\\\n\r]|\\[^\n\r])+\])+/"
)
_AWK_KEYWORDS = word_set(
    """if else while for do in switch case default break continue next nextfile exit return delete function
    func"""
)
_AWK_STATEMENTS = word_set("print printf")
_AWK_HARMLESS = word_set(
    """atan2 cos exp int log rand sin sqrt srand gensub gsub index length match patsplit split sprintf
    strtonum sub substr tolower toupper asort asorti mktime strftime systime and or xor lshift rshift compl
    typeof isarray"""
)
"""Functions without side effects."""
_AWK_VARIABLES = word_set(
    """NR NF FNR FS OFS ORS RS RT RSTART RLENGTH SUBSEP FILENAME CONVFMT OFMT FIELDWIDTHS FPAT IGNORECASE
    ENVIRON BEGIN END BEGINFILE ENDFILE"""
)
_AWK_OWN = re.compile(r"(?=[a-z_])(?!_\Z)\w+|[A-Z][a-z0-9_]\w*|[A-Z]")
_AWK_NEVER = word_set(
    """system close fflush getline bindtextdomain dcgettext dcngettext namespace include load extension fork
    wait"""
)
_AWK_BEFORE_PATTERN = frozenset({"", "\n", ";", "{", "}", "(", ",", "!", "~", "!~", "&&", "||"})


class _AwkReader:
    """Reads the tokens of an ``awk`` program; ``plain`` is false from the first one outside the subset."""

    def __init__(self) -> None:
        self.before = ""
        """The kind of token before: an operator, ``value`` for an operand, or a word."""
        self.parentheses: list[bool] = []
        """For each open parenthesis, whether it holds the condition of a statement."""
        self.printing = -1
        """How many parentheses were open where a print statement began; -1 outside."""

    def plain(self, program: str) -> bool:
        position = 0
        while position < len(program):
            found = _AWK_TOKEN.match(program, position)
            if found is None:
                return False
            if found.lastgroup == "slash":
                position = self._slash(program, position)
            else:
                position = found.end() if self._token(str(found.lastgroup), found[0]) else 0
            if not position:
                return False
        return True

    def _slash(self, program: str, position: int) -> int:
        """Returns where a pattern or a division ends, 0 where awks may disagree on which of them it is."""
        if self.before in _AWK_BEFORE_PATTERN:
            found = _AWK_PATTERN.match(program, position)
            self.before = "value"
            return found.end() if found else 0
        if self.before == "value":
            self.before = "/"
            return position + (2 if program[position + 1 : position + 2] == "=" else 1)
        return 0

    def _token(self, kind: str, text: str) -> bool:
        if kind in ("blank", "comment"):
            return True
        if kind == "name":
            return self._name(text)
        if kind in ("string", "number"):
            self.before = "value"
            return True
        return self._operator(text)

    def _name(self, text: str) -> bool:
        if text in _AWK_STATEMENTS:
            self.printing = len(self.parentheses)
        if text in _AWK_STATEMENTS or text in _AWK_KEYWORDS:
            self.before = text
            return True
        is_function = text in _AWK_HARMLESS
        if text in _AWK_NEVER or not (is_function or text in _AWK_VARIABLES or _AWK_OWN.fullmatch(text)):
            return False
        self.before = "function" if is_function else "value"
        return True

    def _operator(self, text: str) -> bool:
        if text == "(":
            self.parentheses.append(self.before in ("if", "while", "for", "switch"))
        elif text == ")":
            if not self.parentheses:
                return False
            condition = self.parentheses.pop()
            self.before = "condition" if condition else "value"
            return True
        elif text in (">", ">=") and self.printing >= 0 and len(self.parentheses) <= self.printing:
            return False
        elif text in (";", "}") or (
            text == "\n" and self.before in ("value", "print", "printf", "condition")
        ):
            self.printing = -1
        self.before = "value" if text == "]" else text
        return True


def awk_program_is_plain(program: str) -> bool:
    """Whether an ``awk`` program starts nothing, and reads and writes no file by itself."""
    return _AwkReader().plain(program)


# SQLite

_SQL_TOKEN = re.compile(r"""(?xa)
    (?P<blank>[ \t\n]+)
  | (?P<text>'(?:[^'\0]|'')*')
  | (?P<quoted>"(?:[^"\0]|"")*")
  | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator>\|\||<=|>=|<>|!=|==|->>|->|<<|>>|-(?!-)|/(?!\*)|[+*%<>=&|~(),.])
    """)
_SQL_BEGINS = frozenset({"select", "with", "explain", "values"})
_SQL_CALLS = word_set(
    """in and or not as on using values select where from by over exists when then else case having union
    all except intersect limit filter between like glob is distinct offset abs avg cast char coalesce count
    date datetime format group_concat hex iif ifnull instr julianday length lower ltrim max min nullif
    printf quote random replace round row_number rank dense_rank lag lead rtrim sign strftime substr
    substring sum time total trim typeof unicode unixepoch upper json json_extract json_each json_tree
    json_array_length json_type json_valid json_group_array json_group_object
    json_object json_array"""
)
"""What may precede a parenthesis: keywords, and functions without side effects."""
_SQL_FILES = word_set("fsdir zipfile csv vtablog fsentry fts3tokenize completion bytecode tables_used")
"""Tables of the shell itself that show files or programs; ``-safe`` does not switch all of them off."""
_SQL_SHOWS = re.compile(
    r"\.(?:tables|schema|indexes|indices|databases)(?:[ ]\w+)?|(?i:pragma"
    r" (?:table_info|table_xinfo|index_list)\(\w+\);?)"
)


def sql_only_queries(sql: str) -> bool:
    """Whether the text is one query with harmless functions. SQLite's shell has some that do more."""
    if _SQL_SHOWS.fullmatch(sql):
        return True
    sql = sql.strip(" \t\n").removesuffix(";")
    tokens = _tokens(_SQL_TOKEN, sql)
    if not tokens or tokens[0][1].lower() not in _SQL_BEGINS or re.search(r"(?m)^[ \t]*[.#/]", sql):
        return False
    for at, (kind, text) in enumerate(tokens):
        name = text.strip('"').lower() if kind in ("name", "quoted") else ""
        called = at + 1 < len(tokens) and tokens[at + 1][1] == "("
        if name in _SQL_FILES or (called and kind == "quoted"):
            return False
        if called and kind == "name" and name not in _SQL_CALLS and not _is_table_of_query(tokens, at):
            return False
    return True


def _is_table_of_query(tokens: list[tuple[str, str]], at: int) -> bool:
    """Whether the name is that of ``with name(column) as``:
    after ``with``, ``recursive`` or a comma, and never a function.
    """
    if at == 0 or tokens[at - 1][1].lower() not in ("with", "recursive"):
        return False
    end = next((place for place in range(at + 1, len(tokens)) if tokens[place][1] == ")"), len(tokens))
    return tokens[end + 1 : end + 2] in ([("name", "as")], [("name", "AS")])


def _tokens(pattern: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """Returns kinds and texts of all tokens but blanks; nothing where one is not in the language."""
    found, position = list[tuple[str, str]](), 0
    while position < len(text):
        token = pattern.match(text, position)
        if token is None:
            return []
        if token.lastgroup != "blank":
            found.append((str(token.lastgroup), token[0]))
        position = token.end()
    return found


# jq and yq

_JQ_TOKEN = re.compile(r"""(?xa)
    (?P<blank>[ \t\n]+)
  | (?P<field>\.[A-Za-z_]\w*)
  | (?P<variable>\$(?!__prog)[A-Za-z_]\w*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<format>@[a-z0-9]+)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
  | (?P<operator>\?//|\|=|\+=|-=|\*=|/=|%=|//=|==|!=|//|>=|<=|\.\.|[-+*/%|,.:;=<>()\[\]{}?])
    """)
_JQ_STRING = re.compile(r'(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_JQ_AFTER_KEY = re.compile(r"[ \t\n]*[:,}]")
_JQ_WORDS = word_set(
    """def if then elif else end as reduce foreach try catch label and or not __loc__ true false null abs
    add all any arrays ascii ascii_downcase ascii_upcase booleans bsearch capture ceil combinations contains
    del delpaths empty endswith env error explode fabs first flatten floor format from_entries fromdate
    fromdateiso8601 fromjson fromstream getpath gmtime group_by gsub has implode in index indices infinite
    inside isempty isinfinite isnan isnormal isvalid iterables join keys keys_unsorted last length limit
    localtime log log10 log2 ltrimstr map map_values match max max_by min min_by mktime nan now normals nth
    nulls numbers objects path paths pick pow range recurse repeat reverse rindex round rtrimstr scalars
    scan select setpath sort sort_by split splits sqrt startswith strftime strings strptime sub test
    to_entries toarray todate todateiso8601 tojson tonumber tostream tostring trim ltrim rtrim transpose
    truncate_stream type unique unique_by until utf8bytelength values walk while with_entries input inputs
    input_line_number debug halt break IN INDEX"""
)
"""Keywords and functions that open no file; ``input`` reads on in those that the command names."""
_YQ_WORDS = word_set(
    """and or not true false null select map keys length has sort sort_by unique join to_entries
    from_entries with_entries add any all first type test split tostring group_by flatten reverse min max
    contains del"""
)
"""What both programs of that name have, without a way to open a file."""


def jq_filter_is_plain(program: str) -> bool:
    """Whether a filter of ``jq`` opens no file: no ``import``, ``include`` or ``modulemeta``."""
    defined = frozenset(re.findall(r"\bdef[ \n]+([a-z_]\w*)", program)) - {"import", "include", "modulemeta"}
    end = _jq_tokens(program, 0, _JQ_WORDS | defined, ends="")
    return end == len(program)


def yq_expression_is_plain(program: str) -> bool:
    """Whether an expression opens no file with either of the programs named ``yq``."""
    if "\\" in program or "def" in program:
        return False
    return _jq_tokens(program, 0, _YQ_WORDS, ends="") == len(program)


def _jq_tokens(program: str, position: int, words: frozenset[str], ends: str) -> int:
    """Returns where the filter ends that begins at ``position``, -1 where a token is not in the subset.

    ``ends``: the filter is inside a string, and ends with its closing parenthesis.
    """
    opened, before = "", ""
    while position < len(program):
        if program[position] == '"':
            position, before = _jq_string(program, position + 1, words), '"'
            if position < 0:
                return -1
            continue
        found = _JQ_TOKEN.match(program, position)
        if found is None:
            return -1
        kind, text, position = found.lastgroup, found[0], found.end()
        if text in ")]}" and not opened:
            return found.start() if text == ends else -1
        is_key = opened.endswith("{") and before in ("{", ",") and _JQ_AFTER_KEY.match(program, position)
        if kind == "name" and not is_key and text not in words:
            return -1
        if text in "([{":
            opened += text
        elif text in ")]}":
            opened = opened[:-1]
        before = before if kind == "blank" else text
    return -1 if ends else position


def _jq_string(program: str, position: int, words: frozenset[str]) -> int:
    """Returns where the string ends whose text begins at ``position``, with the filters in it;
    -1 where it is not understood.
    """
    while position < len(program):
        if found := _JQ_STRING.match(program, position):
            position = found.end()
        if program[position : position + 1] == '"':
            return position + 1
        if program[position : position + 2] != "\\(":
            return -1
        position = _jq_tokens(program, position + 2, words, ends=")")
        if position < 0:
            return -1
        position += 1
    return -1
