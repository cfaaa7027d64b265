"""Programs that change nothing whatever their arguments are."""

from __future__ import annotations

from nbtools.core.shell_acts.started import names

IDLE = names(": true false exit return break continue wait")
"""Those that do nothing at all: no rule needs to speak of them."""
HARMLESS = names(
    """ls pwd echo true false : test cat head tail wc grep egrep fgrep zgrep stat du df which type whoami id groups uname
    nproc basename
    dirname realpath readlink cut tr nl tac rev fold comm diff cmp md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum
    strings od hexdump ps printenv sleep expr seq column paste join expand unexpand fmt pr numfmt cd pushd popd dirs wait times ulimit
    umask tput free uptime lscpu lsblk pgrep pidof getconf locale jq yes factor vmstat iostat getent logname tty users who w cal
    exit return break continue shift"""
)
