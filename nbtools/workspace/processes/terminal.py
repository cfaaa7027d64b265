"""Pseudo-terminals with a persistent bash and a screen."""

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
from nbtools.core.message import Advice, Message, ToolName
from nbtools.workspace.processes.descendants import Descendants, new_mark, register, unregister
from nbtools.workspace.processes.emulator import Emulator
from nbtools.workspace.processes.process import end, exit_status
from nbtools.workspace.processes.sandbox import SandboxedCommand
from nbtools.workspace.processes.screen import Screen
from nbtools.workspace.processes.supervisor import supervisor

_STARTUP = Path(__file__).with_name("terminal.bash")
_CHUNK = 1 << 16
_IDLE = 0.3
"""Seconds without output after which a program that reads the keyboard is assumed to wait for input."""
_LONG_IDLE = 1.0
"""The same for a program that does not visibly read the keyboard."""
_START_TIMEOUT = 3.0
"""Seconds for bash to start the typed command, unless it is incomplete."""
_TYPED_AHEAD = 0.05
"""Seconds for bash to start a command that was typed ahead."""
_INTERRUPT_TIMEOUT = 3.0
"""Seconds for a program that does not read single keys to end after an interrupt key."""
_TYPE_TIMEOUT = 5.0
"""Seconds in which a program must read what is typed."""
_KEY = re.compile(r"\^[@-_]")
_END = "\x04"
_INTERRUPTING = ("\x03", "\x1a", "\x1c")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class ScreenContent:
    """A terminal's content. ``new``: unwrapped lines since the last call; ``lost``: how many are gone."""

    screen: str
    styled: str
    new: str
    lost: int


_RESET = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""Signals sent by keys and when a terminal closes."""
_RESET_SIGNALS_SCRIPT = f"""
import os, signal, sys
for number in {tuple(map(int, _RESET))}:
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def with_default_signals(argv: list[str]) -> list[str]:
    """Returns a command that runs ``argv`` with default handling of the terminal's signals.

    Ignored signals are inherited: a kernel ignores interrupts between cells,
    and hangups if it was started with nohup.
    """
    if any(signal.getsignal(number) == signal.SIG_IGN for number in _RESET):
        return [sys.executable, "-I", "-S", "-c", _RESET_SIGNALS_SCRIPT, *argv]
    return argv


def terminal_argv(bash: str) -> list[str]:
    """Returns the command that a terminal runs."""
    return [bash, "--rcfile", str(_STARTUP), "-i"]


class Terminal:
    """A terminal running bash, started with ``confined`` in this event loop. Raises ``OSError``."""

    def __init__(
        self, confined: SandboxedCommand, folder: Path, env: Mapping[str, str], rows: int, columns: int
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.confined = confined
        self.screen = Screen(rows, columns)
        self.at_prompt = False
        """Whether bash waits for a command line."""
        self.typed_text = ""
        """The text typed since the last Enter, which may still be at the prompt."""
        self.prompt_count = 0
        self._bash_group = 0
        """How often bash has displayed its prompt."""
        self.exit_code: int | None = None
        """The exit code of the last command line."""
        self.on_change: Callable[[], None] | None = None
        """Called when the screen has changed."""
        self.has_new_output = False
        """Whether there was output since the last ``read_screen``."""
        self._command_started = True
        self._interrupted = False
        self._osc_prefix = f"7711;{(key := secrets.token_hex(8))};"
        self._emulator = Emulator(self.screen, self._on_osc, self._answer)
        self._last_output = self.loop.time()
        self._changed = asyncio.Event()
        self._seen = ""
        self._mark = 0
        self._master, slave = os.openpty()
        self.name = os.ttyname(slave)
        """Its name in ``/dev``, which another terminal may get once this one has closed."""
        mark = new_mark()
        try:
            termios.tcsetwinsize(slave, (rows, columns))
            os.set_blocking(self._master, False)
            supervisor().announce(mark, "")  # not by the terminal's name, which may be reused at once
            self._process = subprocess.Popen(
                with_default_signals(confined.argv),
                stdin=slave,
                stdout=slave,
                stderr=slave,
                cwd=folder,
                env={**env, mark: "1", "NBTOOLS_TERMINAL_KEY": key},
                start_new_session=True,
            )
            asking = (signal.SIGHUP, signal.SIGTERM)
            self._descendants = Descendants(self._process.pid, mark, self.name, end_signals=asking)
        except BaseException:
            supervisor().report_end(mark)
            os.close(self._master)
            raise
        finally:
            os.close(slave)
        register(self._descendants)
        self.loop.add_reader(self._master, self._readable)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def open(self) -> bool:
        """Whether its bash is running."""
        return self._master >= 0 and exit_status(self._process) is None

    @property
    def end_status(self) -> int | None:
        """Bash's exit code, or the negative signal number; None while it runs."""
        return exit_status(self._process)

    def folder(self, otherwise: Path) -> Path:
        """Returns bash's working directory; ``otherwise`` if it is unknown."""
        try:
            return Path(os.readlink(f"/proc/{self._bash_pid()}/cwd"))
        except (OSError, IndexError):  # it has just ended
            return otherwise

    def _bash_pid(self) -> int:
        """Returns bash's pid: in a sandbox, the started process's only child. Raises ``OSError``."""
        if not self.confined.confined:
            return self.pid
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    # --- typing

    async def type(self, text: str, *, enter: bool) -> None:
        """Types ``text``; ``^C`` and so on, alone, press that key.

        Several lines are pasted where bash or the program can take them so.
        Raises ``ToolFailure`` if no program reads the text.
        """
        if _KEY.fullmatch(text):
            keys = chr(ord(text[1]) & 0x1F)
        elif self._can_paste and not _CONTROL.search(text) and re.search(r"[\n\t]", text):
            keys = f"\x1b[200~{text.removesuffix(chr(10))}\x1b[201~{chr(13) if enter else ''}"
        else:
            keys = text.removesuffix("\n").replace("\n", "\r") + ("\r" if enter else "")
        self._command_started = not self.at_prompt
        self._interrupted = keys in _INTERRUPTING
        if keys != _END:
            self.typed_text = "" if keys.endswith("\r") or self._interrupted else f"{self.typed_text}{keys}"
        if self.at_prompt and keys.endswith("\r"):
            self.at_prompt = False
        try:
            async with asyncio.timeout(_TYPE_TIMEOUT):
                await self._write(keys.encode())
        except TimeoutError:
            raise ToolFailure(
                ErrorCode.TIMEOUT, "The program in the terminal does not read its input. End it with ^C."
            ) from None
        self._last_output = self.loop.time()  # the idle time starts now, so that the program can react

    @property
    def _can_paste(self) -> bool:
        """Whether the reader takes pasted text; on the alternate screen it may take it for commands."""
        return self._emulator.bracketed_paste and (self.at_prompt or self.screen.main is None)

    async def _write(self, data: bytes) -> None:
        while data and self._master >= 0:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                await asyncio.sleep(0.01)
            except OSError:
                return

    def _answer(self, data: bytes) -> None:
        """Sends a reply of the terminal itself to the program."""
        with contextlib.suppress(OSError):  # dropped if the program does not read
            if self._master >= 0:
                os.write(self._master, data)

    def resize(self, rows: int, columns: int) -> None:
        """Changes the size of the window and informs the programs in it."""
        self.screen.resize(rows, columns)
        if self._master >= 0:
            termios.tcsetwinsize(self._master, (rows, columns))

    # --- waiting

    async def wait_for_prompt(self, prompts: int, seconds: float, *, ahead: bool) -> bool:
        """Waits until bash prompts (after ``prompts`` earlier ones), input is awaited, or ``seconds`` pass.

        ``ahead``: the input went to a program and may not have been read yet.
        Returns whether bash displays a prompt.
        """
        deadline = self.loop.time() + seconds
        while self.open:
            self._changed.clear()
            now = self.loop.time()
            idle = now - self._last_output
            is_prompting = self.at_prompt and self.prompt_count > prompts
            required = self._required_idle(ahead)
            if is_prompting:
                required = _TYPED_AHEAD if ahead else 0
            if now >= deadline or (idle >= required and not (required and self._read_pending())):
                break
            await self._wait_for_output(min(required - idle, deadline - now))
        if self._master < 0:
            await self._wait_for_exit()
        return self.at_prompt and self.prompt_count > prompts

    def _read_pending(self) -> bool:
        """Reads pending output, which a blocked event loop may have missed. Returns whether there was any."""
        before = self._last_output
        self._readable()
        return self._last_output != before

    async def _wait_for_exit(self) -> None:
        """Waits briefly for bash to exit after it has closed the terminal."""
        for _ in range(100):
            if exit_status(self._process) is not None:
                return
            await asyncio.sleep(0.01)

    async def wait_for_output(self, seconds: float) -> None:
        """Waits up to ``seconds`` for output, then until it pauses or bash prompts."""
        prompts = self.prompt_count
        deadline = self.loop.time() + seconds
        while self.open and not self.has_new_output and self.loop.time() < deadline:
            self._changed.clear()
            await self._wait_for_output(deadline - self.loop.time())
        if self.has_new_output:
            await self.wait_for_prompt(prompts, deadline - self.loop.time(), ahead=True)

    def _required_idle(self, ahead: bool) -> float:
        """Returns the seconds without output after which the program is assumed to wait for input."""
        if not self._command_started:
            return _START_TIMEOUT
        if self._reads_keys():
            return _IDLE
        if self._interrupted:
            return _INTERRUPT_TIMEOUT
        if self.screen.cursor.column:
            return _IDLE
        return _LONG_IDLE if ahead else inf

    def _reads_keys(self) -> bool:
        """Returns whether the program reads single keys, as full-screen programs and line editors do."""
        try:
            return not termios.tcgetattr(self._master)[3] & termios.ICANON
        except (OSError, termios.error):
            return False

    async def _wait_for_output(self, seconds: float) -> None:
        # Not wait_for: before Python 3.12 it loses a cancellation that arrives together with the event.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if seconds == inf else seconds):
                await self._changed.wait()

    # --- looking

    def read_screen(self) -> ScreenContent:
        """Returns the screen and the text since the last call."""
        screen = self.screen
        start = screen.line_start(min(self._mark, screen.first_changed))
        lines, lost = screen.unwrapped_lines(start)
        last = lines[-1] if lines else ""
        if start == self._mark and lines and lines[0].startswith(self._seen):
            lines[0] = lines[0][len(self._seen) :]
        self._mark, self._seen = screen.line_start(screen.cursor_line), last
        screen.first_changed = self._mark
        self.has_new_output = False
        return ScreenContent(screen.text(), screen.styled(), "\n".join(lines), lost)

    # --- life

    async def close(self) -> None:
        """Ends bash and all processes in the terminal."""
        await end(self._descendants)
        self._readable()
        self._close_master()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        unregister(self._descendants)

    def _readable(self) -> None:
        try:
            data = os.read(self._master, _CHUNK) if self._master >= 0 else b""
        except BlockingIOError:
            return
        except OSError:  # on Linux: the last program has closed the terminal
            data = b""
        if data:
            self._last_output = self.loop.time()
            self._emulator.feed(data)
            self.has_new_output = True
            if self.on_change:
                self.on_change()
        else:
            self._close_master()
        self._changed.set()

    def _close_master(self) -> None:
        if self._master >= 0:
            self.loop.remove_reader(self._master)
            # another terminal, of any program on this machine, gets the name at once
            self._descendants.output = ""
            os.close(self._master)
            self._master = -1
        self.at_prompt = False

    def _on_osc(self, text: str) -> None:
        if not text.startswith(self._osc_prefix):
            return
        event, _, code = text.removeprefix(self._osc_prefix).partition(";")
        if event == "begun":
            self._command_started, self.at_prompt = True, False
        elif event == "ended":
            self.exit_code = int(code) if code.isdigit() else None
        elif event == "ready":
            self._command_started, self.at_prompt = True, self._is_bash_in_front()
            self.prompt_count += 1

    def _is_bash_in_front(self) -> bool:
        """Whether no program has the keyboard, by the process group that bash's first prompt has told.

        Any program can print what announces a prompt, because bash knows it.
        """
        try:
            group = os.tcgetpgrp(self._master)
        except OSError:  # macOS does not tell it by this end of the terminal; elsewhere it has ended
            return sys.platform == "darwin"
        self._bash_group = self._bash_group or group
        return group == self._bash_group


class Terminals:
    """The terminals of a session, by number or name."""

    def __init__(self) -> None:
        self._terminals: dict[str, Terminal] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self._terminals)

    async def open(
        self,
        name: str | None,
        confined: SandboxedCommand,
        folder: Path,
        env: Mapping[str, str],
        rows: int,
        columns: int,
    ) -> tuple[str, Terminal]:
        """Opens a terminal as ``name`` or the lowest free number, not in use.  Raises ``OSError``."""
        numbers = map(str, range(1, len(self._terminals) + 2))
        id_ = name or next(number for number in numbers if not self._is_running(number))
        if self._is_running(id_):
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                f"Terminal {id_!r} already exists. Choose another name, or close it first.",
            )
        await self.close_terminal(id_)
        terminal = self._terminals[id_] = Terminal(confined, folder, env, rows, columns)
        return id_, terminal

    def get(self, id: str) -> Terminal:  # noqa: A002 - as callers name it
        """Returns a terminal.  Raises ``ToolFailure`` with the open terminals if there is none."""
        terminal = self._terminals.get(id)
        if terminal is None:
            known = ", ".join(self._terminals)
            advice = (
                f" Open terminals: {known}."
                if known
                else Advice(" Open one with ", ToolName("terminal_open"), ".")
            )
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, Message.of(f"Terminal {id!r} does not exist.", advice)
            )
        return terminal

    async def close_terminal(self, id: str) -> None:  # noqa: A002
        """Closes and removes a terminal, if it exists."""
        terminal = self._terminals.pop(id, None)
        if terminal is not None:
            await terminal.close()

    async def close(self) -> None:
        await asyncio.gather(*(self.close_terminal(id_) for id_ in self.names()))

    def _is_running(self, id_: str) -> bool:
        return id_ in self._terminals and self._terminals[id_].open
