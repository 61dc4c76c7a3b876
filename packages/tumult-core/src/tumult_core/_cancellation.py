"""Tell everything that is going on that it must end."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def waitable(timeout_s: float | None) -> float | None:
    """Give a time limit as locks take it: more than three centuries is an error for them."""
    return None if timeout_s is None else min(timeout_s, threading.TIMEOUT_MAX)


class Cancellation:
    """A flag that is raised once, with a reason, and wakes whoever waits for it.

    Safe between threads. Not for a signal handler of a thread that itself waits on it: see ``_signals``.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._reason = ""

    @property
    def cancelled(self) -> bool:
        """Tell whether it was raised."""
        return self._event.is_set()

    @property
    def reason(self) -> str:
        """Give why it was raised; empty while it was not."""
        return self._reason

    def cancel(self, reason: str) -> None:
        """Raise the flag; only the first call counts."""
        with self._lock:
            if self._event.is_set():
                return
            self._reason = reason
            self._event.set()
            callbacks = tuple(self._callbacks)
        for callback in callbacks:
            callback()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is raised, at most ``timeout_s`` seconds, and tell whether it was."""
        return self._event.wait(waitable(timeout_s))

    @contextmanager
    def subscribed(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call ``callback`` when it is raised, at once where it already was; must not block."""
        with self._lock:
            self._callbacks.append(callback)
            already = self._event.is_set()
        if already:
            callback()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)
