from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from tumult_core._cancellation import Cancellation
from tumult_core._signals import run_interruptible


def test_the_result_or_the_error_of_the_work_comes_back() -> None:
    assert run_interruptible(lambda: 7, print, own_process=False) == 7

    def fails() -> int:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        run_interruptible(fails, print, own_process=False)


def test_every_signal_arrives_whatever_thread_the_kernel_gives_it_to() -> None:
    program = """
import signal, threading, time
from tumult_core._cancellation import Cancellation
from tumult_core._signals import run_interruptible
seen, cancellation = [], Cancellation()
def work():
    time.sleep(0.3)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.pthread_kill(threading.get_ident(), number)
    return cancellation.wait(10)
def on_signal(number):
    seen.append(number.name)
    if len(seen) == 3:
        cancellation.cancel("all")
print(run_interruptible(work, on_signal, own_process=True), sorted(seen))
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.set_wakeup_fd(-1))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True ['SIGHUP', 'SIGINT', 'SIGTERM']\nTrue -1\n"


def test_an_interrupt_of_a_program_is_taken_even_by_another_thread() -> None:
    cancellation = Cancellation()

    def work() -> bool:
        time.sleep(0.3)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        return cancellation.wait(10)

    assert run_interruptible(work, lambda number: cancellation.cancel(number.name), own_process=False)
    assert cancellation.reason == "SIGINT"


def test_under_nohup_a_hangup_stays_ignored() -> None:
    program = """
import os, signal
from tumult_core._signals import run_interruptible
def work():
    os.kill(os.getpid(), signal.SIGHUP)
    return "went on"
print(run_interruptible(work, print, own_process=True))
"""
    argv = ["nohup", sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert done.stdout == "went on\n"


def test_no_file_and_no_thread_is_left() -> None:
    before = threading.active_count(), psutil.Process().num_fds()
    for _ in range(5):
        run_interruptible(lambda: time.sleep(0.01), print, own_process=False)
    assert (threading.active_count(), psutil.Process().num_fds()) == before


def test_a_child_that_is_collected_while_it_is_looked_at_costs_nothing() -> None:
    program = """
import time
from tumult_core import _children
look = _children._dead_child
def slowly():
    found = look()
    if found:
        time.sleep(0.02)  # the window in which the thread that waits for it collects it
    return found
_children._dead_child = slowly
from tumult_core._signals import run_interruptible
def work():
    for _ in range(20):
        _children.wait(_children.start(["true"]))
    return "done"
print(run_interruptible(work, print, own_process=True), _children._started)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("done {}\n", "")


def test_work_is_never_left_without_its_signals() -> None:
    """Whatever goes wrong while signals are awaited, the next one still ends the work, and its result comes back."""
    cancellation, failures, called = Cancellation(), [OSError("first"), RuntimeError("second")], threading.Event()

    def work() -> bool:
        while not cancellation.cancelled:
            called.clear()
            time.sleep(0.1)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            assert called.wait(10)
        return cancellation.wait(10)

    def on_signal(number: signal.Signals) -> None:
        if failures:
            called.set()
            raise failures.pop()
        cancellation.cancel(number.name)
        called.set()

    assert run_interruptible(work, on_signal, own_process=False)
    assert failures == []
