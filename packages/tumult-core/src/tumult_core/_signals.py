"""Work that goes on while signals come in."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from tumult_core._children import adopted_orphans, reap_orphans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_interruptible(work: Callable[[], T], on_signal: Callable[[signal.Signals], None], *, own_process: bool) -> T:
    """Do ``work`` in a thread of its own, and call ``on_signal`` here for each signal that asks for its end.

    A handler runs between any two instructions of the main thread, where taking a lock can dead-lock. So handlers only
    put the number into a queue that is made for it, and the work's locks belong to another thread.

    Args:
        work: what to do.
        on_signal: called with each signal; must not block.
        own_process: this is the main thread of a process that does nothing else: catch SIGINT, SIGTERM and SIGHUP, and
            adopt the orphans of child processes. Otherwise only ``KeyboardInterrupt`` is caught.
    """
    inbox: SimpleQueue[int | None] = SimpleQueue()
    future: Future[T] = Future()

    def target() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the future
            future.set_exception(error)
        inbox.put(None)

    with _owned_process(inbox) if own_process else nullcontext():
        threading.Thread(target=target, name="tumult-run").start()
        while (number := _next(inbox)) is not None:
            if number == signal.SIGCHLD:
                reap_orphans()
            else:
                on_signal(signal.Signals(number))
    return future.result()


def _next(inbox: SimpleQueue[int | None]) -> int | None:
    try:
        return inbox.get()
    except KeyboardInterrupt:
        return signal.SIGINT


@contextmanager
def _owned_process(inbox: SimpleQueue[int | None]) -> Iterator[None]:
    """Catch signals, and adopt orphans.

    SIGHUP stays ignored where it is, as under ``nohup``. SIGINT is ignored in every script's background jobs, and yet
    whoever sends it to a run means it.
    """
    before = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGCHLD)}
    if before[signal.SIGHUP] is signal.SIG_IGN:
        del before[signal.SIGHUP]
    for number in before:
        signal.signal(number, lambda received, _frame: inbox.put(received))
    try:
        with adopted_orphans():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
