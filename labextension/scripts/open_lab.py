"""Start JupyterLab in this folder on a notebook: ``open_lab.py notebooks/01_first_calls.ipynb``.

Listens on this machine only.  Without a display it prints the address to open instead of opening a browser.
"""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from pathlib import Path


def has_browser() -> bool:
    """Whether a browser window can open here."""
    if sys.platform != "darwin" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def main() -> int:
    notebook = Path(sys.argv[1]).as_posix()
    options = [
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={Path.cwd()}",
        f"--LabApp.default_url=/lab/tree/{notebook}",
        "--log-level=WARN",
    ]
    if os.geteuid() == 0:
        options.append("--allow-root")
    if not has_browser():
        options.append("--no-browser")
        print("No display here: open the address that JupyterLab prints below.", flush=True)
    scripts = Path(sys.executable).parent
    os.environ["PATH"] = os.pathsep.join([str(scripts), os.environ.get("PATH", "")])
    lab = shutil.which("jupyter-lab") or str(scripts / "jupyter-lab")
    os.execv(lab, [lab, *options, *sys.argv[2:]])


if __name__ == "__main__":
    raise SystemExit(main())
