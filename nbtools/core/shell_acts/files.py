"""Which files the usual programs read and write."""

from __future__ import annotations

from dataclasses import dataclass

from nbtools.core.shell_acts.options import Given, grammar, read_options
from nbtools.core.shell_acts.started import Effects, Handler, Started, names


@dataclass(frozen=True, slots=True)
class Reader:
    """Its operands are files that it reads, but for the first ``skip``; options in ``files`` name files, too."""

    values: str = ""
    files: str = ""
    skip: int = 0
    replaces_skip: str = ""
    """Options that stand for the skipped operand."""
    harmless: bool = True
    default: str = ""
    """What it reads when no file is named."""
    unless_fed: bool = False
    """Whether that is its input where there is one, unless it is told to look into folders."""

    def __call__(self, started: Started) -> Effects:
        given = read_options(started, grammar("", f"{self.values} {self.files}"))
        skip = 0 if self.replaces_skip and given.has(*self.replaces_skip.split()) else self.skip
        named = tuple(option.value or "" for option in given.values(*self.files.split()))
        operands = tuple(started.words[place] for place in given.operands[skip:])
        default = (self.default,) if self.default and not (self.unless_fed and started.fed and not given.has("-r", "-R")) else ()
        return Effects(reads=(*named, *(operands or default)), harmless=self.harmless)


def _operands(started: Started, given: Given) -> tuple[str, ...]:
    return tuple(started.words[place] for place in given.operands)


def _removes(started: Started) -> Effects:
    operands = _operands(started, read_options(started, grammar("-dfiIPrRvpzu", "-ns --iterations --size")))
    return Effects(writes=operands, removes=operands)


def _makes(values: str) -> Handler:
    def makes(started: Started) -> Effects:
        return Effects(writes=_operands(started, read_options(started, grammar("", values))))

    return makes


_COPY = grammar("-abdfHiLlnPpRrsuvxZ", "-tSgmo --target-directory --suffix --mode --owner --group")


def _copies(started: Started) -> Effects:
    """``cp``, ``mv``, ``ln``, ``install``: the last operand, or ``-t``, is written; a folder gets each by its name."""
    given = read_options(started, _COPY)
    operands = _operands(started, given)
    into = [option.value or "" for option in given.values("-t", "--target-directory")]
    sources, target = (operands, into[0]) if into else (operands[:-1], operands[-1] if operands else "")
    if started.name == "ln" and len(operands) == 1:
        sources, target = operands, "."
    writes = (target, *(_inside(target, source) for source in sources)) if target else ()
    moved = sources if started.name == "mv" else ()
    whole = next((source for source in sources if source.rstrip("/").endswith(("/.", "/..")) or source.rstrip("/") in (".", "..")), "")
    risk = f"{started.words[given.operands[0]]} and more may be options" if given.unclear and given.operands else ""
    return Effects(
        reads=sources,
        writes=(*writes, *moved),
        removes=moved,
        risk=f"what {whole} holds, hidden files too, is written"
        if whole and started.name != "ln"
        else risk
        if into or given.unclear.startswith("-")
        else "",
        unclear=tuple(path for path in writes if any(started.words[place] in path for place in started.dynamic)),
    )


def _inside(folder: str, source: str) -> str:
    return f"{folder.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}"


def _changes_mode(started: Started) -> Effects:
    given = read_options(started, grammar("-cfhvHLPR --recursive", "--reference --from"))
    operands = _operands(started, given)[0 if given.has("--reference") else 1 :]
    if any(word.startswith("-") and word[1:2] in "rwxXst" for word in started.words[1:]):  # chmod -x file
        operands = tuple(word for word in started.words[1:] if not word.startswith("-"))
    return Effects(writes=operands, removes=operands if given.has("-R", "--recursive") else ())


def _dd(started: Started) -> Effects:
    named = [word.partition("=") for word in started.words[1:]]
    risk = "what it reads and writes is only known when it runs" if started.dynamic else ""
    return Effects(
        reads=tuple(value for name, _, value in named if name == "if"),
        writes=tuple(value for name, _, value in named if name == "of"),
        risk=risk,
    )


def _formats(started: Started) -> Effects:
    return Effects(
        critical=f"{started.name} destroys what a device holds",
        writes=tuple(word for word in started.words[1:] if not word.startswith("-")),
    )


def _tee(started: Started) -> Effects:
    return Effects(writes=_operands(started, read_options(started, grammar("-aip --append"))))


FILES: dict[str, Handler] = {
    **dict.fromkeys(
        names(
            """cat tac nl rev strings md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base32 basenc
            tsort unexpand hd"""
        ),
        Reader(),
    ),
    "csplit": Reader(harmless=False),
    "wc": Reader("", "--files0-from"),
    "jq": Reader(
        "-L --arg --argjson --indent --tab", "-f --from-file --slurpfile --rawfile --argfile", skip=1, replaces_skip="-f --from-file"
    ),
    "head": Reader("-nc --lines --bytes"),
    "tail": Reader("-ncs --lines --bytes --pid --sleep-interval"),
    "cut": Reader("-bcdf --bytes --characters --delimiter --fields"),
    "od": Reader("-AjNtSw"),
    "hexdump": Reader("-efns"),
    "diff": Reader("-IUCFWXx --exclude --label", "--from-file --to-file"),
    **dict.fromkeys(("cmp", "comm", "join", "paste", "stat", "column", "fold", "expand", "fmt"), Reader("-tdonswcfijnv")),
    "ls": Reader("-IwT --ignore --width", default="."),
    "du": Reader("-dBtX --max-depth --exclude", "--files0-from"),
    **dict.fromkeys(
        ("grep", "egrep", "fgrep", "zgrep"),
        Reader(
            "-eABCmdD --regexp --context --after-context --before-context --max-count --include --exclude --exclude-dir --label",
            "-f --file",
            skip=1,
            replaces_skip="-e -f --regexp --file",
            default=".",
            unless_fed=True,
        ),
    ),
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "srm", "trash", "trash-put", "rimraf"), _removes),
    **dict.fromkeys(("cp", "mv", "ln", "install"), _copies),
    "mkdir": _makes("-m --mode"),
    "touch": _makes("-dtr --date --reference"),
    "truncate": _makes("-sr --size --reference"),
    "mkfifo": _makes("-m --mode"),
    "mknod": _makes("-m --mode"),
    "tee": _tee,
    "sponge": _tee,
    "dd": _dd,
    **dict.fromkeys(("chmod", "chown", "chgrp", "chattr", "setfacl"), _changes_mode),
    **dict.fromkeys(
        (
            "mkfs",
            "mke2fs",
            "mkfs.ext2",
            "mkfs.ext3",
            "mkfs.ext4",
            "mkfs.xfs",
            "mkfs.btrfs",
            "mkfs.vfat",
            "mkfs.fat",
            "mkfs.ntfs",
            "mkswap",
            "wipefs",
            "fdisk",
            "sfdisk",
            "sgdisk",
            "parted",
            "cryptsetup",
            "blkdiscard",
        ),
        _formats,
    ),
}
