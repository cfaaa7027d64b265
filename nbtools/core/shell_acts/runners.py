"""Programs that can run others: those that always may, and those that only do so when told by an option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nbtools.core.shell_acts.options import Grammar, grammar, read_options
from nbtools.core.shell_acts.started import Effects, Handler, Started, names


@dataclass(frozen=True, slots=True)
class Runner:
    """It starts programs when one of these options is given: ``long`` ones (abbreviations count), ``short`` letters, single-``dash`` words.

    For the rest it is a usual program: ``values`` are its other options that take one, ``output`` those whose value is a file it writes;
    its operands behind ``skip`` are read when ``reads``.
    """

    long: str = ""
    short: str = ""
    dash: str = ""
    words: str = ""
    """Operands, as patterns, that make it start something."""
    values: str = ""
    output: str = ""
    files: str = ""
    """Options whose value is a file it reads."""
    skipped_by: str = ""
    """Options that stand for the skipped operands."""
    default: str = ""
    """What it reads when no file is named and nothing is given to it."""
    reads: bool = False
    skip: int = 0
    harmless: bool = False

    def __call__(self, started: Started) -> Effects:
        given = read_options(started, self._known)
        writes = tuple(option.value or "" for option in given.values(*self.output.split()))
        skip = 0 if given.has(*self.skipped_by.split()) else self.skip
        operands = tuple(started.words[place] for place in given.operands[skip:])
        operands = operands or ((self.default,) if self.default and not started.fed else ())
        named = tuple(option.value or "" for option in given.values(*self.files.split()))
        return Effects(reads=(*named, *(operands if self.reads else ())), writes=writes, risk=self.risk(started), harmless=self.harmless)

    @property
    def _known(self) -> Grammar:
        return grammar("", f"{self.values} {self.output} {self.files}")

    def risk(self, started: Started) -> str:
        for place, word in enumerate(started.words[1:], 1):
            if started.fixed(place) and word == "--" and not self.words:
                return ""
            if place not in started.splits and started.words[place - 1] in self._known.values:
                continue
            if not started.one_word(place):
                return f"{word} may be an option that makes {started.name} start a program"
            if self._dangerous(word):
                return f"{word} makes {started.name} start a program"
        return ""

    def _dangerous(self, word: str) -> bool:
        if self.words and re.search(self.words, word):
            return True
        name = word.partition("=")[0]
        if name in self.dash.split() or any(word.startswith(dash + "=") for dash in self.dash.split()):
            return True
        if name.startswith("--"):
            return len(name) > 2 and any(long.startswith(name) for long in self.long.split())
        return word.startswith("-") and bool(set(word[1:]) & set(self.short))


_ALWAYS = {
    "it takes commands that start programs": """vi vim nvim view vimdiff rvim rview gvim ex ed red emacs emacsclient nano pico joe
        jed micro hx helix kak
        mc mcedit less more most pg man info pinfo w3m lynx links elinks ftp lftp telnet gdb lldb rr cgdb dc m4 gnuplot octave octave-cli
        maxima gp sage psql mysql mariadb mongo mongosh redis-cli irb pry ipython ipython3 jshell ghci iex erl mutt mail mailx sqlplus""",
    "it starts programs by itself": """rename prename perl-rename flatpak snap wine mono
        pee vipe zrun sem tsp nq pueue daemonize nvm pkgx devbox sops cmd.exe dotenv envdir runcon cgexec chpst lerna faketime
        expect socat nc ncat netcat crontab at batch screen tmux dtach abduco zellij byobu xterm
        gnome-terminal konsole alacritty
        kitty wezterm xdg-open open osascript launchctl systemctl service run-parts start-stop-daemon logrotate anacron initctl
        entr watchexec nodemon inotifywait-run reflex watchman ansible ansible-playbook vagrant openvpn certbot nmap stap
        dtrace bpftrace perf valgrind
        logsave lckdo visudo vipw vigr sudoedit sudoreplay newgrp login ssh-agent ssh-copy-id ldd capsh gcore dlv delve
        puppet chef-client salt-call facter magick convert mogrify montage identify composite wish xinit startx dbus-launch""",
    "it fetches a program and runs it": "nix-shell nix guix",
    "it runs something in another system": "docker podman nerdctl lxc lxc-attach machinectl kubectl oc heroku fly vagrant wsl",
    "its code may do anything": """lua luajit lua5.1 lua5.3 lua5.4 tclsh guile racket sbcl clisp scheme swipl prolog R Rscript
        julia groovy scala kotlin
        jrunscript java runghc runhaskell ocaml elixir escript swift gjs gawk-code osh clojure bb janet csi forth tcc rhino jjs
            bpython ptpython""",
    "it changes what the system is made of": "dpkg rpm insmod modprobe ldconfig mount umount chsh chfn usermod useradd passwd "
    "visudo update-alternatives "
    "shutdown reboot halt poweroff init telinit sysctl iptables nft swapoff swapon losetup",
}


def _always() -> Iterator[tuple[str, Handler]]:
    for reason, programs in _ALWAYS.items():
        effects = Effects(risk=reason)
        for name in names(programs):
            yield name, lambda _, effects=effects: effects  # type: ignore[misc]


_OF_DOCKER = names("ps images logs version info top stats history search port inspect compose container image volume network")
_OF_COMPOSE = names("ps logs ls top images version up down stop start restart pull build config")
_OF_KUBECTL = names("get describe logs top version api-resources explain")


def _containers(started: Started) -> Effects:
    """Looking at containers needs no more than a rule that says so; options before the word may lead to another machine."""
    words = started.words
    risk = "it runs something in another system"
    known = _OF_KUBECTL if started.name in ("kubectl", "oc") else _OF_DOCKER
    if len(words) < 2 or not started.fixed(1) or words[1] not in known or any(word.startswith("--kubec") for word in words):
        return Effects(risk=risk)
    deeper = words[1] in ("compose", "container", "image", "volume", "network")
    if deeper and not (len(words) > 2 and started.fixed(2) and words[2] in (_OF_COMPOSE if words[1] == "compose" else ("ls", "inspect"))):
        return Effects(risk=risk)
    return Effects(risk=risk, spelled=3 if deeper else 2)


def _make(started: Started) -> Effects:
    """``make VAR=value``: recipes and ``$(shell …)`` take the value for code."""
    plain = Runner("--eval --file --makefile --include-dir", "fIE").risk(started)
    odd = next(
        (word for word in started.words[1:] if re.match(r"[^-]*=", word) and not re.fullmatch(r"(?!SHELL)\w+=(?:\d+|[\w.]{0,12})", word)),
        "",
    )
    known = next((word for word in started.words[1:] if re.match(r"(?:SHELL|MAKE\w*|CC|CXX|LD|AR|AS|CPP|\w*SHELL\w*)\s*[:?+]*=", word)), "")
    odd = odd or known
    given = read_options(started, grammar("", "-CfIoWEl --directory"))
    away = next(
        (option.value for option in given.values("-C", "--directory") if re.match(r"/|~|(?:.*/)?\.\.(?:/|\Z)", option.value or "")), ""
    )
    if away:
        return Effects(risk=f"what it makes in {away} is somebody else's")
    return Effects(risk=plain or (f"{odd} may put code into what make runs" if odd else ""))


def _sqlite(started: Started) -> Effects:
    safe = {"-readonly", "-header", "-csv", "-json", "-column", "-list", "-line", "-box", "-table", "-markdown", "-batch", "-bail", "-safe"}
    operands = [word for word in started.words[1:] if word not in safe]
    sql = " ".join(operands[1:]).strip()
    clear = not started.dynamic and operands[0:1] != ["-"] and not any(word.startswith("-") for word in operands)
    clear = (
        clear
        and bool(re.match(r"(?i)(?:select|explain|pragma table_info)\b", sql))
        and not re.search(r"(?i)(?m:^\s*\.)|load_ext|writefile|edit\s*\(|fts3_tok|readfile", sql)
    )
    return Effects(reads=tuple(operands[:1]), risk="" if clear else "it takes commands that start programs")


def _cargo(started: Started) -> Effects:
    words = started.words
    fixes = "--fix" in words or ("fmt" in words[1:2] and not set(words) & {"--check", "--help"})
    return Effects(writes=(".",) if fixes else (), risk=_CARGO.risk(started))


def _go(started: Started) -> Effects:
    """``go run https://…`` and ``go run x@v1`` fetch what they run."""
    words = started.words
    fetched = next((word for word in words[2:] if words[1:2] == ("run",) and "@" in word), "")
    profiles = tuple(word.partition("=")[2] for word in words if re.match(r"--?(?:\w+profile|trace|outputdir)=", word))
    formats = words[1:2] in (("fmt",), ("fix",)) or words[1:3] == ("mod", "edit")
    risk = _GO.risk(started) or (f"it fetches {fetched} and runs it" if fetched else "")
    return Effects(writes=(*((".",) if formats else ()), *profiles), risk=risk)


_CARGO = Runner("--config --manifest-path --target-dir --out-dir --artifact-dir", words=r"^\+|^(?:install|fix|login)\Z", short="C")
_GO = Runner(
    words=r"^(?:generate|tool|env)\Z|^--?(?:exec|toolexec|vettool|C|modfile|overlay|ldflags|gccgoflags|gcflags|asmflags|o)(?:=|\Z)"
)
_FOUND = re.compile(r"\{[^}]*\}")


def _fd(started: Started) -> Effects:
    for place, word in enumerate(started.words):
        if word in ("-x", "-X", "--exec", "--exec-batch") and started.fixed(place) and place + 1 < len(started.words):
            inner = started.part(place + 1)
            words = inner.words if any(map(_FOUND.search, inner.words)) else (*inner.words, "{}")
            found = frozenset(at for at, text in enumerate(words) if _FOUND.search(text))
            return Effects(starts=(inner.with_found(words, found, several=True),), risk=_FD.risk(started.part(0, place)))
    return _FD(started)


_FD = Runner(
    "--exec --exec-batch",
    "xX",
    values="-detEcSjogm --max-depth --type --extension --exclude --color --size --threads",
    skip=1,
    reads=True,
    harmless=True,
)

RUNNERS: dict[str, Handler] = {
    **dict(_always()),
    **dict.fromkeys(("docker", "podman", "nerdctl", "kubectl", "oc"), _containers),
    "make": _make,
    "gmake": _make,
    "ninja": Runner(short="fCt"),
    "just": Runner("--shell --shell-arg --justfile --working-directory --chooser --command --evaluate --set --edit", "fdcCe"),
    "sqlite3": _sqlite,
    "fd": _fd,
    "fdfind": _fd,
    "rg": Runner(
        "--pre --hostname-bin --search-zip",
        "z",
        values="-AaBCdEefgjMmrTt --glob --type --type-not --max-count --context --regexp --file --sort --replace",
        files="-f --file --ignore-file",
        skip=1,
        skipped_by="-e -f --regexp --file --files --type-list",
        default=".",
        reads=True,
        harmless=True,
    ),
    "shuf": Runner(values="-nie --head-count --input-range --random-source", output="-o --output", reads=True),
    **dict.fromkeys(
        ("iconv", "sdiff"), Runner("--diff-program", values="-ftw --from-code --to-code --width", output="-o --output", reads=True)
    ),
    **dict.fromkeys(("bat", "batcat"), Runner("--pager --config-file --config-dir", values="-lHmrL --language --line-range", reads=True)),
    "diff3": Runner("--diff-program", reads=True),
    "xmllint": Runner("--shell --load-trace --catalogs --path --xinclude", output="--output -o", reads=True),
    "base64": Runner(values="-wbid --wrap --input", output="-o --output", reads=True, harmless=True),
    "ss": Runner("--diag --kill", "DK", harmless=True),
    "lsof": Runner("", "Dm", words=r"^\+m", harmless=True),
    "rustc": Runner("--codegen --out-dir --extern", "CLZ", output="-o", words=r"^@"),
    **dict.fromkeys(("nm", "objdump", "ar", "ranlib", "strip"), Runner("--plugin --target", output="-o")),
    **dict.fromkeys(("ctags", "etags"), Runner("--options", output="-f -o")),
    "aria2c": Runner(words=r"^--on-", long="--conf-path --load-cookies --input-file", short="i", output="-d -o -l --dir --out --log"),
    **dict.fromkeys(
        ("yt-dlp", "youtube-dl"), Runner("--exec --config-locations --downloader --external-downloader --plugin-dirs --batch-file", "a")
    ),
    **dict.fromkeys(("tsx", "ts-node"), Runner("--eval --print --require --import --loader --compiler", "eprC")),
    **dict.fromkeys(
        ("jest", "vitest", "mocha"),
        Runner("--config --require --globalSetup --import --loader --ui --reporter --resolver --transform --root", "cr"),
    ),
    "ag": Runner("--pager", reads=True, skip=1, default="."),
    "ack": Runner("--pager --ackrc --output --env", reads=True, skip=1, default="."),
    "sort": Runner(
        "--compress-program",
        values="-kStT --key --field-separator --buffer-size --parallel --batch-size --sort",
        output="-o --output",
        files="--files0-from --random-source",
        reads=True,
        harmless=True,
    ),
    "zip": Runner("--test --unzip-command", "T", reads=True),
    "scp": Runner("", "SoFDJ", values="-ciPlX", reads=True),
    "sftp": Runner("", "SoFDJbs"),
    "rsync": Runner("--rsh --rsync-path --daemon --config --remote-option --early-input --dparam --password-file --log-file", "eM"),
    "install": Runner("--strip-program", "s"),
    "cpio": Runner("--rsh-command --to-stdout --extract --file", "iFOIp"),
    "hg": Runner("--config --exec --tool --cwd --repository --rcfile", "Re", words=r"^(?:bisect|config|extdiff|merge)\Z"),
    "svn": Runner("--diff-cmd --diff3-cmd --editor-cmd --config-option --config-dir", "F"),
    "cvs": Runner(short="ed"),
    "gh": Runner(words=r"^(?:alias|extension|ext|codespace|config|auth)\Z|^!"),
    "pandoc": Runner(
        "--filter --lua-filter --pdf-engine --pdf-engine-opt --defaults --data-dir --extract-media", "FLd", output="-o --output"
    ),
    **dict.fromkeys(
        ("gcc", "cc", "g++", "c++", "clang", "clang++"),
        Runner(
            output="-o",
            words=r"^(?:-wrapper|-fplugin|-specs|--specs|-B|-Xclang|-load|@|-fuse-ld|-ld-path|--ld-path|-Wl,.*plugin|-Xlinker|-fpass-plugin|-no-canonical|--config)",
        ),
    ),
    **dict.fromkeys(
        ("tex", "latex", "pdflatex", "xelatex", "lualatex", "latexmk"),
        Runner(words=r"^-+(?:shell-escape|enable-write18|e\b|r\b|pdflatex|latex|usepretex)|\\"),
    ),
    "go": _go,
    "cargo": _cargo,
    "mvn": Runner(words=r"^(?:-s|-f|-gs|--settings|--file|-D.*exec.*|exec:.*)\Z"),
    **dict.fromkeys(("gradle", "gradlew"), Runner("--init-script --build-file --settings-file --project-dir", "Ibcp")),
    **dict.fromkeys(
        ("apt", "apt-get", "apt-cache", "aptitude", "yum", "dnf"),
        Runner("--option --config-file --setopt --config", "oc", words=r"^changelog\Z"),
    ),
    **dict.fromkeys(
        ("pip", "pip3"),
        Runner(
            "--config-settings --global-option --build-option --editor --python --log",
            output="-t -d --target --dest --root --prefix --src --report",
            words=r"^config\Z",
        ),
    ),
    "tcpdump": Runner("--postrotate-command", "zwWGV"),
    "ip": Runner(words=r"^(?:netns|vrf)\Z", short="b"),
    "helm": Runner("--post-renderer --post-renderer-args", words=r"^plugin\Z"),
    "terraform": Runner(words=r"^console\Z|^-chdir"),
    "openssl": Runner(words=r"^-?(?:engine|provider|provider-path|config|conf)\Z", dash="-engine -provider -provider-path -config"),
    "ssh-keygen": Runner(short="Dw"),
    "ssh-add": Runner(short="sS"),
    "gpg": Runner(
        "--exec-path --photo-viewer --agent-program --dirmngr-program --keyserver-options --options --homedir --pinentry-mode "
        "--load-extension"
    ),
    "file": Runner("--compile --magic-file", "Cmf", reads=True, harmless=True),
    "tree": Runner("", "oR", values="-LIPT", reads=True, harmless=True),
    "hostname": Runner("--file --boot", "Fb", words=r"^[^-]"),
    "pdftotext": Runner(),
}
