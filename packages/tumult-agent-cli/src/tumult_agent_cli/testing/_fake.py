"""Scripted stand-ins for an agent CLI: real executables that play a reply and keep what arrived."""

from __future__ import annotations

import ast
import hashlib
import math
import shlex
import stat
import sys
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import psutil
from attrs import asdict, evolve, field, frozen
from attrs.converters import optional

if TYPE_CHECKING:
    from pathlib import Path

FOREVER = math.inf
VERSION_ARGS = (("--version",), ("-v",), ("-V",), ("version",))


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


@frozen
class Reply:
    """What a fake executable does in one call, in this order.

    Attributes:
        stdout, stderr: what it prints; ``%SHA256%`` becomes the SHA-256 of the bytes that came on stdin.
        exit_code: how it ends.
        signal: the number of a signal with which it ends itself instead.
        read_stdin: it reads stdin to its end before it prints; False leaves stdin alone.
        delay_s: how long it is silent before it prints.
        line_delay_s: a pause after each line of stdout.
        linger_s: how long it stays after it has printed; ``FOREVER`` is a hang.
        ignore_sigterm: SIGTERM does not end it, nor its children.
        children: processes that it leaves behind, each ``group`` (in its process group), ``session`` (in a session of
            its own) or ``orphan`` (in a session of its own, with no parent left). They hold stdout and stderr open.
        stdout_times, stderr_times: how often the text is repeated, for output of many megabytes.
    """

    stdout: bytes = field(default=b"", converter=_bytes)
    stderr: bytes = field(default=b"", converter=_bytes)
    exit_code: int = 0
    signal: int | None = field(default=None, converter=optional(int))
    read_stdin: bool = True
    delay_s: float = 0.0
    line_delay_s: float = 0.0
    linger_s: float = 0.0
    ignore_sigterm: bool = False
    children: tuple[str, ...] = ()
    stdout_times: int = 1
    stderr_times: int = 1


HANG = Reply(linger_s=FOREVER)
"""Reads its stdin, then says nothing and stays."""

Script = str | bytes | Reply | Sequence[str | bytes | Reply]
"""One reply for every call, or one for each call in turn, of which the last repeats."""


@frozen
class Call:
    """One start of a fake executable: what arrived.

    Attributes:
        kind: ``version``, ``auth`` or ``run``.
        argv: as it came, program first.
        stdin: the bytes up to end-of-file, or None where it did not read or was ended before.
        env_names: names of its environment variables.
        env: values of those that ``keep_env`` names.
        cwd: its working directory; ``entries`` are the names in it.
        pid, group, session: of the process.
        children: process ids that it left behind.
        started_ns: wall clock, nanoseconds since the epoch.
    """

    kind: str
    number: int
    argv: tuple[str, ...] = field(converter=tuple)
    stdin: bytes | None
    env_names: tuple[str, ...] = field(converter=tuple)
    env: dict[str, str]
    cwd: str
    entries: tuple[str, ...] = field(converter=tuple)
    pid: int
    group: int
    session: int
    children: tuple[int, ...] = field(converter=tuple)
    started_ns: int

    @property
    def stdin_sha256(self) -> str:
        """Give the SHA-256 of stdin, in hexadecimal."""
        return hashlib.sha256(self.stdin or b"").hexdigest()


class FakeCli:
    """Write a scripted executable into a folder, and read back what it was started with.

    Calls are told apart: ``version_args`` (by default ``--version``, ``-v``, ``-V`` or ``version``) and ``auth_args``
    name the probes; of the rest, a call whose stdin is closed, an empty file or a device such as ``/dev/null`` is a
    sign-in probe, and any other is a run.

    Args:
        folder: where the executable goes; its record goes beside it.
        name: the executable's file name.
        answer: what a run does.
        version: what the version probe does.
        auth: what the sign-in probe does.
        keep_env: environment variables whose values are recorded; of all others only the name is.

    Example::

        fake = FakeCli(tmp_path, "acme", answer='{"text": "hello"}', version="acme 1.2.3")
        monkeypatch.setenv("ACME_BIN", str(fake.path))
        ...
        assert fake.runs[0].stdin == b"the prompt"
    """

    def __init__(
        self,
        folder: Path,
        name: str = "agent",
        *,
        answer: Script = "",
        version: Script = "1.2.3\n",
        auth: Script = "",
        version_args: Sequence[str] | None = None,
        auth_args: Sequence[str] | None = None,
        keep_env: Sequence[str] = (),
    ) -> None:
        self.path = folder / name
        self._state = folder / f".{name}.record"
        self._version_args = [list(args) for args in ([version_args] if version_args else VERSION_ARGS)]
        self._auth_args = list(auth_args) if auth_args else None
        self._keep_env = tuple(keep_env)
        self._scripts: dict[str, Script] = {"version": version, "auth": auth, "run": answer}
        self._state.mkdir(parents=True)
        self._write()

    def script(
        self, *, answer: Script | None = None, version: Script | None = None, auth: Script | None = None
    ) -> None:
        """Change what it does from now on, as an update of the CLI would; the record stays."""
        new = {"version": version, "auth": auth, "run": answer}
        self._scripts |= {kind: script for kind, script in new.items() if script is not None}
        self._write()

    @property
    def calls(self) -> tuple[Call, ...]:
        """Give every call so far, in the order of their starts."""
        folders = (path.parent for path in self._state.glob("*/facts"))
        return tuple(sorted(map(_read_call, folders), key=lambda call: call.started_ns))

    @property
    def runs(self) -> tuple[Call, ...]:
        """Give the calls that were runs of a prompt."""
        return tuple(call for call in self.calls if call.kind == "run")

    @property
    def probes(self) -> tuple[Call, ...]:
        """Give the calls that asked for the version or the sign-in state."""
        return tuple(call for call in self.calls if call.kind != "run")

    def alive(self) -> tuple[int, ...]:
        """Give the ids of its processes, and of the children they left, that still run."""
        pids = {pid for call in self.calls for pid in (call.pid, *call.children)}
        return tuple(sorted(pid for pid in pids if self._is_mine(pid)))

    def kill(self) -> None:
        """End what still runs."""
        for pid in self.alive():
            try:
                psutil.Process(pid).kill()
            except psutil.NoSuchProcess:
                continue

    def _is_mine(self, pid: int) -> bool:
        # The path on the command line keeps a reused process id from counting.
        try:
            process = psutil.Process(pid)
            return process.status() != psutil.STATUS_ZOMBIE and str(self.path) in process.cmdline()
        except psutil.NoSuchProcess:
            return False

    def _write(self) -> None:
        body = files(__package__).joinpath("_fake_program.py").read_text(encoding="utf-8")
        future, code = body.split("from __future__ import annotations\n", 1)
        del future  # the module's docstring: of no use in the copy
        head = (
            "#!/bin/sh\n"
            # To sh this runs Python on this very file, to Python it is a string: a path with spaces or beyond the
            # kernel's limit for a shebang works too.
            f"'''exec' {shlex.quote(sys.executable)} -S -E \"$0\" \"$@\"\n' '''\n"
            "from __future__ import annotations\n"
            f"PLAN = {self._plan()!r}\n"
        )
        part = self.path.with_name(f".{self.path.name}.part")
        part.write_text(head + code, encoding="utf-8")
        part.chmod(part.stat().st_mode | stat.S_IXUSR)
        part.replace(self.path)

    def _plan(self) -> dict[str, object]:
        return {
            "state": str(self._state),
            "version_args": self._version_args,
            "auth_args": self._auth_args,
            "keep_env": self._keep_env,
            "replies": {kind: self._replies(kind, script) for kind, script in self._scripts.items()},
        }

    def _replies(self, kind: str, script: Script) -> list[dict[str, object]]:
        replies = [script] if isinstance(script, str | bytes | Reply) else list(script)
        return [self._prepared(f"{kind}-{number}", reply) for number, reply in enumerate(replies)]

    def _prepared(self, stem: str, reply: str | bytes | Reply) -> dict[str, object]:
        """Put the texts of a reply into files, so that fifty megabytes do not slow each start."""
        reply = reply if isinstance(reply, Reply) else Reply(stdout=reply)
        paths = {}
        for stream in ("stdout", "stderr"):
            path = self._state / f"{stem}.{stream}"
            path.write_bytes(getattr(reply, stream))
            paths[stream] = str(path)
        # `inf` has no literal in Python; a day is as good as forever, and the program has a bound of its own.
        finite = evolve(reply, linger_s=min(reply.linger_s, 86_400.0))
        return asdict(finite) | paths


def _read_call(folder: Path) -> Call:
    facts = ast.literal_eval((folder / "facts").read_text(encoding="utf-8"))
    stdin = folder / "stdin"
    return Call(stdin=stdin.read_bytes() if stdin.exists() else None, **facts)
