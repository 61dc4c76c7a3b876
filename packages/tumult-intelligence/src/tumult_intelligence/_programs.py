"""Which programs delete, format, or run what they fetched: the part of the policy that knows names."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_intelligence._shell import SHELLS, script_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tumult_intelligence._shell import Command


@frozen
class Refusal:
    """Why a command is refused, and what to do instead."""

    code: str
    message: str
    hint: str


_DELETES = frozenset({"shred", "srm", "wipe", "unlink", "dropdb", "wipefs"})
_FORMATS = frozenset(
    {"mke2fs", "mkswap", "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "blkdiscard", "format"}
    | {"lvremove", "vgremove", "pvremove", "newfs", "diskutil", "badblocks"}
)
_DOWNLOADS = frozenset({"curl", "wget", "fetch", "aria2c", "axel", "http", "https", "lynx", "ftp", "scp", "nc", "ncat"})
_INTERPRETER = re.compile(r"^(python|perl|ruby|node|nodejs|php|lua|deno|bun)[\d.]*$")
_COMPUTED = re.compile(r"[$`*?{]|^-|^\[(?!\[?$)")
_DEVICE = re.compile(r"^/dev/(?!null$|stdout$|stderr$|stdin$|tty|fd/|shm/|zero$|full$|u?random$)")
_SCRATCH_FILE = re.compile(r"^/(?:var/)?tmp/(?!.*\.\.)[\w./-]*\w$")
_OWN_FILE = re.compile(r"^(?!.*\.\.)(?:\$\{[\w.-]+\}|\w[\w.-]*)(?:/[\w.-]+)*$")
_FORK_BOMB = re.compile(
    r"(?<![\w:.])(?P<name>[\w:.]{1,40})\s{0,9}\(\)\s{0,9}\{[^}]{0,200}?(?P=name)\s{0,9}\|\s{0,9}(?P=name)"
)

# Subcommands that destroy what no rollback brings back, by program: all words of a tuple stand there.
_DESTRUCTIVE = {
    "docker": (
        ("system", "prune"),
        ("volume", "rm"),
        ("volume", "prune"),
        ("image", "rm"),
        ("rmi",),
        ("image", "prune"),
    ),
    "podman": (("system", "prune"), ("system", "reset"), ("volume", "rm"), ("volume", "prune"), ("rmi",)),
    "kubectl": (
        *(
            ("delete", kind)
            for kind in ("namespace", "namespaces", "ns", "pvc", "pv", "node", "nodes", "crd", "secret")
        ),
        *(("delete", kind) for kind in ("persistentvolume", "persistentvolumeclaim", "statefulset", "sts")),
        ("delete", "--all"),
        ("delete", "-A"),
        ("delete", "--all-namespaces"),
    ),
    "helm": (("uninstall",), ("delete",)),
    "terraform": (("destroy",), ("apply", "-destroy")),
    "aws": (("s3", "rm"), ("s3", "rb"), ("s3api", "delete-bucket"), ("rds", "delete-db-instance")),
    "gsutil": (("rm",), ("rb",)),
    "zpool": (("destroy",), ("labelclear",)),
    "zfs": (("destroy",),),
    "git": (("clean",), ("reset", "--hard")),
    "cryptsetup": (("luksFormat",), ("erase",), ("luksErase",)),
    "nvme": (("format",), ("sanitize",)),
    "rsync": (("--delete",), ("--remove-source-files",)),
    "crontab": (("-r",),),
    "redis-cli": (("FLUSHALL",), ("FLUSHDB",), ("flushall",), ("flushdb",)),
}
_SQL = re.compile(
    r"\bdrop\s+(?:database|table|schema|keyspace|user|role)\b|\btruncate\s+(?:table\s+)?\w|\bdelete\s+from\s+[\w.\"`]+\s*(?:;|$|[\"'])"
    r"|\bdropDatabase\b",
    re.IGNORECASE,
)
_SQL_CLIENTS = frozenset(
    {"psql", "mysql", "mariadb", "sqlite3", "duckdb", "clickhouse-client", "cqlsh", "mongo", "mongosh", "sqlcmd"}
)
_CODE_DELETES = re.compile(
    r"rmtree|unlink|removedirs|os\.remove|os\.rmdir|\.rmdir\(|rmSync|rmdirSync|unlinkSync|fs\.rm\b|rm_rf|rm_r\b|remove_tree|FileUtils|\brm\s+-"
)
_CODE_RUNS = re.compile(
    r"os\.system|subprocess|popen|pty\.spawn|child_process|\bexec\b|\beval\b|(?<!platform\.)\bsystem\s*\(|__import__|(?<!re\.)\bcompile\(|`",
    re.IGNORECASE,
)

# Functions of Python's own library that only look; every other one is the interpreter itself and no chaos function.
_LOOKING = frozenset(
    {
        "time.sleep",
        "time.time",
        "os.getpid",
        "os.getloadavg",
        "os.cpu_count",
        "os.path.exists",
        "os.path.getsize",
        "os.stat",
    }
    | {"os.path.isfile", "os.path.isdir", "os.listdir", "shutil.disk_usage", "shutil.which", "socket.gethostbyname"}
    | {"socket.gethostname", "posixpath.exists", "platform.platform", "platform.node"}
)

_DELETE = "delete through a plugin's action that has an undo, or leave it out"
_FETCH = "install what a step needs before the experiment"
_PLAIN = "name the program, so that a reviewer sees what will run"


def refusals(commands: Sequence[Command], text: str) -> Iterator[Refusal]:
    """Give every reason to refuse a command line; ``text`` is the line as written."""
    if _FORK_BOMB.search(text):
        yield Refusal("fork-bomb", "it starts itself without end", "use an action that is bounded in time")
    seen: set[Refusal] = set()
    for command in commands:
        for refusal in _command_refusals(command):
            if refusal not in seen:
                seen.add(refusal)
                yield refusal
    if _fetches_and_runs(commands):
        yield Refusal("download-and-run", "it downloads something and runs it", _FETCH)


def python_refusal(module: str, function: str) -> Refusal | None:
    """Give the reason to refuse a ``python`` step that calls the standard library."""
    name = f"{module}.{function}"
    if module.partition(".")[0] not in sys.stdlib_module_names or name in _LOOKING:
        return None
    return Refusal(
        "interpreter", f"{name} is the interpreter's own, not a chaos function", "use an action of the catalog"
    )


def _command_refusals(command: Command) -> Iterator[Refusal]:
    if _COMPUTED.search(command.program):
        yield Refusal("computed-program", f"the program `{command.program}` is known only when the line runs", _PLAIN)
    if _deletes(command):
        yield Refusal("deletes", f"`{command.name}` deletes what no rollback brings back", _DELETE)
    if _formats(command):
        yield Refusal("formats", f"`{command.name}` formats or overwrites a device", "leave it out")
    if _runs_input(command):
        yield Refusal("runs-input", f"`{command.name}` runs whatever is piped into it", _FETCH)
    yield from _code_refusals(command)


def _deletes(command: Command) -> bool:
    name, arguments = command.name, command.arguments
    if name in {"rm", "truncate"}:
        return not _scratch_only(command)
    if name == "mv":
        return "/dev/null" in arguments
    if name == "find":
        return "-delete" in arguments
    if name in _SQL_CLIENTS or name == "redis-cli":
        return bool(_SQL.search(" ".join(arguments))) or _destroys(name, arguments)
    return name in _DELETES or _destroys(name, arguments)


def _scratch_only(command: Command) -> bool:
    """Tell whether ``rm`` or ``truncate`` names plain files that an experiment may have made, and no folder.

    Those are files of the temporary folder, spelled out; and where no shell reads the names, also files of the working
    folder and one that the operator names.
    """
    options = [word for word in command.arguments if word.startswith("-")]
    if any("r" in word.lower() for word in options if not word.startswith("--")) or "--recursive" in options:
        return False
    operands = [word for word in command.arguments if not word.startswith("-") and not re.fullmatch(r"\d+[KMG]?", word)]
    return bool(operands) and all(
        _SCRATCH_FILE.match(word) or (command.direct and _OWN_FILE.match(word)) for word in operands
    )


def _destroys(name: str, arguments: Sequence[str]) -> bool:
    words = {word.partition("/")[0] for word in arguments} | {word.partition("=")[0] for word in arguments}
    return any(words.issuperset(wanted) for wanted in _DESTRUCTIVE.get(name, ()))


def _formats(command: Command) -> bool:
    targets = [word.removeprefix("of=") for word in command.arguments if word.startswith("of=")]
    if any(map(_DEVICE.match, (*command.redirects, *targets))):
        return True
    if command.name in {"tee", "cp"} and any(map(_DEVICE.match, command.arguments)):
        return True
    return command.name.startswith("mkfs") or command.name in _FORMATS


def _runs_input(command: Command) -> bool:
    """Tell whether a shell or interpreter reads its program from its standard input."""
    if command.name in {"source", "."}:
        return command.piped
    if command.name not in SHELLS and not _INTERPRETER.match(command.name):
        return False
    operands = [word for word in command.arguments if not word.startswith("-")]
    return command.piped and (not operands or bool({"-s", "-"} & set(command.arguments)))


def _code_refusals(command: Command) -> Iterator[Refusal]:
    """Look into the text of ``python -c``, ``perl -e`` and ``awk``."""
    if not _INTERPRETER.match(command.name) and command.name not in {"awk", "gawk", "mawk"}:
        return
    code = " ".join(command.arguments)
    if _CODE_DELETES.search(code):
        yield Refusal("deletes", f"the `{command.name}` text deletes what no rollback brings back", _DELETE)
    if _CODE_RUNS.search(code):
        yield Refusal("computed-program", f"the `{command.name}` text runs other code", _PLAIN)


def _fetches_and_runs(commands: Sequence[Command]) -> bool:
    names = {command.name for command in commands}
    return bool(names & _DOWNLOADS) and any(map(_runs_a_file, commands))


def _runs_a_file(command: Command) -> bool:
    if command.name in {"chmod", "install"}:
        return any(re.fullmatch(r"[ugoa]*\+[rwst]*x\w*|[0-7]{0,3}[1357][0-7]{0,3}", word) for word in command.arguments)
    if command.program.startswith(("./", "/tmp/", "/var/tmp/", "~/", "/dev/shm/")):  # noqa: S108 - names to look for
        return True
    if command.name in {"source", "."}:
        return True
    is_runner = command.name in SHELLS or bool(_INTERPRETER.match(command.name))
    inline = script_of(command) is not None or {"-c", "-e", "-r", "-m"} & set(command.arguments)
    return is_runner and not inline and any(not word.startswith("-") for word in command.arguments)
