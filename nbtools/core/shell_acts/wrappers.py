"""Programs that start the program named in their arguments, and how their own options are told from its."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from nbtools.core.shell_acts.options import Given, grammar, read_options
from nbtools.core.shell_acts.started import Effects, Handler, Script, Started

_ALL = 9999
"""All operands are its own: the program stands in an option."""
_OF_ENV = re.compile(r"[^=]+=")
_OF_BASH = re.compile(r"[A-Za-z_]\w*(?:\[.*\])?\+?=", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """``operands`` of its own stand before the program.  A ``risk`` is its own, whatever it starts; without one it is transparent."""

    flags: str = ""
    values: str = ""
    optional: str = ""
    strange: str = ""
    """Options with a value that bring other code or other surroundings: a risk."""
    operands: int = 0
    risk: str = ""
    script: str = ""
    """Options whose value a shell would run."""
    joined: bool = False
    """Whether the words are joined and given to a shell."""
    writes: str = ""
    """Options whose value is a file it writes."""
    folder: str = ""
    """Options whose value is the folder to start in."""
    assigns: re.Pattern[str] | None = None
    """What makes a word before the program set a variable."""
    numbers: bool = False
    starts_shell: bool = False
    """Whether it starts a shell when no program is named."""

    def __call__(self, started: Started) -> Effects:
        known = grammar(self.flags, f"{self.values} {self.strange}", self.optional, numbers=self.numbers)
        given = read_options(started, known, stop=self.operands != _ALL)
        if started.name == "env" and (split := given.values("-S", "--split-string")):
            return self._split(started, split[0].value or "", split[0].position)
        scripts = tuple(Script(option.value or "", started.fixed(option.position)) for option in given.values(*self.script.split()))
        starts = (*scripts, *self._started(started, given.operands[self.operands :]))
        return Effects(
            starts=starts,
            writes=tuple(option.value or "" for option in given.values(*self.writes.split())),
            risk=self._risk(started, given, starts),
            transparent=bool(starts) and not self._risk(started, given, starts),
            folder=next((option.value or "" for option in given.values(*self.folder.split())), ""),
        )

    def _started(self, started: Started, operands: tuple[int, ...]) -> tuple[Started | Script, ...]:
        assignments = []
        while started.name == "time" and operands and started.words[operands[0]] == "!":  # a word of the shell, as time is
            operands = operands[1:]
        while self.assigns and operands and self.assigns.match(started.words[operands[0]]):
            assignments.append(started.words[operands[0]])
            operands = operands[1:]
        if not operands:
            return ()
        if started.words[operands[0]] in self.script.split() and len(operands) > 1:  # flock file -c 'line'
            return (Script(started.words[operands[1]], started.fixed(operands[1])),)
        if self.joined:
            fixed = all(map(started.fixed, operands))
            return (Script(" ".join(started.words[place] for place in operands), fixed),)
        return (started.part(operands[0], assignments=tuple(assignments)),)

    def _risk(self, started: Started, given: Given, starts: tuple[Started | Script, ...]) -> str:
        if self.risk:
            return self.risk
        if given.strange:
            return f"{given.strange} is no option that is known of {started.name}"
        if brought := given.values(*self.strange.split()):
            return f"{brought[0].name} makes {started.name} start something else"
        own = given.operands[: self.operands]
        if given.unclear and given.unclear not in {started.words[place] for place in given.operands[self.operands :]}:
            return f"{given.unclear} may be an option of {started.name}"
        if not all(map(started.one_word, own)):
            return "where its own words end is only known when it runs"
        return "it starts a shell" if self.starts_shell and not starts else ""

    def _split(self, started: Started, text: str, position: int) -> Effects:
        """``env -S "git status"`` takes the text apart itself."""
        try:
            words = shlex.split(text)
        except ValueError:
            words = []
        if not words or not started.fixed(position) or re.search(r"[\\$#]", text) or words[0].startswith("-"):
            return Effects(risk="what env makes of -S is not understood")
        rest = started.part(position + 1)
        if rest.dynamic:
            return Effects(risk="what env makes of -S is not understood")
        inner = Started(("env", *words, *rest.words), fed=started.fed)
        return Effects(starts=(inner,), transparent=True)


_ROOT = "it runs it as another user"
_ELSEWHERE = "it runs it in another system or with other rights"

WRAPPERS: dict[str, Handler] = {
    "env": Wrapper(
        "-i0v --ignore-environment --null --debug --list-signal-handling",
        "-uCS --unset --chdir --split-string",
        assigns=_OF_ENV,
        folder="-C --chdir",
    ),
    "nice": Wrapper("", "-n --adjustment", numbers=True),
    "ionice": Wrapper("-t --ignore", "-cn --class --classdata"),
    "chrt": Wrapper("-abfiordvR --all-tasks --batch --fifo --idle --other --rr --deadline --verbose --reset-on-fork", "-TPD", operands=1),
    "taskset": Wrapper("-ac --all-tasks --cpu-list", operands=1),
    "nohup": Wrapper(),
    "setsid": Wrapper("-cfw --ctty --fork --wait"),
    "stdbuf": Wrapper("", "-ioe --input --output --error"),
    "unbuffer": Wrapper("-p"),
    "timeout": Wrapper("-vfp --verbose --foreground --preserve-status", "-ks --kill-after --signal", operands=1),
    "gtimeout": Wrapper("-v --verbose --foreground --preserve-status", "-ks --kill-after --signal", operands=1),
    "time": Wrapper("-pvqaV --portability --verbose --quiet --append", "-fo --format --output", writes="-o --output", assigns=_OF_BASH),
    "builtin": Wrapper(),
    "exec": Wrapper("-cl", "-a"),
    **dict.fromkeys(("chronic", "cronic", "ifne", "ccache", "sccache", "distcc", "dumb-init", "tini", "retry", "with-contenv"), Wrapper()),
    "noglob": Wrapper(),
    "nocorrect": Wrapper(),
    "caffeinate": Wrapper("-disu", "-t"),
    "eatmydata": Wrapper(),
    "catchsegv": Wrapper(),
    "choom": Wrapper("", "-n"),
    "rlwrap": Wrapper(risk="it takes options that start programs"),
    "xvfb-run": Wrapper("-a --auto-servernum", "-n --server-num"),
    "systemd-inhibit": Wrapper("", "--what --who --why --mode"),
    "fakeroot": Wrapper("-u --unknown-is-real"),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "setarch": Wrapper("-R --addr-no-randomize", operands=1),
    "numactl": Wrapper("-il --localalloc", "-NCmp --cpunodebind --physcpubind --membind --interleave"),
    "prlimit": Wrapper("", "", "-cdefilmnqrstuvxy --nofile --nproc --as --cpu --core --data --fsize --memlock --rss --stack"),
    "flock": Wrapper(
        "-sxenuoF --shared --exclusive --nonblock --unlock --close --no-fork",
        "-wEc --timeout --conflict-exit-code --command",
        operands=1,
        script="-c --command",
    ),
    "watch": Wrapper(
        "-bcdegptx --beep --color --differences --errexit --chgexit --precise --no-title --exec --no-wrap -w", "-nq --interval", joined=True
    ),
    "hyperfine": Wrapper(risk="each of its arguments is a command line"),
    "sudo": Wrapper(
        "-ABbEHiKklnPSsvV --preserve-env --login --non-interactive --shell --stdin --background",
        "-CDghpRrTtUu --user --group --chdir --host --prompt --close-from",
        risk=_ROOT,
        assigns=_OF_ENV,
        folder="-D --chdir",
    ),
    "doas": Wrapper("-nsL", "-Cu", risk=_ROOT),
    "su": Wrapper(
        "-lmpPf --login --preserve-environment --pty", "-cgGsw --command --group --shell", risk=_ROOT, script="-c --command", operands=_ALL
    ),
    "runuser": Wrapper(
        "-lmpPf --login --preserve-environment --pty", "-cgGsuw --command --group --shell --user", risk=_ROOT, script="-c --command"
    ),
    "pkexec": Wrapper("--disable-internal-agent --keep-cwd", "--user", risk=_ROOT),
    "sg": Wrapper("", "-c", risk=_ROOT, operands=1, script="-c"),
    "gosu": Wrapper(risk=_ROOT, operands=1),
    "su-exec": Wrapper(risk=_ROOT, operands=1),
    "setpriv": Wrapper("--no-new-privs", "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set", risk=_ROOT),
    "capsh": Wrapper("", "-c", risk=_ROOT, script="-c"),
    "chroot": Wrapper("--skip-chdir", "--userspec --groups", risk=_ELSEWHERE, operands=1),
    "nsenter": Wrapper(
        "-aFwr --all", "-tSG --target --setuid --setgid", "-muinpUCT --mount --uts --ipc --net --pid --user", risk=_ELSEWHERE
    ),
    "unshare": Wrapper(
        "-frc --fork --map-root-user",
        "-RwSG --root --wd --setuid --setgid",
        "-muinpUCT --mount --uts --ipc --net --pid --user",
        risk=_ELSEWHERE,
    ),
    "bwrap": Wrapper(risk=_ELSEWHERE),
    "firejail": Wrapper(risk=_ELSEWHERE),
    "proot": Wrapper(risk=_ELSEWHERE),
    "systemd-run": Wrapper(
        "-qtPGr --user --scope --wait --pty --pipe --quiet --collect",
        "-pEu --property --setenv --unit --uid --slice",
        risk="it runs it outside the session",
    ),
    "strace": Wrapper(
        "-cCdfiqrtTvxyDFhkwz --follow-forks",
        "-aeEIObopPsSuUX --output --expr --trace",
        risk="it sees and may change all that it does",
        writes="-o --output",
    ),
    "ltrace": Wrapper("-cCfhiLrStTV", "-aAeDlnopsuwxX", risk="it sees and may change all that it does", writes="-o"),
    "script": Wrapper(
        "-aefq --append --return --flush --quiet",
        "-cEIOBTmo --command --log-out --log-in --log-io",
        script="-c --command",
        operands=_ALL,
        starts_shell=True,
        risk="it writes all that is shown into a file",
    ),
    "parallel": Wrapper(
        risk="each of its inputs becomes a part of a command line",
        joined=True,
        flags="-kq0 --keep-order --dry-run",
        values="-jIaN --jobs --delay --results",
    ),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "torsocks": Wrapper(risk="it changes what it reaches"),
    "proxychains": Wrapper("-q", "-f", risk="it changes what it reaches"),
    "proxychains4": Wrapper("-q", "-f", risk="it changes what it reaches"),
    "dbus-run-session": Wrapper("", "--config-file --dbus-daemon", risk="it starts a program of its options"),
}
