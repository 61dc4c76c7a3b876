"""Which processes a step of ``tumult-process`` means, and which are never touched.

psutil compares the time of creation before it sends a signal, so that a process id which was given to another process
in between does no harm.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from tumult_core.exceptions import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SHOWN = 5


def find(pid: int | None, name: str | None, pattern: str | None) -> list[psutil.Process]:
    """Give the living processes that match the first of pid, name and pattern that is given, by id.

    Raises:
        PluginError: nothing is given, the id is one that must not be touched, or the pattern is none.
    """
    if pid is not None:
        return _by_pid(int(pid))
    if name:
        return list(_search(lambda process: process.name() == name))
    if not pattern:
        raise PluginError("no process is named", hint="give one of pid, name and pattern")
    try:
        searched = re.compile(pattern)
    except re.error as error:
        raise PluginError(f"the pattern {pattern!r} is no regular expression: {error}") from error
    return list(_search(lambda process: bool(searched.search(" ".join(process.cmdline())))))


def choose(pid: int | None, name: str | None, pattern: str | None, *, multiple: bool) -> list[psutil.Process]:
    """Give the processes to act on: one, or all that match where that is asked for. Raises PluginError as ``find``."""
    found = find(pid, name, pattern)
    if not found:
        wanted = f"id {pid}" if pid is not None else f"name {name}" if name else f"command line like {pattern!r}"
        raise PluginError(f"no process has the {wanted}")
    return found if multiple else [single(found)]


def single(found: Sequence[psutil.Process]) -> psutil.Process:
    """Give the one process of a list. Raises PluginError where there are more."""
    if len(found) > 1:
        shown = ", ".join(str(process.pid) for process in found[:_SHOWN])
        raise PluginError(
            f"{len(found)} processes match: {shown}{', …' if len(found) > _SHOWN else ''}",
            hint="name one more closely, or take all with multiple: true where it is taken",
        )
    return found[0]


def act(processes: Sequence[psutil.Process], deed: Callable[[psutil.Process], object]) -> list[int]:
    """Do something to each process and give the ids; one that ended meanwhile is left out, unless all did.

    Raises:
        PluginError: it is not permitted, or all have ended.
    """
    done = []
    for process in processes:
        try:
            deed(process)
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied as error:
            hint = "run tumult as the user that the process belongs to, or as root"
            raise PluginError(f"the system does not permit it for the process {process.pid}", hint=hint) from error
        done.append(process.pid)
    if not done:
        raise PluginError("the process ended before anything could be done to it")
    return done


def wait_until_gone(processes: Sequence[psutil.Process], timeout_s: float) -> list[int]:
    """Give the ids of those that end within the time; one that nobody has reaped yet counts as ended."""
    deadline = time.monotonic() + timeout_s
    while any(map(_lives, processes)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [process.pid for process in processes if not _lives(process)]


def _by_pid(pid: int) -> list[psutil.Process]:
    if pid in _untouchable():
        raise PluginError(f"the process {pid} is never a target: it is one of the system's first, or runs this step")
    with suppress(psutil.NoSuchProcess, ValueError):
        process = psutil.Process(pid)
        return [process] if _lives(process) else []
    return []


def _search(matches: Callable[[psutil.Process], bool]) -> Iterator[psutil.Process]:
    untouchable = _untouchable()
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it ended meanwhile, or belongs to somebody who hides it
            if process.pid not in untouchable and _lives(process) and matches(process):
                yield process


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _untouchable() -> set[int]:
    """Give the first processes of the system, this one, and those that it was started by."""
    own = psutil.Process()
    return {0, 1, own.pid, *(parent.pid for parent in own.parents())}
