"""Check that the bare package and each extra work with what they install:
``python .ci/extras.py .make/extras``.

Builds the wheel, makes an environment for each of them in the folder, installs the wheel with this one extra,
and runs its smoke test of ``tests/extras/smoke.py`` there. So whatever works only because the tests bring a
package fails here. Environments are kept and updated by the next run. Prints a line for each; exits 1 where
one fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SMOKE = ROOT / "tests" / "extras" / "smoke.py"
SAMPLES = ROOT / "tests" / "traces" / "samples"
sys.path[:0] = [str(ROOT), str(ROOT / "labextension" / "scripts")]
from environment import uv_environment  # noqa: E402 - beside the scripts of the front end

from tests.extras.smoke import CHECKS  # noqa: E402

UV = str(Path(sys.executable).with_name("uv"))


def uv(*arguments: str) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    settings = subprocess.run(pip, capture_output=True, text=True, check=False).stdout
    subprocess.run(
        [UV, *arguments, "--quiet"], check=True, env={**os.environ, **uv_environment(settings)}, cwd=ROOT
    )


def check(extra: str, wheel: Path, folder: Path) -> tuple[str, str, float]:
    """Installs and tests one extra; returns its name,
    what failed (or nothing) and the seconds that it took.
    """
    start = time.monotonic()
    venv = folder / extra
    python = venv / "bin" / "python"
    if not python.exists():
        uv("venv", str(venv), "--python", sys.executable)
    wanted = str(wheel) if extra == "bare" else f"nbtools-agent[{extra}] @ {wheel.as_uri()}"
    # Without --exact, a package that the extra no longer needs would stay and hide that it is missing.
    uv(
        "pip",
        "install",
        "--python",
        str(python),
        "--index-strategy",
        "unsafe-best-match",
        "--exact",
        "--reinstall-package",
        "nbtools-agent",
        wanted,
    )
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": home,
            "LANG": "C.UTF-8",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }
        (Path(home) / "work").mkdir()
        command = [str(python), "-P", str(SMOKE), extra, str(SAMPLES)]
        try:
            done = subprocess.run(
                command,
                cwd=Path(home) / "work",
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            failure = "" if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-4000:]
        except subprocess.TimeoutExpired:
            failure = "did not end within 300 seconds"
    return extra, failure, time.monotonic() - start


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    extras = sys.argv[2:] or [*CHECKS]
    failed = []
    with tempfile.TemporaryDirectory() as built, ThreadPoolExecutor(2) as pool:
        uv("build", "--wheel", "--out-dir", built)
        [wheel] = Path(built).glob("*.whl")
        for extra, failure, seconds in pool.map(lambda extra: check(extra, wheel, folder), extras):
            print(f"{extra}: {'failed' if failure else 'works'} ({seconds:.0f} s)", flush=True)
            if failure:
                print(failure, flush=True)
                failed.append(extra)
    if failed:
        print(f"Broken with only what they install: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
