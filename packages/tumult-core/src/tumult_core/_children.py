"""The child processes of this process: those that it started, and the orphans that it adopted.

A step may start a process that outlives it, and a later step may look whether it is gone. An orphan belongs to process
1, which in many containers collects the dead late or never, and until then ``kill -0`` finds them. Linux lets another
process adopt orphans (``PR_SET_CHILD_SUBREAPER``, prctl(2)); elsewhere nothing is adopted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PR_SET_CHILD_SUBREAPER = 36

_lock = threading.Lock()
# Changed under the lock only: whoever holds it knows that no number in it is given to another child meanwhile.
_started: dict[int, subprocess.Popen[bytes]] = {}
_adopting = False


def start(argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a child; whoever calls this also calls ``wait``.

    Raises:
        OSError, ValueError: as ``subprocess.Popen`` does.
    """
    if _adopting:
        reap_orphans()
    with _lock:
        process = subprocess.Popen(argv, **options)
        _started[process.pid] = process
    return process


def wait(process: subprocess.Popen[bytes]) -> None:
    """Wait until a child has exited, and collect it."""
    process.wait()
    with _lock:
        if _started.get(process.pid) is process:
            del _started[process.pid]


@contextmanager
def adopted_orphans() -> Iterator[None]:
    """Adopt orphans for as long as the block lasts; whoever uses this calls ``reap_orphans`` at each SIGCHLD."""
    _adopt(True)
    try:
        yield
    finally:
        _adopt(False)


def reap_orphans() -> None:
    """Collect every dead child but those that were started here, which are waited for."""
    while True:
        with _lock:
            dead = _dead_child()
            if dead is None:
                return
            if dead not in _started:
                with suppress(ChildProcessError):  # somebody else's child, who collected it just now
                    os.waitpid(dead, os.WNOHANG)
                continue
        # Only one dead child is shown at a time, and the thread that waits for this one is about to collect it.
        time.sleep(0.001)


def _dead_child() -> int | None:
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found else None


def _adopt(adopt: bool) -> None:
    global _adopting  # noqa: PLW0603 - a fact of the process, as the kernel keeps it
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)
        _adopting = adopt
