"""Run a child process by the engine's rules: own session, bounded output, and an end to the whole group."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from enum import StrEnum
from typing import IO, TYPE_CHECKING

from attrs import frozen

from tumult_core import _children
from tumult_core._cancellation import waitable
from tumult_core._output import cut
from tumult_core.exceptions import TumultError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import psutil

    from tumult_core._cancellation import Cancellation

MAX_OUTPUT_BYTES = 8 * 1024 * 1024
GRACE_S = 2.0
# What a child wrote is in the pipe when it exits; a descendant that still holds the pipe is not waited for.
_DRAIN_S = 0.25
_CHUNK = 65536


class StartError(TumultError):
    """A program that could not be started."""


class Ending(StrEnum):
    """What ended a child."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@frozen
class Command:
    """A program to run.

    Attributes:
        argv: the program and its arguments; no shell is involved.
        env: its whole environment.
        timeout_s: seconds until its group is ended; None for no limit.
        stdin: what it reads; nothing where empty.
        pass_fds: file descriptors that it inherits.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    timeout_s: float | None = None
    stdin: bytes = b""
    pass_fds: tuple[int, ...] = ()


@frozen
class Completed:
    """What a child left behind.

    Attributes:
        exit_code: negative for the signal that ended it; None where it could not be ended.
        stdout, stderr: UTF-8 with replacement; what was left out is said in the middle.
    """

    ending: Ending
    exit_code: int | None
    stdout: str
    stderr: str


def run_command(command: Command, cancellation: Cancellation) -> Completed:
    """Run ``command`` until it exits, its time is over, or ``cancellation`` is raised.

    A child that exits by itself keeps the background processes that it started. One that runs out of time or is
    cancelled gets SIGTERM, then SIGKILL, with every process of its group and every descendant.

    Raises:
        StartError: the program is missing, not executable, or was refused by the system.
    """
    with _stdin(command.stdin) as stdin:
        process = _start(command, stdin)
    streams = [Drain(stream) for stream in (process.stdout, process.stderr) if stream]
    ending = Ending.CANCELLED
    try:
        ending = _wait(process, command.timeout_s, cancellation)
    finally:
        if ending is not Ending.EXITED:
            end_group(process)
    stdout, stderr = (stream.text() for stream in streams)
    return Completed(ending, process.poll(), stdout, stderr)


def _stdin(content: bytes) -> IO[bytes]:
    """Give the child's input as a file, which unlike a pipe needs nobody to feed it."""
    if not content:
        return open(os.devnull, "rb")  # noqa: PTH123 - os.devnull is no place
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(content)
    file.seek(0)
    return file


def _start(command: Command, stdin: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return _children.start(
            command.argv,
            env=command.env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=command.pass_fds,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise StartError(f"{command.argv[0]} could not be started: {reason}") from error


def _wait(process: subprocess.Popen[bytes], timeout_s: float | None, cancellation: Cancellation) -> Ending:
    """Sleep until the child exits, the time is over or the run is cancelled, whichever is first."""
    wake = threading.Event()

    def reap() -> None:
        _children.wait(process)
        wake.set()

    threading.Thread(target=reap, daemon=True, name="tumult-reap").start()
    with cancellation.subscribed(wake.set):
        wake.wait(waitable(timeout_s))
    if process.poll() is not None:
        return Ending.EXITED
    return Ending.CANCELLED if cancellation.cancelled else Ending.TIMEOUT


# --- output ----------------------------------------------------------------------------------------------------------


class Drain:
    """Read a pipe to its end in a thread of its own, and keep the head and the tail of what came.

    The thread goes on, and keeps nothing more, after ``text``: a background process that still writes to the pipe must
    neither block nor die of SIGPIPE while the run goes on.
    """

    def __init__(self, stream: IO[bytes], limit: int = MAX_OUTPUT_BYTES) -> None:
        self._stream = stream
        self._half = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._dropped = 0
        self._open = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, daemon=True, name="tumult-drain")
        self._thread.start()

    def text(self) -> str:
        """Give what was read, once the pipe is closed or nothing more can be waited for."""
        self._thread.join(_DRAIN_S)
        with self._lock:
            self._open = False
            tail = b"".join(self._tail)
            self._tail.clear()
        if self._tail_size <= self._half and not self._dropped:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        kept = tail[-self._half :]
        dropped = self._dropped + len(tail) - len(kept)
        head = self._head.decode("utf-8", "replace")
        return cut(head, f"{dropped:,} bytes", kept.decode("utf-8", "replace"))

    def _read(self) -> None:
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), _CHUNK):
                with self._lock:
                    if self._open:
                        self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[:room]
        if rest := chunk[room:]:
            self._tail.append(rest)
            self._tail_size += len(rest)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._half:
            gone = len(self._tail.popleft())
            self._tail_size -= gone
            self._dropped += gone


# --- the end of a group ----------------------------------------------------------------------------------------------


def end_group(process: subprocess.Popen[bytes], grace_s: float = GRACE_S) -> None:
    """End a child, its whole group and every descendant: SIGTERM, then SIGKILL to what is left after ``grace_s``."""
    targets = _descendants(process.pid)
    _signal(process.pid, targets, signal.SIGTERM)
    if _gone(process.pid, targets, grace_s):
        return
    # A descendant can have started another in between, so they are looked up again.
    targets += _descendants(process.pid)
    _signal(process.pid, targets, signal.SIGKILL)
    _gone(process.pid, targets, grace_s)


def _descendants(pid: int) -> list[psutil.Process]:
    """List descendants, those in other sessions included."""
    import psutil

    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _signal(group: int, targets: Sequence[psutil.Process], number: signal.Signals) -> None:
    import psutil

    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for target in targets:
        with suppress(psutil.Error):
            target.send_signal(number)


def _gone(group: int, targets: Sequence[psutil.Process], grace_s: float) -> bool:
    deadline = time.monotonic() + grace_s
    while any(_running(process) for process in (*_members(group), *targets)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _members(group: int) -> Iterator[psutil.Process]:
    """Give the processes of a group; asking the group itself also counts the dead that nobody collects."""
    import psutil

    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            if os.getpgid(pid) == group:
                yield psutil.Process(pid)


def _running(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
