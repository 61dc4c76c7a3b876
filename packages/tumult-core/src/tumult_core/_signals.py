"""Work that goes on while signals come in."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_interruptible(work: Callable[[], T], on_signal: Callable[[signal.Signals], None], *, handle: bool) -> T:
    """Do ``work`` in a thread of its own, and call ``on_signal`` here for each signal until it is done.

    A handler runs between any two instructions of the main thread, where taking a lock can dead-lock; so handlers only put
    the number into a queue that is made for it, and the work's locks belong to another thread.

    Args:
        work: what to do.
        on_signal: called with each signal; must not block.
        handle: catch SIGINT, SIGTERM and SIGHUP, only from the main thread; else only ``KeyboardInterrupt`` is caught.
    """
    inbox: SimpleQueue[int | None] = SimpleQueue()
    results: list[T] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)
        finally:
            inbox.put(None)

    with _handlers(inbox) if handle else _no_handlers():
        threading.Thread(target=target, name="tumult-run").start()
        while (number := _next(inbox)) is not None:
            on_signal(signal.Signals(number))
    if errors:
        raise errors[0]
    return results[0]


def _next(inbox: SimpleQueue[int | None]) -> int | None:
    try:
        return inbox.get()
    except KeyboardInterrupt:
        return signal.SIGINT


@contextmanager
def _no_handlers() -> Iterator[None]:
    yield


@contextmanager
def _handlers(inbox: SimpleQueue[int | None]) -> Iterator[None]:
    """Catch signals. SIGHUP stays ignored where it is, as under ``nohup``; SIGINT is ignored in every script's background
    jobs, and yet whoever sends it to a run means it."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    if before[signal.SIGHUP] is signal.SIG_IGN:
        del before[signal.SIGHUP]
    for number in before:
        signal.signal(number, lambda received, _frame: inbox.put(received))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
