"""Work that goes on while signals come in."""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, TypeVar

from tumult_core._children import adopted_orphans, reap_orphans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A KeyboardInterrupt that the kernel gave to another thread is raised in this one when it wakes.
_WAKE_S = 0.25


def run_interruptible(work: Callable[[], T], on_signal: Callable[[signal.Signals], None], *, own_process: bool) -> T:
    """Do ``work`` in a thread of its own, and call ``on_signal`` here for each signal that asks for its end.

    A handler runs between any two instructions of the main thread, where taking a lock can dead-lock, and only once
    that thread wakes. So handlers do nothing: Python writes the number of each signal to a pipe, whatever thread the
    kernel gave it to, and this thread reads the pipe.

    Args:
        work: what to do.
        on_signal: called with each signal; must not block.
        own_process: this is the main thread of a process that does nothing else: catch SIGINT, SIGTERM and SIGHUP, and
            adopt the orphans of child processes. Otherwise only ``KeyboardInterrupt`` is caught.
    """
    future: Future[T] = Future()
    with _pipe() as (reader, writer), _owned_process(writer) if own_process else nullcontext():

        def target() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised again by the future
                future.set_exception(error)
            with suppress(OSError):  # full: the reader is about to wake anyway
                os.write(writer, b"\0")

        thread = threading.Thread(target=target, name="tumult-run")
        try:
            thread.start()
        except KeyboardInterrupt:
            if thread not in threading.enumerate() and not future.done():
                raise
            on_signal(signal.SIGINT)  # it has begun: only its word of that was waited for
        _attend(future, lambda: _listen(reader, future, on_signal), on_signal)
        with suppress(KeyboardInterrupt):  # nothing is left to be interrupted
            thread.join()
    return future.result()


def _attend(future: Future[T], listen: Callable[[], None], on_signal: Callable[[signal.Signals], None]) -> None:
    """Listen until the work is done: what goes wrong here must neither leave it alone nor cost its result."""
    interrupted = failed = False
    while not future.done():
        try:
            if interrupted:
                interrupted = False
                on_signal(signal.SIGINT)
            if failed:
                time.sleep(_WAKE_S)
            listen()
        except KeyboardInterrupt:
            interrupted = True
        except Exception:  # noqa: BLE001 - see above
            failed = True


def _listen(reader: int, future: Future[T], on_signal: Callable[[signal.Signals], None]) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        while not future.done():
            try:
                numbers = os.read(reader, 4096) if selector.select(_WAKE_S) else b""
            except KeyboardInterrupt:
                numbers = bytes([signal.SIGINT])
            for number in numbers:
                if number == signal.SIGCHLD:
                    reap_orphans()
                elif number:
                    on_signal(signal.Signals(number))


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)


@contextmanager
def _owned_process(writer: int) -> Iterator[None]:
    """Have the numbers of signals written to a pipe, and adopt orphans.

    SIGHUP stays ignored where it is, as under ``nohup``. SIGINT is ignored in every script's background jobs, and yet
    whoever sends it to a run means it.
    """
    before = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGCHLD)}
    if before[signal.SIGHUP] is signal.SIG_IGN:
        del before[signal.SIGHUP]
    for number in before:
        signal.signal(number, lambda _number, _frame: None)
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        with adopted_orphans():
            yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
