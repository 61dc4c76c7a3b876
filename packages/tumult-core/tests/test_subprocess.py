from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from tumult_core._cancellation import Cancellation
from tumult_core._subprocess import MAX_OUTPUT_BYTES, Command, Completed, Ending, StartError, run_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def pids() -> Iterator[list[int]]:
    """Processes that a test may leave behind."""
    left: list[int] = []
    yield left
    for pid in left:
        if psutil.pid_exists(pid):
            psutil.Process(pid).kill()


def run(script: str, timeout_s: float | None = 10.0, cancellation: Cancellation | None = None) -> Completed:
    command = Command(("sh", "-c", script), os.environ, timeout_s)
    return run_command(command, cancellation or Cancellation())


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_both_streams_and_the_exit_code_are_kept_apart() -> None:
    done = run("echo out; echo err >&2; exit 3")
    assert done == Completed(Ending.EXITED, 3, "out\n", "err\n")


def test_a_signal_is_a_negative_exit_code() -> None:
    assert run("kill -KILL $$").exit_code == -9


def test_a_child_reads_what_it_is_given_and_nothing_else() -> None:
    data = b"x" * 1_000_000
    done = run_command(Command(("wc", "-c"), os.environ, 10.0, stdin=data), Cancellation())
    assert done.stdout.split() == ["1000000"]
    assert run("cat; echo end").stdout == "end\n"


def test_a_child_has_a_session_of_its_own() -> None:
    script = "import os; print(os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid())"
    done = run_command(Command((sys.executable, "-c", script), os.environ, 10.0), Cancellation())
    assert done.stdout == "True True\n"


def test_output_that_is_not_utf8_is_replaced() -> None:
    assert run(r"printf 'a\377b'").stdout == "a\ufffdb"


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("/does/not/exist",), "No such file or directory"),
        (("/etc/passwd",), "Permission denied"),
        (("sh", "-c", "a\0b"), "null byte"),
    ],
)
def test_a_program_that_cannot_be_started_is_an_error(argv: tuple[str, ...], reason: str) -> None:
    with pytest.raises(StartError, match=reason):
        run_command(Command(argv, os.environ), Cancellation())


def test_output_over_the_limit_keeps_head_and_tail_and_says_what_is_gone() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = run("echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last", timeout_s=60)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert done.stdout.startswith("first\nxxx")
    assert done.stdout.endswith("xxx\nlast\n")
    total, kept = 100_000_012, MAX_OUTPUT_BYTES
    assert f"\n[… {total - kept:,} bytes left out …]\n" in done.stdout
    assert grown < 6 * MAX_OUTPUT_BYTES


def test_a_timeout_ends_the_whole_group_and_keeps_what_was_written(pids: list[int]) -> None:
    started = time.monotonic()
    done = run("echo begun; sleep 60 & echo $!; setsid sleep 60 & echo $!; wait", timeout_s=0.5)
    assert done.ending is Ending.TIMEOUT
    begun, *children = done.stdout.split()
    pids += map(int, children)
    assert (begun, len(pids)) == ("begun", 2)
    assert not any(map(alive, pids))
    assert time.monotonic() - started < 5


def test_what_ignores_sigterm_is_killed(pids: list[int]) -> None:
    done = run("trap '' TERM; sleep 60 & echo $!; wait; sleep 60", timeout_s=0.3)
    pids.append(int(done.stdout))
    assert (done.ending, done.exit_code) == (Ending.TIMEOUT, -9)
    assert not alive(pids[0])


def test_a_child_may_clean_up_at_sigterm() -> None:
    done = run("trap 'echo cleaned; exit 0' TERM; sleep 60 & wait", timeout_s=0.3)
    assert (done.ending, done.stdout) == (Ending.TIMEOUT, "cleaned\n")


def test_a_step_that_ends_by_itself_keeps_its_background_processes(pids: list[int]) -> None:
    started = time.monotonic()
    done = run("sleep 60 & echo $!")
    pids.append(int(done.stdout))
    assert done.ending is Ending.EXITED
    assert alive(pids[0])
    assert time.monotonic() - started < 2


def test_a_background_process_that_keeps_writing_neither_blocks_nor_dies(pids: list[int], tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    done = run(f"(while :; do head -c 100000 /dev/zero; echo . >> {beat}; sleep 0.02; done) & echo $! >&2")
    pids.append(int(done.stderr))
    seen = beat.stat().st_size
    deadline = time.monotonic() + 10
    while beat.stat().st_size < seen + 10 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert beat.stat().st_size >= seen + 10


def test_a_cancellation_ends_a_step_from_another_thread(pids: list[int]) -> None:
    cancellation = Cancellation()
    threading.Timer(0.3, cancellation.cancel, ("SIGINT",)).start()
    done = run("sleep 60 & echo $!; wait", cancellation=cancellation)
    pids.append(int(done.stdout))
    assert done.ending is Ending.CANCELLED
    assert not alive(pids[0])


def test_no_thread_and_no_file_is_left_behind() -> None:
    run("true")
    threads, files = threading.active_count(), psutil.Process().num_fds()
    for _ in range(20):
        run("echo x; echo y >&2")
    deadline = time.monotonic() + 5
    while (threading.active_count() > threads or psutil.Process().num_fds() > files) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert threading.active_count() <= threads
    assert psutil.Process().num_fds() <= files


def test_orphans_are_collected_at_once_in_a_process_of_its_own() -> None:
    script = """
import os, sys
from tumult_core._cancellation import Cancellation
from tumult_core._signals import run_interruptible
from tumult_core._subprocess import Command, run_command
def run(script):
    return run_command(Command(("sh", "-c", script), os.environ, 10), Cancellation())
def work():
    answers = []
    for _ in range(10):
        pid = run("sleep 60 >/dev/null 2>&1 & echo $!").stdout.strip()
        run(f"kill {pid}; sleep 0.05")
        answers.append(run(f"kill -0 {pid} 2>/dev/null && echo there || echo gone").stdout.strip())
    return answers
print(run_interruptible(work, print, own_process=True))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{['gone'] * 10}\n"
