"""What a sandboxed command sees of the disk: everything to read, the workspace and a /tmp of its own to write, and what is kept from it.

Kept from it are, here and not elsewhere:

- our own rules and records: the state and the configuration folder of nbtools;
- keys and passwords in the home folder (``_SECRETS``), the profiles of browsers and mail programs, what Jupyter tells its clients;
- the sockets of services that act for whoever asks (``_SERVICES``): containers, the desktop's bus, systemd, the ssh agent; and without
  a network those of all others, too;
- what the rules of the session hide in the workspace.

Read-only in the workspace is what makes other programs run things (``_PROTECTED``).  What of it is not there can be made by a command,
and is told: a mount needs something to lie on, and empty files of such names would be in everybody's way.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.commands.output import private_folder
from nbtools.workspace.hiding import Hiding
from nbtools.workspace.paths import is_inside

_SECRETS = (
    ".ssh .aws .azure .gnupg .kube .docker .oci .netrc .git-credentials .pgpass .my.cnf .npmrc .pypirc .cargo/credentials "
    ".cargo/credentials.toml .gem/credentials .terraform.d .vault-token .boto .s3cfg .password-store .huggingface .cache/huggingface/token "
    ".config/gcloud .config/gh .config/glab-cli .config/hub .config/op .config/rclone .config/doctl .config/git/credentials "
    ".local/share/keyrings .local/share/kwalletd .local/share/jupyter/runtime .jupyter Library/Keychains Library/Jupyter/runtime "
    ".mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi "
    ".config/opera snap/firefox snap/chromium .var/app .claude .claude.json .gemini .codex .config/github-copilot .bash_history "
    ".zsh_history .python_history .psql_history .mysql_history .ipython/profile_default/history.sqlite .node_repl_history "
    ".local/share/fish/fish_history .Xauthority .ICEauthority .mylogin.cnf .kaggle .modal.toml .cloudflared .fly .tsh .vercel "
    ".config/containers/auth.json .composer/auth.json .config/composer/auth.json .config/pypoetry/auth.toml .local/share/uv/credentials "
    ".config/sops .config/age .config/1Password .config/Bitwarden .config/keepassxc .config/Signal .config/Slack .config/discord "
    ".config/filezilla .config/Code/User/globalStorage .bitcoin .electrum"
)
_SERVICES = (
    "/run/user /run/dbus /run/docker.sock /run/docker /run/containerd /run/podman /run/crio /run/snapd.socket /run/snapd-snap.socket "
    "/run/systemd/private /run/systemd/notify /run/libvirt /run/lxd /run/incus /var/lib/lxd/unix.socket "
    "/var/snap/lxd/common/lxd/unix.socket"
)
_PROTECTED = (
    ".git/hooks .git/config .git/config.worktree .git/info .git/modules .git/commondir .gitmodules .githooks .husky .vscode .idea "
    ".devcontainer .claude .gemini .codex .cursor .void .continue .nbtools .ipython .jupyter .direnv .mcp.json .envrc .npmrc .yarnrc "
    ".yarnrc.yml .pypirc .pre-commit-config.yaml .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile "
    ".gitconfig .config"
)
_MOST_HIDDEN = 5_000
_TMP = Path("/tmp")  # noqa: S108 - nothing is put there
_PACKAGE = Path(__file__).parents[2]


def mounts(root: Path, hiding: Hiding, scratch: Path, *, network: bool) -> list[str]:
    """The options of bubblewrap, in their order: later ones lie over earlier ones.  ``scratch`` is what is seen as ``/tmp``.

    Looks at every name in the workspace where something in it is hidden.  Raises ``ToolFailure`` where more is hidden than can be.
    """
    return [
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(scratch), "/tmp"),  # noqa: S108 - it is their own
        *("--ro-bind", "/proc/sys", "/proc/sys", "--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"),  # root could write there
        *_ours_in_tmp(),
        *("--bind", str(root), str(root)),
        *_read_only(root),
        *(option for path in _kept_from_it(root, network=network) for option in _covered(path)),
        *(option for path in _hidden(root, hiding) for option in _covered(path)),
    ]


def _ours_in_tmp() -> Iterator[str]:
    """Of the /tmp outside: files of full output, which results name, and nbtools and its Python where they are installed there."""
    for folder in (private_folder(), _PACKAGE, sys.prefix):
        real = Path(os.path.realpath(folder))
        if is_inside(_TMP, real) and real != _TMP:
            yield from ("--ro-bind", str(real), str(real))


def absent(root: Path) -> tuple[Path, ...]:
    """What makes other programs run and is not there."""
    return tuple(path for name in _PROTECTED.split() if not os.path.lexists(path := root / name))


def _read_only(root: Path) -> Iterator[str]:
    """A folder that holds such a file is a mount, too: else it could be put aside with what lies on it, and made anew."""
    above: set[str] = set()
    git = root / ".git"
    if git.is_file() and not git.is_symlink():  # it names the folder whose hooks and settings hold
        yield from ("--ro-bind", str(git), str(git))
    elif git.is_dir() and not git.is_symlink():
        with contextlib.suppress(OSError):
            (git / "hooks").mkdir()  # as git itself makes it: else a command could
    for name in _PROTECTED.split():
        path = os.path.join(root, name)
        folder = os.path.dirname(path)
        if os.path.realpath(path) != path or not os.path.exists(path):
            continue
        if folder != str(root) and folder not in above:
            above.add(folder)
            yield from ("--bind", folder, folder)
        yield from ("--ro-bind", path, path)


def _kept_from_it(root: Path, *, network: bool) -> list[str]:
    home = os.path.expanduser("~")
    own = (
        os.environ.get("NBTOOLS_STATE") or platformdirs.user_state_path("nbtools"),
        os.environ.get("NBTOOLS_CONFIG") or platformdirs.user_config_path("nbtools"),
        os.environ.get("JUPYTER_RUNTIME_DIR") or "",
        os.environ.get("XDG_RUNTIME_DIR") or "",
        os.environ.get("SSH_AUTH_SOCK") or "",
        os.environ.get("XAUTHORITY") or "",
    )
    named = [*_SERVICES.split(), *(os.path.join(home, name) for name in _SECRETS.split()), *(os.path.abspath(path) for path in own if path)]
    real = {os.path.realpath(path) for path in named if os.path.exists(path)}
    if not network:
        real |= {path for path in _listening() if not any(os.path.commonpath((path, above)) == above for above in real)}
    return sorted(path for path in real if is_inside(root, Path(path)) or not (path.startswith("/tmp/") or is_inside(Path(path), root)))  # noqa: S108


def _listening() -> Iterator[str]:
    """The sockets in the file system where somebody outside answers, by their real paths."""
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    for path in {line[line.index("/") :] for line in lines if "/" in line}:
        with contextlib.suppress(OSError, ValueError):
            if stat.S_ISSOCK(os.stat(path).st_mode):
                yield os.path.realpath(path)


def _hidden(root: Path, hiding: Hiding) -> list[str]:
    """The files and folders that rules hide, a folder for all that is in it."""
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
            message = f"More than {_MOST_HIDDEN:,} files are hidden by rules, more than a sandbox can cover. Hide their folders instead."
            raise ToolFailure(ErrorCode.SHELL_EXECUTE_ERROR, message)
    return [path for path in found if not os.path.islink(path)]


def _covered(path: str) -> tuple[str, ...]:
    """An empty folder over a folder, nothing over a file."""
    return ("--tmpfs", path, "--remount-ro", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)
