"""Adopt what steps leave behind, so that a background process that ended is gone at once.

A step may start a process that outlives it, and a later step may look whether it is gone. An orphan belongs to process
1, which in many containers collects the dead late or never, and until then ``kill -0`` finds them. Linux lets another
process adopt orphans (``PR_SET_CHILD_SUBREAPER``, prctl(2)); elsewhere nothing is adopted.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tumult_core._subprocess import CHILDREN

if TYPE_CHECKING:
    from collections.abc import Iterator

_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def adopted_orphans() -> Iterator[None]:
    """Adopt orphans for as long as the block lasts; whoever uses this calls ``reap_orphans`` at each SIGCHLD."""
    _adopt(True)
    try:
        yield
    finally:
        _adopt(False)


def reap_orphans() -> None:
    """Collect every dead child but those that the engine started itself, which it waits for."""
    while True:
        with CHILDREN.lock:
            dead = _dead_child()
            if dead is None:
                return
            if dead not in CHILDREN.pids:
                os.waitpid(dead, os.WNOHANG)
                continue
        # Only the first dead child is shown, and this one's own thread is about to collect it.
        time.sleep(0.001)


def _dead_child() -> int | None:
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found else None


def _adopt(adopt: bool) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)
