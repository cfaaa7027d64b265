"""A real pseudo-terminal with a bash that keeps its folder, variables and functions, and a screen that can be looked at."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.commands.descendants import Descendants, begun, new_mark, over
from nbtools.workspace.commands.process import end, exit_status
from nbtools.workspace.commands.sandbox import Confined
from nbtools.workspace.commands.supervisor import supervisor
from nbtools.workspace.screens.emulator import Emulator
from nbtools.workspace.screens.screen import Screen

_STARTUP = Path(__file__).with_name("terminal.bash")
_CHUNK = 1 << 16
_REST = 0.3
"""Seconds without output after which a program that reads the keyboard is taken to wait for it."""
_LONG_REST = 1.0
"""The same where nothing shows that it reads."""
_TO_BEGIN = 3.0
"""Seconds in which bash begins with what was typed at its prompt, unless that was no whole command yet."""
_TURN = 0.05
"""Seconds in which bash begins with what was typed ahead."""
_TO_END = 3.0
"""Seconds in which a program that does not read single keys ends at a key that interrupts."""
_PATIENCE = 5.0
"""Seconds in which a program must read what is typed."""
_KEY = re.compile(r"\^[@-_]")
_END = "\x04"
_INTERRUPTING = ("\x03", "\x1a", "\x1c")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Look:
    """``new``: lines that were not seen before, rows that only wrapped joined; ``lost`` lines of it were too many to keep."""

    screen: str
    styled: str
    new: str
    lost: int


_RESET = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""What keys and the end of a terminal send."""
_HEEDING = f"""
import os, signal, sys
for number in {tuple(map(int, _RESET))}:
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def heeding(argv: list[str]) -> list[str]:
    """Starts ``argv`` so that keys and the end of the terminal end what runs in it.

    A process hands on which signals it ignores: a kernel between its cells ignores interrupts, one started with nohup ignores hangups.
    """
    if any(signal.getsignal(number) == signal.SIG_IGN for number in _RESET):
        return [sys.executable, "-I", "-S", "-c", _HEEDING, *argv]
    return argv


def terminal_argv(bash: str) -> list[str]:
    """What is started in a terminal, confined or not."""
    return [bash, "--rcfile", str(_STARTUP), "-i"]


class Terminal:
    """``confined`` is what starts its bash.  It belongs to the running event loop.  Raises ``OSError`` where it cannot be started."""

    def __init__(self, confined: Confined, folder: Path, env: Mapping[str, str], rows: int, columns: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.confined = confined
        self.screen = Screen(rows, columns)
        self.at_prompt = False
        """Whether bash waits for a command line."""
        self.left = ""
        """What was typed since the last Enter, and may still wait at the prompt."""
        self.prompts = 0
        """How often it has waited for one."""
        self.exit_code: int | None = None
        """Of the last command line."""
        self.watcher: Callable[[], None] | None = None
        """Called when the screen has changed."""
        self.unseen = False
        """Whether something came since the last look."""
        self._began = True
        self._interrupted = False
        self._told = f"7711;{(key := secrets.token_hex(8))};"
        self._emulator = Emulator(self.screen, self._tell, self._answer)
        self._heard = self.loop.time()
        self._news = asyncio.Event()
        self._seen = ""
        self._mark = 0
        self._master, slave = os.openpty()
        mark = new_mark()
        try:
            termios.tcsetwinsize(slave, (rows, columns))
            os.set_blocking(self._master, False)
            supervisor().expect(mark, "")  # not by the terminal's name, which somebody else may have a moment later
            self._process = subprocess.Popen(
                heeding(confined.argv),
                stdin=slave,
                stdout=slave,
                stderr=slave,
                cwd=folder,
                env={**env, mark: "1", "NBTOOLS_TERMINAL_KEY": key},
                start_new_session=True,
            )
            asking = (signal.SIGHUP, signal.SIGTERM)
            self._descendants = Descendants(self._process.pid, mark, os.ttyname(slave), asking=asking)
        except BaseException:
            supervisor().over(mark)
            os.close(self._master)
            raise
        finally:
            os.close(slave)
        begun(self._descendants)
        self.loop.add_reader(self._master, self._readable)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def open(self) -> bool:
        """Whether its bash runs."""
        return self._master >= 0 and exit_status(self._process) is None

    @property
    def end_status(self) -> int | None:
        """Bash's exit code, or the signal's number below zero; None while it runs."""
        return exit_status(self._process)

    def folder(self, otherwise: Path) -> Path:
        """Where its bash is now, as far as the system tells."""
        try:
            return Path(os.readlink(f"/proc/{self._bash_pid()}/cwd"))
        except (OSError, IndexError):  # it has just ended
            return otherwise

    def _bash_pid(self) -> int:
        """In a sandbox it is the only child of what was started.  Raises ``OSError``."""
        if not self.confined.confined:
            return self.pid
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    # --- typing

    async def type(self, text: str, *, enter: bool) -> None:
        """Types ``text``; ``^C`` and its like alone are that key.  Raises ``ToolFailure`` when nothing reads it."""
        if _KEY.fullmatch(text):
            keys = chr(ord(text[1]) & 0x1F)
        elif self._emulator.takes_pastes and self.screen.main is None and not _CONTROL.search(text) and re.search(r"[\n\t]", text):
            keys = f"\x1b[200~{text.removesuffix(chr(10))}\x1b[201~{chr(13) if enter else ''}"
        else:
            keys = text.removesuffix("\n").replace("\n", "\r") + ("\r" if enter else "")
        self._began = not self.at_prompt
        self._interrupted = keys in _INTERRUPTING
        if keys != _END:
            self.left = "" if keys.endswith("\r") or self._interrupted else f"{self.left}{keys}"
        if self.at_prompt and keys.endswith("\r"):
            self.at_prompt = False
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._write(keys.encode())
        except TimeoutError:
            raise ToolFailure(ErrorCode.TIMEOUT, "The program in the terminal does not read what is typed. End it with ^C.") from None
        self._heard = self.loop.time()  # nobody rests before there was a chance to react

    async def _write(self, data: bytes) -> None:
        while data and self._master >= 0:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                await asyncio.sleep(0.01)
            except OSError:
                return

    def _answer(self, data: bytes) -> None:
        """What the terminal itself replies; where there is no room for it, the program goes without."""
        with contextlib.suppress(OSError):
            if self._master >= 0:
                os.write(self._master, data)

    def resize(self, rows: int, columns: int) -> None:
        """Programs are told of the new size of the window."""
        self.screen.resize(rows, columns)
        if self._master >= 0:
            termios.tcsetwinsize(self._master, (rows, columns))

    # --- waiting

    async def finished(self, prompts: int, seconds: float, *, ahead: bool) -> bool:
        """Waits until bash asks again (there were ``prompts`` before), or a program waits for the keyboard, or the time is over.

        ``ahead``: what was typed went to a program, and may still be waiting to be read.  Whether bash asks again.
        """
        deadline = self.loop.time() + seconds
        while self.open:
            self._news.clear()
            now = self.loop.time()
            rests = now - self._heard
            asks = self.at_prompt and self.prompts > prompts
            rest = (_TURN if ahead else 0) if asks else self._needed_rest(ahead)
            if now >= deadline or (rests >= rest and not (rest and self._was_heard())):
                break
            await self._something(min(rest - rests, deadline - now))
        if self._master < 0:
            await self._exited()
        return self.at_prompt and self.prompts > prompts

    def _was_heard(self) -> bool:
        """Reads what waits to be read: a loop that was held up has not heard it, and that is no rest."""
        before = self._heard
        self._readable()
        return self._heard != before

    async def _exited(self) -> None:
        """It has let go of the terminal, and ends in a moment."""
        for _ in range(100):
            if exit_status(self._process) is not None:
                return
            await asyncio.sleep(0.01)

    async def heard(self, seconds: float) -> None:
        """Waits for output and for its end, or a rest."""
        prompts = self.prompts
        deadline = self.loop.time() + seconds
        while self.open and not self.unseen and self.loop.time() < deadline:
            self._news.clear()
            await self._something(deadline - self.loop.time())
        if self.unseen:
            await self.finished(prompts, deadline - self.loop.time(), ahead=True)

    def _needed_rest(self, ahead: bool) -> float:
        """How long without output means that a program waits for the keyboard."""
        if not self._began:
            return _TO_BEGIN
        if self._reads_keys():
            return _REST
        if self._interrupted:
            return _TO_END
        if self.screen.cursor.column:
            return _REST
        return _LONG_REST if ahead else inf

    def _reads_keys(self) -> bool:
        """Whether a program takes single keys: a full-screen program, a line editor."""
        try:
            return not termios.tcgetattr(self._master)[3] & termios.ICANON
        except (OSError, termios.error):
            return False

    async def _something(self, seconds: float) -> None:
        # Not wait_for: before Python 3.12 it loses a cancellation that comes together with the news.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if seconds == inf else seconds):
                await self._news.wait()

    # --- looking

    def look(self) -> Look:
        """The screen, and what is new since the last look."""
        screen = self.screen
        start = screen.beginning(min(self._mark, screen.touched))
        lines, lost = screen.logical(start)
        last = lines[-1] if lines else ""
        if start == self._mark and lines and lines[0].startswith(self._seen):
            lines[0] = lines[0][len(self._seen) :]
        self._mark, self._seen = screen.beginning(screen.here), last
        screen.touched = self._mark
        self.unseen = False
        return Look(screen.text(), screen.styled(), "\n".join(lines), lost)

    # --- life

    async def close(self) -> None:
        """Ends bash and everything in the terminal."""
        await end(self._descendants)
        self._readable()
        self._let_go()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        over(self._descendants)

    def _readable(self) -> None:
        try:
            data = os.read(self._master, _CHUNK) if self._master >= 0 else b""
        except BlockingIOError:
            return
        except OSError:  # Linux says so when the last program has let go of the terminal
            data = b""
        if data:
            self._heard = self.loop.time()
            self._emulator.feed(data)
            self.unseen = True
            if self.watcher:
                self.watcher()
        else:
            self._let_go()
        self._news.set()

    def _let_go(self) -> None:
        if self._master >= 0:
            self.loop.remove_reader(self._master)
            os.close(self._master)
            self._master = -1
        self.at_prompt = False

    def _tell(self, text: str) -> None:
        if not text.startswith(self._told):
            return
        what, _, code = text.removeprefix(self._told).partition(";")
        if what == "begun":
            self._began, self.at_prompt = True, False
        elif what == "ended":
            self.exit_code = int(code) if code.isdigit() else None
        elif what == "ready":
            self._began = self.at_prompt = True
            self.prompts += 1
