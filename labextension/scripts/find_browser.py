"""Print the path of a Chromium that the tests can drive; get one if the machine has none.

In this order: ``NBTOOLS_BROWSER``, an installed Chrome or Chromium, the system's package manager where it may
be used, Playwright's own (downloaded).  Exits with one line that says what to install when nothing helps.

Chromium's headless shell comes first: it draws the same pages by the same code,
without the windows of a browser around them, and takes a fifth less time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

COMMANDS = (
    "chromium-headless-shell",
    "chromium",
    "google-chrome",
    "google-chrome-stable",
    "chromium-browser",
)
PACKAGES = ("chromium-headless-shell", "chromium")
"""Debian has both; those of Ubuntu are for snap, which needs a service that containers do not have."""
MAC_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)


def installed() -> str | None:
    """The browser that the person names, or one that the machine has."""
    named = [
        os.environ.get("NBTOOLS_BROWSER", ""),
        *(shutil.which(command) or "" for command in COMMANDS),
        *MAC_APPS,
    ]
    return next((path for path in named if path and works(path)), None)


def works(path: str) -> bool:
    """Whether it starts; a distribution's stub that only advertises a snap does not."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def from_playwright() -> str | None:
    """Playwright's own browser, downloaded unless it is there."""
    subprocess.run(
        [sys.executable, "-m", "playwright", "install", "chromium"], stdout=sys.stderr, check=False
    )
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() and works(path) else None


def from_packages() -> str | None:
    """Debian's or Ubuntu's package, where this user may install one."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    for step in (
        ["update"],
        *(["install", "-y", "--no-install-recommends", package] for package in PACKAGES),
    ):
        subprocess.run(["apt-get", "-q", *step], stdout=sys.stderr, stdin=subprocess.DEVNULL, check=False)
        if found := installed():
            return found
    return None


def main() -> int:
    found = installed() or from_packages() or from_playwright()
    if found is None:
        print(
            "The browser tests need Chromium or Chrome: install one, or name it in NBTOOLS_BROWSER",
            file=sys.stderr,
        )
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
