"""Parses unified diffs, including git's: new, deleted and renamed files, with prose between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from nbtools.core.message import Advice, Message, Parameter
from nbtools.diff.patch_model import (
    Create,
    Delete,
    FilePatch,
    Hunk,
    HunkLine,
    Patch,
    Update,
    parse_hunk_line,
    patch_error,
    quote_line,
)
from nbtools.diff.text_lines import with_lf

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*")
_BARE = re.compile(r"@@(?: \.\.\. @@)?(?: (?!-\d)(.*?))?(?: @@)?")
_GIT = re.compile(r"diff --git (.*)")
_EXTENDED = re.compile(
    r"(?:old mode|new mode|deleted file mode|new file mode|similarity index|dissimilarity index|index|rename"
    r" from|rename to|copy from"
    r"|copy to) (.*)"
)
_BINARY = re.compile(r"(?:GIT binary patch|Binary files .* differ)")
_NO_FILE = re.compile(r"(?:.* )?(120000|160000)")
"""The mode of a symbolic link, and that of a submodule."""
_NO_NEWLINE = re.compile(r"\\ .*")
_SIGNATURE = re.compile(r"-- ?")
_MODES = ("index", "old mode", "new mode", "new file mode", "deleted file mode")
_NULL = "/dev/null"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}


def begins_diff(lines: Sequence[str], k: int) -> bool:
    """Whether a unified diff begins at this line."""
    line = lines[k].rstrip("\r")
    if _GIT.fullmatch(line) or _HUNK.fullmatch(line) or _is_names(lines, k):
        return True
    return line.startswith("@@") and _BARE.fullmatch(line) is not None


def read_unified(patch: str, path: str | None) -> Patch:
    """Parses a diff; ``path`` is for hunks without a file name.
    Raises ``ToolFailure`` (``invalid_tool_params``) for an invalid line.
    """
    return _Reader(patch).read(path)


@dataclass(slots=True)
class _File:
    """A file while it is parsed; ``line`` is the index of the line where its part of the patch begins."""

    line: int
    old: str | None = None
    new: str | None = None
    git: bool = False
    facts: dict[str, str] = field(default_factory=dict)
    hunks: list[Hunk] = field(default_factory=list)


class _Reader:
    """Parses the lines in one pass; ``k`` is the index of the next one."""

    def __init__(self, patch: str) -> None:
        lines = patch.split("\n")
        first = next((k for k in range(len(lines)) if begins_diff(lines, k)), 0)
        self.lines = with_lf(patch).split("\n") if lines[first].endswith("\r") else lines
        self.k = 0
        self.files: list[_File] = []
        self.notes: list[str] = []

    def read(self, path: str | None) -> Patch:
        prose = True
        while self.k < len(self.lines):
            line = self.lines[self.k]
            if self._header(line, path):
                prose = False
            elif not line.strip() or _SIGNATURE.fullmatch(line) or line.startswith("```"):
                prose = True
                self.k += 1
            elif prose and (not self.files or line == "---" or not line.startswith(("+", "-"))):
                self.k += 1
            else:
                why = "is not a line of a unified diff; context lines begin with a blank."
                raise patch_error(self.k + 1, f"{quote_line(line)} {why}")
        files = [file for found in self.files if (file := self._finished(found))]
        return Patch(tuple(files), tuple(self.notes))

    def _header(self, line: str, path: str | None) -> bool:
        """Parses the header or hunk that begins here; False if none does."""
        git, extended = _GIT.fullmatch(line), _EXTENDED.fullmatch(line)
        if git:
            self.files.append(_File(self.k, *_git_names(git[1]), git=True))
            self.k += 1
        elif _is_names(self.lines, self.k):
            self._names()
        elif extended and self._before_hunks():
            self.files[-1].facts[line[: extended.start(1) - 1]] = extended[1]
            self.k += 1
        elif _BINARY.match(line) and self.files:
            binary = "a binary file cannot be patched here. Leave it out and copy the file."
            raise patch_error(self.k + 1, binary)
        elif line.startswith("@@") and (_HUNK.fullmatch(line) or _BARE.fullmatch(line.rstrip())):
            self._hunk(path)
        else:
            return False
        return True

    def _before_hunks(self) -> bool:
        return bool(self.files) and self.files[-1].git and not self.files[-1].hunks

    def _names(self) -> None:
        old, new = _name(self.lines[self.k][4:]), _name(self.lines[self.k + 1][4:])
        if self._before_hunks() and "---" not in self.files[-1].facts:
            self.files[-1].facts["---"] = ""
        else:
            self.files.append(_File(self.k))
        file = self.files[-1]
        file.old, file.new = _without_prefixes(old, new, git=file.git)
        self.k += 2

    def _hunk(self, path: str | None) -> None:
        if not self.files:
            if path is None:
                named = Advice(Parameter("path"), ", or ")
                unnamed = Message.of("the hunk names no file. Give ", named, "--- and +++ lines before it.")
                raise patch_error(self.k + 1, unnamed)
            self.files.append(_File(self.k, path, path))
        file = self.files[-1]
        name = f"hunk {len(file.hunks) + 1}"
        head, start = _HUNK.fullmatch(self.lines[self.k]), self.k
        self.k += 1
        lines = self._counted(int(head[2] or 1), int(head[4] or 1)) if head else None
        if lines is None:
            lines = self._to_boundary()
            if head and lines:
                place = f"{file.new or file.old}, {name}"
                self.notes.append(f"{place}: its line counts are wrong and were ignored.")
        if not lines:
            raise patch_error(start + 1, f"{name} has no lines.")
        bare = None if head else _BARE.fullmatch(self.lines[start].rstrip())
        headers = (bare[1].strip(),) if bare and bare[1] and bare[1].strip(" .@") else ()
        file.hunks.append(Hunk(name, tuple(lines), int(head[1]) if head else None, headers))

    def _counted(self, old: int, new: int) -> list[HunkLine] | None:
        """Parses as many lines as the header says; None, consuming none, if that cannot be the hunk."""
        k, hunk_lines = self.k, list[HunkLine]()
        while (old or new) and k < len(self.lines):
            line = _line(self.lines[k])
            if line is None or (self.lines[k] == "" and k == len(self.lines) - 1):
                return None
            hunk_lines.append(line)
            old, new, k = old - (line.sign != "+"), new - (line.sign != "-"), k + 1
            if old < 0 or new < 0:
                return None
            k = self._ended_without_newline(hunk_lines, k)
        if old or new or (k < len(self.lines) and self._continues(k)):
            return None
        self.k = k
        return hunk_lines

    def _continues(self, k: int) -> bool:
        line = self.lines[k]
        has_sign = line[:1] in ("+", "-", " ") and bool(line.strip())
        return has_sign and not _is_names(self.lines, k) and not _SIGNATURE.fullmatch(line)

    def _to_boundary(self) -> list[HunkLine]:
        """Parses all lines up to the next hunk, the next file or the end."""
        hunk_lines: list[HunkLine] = []
        while self.k < len(self.lines):
            if begins_diff(self.lines, self.k) or _SIGNATURE.fullmatch(self.lines[self.k]):
                break
            line = _line(self.lines[self.k])
            if line is None:
                break
            hunk_lines.append(line)
            self.k = self._ended_without_newline(hunk_lines, self.k + 1)
        unsigned = self.k
        while hunk_lines and self.lines[unsigned - 1] == "" and hunk_lines[-1] == HunkLine(" ", "\n"):
            hunk_lines.pop()
            unsigned -= 1
        return hunk_lines

    def _ended_without_newline(self, hunk_lines: list[HunkLine], k: int) -> int:
        if k < len(self.lines) and _NO_NEWLINE.fullmatch(self.lines[k]):
            hunk_lines[-1] = HunkLine(hunk_lines[-1].sign, hunk_lines[-1].text.removesuffix("\n"))
            return k + 1
        return k

    def _finished(self, file: _File) -> FilePatch | None:
        facts, old, new = file.facts, file.old, file.new
        if any(_NO_FILE.fullmatch(facts.get(fact, "")) for fact in _MODES):
            name = old if new == _NULL else new or old
            why = "is a link or a submodule; only files can be patched. Leave it out."
            raise patch_error(file.line + 1, f"{name} {why}")
        if "copy from" in facts:
            raise patch_error(file.line + 1, "copies are not supported. Add the new file with all its lines.")
        modes = {"old mode", "new mode"} & facts.keys() or facts.get("new file mode", "100644") != "100644"
        if modes:
            self.notes.append(f"{new or old}: the file mode was not changed.")
        old, new = _unquoted(facts.get("rename from", old)), _unquoted(facts.get("rename to", new))
        if "new file mode" in facts or old == _NULL:
            return Create(_required_name(new, file), _content(file, "+"))
        if "deleted file mode" in facts or new == _NULL:
            return Delete(_required_name(old, file), _content(file, "-") if file.hunks else None)
        path, to = _required_name(old, file), _required_name(new, file)
        if not file.hunks and path == to:
            if modes:
                return None
            raise patch_error(file.line + 1, f"the part of {path} changes nothing: it has no hunks.")
        return Update(path, tuple(file.hunks), None if path == to else to)


def _line(line: str) -> HunkLine | None:
    """Parses a line of a hunk; an empty line counts as context, as editors remove trailing blanks."""
    return HunkLine(" ", f"{line}\n") if line in ("", "\r") else parse_hunk_line(line)


def _is_names(lines: Sequence[str], k: int) -> bool:
    """Whether these are two lines with file names, followed by a hunk, and not lines of the hunk before."""
    if not lines[k].startswith("--- ") or k + 1 >= len(lines) or not lines[k + 1].startswith("+++ "):
        return False
    return k + 2 >= len(lines) or lines[k + 2].startswith("@@") or not lines[k + 2].strip()


def _name(text: str) -> str:
    """Returns the file name without the date that follows a tab, and without quotes."""
    text = text.rstrip("\r")
    return _unquote(text) if text.startswith('"') else text.split("\t", 1)[0].rstrip()


def _unquoted(name: str | None) -> str | None:
    return _unquote(name) if name and name.startswith('"') else name


def _unquote(text: str) -> str:
    body = re.sub(r'^"|"\s*$', "", text)
    raw = re.sub(rb"\\([0-3][0-7]{2}|.)", _unescape, body.encode())
    return raw.decode("utf-8", "surrogateescape")


def _unescape(found: re.Match[bytes]) -> bytes:
    if len(found[1]) == 3:
        return bytes([int(found[1], 8)])
    letter = found[1].decode()
    return _ESCAPES.get(letter, letter).encode()


def _git_names(text: str) -> tuple[str | None, str | None]:
    """Parses ``a/name b/name``.  Only needed if no other line has the names; then both are the same."""
    if text.startswith('"'):
        first, _, second = text.partition('" ')
        return _without_prefixes(_name(f'{first}"'), _name(second), git=True)
    half = len(text) // 2
    old, new = text[:half], text[half + 1 :]
    if old.partition("/")[2] != new.partition("/")[2]:
        return None, None
    return _without_prefixes(old, new, git=True)


def _without_prefixes(old: str, new: str, *, git: bool) -> tuple[str, str]:
    """Removes a/ and b/ (or the letters of ``diff.mnemonicPrefix``) where both names have them."""
    has = [name == _NULL or re.match(r"[abciow]/", name) is not None for name in (old, new)]
    same = _NULL in (old, new) or old[0] != new[0] or git
    if not (all(has) and same):
        return old, new
    return tuple(name if name == _NULL else name[2:] for name in (old, new))  # type: ignore[return-value]


def _required_name(name: str | None, file: _File) -> str:
    if not name or name == _NULL:
        raise patch_error(file.line + 1, "the file's name is missing. Give --- and +++ lines.")
    return name


def _content(file: _File, sign: str) -> str:
    """Returns the content of a new or deleted file."""
    lines = [line for hunk in file.hunks for line in hunk.lines]
    if any(line.sign != sign for line in lines):
        state = "is new" if sign == "+" else "is deleted"
        raise patch_error(file.line + 1, f"a file that {state} has lines that do not begin with {sign}.")
    return "".join(line.text for line in lines)
