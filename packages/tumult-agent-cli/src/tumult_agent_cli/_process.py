"""One child process and everything that it starts: begun in a session of its own, ended without a remainder."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

MARKER = "TUMULT_AGENT_RUN_"
"""Start of the name of the variable that marks a run's processes: they inherit it, whatever session they open."""

_STEP_S = 0.05
_KILL_S = 5.0


class Child:
    """A running command whose stdin, stdout and stderr are files in ``folder``.

    Agent CLIs run their tools in sessions of their own, so that ending the group does not end them. They are found by
    parent links, read while those still stand (``note``), and by the marker in their environment.
    """

    def __init__(self, argv: Sequence[str], *, folder: Path, cwd: Path, env: Mapping[str, str]) -> None:
        self._marker = MARKER + secrets.token_hex(8)
        self._noted: dict[int, psutil.Process] = {}
        with (
            (folder / "stdin").open("rb") as stdin,
            (folder / "stdout").open("ab") as stdout,
            (folder / "stderr").open("ab") as stderr,
        ):
            self._process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env={**env, self._marker: "1"},
                start_new_session=True,
            )
        atexit.register(self._kill)
        own = _process(self._process.pid)
        self._created = own.create_time() if own else 0.0

    @property
    def returncode(self) -> int | None:
        """The exit code, the negated signal number, or None while it runs."""
        return self._process.returncode

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end at most so long; tell whether it has come."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def note(self) -> None:
        """Remember the descendants of this moment."""
        try:
            self._remember(psutil.Process(self._process.pid).children(recursive=True))
        except psutil.Error:
            return

    def end(self, grace_s: float, rest_grace_s: float, *, hurry: Callable[[], bool] = bool) -> None:
        """End it and all that it started; when this returns they are gone, and it is reaped.

        Never SIGINT: a CLI may take that for a good end.

        Args:
            grace_s: between SIGTERM and SIGKILL to the command and its group.
            rest_grace_s: the same for what is still there when the command has ended.
            hurry: cuts the waits short.
        """
        try:
            self.note()
            self._signal_group(signal.SIGTERM)
            _wait_for(lambda: self.wait(0), grace_s, hurry)
            self._signal_group(signal.SIGKILL)
            self.wait(_KILL_S)
            rest = list(self._survivors())
            for process in rest:
                _quietly(process.terminate)
            _wait_for(lambda: not any(map(_lives, rest)), rest_grace_s, hurry)
        finally:
            self._kill()

    def _signal_group(self, number: int) -> None:
        # The group's number is surely ours only until its leader is reaped.
        if self._process.returncode is None:
            _quietly(os.killpg, self._process.pid, number)

    def _kill(self) -> None:
        until = time.monotonic() + _KILL_S
        self._signal_group(signal.SIGKILL)
        self.wait(_KILL_S)
        # A process may start another while it is looked for: look until there is none.
        while (left := list(self._survivors())) and time.monotonic() < until:
            for process in left:
                _quietly(process.kill)
            time.sleep(_STEP_S / 5)
        atexit.unregister(self._kill)

    def _survivors(self) -> Iterator[psutil.Process]:
        """Give the living processes of this run but the command itself."""
        for process in map(_process, psutil.pids()):
            if process and process.pid != self._process.pid and self._is_ours(process) and _lives(process):
                yield process

    def _is_ours(self, process: psutil.Process) -> bool:
        if process.create_time() < self._created:
            return False
        if process == self._noted.get(process.pid):
            return True
        try:
            return os.getsid(process.pid) == self._process.pid or self._marker in process.environ()
        except (psutil.Error, OSError):
            return False

    def _remember(self, processes: Iterable[psutil.Process]) -> None:
        self._noted.update({process.pid: process for process in processes})


def _process(pid: int) -> psutil.Process | None:
    """Give a process whose time of birth is known; what the clock is does not matter, as it is the same for all."""
    try:
        process = psutil.Process(pid)
        process.create_time()
    except psutil.Error:
        return None
    return process


def _wait_for(condition: Callable[[], bool], seconds: float, hurry: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until and not hurry():
        time.sleep(_STEP_S)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _quietly(call: Callable[..., object], *args: object) -> None:
    """Call, and take it well that the process has gone."""
    with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
        call(*args)
