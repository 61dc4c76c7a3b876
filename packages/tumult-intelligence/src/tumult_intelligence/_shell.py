"""Read a shell one-liner closely enough to know which programs it runs, with what, and what is piped into them.

It does not need to know what the line means: what it cannot read, it says so, and the policy refuses that.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from attrs import define, field, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd"})
_PUNCTUATION = frozenset("();<>|&\n`")
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "esac", "{", "}", "!", "time"}
)
_HEADS = frozenset({"for", "case", "select", "function"})  # what follows names something and runs nothing
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "incus"})
_CONTAINER_VALUES = frozenset({"-u", "--user", "-w", "--workdir", "-e", "--env", "--env-file", "-c", "-n"})
_SSH_VALUES = frozenset(f"-{letter}" for letter in "bcDEeFIiJLlmOopQRSWw")
_SUBSTITUTION = re.compile(r"[$<>]\(")
_MAX_DEPTH = 8
_MAX_WRAPPERS = 20
_NUMBER = re.compile(r"^\d+(\.\d+)?[smhd]?$")

# Programs that run the program named in their arguments, with the options of theirs that take a value.
_WRAPPERS = {
    "sudo": "-u -g -h -p -C -r -t -U -D -R -T",
    "doas": "-u -C",
    "env": "-u -C -S --unset --chdir",
    "nohup": "",
    "setsid": "",
    "exec": "-a",
    "command": "",
    "builtin": "",
    "nice": "-n",
    "ionice": "-c -n -p",
    "timeout": "-k -s",
    "stdbuf": "-i -o -e",
    "chroot": "",
    "busybox": "",
    "toybox": "",
    "xargs": "-I -L -n -P -d -E -s -a",
    "parallel": "-j",
    "watch": "-n",
    "flock": "-w -E",
    "unshare": "",
    "nsenter": "-t",
    "strace": "-e -o -p",
    "taskset": "",
}
_SKIPS_ONE = frozenset({"chroot", "flock", "taskset"})  # one operand stands before the program


class UnreadableShell(ValueError):
    """The line is no shell that can be read: a quote without its end."""


@frozen
class Command:
    """One program that a line runs.

    Attributes:
        program: as written; holds a ``$`` where it is only known when it runs.
        arguments: what it is given, quotes removed.
        redirects: the files that its output goes to.
        piped: something is put into its standard input.
        direct: no shell has read it: its arguments are exactly what it is given.
    """

    program: str
    arguments: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()
    piped: bool = False
    direct: bool = False

    @property
    def name(self) -> str:
        """Give the program's name without folders."""
        return PurePosixPath(self.program).name or self.program


@define
class _Part:
    """What stands between two separators."""

    piped: bool = False
    words: list[str] = field(factory=list)
    redirects: list[str] = field(factory=list)
    inputs: list[str] = field(factory=list)


def commands(line: str, depth: int = 0) -> Iterator[Command]:
    """Give every program that the shell line runs, those in substitutions and in inner shells included.

    Raises:
        UnreadableShell: it cannot be read, or it nests deeper than anybody reviews.
    """
    if depth > _MAX_DEPTH:
        raise UnreadableShell("it nests too deeply")
    for part in _parts(_tokens(line)):
        for word in (*part.words, *part.redirects, *part.inputs):
            for inner in _substitutions(word):
                yield from commands(inner, depth + 1)
        yield from program_commands(part.words, part.redirects, piped=part.piped, depth=depth)


def program_commands(
    words: Sequence[str], redirects: Sequence[str] = (), *, piped: bool = False, depth: int = 0
) -> Iterator[Command]:
    """Give the program that an argument vector runs, and those that it runs in turn."""
    rest, wrappers = _without_assignments(words), 0
    while rest:
        if (wrappers := wrappers + 1) > _MAX_WRAPPERS:
            raise UnreadableShell("one program runs another too many times over")
        command = Command(rest[0], tuple(rest[1:]), tuple(redirects), piped=piped, direct=depth == 0)
        yield command
        text = _inner_text(command)
        if text is not None:
            yield from commands(text, depth + 1)
        rest = _run_in_turn(command)


def _inner_text(command: Command) -> str | None:
    """Give the shell text that a command runs, here or on another machine."""
    if command.name == "eval":
        return " ".join(command.arguments)
    if command.name == "ssh":
        return " ".join(_without_options(command.arguments, _SSH_VALUES)[1:])
    if command.name in {"su", "runuser", "script"}:
        return " ".join(_after(command.arguments, {"-c", "--command"})[:1])
    return script_of(command) if command.name in SHELLS else None


def _run_in_turn(command: Command) -> list[str]:
    """Give the argument vector that a wrapper, ``find -exec`` or a container's ``exec`` runs."""
    if command.name == "find":
        return _after(command.arguments, {"-exec", "-execdir", "-ok", "-okdir"})
    if command.name in _CONTAINERS:
        rest = _after(command.arguments, {"--"})
        return rest or _without_options(_after(command.arguments, {"exec", "run"}), _CONTAINER_VALUES)[1:]
    return _wrapped(command) if command.name in _WRAPPERS else []


def _tokens(line: str) -> list[str]:
    # A line end separates commands and a backtick begins or ends one; shlex would take them for blanks and letters.
    lexer = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="".join(_PUNCTUATION))
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError as error:
        raise UnreadableShell(str(error).lower()) from error


def _parts(tokens: Sequence[str]) -> Iterator[_Part]:
    part, words = _Part(), iter(tokens)
    for word in words:
        if not word or not set(word) <= _PUNCTUATION:
            part.words.append(word)
            continue
        part.piped |= "<" in word  # a file, a here-document, or the output of ``<(…)``
        if set(word) <= set("<>&|") and set(word) & set("<>"):
            target = next(words, "")
            (part.redirects if ">" in word else part.inputs).append(target)
            continue
        yield part
        part = _Part(piped="|" in word and "||" not in word)
    yield part


def _without_assignments(words: Sequence[str]) -> list[str]:
    rest = list(words)
    while rest and (rest[0] in _KEYWORDS or _ASSIGNMENT.match(rest[0])):
        rest.pop(0)
    return [] if rest and rest[0] in _HEADS else rest


def script_of(command: Command) -> str | None:
    """Give the text of ``sh -c TEXT``, the ``c`` also in a bundle such as ``-lc``; None where there is none."""
    for place, argument in enumerate(command.arguments):
        if re.fullmatch(r"-[a-zA-Z]*c|/[cC]|-[Cc]ommand", argument):
            return command.arguments[place + 1] if place + 1 < len(command.arguments) else ""
        if not argument.startswith(("-", "+")):
            return None
    return None


def _wrapped(command: Command) -> list[str]:
    """Give what a wrapper runs: its arguments without its own options, values and limits."""
    rest = _without_options(command.arguments, frozenset(_WRAPPERS[command.name].split()))
    return rest[1:] if command.name in _SKIPS_ONE else rest


def _without_options(words: Sequence[str], takes_value: frozenset[str]) -> list[str]:
    rest = list(words)
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.match(rest[0]) or _NUMBER.match(rest[0])):
        option = rest.pop(0)
        if option == "--":
            break
        if option in takes_value and rest:
            rest.pop(0)
    return rest


def _after(words: Sequence[str], marks: set[str]) -> list[str]:
    for place, word in enumerate(words):
        if word in marks:
            return list(words[place + 1 :])
    return []


def _substitutions(word: str) -> Iterator[str]:
    """Give the text of each ``$(…)``, ``<(…)`` and backtick pair in a word; nested ones are left to who reads that."""
    place = 0
    while (start := _SUBSTITUTION.search(word, place)) is not None:
        inner = _balanced(word[start.end() :])
        yield inner
        place = start.end() + len(inner)
    yield from re.findall(r"`([^`]*)`", word)


def _balanced(text: str) -> str:
    depth = 1
    for place, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0:
            return text[:place]
    return text
