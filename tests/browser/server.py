"""A real Jupyter server of one's own: on this machine only, with a token, deaf to the person's settings."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.ports import free_port

START = 90.0
"""Seconds that a server may take to start, on a slow machine too."""
CONFIGURATION = f"""
import sys
sys.path.append({str(Path(__file__).parents[2])!r})
from tests.warm_kernels import use_warm_kernels
use_warm_kernels()
"""
"""What the server runs as its settings: its kernels are warm."""
QUIET = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False, "maxNumberRecents": 0},
    "@jupyterlab/codemirror-extension:plugin": {"defaultConfig": {"cursorBlinkRate": 0}},
}
"""Settings without which something appears on the page, is saved by itself,
or is requested anew at each load: the recent documents.
"""
UNUSED = ("@jupyterlab/notebook-extension:export", "@jupyterlab/notebook-extension:update-raw-mimetype")
"""Plugins that have the server look for all export formats at each load,
for which it takes a third of its time.
"""


class Server:
    """JupyterLab and Notebook 7 on ``root``;
    ``home`` takes everything that Jupyter, IPython and nbtools write for a user.

    The user has switched off the extension of each name in ``disabled``,
    as ``jupyter labextension disable --level=user`` does.
    """

    def __init__(self, root: Path, home: Path, disabled: Iterable[str] = ()) -> None:
        self.root = root
        self._home = home
        self.environment = environment(home)
        self._port = free_port()
        self._token = secrets.token_hex(16)
        self._said: list[str] = []
        self._spoken = asyncio.Event()
        configure(home, disabled)

    def address(self, app: str, path: str = "") -> str:
        """Returns the address at which ``app`` (``lab/tree``, ``notebooks``, ``edit``) shows a file."""
        return f"http://127.0.0.1:{self._port}/{app}/{path}?token={self._token}"

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *(f"--ServerApp.port={self._port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"),
            *(f"--ServerApp.root_dir={self.root}", f"--IdentityProvider.token={self._token}"),
            env=self.environment,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._reading = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(START):
                await self._spoken.wait()
                await accepts(self._port, self._process)
        except TimeoutError:
            await self.close()
            raise AssertionError(f"JupyterLab did not start in {START:g} s:\n{self.log}") from None
        except ChildProcessError:
            await self.close()
            raise AssertionError(f"JupyterLab has ended:\n{self.log}") from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the server, and the kernels with it."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(20):
                await self._process.wait()
        except TimeoutError:
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._reading

    def reset_settings(self) -> None:
        """Undoes what a user has set on the pages."""
        shutil.rmtree(self._home / "settings")
        write_settings(self._home)

    @property
    def log(self) -> str:
        """Returns the last lines of the server's log."""
        return "".join(self._said[-60:])

    async def _read(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._said.append(line.decode(errors="replace"))
            if b"is running at" in line:
                self._spoken.set()
        await self._process.wait()
        self._spoken.set()


async def accepts(port: int, server: asyncio.subprocess.Process) -> None:
    """Waits until the server takes connections: it may name its address before it does.
    Raises ``ChildProcessError`` if it has ended.
    """
    while server.returncode is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise ChildProcessError(server.returncode)


def environment(home: Path) -> dict[str, str]:
    """The environment of a server whose user has nothing yet;
    the environment's own extensions and kernels are found.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUPYTER", "IPYTHON", "NBTOOLS"))
    }
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
        "NBTOOLS_STATE": "state",
        "NBTOOLS_CONFIG": "nbtools",
    }
    return {
        **kept,
        **{name: str(home / folder) for name, folder in folders.items()},
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def configure(home: Path, disabled: Iterable[str]) -> None:
    """Lets tests see the application behind the page,
    and keeps the page from talking about the world outside.
    """
    seen = {"expose_app_in_browser": True}
    write_json(home / "config" / "jupyter_server_config.json", {"LabApp": seen, "JupyterNotebookApp": seen})
    write_json(
        home / "config" / "labconfig" / "page_config.json",
        {"disabledExtensions": dict.fromkeys((*UNUSED, *disabled), True)},
    )
    (home / "config" / "jupyter_server_config.py").write_text(CONFIGURATION, encoding="utf-8")
    write_settings(home)


def write_settings(home: Path) -> None:
    for plugin, settings in QUIET.items():
        package, name = plugin.split(":")
        write_json(home / "settings" / package / f"{name}.jupyterlab-settings", settings)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
