"""Hold back the signals that would end this process until a run has ended its child.

A handler that raises may do so between any two instructions, also between the birth of a child and the moment its
number is known. So, while a run is on, signals that nobody else handles are noted, and raised where it is safe.
Handlers that the program has set are left alone.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_all_pending: list[Pending] = []
_replaced: dict[int, object] = {}


@define(eq=False)
class Pending:
    """The ending signals that came since one run began."""

    wake: Callable[[], object]
    numbers: list[int] = field(factory=list)
    raised: bool = False

    @property
    def is_hurried(self) -> bool:
        """Tell whether a second signal came: somebody does not want to wait."""
        return len(self.numbers) > 1

    def check(self) -> None:
        """End the program as the first signal would have: Ctrl-C, or exit code 128 + its number."""
        if self.numbers and not self.raised:
            self.raised = True
            number = self.numbers[0]
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


@contextmanager
def held_back(wake: Callable[[], object] = bool) -> Iterator[Pending]:
    """Note ending signals instead of dying of them, calling ``wake`` at each, and raise at the end what was not raised
    by ``check``. In other threads than the main one this does nothing: signals are not theirs.
    """
    pending = Pending(wake)
    if threading.current_thread() is not threading.main_thread():
        yield pending
        return
    _all_pending.append(pending)
    try:
        _install()
        yield pending
    finally:
        _all_pending.remove(pending)
        if not _all_pending:
            _restore()
        pending.check()


def _install() -> None:
    for number in _ENDING:
        current = signal.getsignal(number)
        if current in {signal.SIG_DFL, signal.default_int_handler}:
            _replaced[number] = current
            signal.signal(number, _note)


def _restore() -> None:
    while _replaced:
        number, former = _replaced.popitem()
        if signal.getsignal(number) is _note:
            signal.signal(number, former)  # type: ignore[arg-type]


def _note(number: int, _frame: object) -> None:
    for pending in tuple(_all_pending):
        pending.numbers.append(number)
        pending.wake()
