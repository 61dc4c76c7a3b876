"""Which programs an argument vector runs: itself, what it hands on to shells, and what stands further along in it.

No table can name every wrapper and every option of each. So besides the program itself, every further word that names a
shell, an interpreter or a destructive program is judged as if it were one, except where the first program is known to
take its arguments as data.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_intelligence._shell import ACTIVE, UnreadableShell, simple_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh"})
FOREIGN_SHELLS = frozenset({"pwsh", "powershell", "powershell.exe", "cmd", "cmd.exe"})
INTERPRETER = re.compile(
    r"^(python|pypy|perl|ruby|node|nodejs|php|lua|luajit|deno|bun|tclsh|wish|expect|osascript|Rscript|julia|ipython"
    r"|guile|groovy|irb|erl|elixir|raku)[\d.]*$"
)
AWK = frozenset({"awk", "gawk", "mawk", "nawk", "original-awk"})
DESTROYERS = frozenset(
    {"rm", "shred", "srm", "wipe", "unlink", "rmdir", "dd", "truncate", "wipefs", "mke2fs", "mkswap", "fdisk", "sfdisk"}
    | {"cfdisk", "gdisk", "sgdisk", "parted", "blkdiscard", "find", "eval", "dropdb", "badblocks", "hdparm"}
)
# Programs whose arguments are data, however they read.
_DATA = frozenset(
    {
        "echo",
        "printf",
        "grep",
        "egrep",
        "fgrep",
        "zgrep",
        "rg",
        "ag",
        "logger",
        "pkill",
        "pgrep",
        "killall",
        "ps",
        "test",
    }
    | {"[", "[[", "which", "whereis", "type", "hash", "cat", "ls", "wc", "cut", "tr", "sort", "uniq", "head", "tail"}
    | {"tee", "touch", "mkdir", "basename", "dirname", "jq", "yq", "curl", "wget", "http", "export", "readonly", "read"}
    | {"kill", "true", "false", ":", "sleep", "date", "stat", "file", "man", "wall", "set", "shift", "exit", "return"}
    | {"apt", "apt-get", "apk", "dnf", "yum", "brew", "pacman", "zypper", "dpkg", "rpm", "diff", "seq", "cmp", "md5sum"}
    | {"cp", "mv", "ln", "chmod", "chown", "psql", "mysql", "mariadb", "sqlite3", "redis-cli", "systemctl", "service"}
)
# Programs whose words before ``exec`` or ``run`` are verbs of their own: ``docker rm`` takes away no file.
_TOOLS = frozenset(
    {"docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "incus", "docker-compose", "git", "aws", "gsutil", "helm"}
    | {"terraform", "tofu", "gcloud", "az", "hg", "svn", "consul", "etcdctl", "rabbitmqctl", "ip", "virsh", "multipass"}
)
_RUN_VERBS = frozenset({"exec", "run", "--", "debug", "ssh", "create", "--command", "-c", "sh", "shell", "attach"})
_WRAPPERS = frozenset(
    {"sudo", "doas", "env", "nohup", "setsid", "exec", "command", "builtin", "nice", "ionice", "timeout", "stdbuf"}
    | {"chroot", "busybox", "toybox", "xargs", "parallel", "watch", "flock", "unshare", "nsenter", "strace", "taskset"}
    | {"time", "systemd-run", "setpriv", "runuser", "chrt", "pkexec", "bwrap", "su", "script", "gtimeout", "ltrace"}
    | {
        "numactl",
        "cgexec",
        "prlimit",
        "firejail",
        "unbuffer",
        "proot",
        "fakeroot",
        "gosu",
        "su-exec",
        "tini",
        "dumb-init",
    }
)
_VALUE_OPTIONS = {
    "sudo": "ugpCTrthDR",
    "doas": "uC",
    "env": "uC",
    "nice": "n",
    "ionice": "cnp",
    "timeout": "ks",
    "xargs": "ILnPdEs",
    "watch": "n",
    "flock": "wE",
    "nsenter": "t",
    "taskset": "p",
    "chrt": "p",
    "systemd-run": "pu",
}
_SKIPS_ONE = frozenset({"timeout", "gtimeout", "chroot", "flock", "taskset", "chrt", "gosu", "su-exec"})
_TEXT_OPTIONS = re.compile(r"^(?:-\w*c|--command|--session-command|-S|--split-string)(?:=(?P<value>.*))?$", re.DOTALL)
_TAKES_TEXT = frozenset({"su", "runuser", "script", "flock", "env", "sg", "screen", "tmux"})
_SSH_VALUES = frozenset(f"-{letter}" for letter in "bcDEeFIiJLlmOopQRSWw")
_HARMLESS_LONG = frozenset({"--posix", "--norc", "--noprofile", "--login", "--verbose", "--no-config", "--restricted"})
_SHELLY = re.compile(r"[\s;&|<>(){}`$\"']")
_MAX_COMMANDS = 3_000
_MAX_WORDS = 1_000


@frozen
class Command:
    """One program that a line runs.

    Attributes:
        program: as written; holds ``ACTIVE`` where it is only known when it runs.
        arguments: what it is given, quotes removed.
        redirects: the files that its output goes to.
        stdin: the text that it is given, as far as the line says it.
        piped: something is put into its standard input.
        direct: no shell has read it: its arguments are exactly what it is given.
        assigned: the ``NAME=value`` words before it.
        code: the shell texts that it reads.
        unread: it is a shell, and what it would run is not there to be read.
    """

    program: str
    arguments: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()
    stdin: str = ""
    piped: bool = False
    direct: bool = False
    assigned: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    unread: bool = False

    @property
    def name(self) -> str:
        """Give the program's name without folders."""
        return PurePosixPath(self.program).name or self.program


@frozen
class _Script:
    """What a shell is given to run: texts, a file, or nothing that can be read."""

    texts: tuple[str, ...] = ()
    file: str = ""
    unread: bool = False


def all_commands(words: Sequence[str], env: Mapping[str, str] | None = None) -> tuple[Command, ...]:
    """Give everything that an argument vector runs, directly and in turn.

    Args:
        words: the program and its arguments.
        env: variables whose values are known.

    Raises:
        UnreadableShell: a shell text cannot be read, or there is more than anybody reviews.
    """
    found = []
    for command in _run(Command(words[0], tuple(words[1:]), direct=True), env or {}, 0):
        found.append(command)
        if len(found) > _MAX_COMMANDS:
            raise UnreadableShell("it runs more than anybody reviews")
    return tuple(found)


def _text(text: str, env: Mapping[str, str], depth: int) -> Iterator[Command]:
    for simple in simple_commands(text, env, depth):
        program, *arguments = simple.words or ("",)
        command = Command(
            program, tuple(arguments), simple.redirects, simple.stdin, simple.piped, assigned=simple.assigned
        )
        yield from _run(command, env, depth + 1)


def _run(command: Command, env: Mapping[str, str], depth: int) -> Iterator[Command]:
    if len(command.arguments) > _MAX_WORDS:
        raise UnreadableShell("it has more words than anybody reviews")
    yield from _one(command, env, depth)
    if command.name in _DATA or INTERPRETER.match(command.name) or command.name in SHELLS | FOREIGN_SHELLS | AWK:
        return
    starts = _wrapped_places(command) if command.name in _WRAPPERS else set()
    for place in range(_first_place(command), len(command.arguments)):
        word = command.arguments[place]
        name = PurePosixPath(word.partition("=")[2] if word.startswith("--") else word).name
        if place in starts or _is_dangerous(name):
            rest = command.arguments[place + 1 :]
            yield from _one(
                Command(word if place in starts else name, rest, (), command.stdin, command.piped, command.direct),
                env,
                depth,
            )
            if name in _DATA or INTERPRETER.match(name) or name in SHELLS | AWK:
                return
        elif _SHELLY.search(word):
            yield from _dangerous_in(word, env, depth)


def _one(command: Command, env: Mapping[str, str], depth: int) -> Iterator[Command]:
    script = _script(command)
    texts = (*script.texts, *_texts(command))
    yield Command(
        command.program,
        command.arguments,
        command.redirects,
        command.stdin,
        command.piped,
        command.direct,
        command.assigned,
        texts,
        script.unread,
    )
    for text in texts:
        yield from _text(text, env, depth + 1)


def _first_place(command: Command) -> int:
    if command.name not in _TOOLS:
        return 0
    return next((place + 1 for place, word in enumerate(command.arguments) if word in _RUN_VERBS), 10**6)


def _is_dangerous(name: str) -> bool:
    return (
        name in DESTROYERS
        or name in SHELLS
        or name in FOREIGN_SHELLS
        or name.startswith("mkfs")
        or bool(INTERPRETER.match(name))
    )


def _dangerous_in(word: str, env: Mapping[str, str], depth: int) -> Iterator[Command]:
    """Judge a word that might be a shell text, by those of its commands that are dangerous."""
    for text in {word, word.partition("=")[2], word.partition(":")[2], re.sub(r"^-\w*c|^!|^exec=", "", word)}:
        try:
            found = [command for command in _text(text, env, depth + 1) if text] if _SHELLY.search(text) else []
        except UnreadableShell:
            continue  # then it is data
        yield from (command for command in found if _is_dangerous(command.name))


def _wrapped_places(command: Command) -> set[int]:
    """Give the places that may hold the program that a wrapper runs."""
    values = _VALUE_OPTIONS.get(command.name, "")
    if command.name == "command" and {"-v", "-V"} & set(command.arguments[:1]):
        return set()
    places: set[int] = set()
    after_option, known, spare = False, False, command.name in _SKIPS_ONE
    for place, word in enumerate(command.arguments):
        if word.startswith("-"):
            known = len(word) > 1 and word[1] != "-" and word[-1] in values
            after_option = word != "--"
        elif re.match(r"^[A-Za-z_]\w*=|^\d+(\.\d+)?[smhd]?$", word):
            after_option, spare = False, spare and "=" in word
        else:
            if not (after_option and known) and not (spare and not after_option):
                places.add(place)
            if not after_option and not spare:
                break
            spare, after_option = spare and after_option, False
    return places


# --- what is read as shell text --------------------------------------------------------------------------------------


def _texts(command: Command) -> tuple[str, ...]:
    """Give the shell texts that a command runs, here or on another machine."""
    name, arguments = command.name, command.arguments
    if name in {"eval", "watch", "parallel"}:
        return (" ".join(word for word in arguments if not word.startswith("-")),)
    if name == "trap":
        return arguments[:1] if len(arguments) > 1 else ()
    if name == "alias":
        return tuple(word.partition("=")[2] for word in arguments)
    if name in {"ssh", "mosh", "sshpass", "autossh"}:
        return (" ".join(_ssh_words(arguments)),)
    return tuple(_option_texts(arguments)) if name in _TAKES_TEXT else ()


def _option_texts(arguments: Sequence[str]) -> Iterator[str]:
    for place, word in enumerate(arguments):
        if (match := _TEXT_OPTIONS.match(word)) is not None:
            yield match["value"] if match["value"] is not None else " ".join(arguments[place + 1 : place + 2])
        elif match := re.match(r"^-S(.+)$", word, re.DOTALL):
            yield match[1]


def _ssh_words(arguments: Sequence[str]) -> Sequence[str]:
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        place += 2 if arguments[place] in _SSH_VALUES else 1
    return arguments[place + 1 :]


def _script(command: Command) -> _Script:
    if command.direct and not command.piped and not command.arguments:
        return _Script()  # nothing is given to it: a step's standard input is closed
    if command.name in SHELLS:
        return _fish_script(command.arguments) if command.name == "fish" else _shell_script(command.arguments)
    if command.name in FOREIGN_SHELLS:
        return _foreign_script(command.arguments)
    return _Script()


def _shell_script(arguments: Sequence[str]) -> _Script:
    """Find what ``sh`` runs, as POSIX and bash read options: ``-c`` may stand in a bundle, ``-o`` takes a value."""
    rest, reads_text = list(arguments), False
    if rest in (["--version"], ["--help"]):
        return _Script()
    while rest and rest[0][:1] in {"-", "+"} and rest[0] not in {"-", "--"}:
        option = rest.pop(0)
        if option.startswith("--"):
            if option not in _HARMLESS_LONG:
                return _Script(unread=True)
            continue
        if not re.fullmatch(r"[-+][a-zA-Z]+", option) or "s" in option:
            return _Script(unread=True)
        reads_text |= option[0] == "-" and "c" in option
        del rest[: sum(letter in "oO" for letter in option)]
    rest = rest[1:] if rest[:1] in (["-"], ["--"]) else rest
    if not rest:
        return _Script(unread=True)
    return _Script(texts=(rest[0],)) if reads_text else _file(rest[0])


def _file(name: str) -> _Script:
    readable = ACTIVE not in name and not name.startswith(("/dev/", "/proc/", "-"))
    return _Script(file=name, unread=not readable)


def _fish_script(arguments: Sequence[str]) -> _Script:
    texts = [word.partition("=")[2] for word in arguments if word.startswith(("--command=", "--init-command="))]
    operands = [word for word in arguments if not word.startswith("-")]
    if any(re.match(r"-\w*[cC]|--(init-)?command", word) for word in arguments):
        return _Script(texts=(*texts, *operands))
    return _file(operands[0]) if operands else _Script(unread=True)


def _foreign_script(arguments: Sequence[str]) -> _Script:
    for place, word in enumerate(arguments):
        if re.fullmatch(r"(?i)-c(ommand)?|/[ck]", word):
            return _Script(texts=(" ".join(arguments[place + 1 :]),))
        if re.fullmatch(r"(?i)-f(ile)?", word):
            return _file("".join(arguments[place + 1 : place + 2]))
    return _Script(unread=True)


def script_file(command: Command) -> str:
    """Give the file that a shell or interpreter runs; empty where it runs none."""
    if command.name in SHELLS | FOREIGN_SHELLS:
        return _script(command).file
    if command.name in {"source", "."}:
        return command.arguments[0] if command.arguments else ""
    if INTERPRETER.match(command.name) and not {"-c", "-e", "-r", "-m"} & set(command.arguments):
        return next((word for word in command.arguments if not word.startswith("-")), "")
    if command.name in AWK and "-f" in command.arguments[:-1]:
        return command.arguments[command.arguments.index("-f") + 1]
    return ""
