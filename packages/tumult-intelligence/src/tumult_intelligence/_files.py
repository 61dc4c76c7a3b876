"""Which files a document makes itself: those it may take away again, and may not run."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_intelligence._commands import script_file
from tumult_intelligence._data_stores import SQL_CLIENTS
from tumult_intelligence._shell import ACTIVE, PLACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tumult_intelligence._commands import Command

_SCRATCH = re.compile(r"^/(?:var/)?tmp/(?!.*\.\.)[\w./@%+:-]*\w$|^/dev/shm/(?!.*\.\.)[\w./-]*\w$")
_RELATIVE = re.compile(r"^(?!.*\.\.)(?:\./)?\w[\w./@%+:-]*$")
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "-", ""})


@frozen
class Made:
    """What a document makes.

    Attributes:
        files, folders: their paths, as written.
        fetched: something is downloaded into a file or folder, or unpacked.
    """

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    fetched: bool = False

    def may_delete(self, name: str) -> bool:
        """Tell whether it is a file of the temporary folder, or one that the document makes in the working folder."""
        path = posixpath.normpath(name)
        own = path in self.files or self._in_folder(path)
        return bool(_SCRATCH.match(name)) or (own and bool(_RELATIVE.match(name)))

    def may_delete_folder(self, name: str) -> bool:
        """Tell whether ``name`` is a folder that the document makes, in the working or temporary folder."""
        path = posixpath.normpath(name)
        plain = bool(_RELATIVE.match(name) or _SCRATCH.match(name))
        return plain and (path in self.folders or self._in_folder(path))

    def runs_own(self, command: Command) -> bool:
        """Tell whether a command runs a file that the document makes or fetches."""
        name = script_file(command) or (command.program if "/" in command.program else "")
        if command.name in {"chmod", "install"} and _makes_executable(command):
            return self.fetched or any(self._is_own(word) for word in command.arguments)
        if command.name in SQL_CLIENTS | {"redis-cli", "crontab", "at", "xargs", "parallel", "kubectl", "make"}:
            return any(self._is_own(word.partition("=")[2] or word.removeprefix("-f")) for word in command.arguments)
        if not name:
            return False
        is_local = not name.startswith("/") or bool(re.match(r"/(?:var/)?tmp/|/dev/shm/", name))
        return self._is_own(name) or (self.fetched and is_local)

    def _is_own(self, name: str) -> bool:
        wanted = posixpath.basename(name)
        return any(posixpath.basename(file) == wanted for file in self.files)

    def _in_folder(self, path: str) -> bool:
        return any(path.startswith(f"{folder}/") for folder in self.folders)


def made_by(commands: Iterable[Command]) -> Made:
    """Collect what the commands of a whole document make."""
    files: set[str] = set()
    folders: set[str] = set()
    fetched = False
    for command in commands:
        files |= {posixpath.normpath(name) for name in _files(command) if name not in _NOWHERE}
        if command.name == "mkdir":
            names = [word for word in command.arguments if not word.startswith("-")]
            folders |= {posixpath.normpath(name) for name in names if not {ACTIVE, PLACE} & set(name)}
        fetched |= _fetches(command)
    return Made(frozenset(files), frozenset(folders - {".", "/", "/tmp", "/var/tmp"}), fetched)  # noqa: S108 - left out


def _operands(command: Command) -> list[str]:
    return [word for word in command.arguments if not word.startswith("-")]


def _files(command: Command) -> Iterator[str]:
    yield from command.redirects
    if command.name in {"touch", "tee", "mktemp", "mkfifo"}:
        yield from _operands(command)
    if command.name in {"cp", "mv", "install", "ln", "scp", "rsync"}:
        yield from _operands(command)[-1:]
    if command.name == "dd":
        yield from (word[3:] for word in command.arguments if word.startswith("of="))
    yield from _download_names(command)


def _download_names(command: Command) -> Iterator[str]:
    """Give where ``curl`` and ``wget`` put what they fetch."""
    if command.name not in {"curl", "wget", "aria2c", "axel", "http", "fetch"}:
        return
    for place, word in enumerate(command.arguments):
        following = command.arguments[place + 1] if place + 1 < len(command.arguments) else ""
        if word in {"--output", "--output-document", "--output-dir", "--out"} or re.fullmatch(r"-\w*[oOP]", word):
            yield following
        elif match := re.match(r"(?:--output|--output-document|--out|-o|-O)=?([^=]+)$", word):
            yield match[1]
        if "://" in word:
            yield posixpath.basename(word.split("?")[0])


def _fetches(command: Command) -> bool:
    name, words = command.name, set(command.arguments)
    if name == "curl":  # what it writes under a name that the line gives is known by that name
        return any(re.fullmatch(r"-\w*O|--remote-name(-all)?", word) for word in words)
    if name == "wget":
        return not (
            {"--spider", "/dev/null", "-"} & words or any(re.match(r"-\w*O-|-O/dev/null", word) for word in words)
        )
    if name in {"git", "hg", "svn"}:
        return bool({"clone", "pull", "fetch", "checkout", "submodule"} & words)
    if name == "tar":
        return any(re.match(r"-?\w*x|--extract|--get", word) for word in command.arguments[:1])
    return name in {"aria2c", "axel", "scp", "sftp", "ftp", "unzip", "rclone", "gsutil"}


def _makes_executable(command: Command) -> bool:
    return any(re.fullmatch(r"[ugoa]*\+[rwst]*x\w*|[0-7]{0,3}[1357][0-7]{0,3}", word) for word in command.arguments)
