"""The lock beside the index: many readers or one writer, across processes, and a bounded wait.

DuckDB's own lock does not do: it fails at once, and it is lost by any other opening of the same file in the process.
"""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING, Self

from tumult_core.exceptions import StoreError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_PAUSE_S = 0.01


class Lock:
    """A ``flock`` on a file; released when closed, and by the system when the process ends.

    Changing from shared to exclusive may let another one in between: look again at what was read before.
    """

    def __init__(self, path: Path, *, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"the history's lock {path} cannot be opened: {error.strerror}",
                hint="the folder must be writable, also for reading; name another one with --store or TUMULT_STORE",
            ) from error

    def shared(self) -> None:
        """Hold it together with other readers. Raises StoreError after the wait."""
        self._acquire(fcntl.LOCK_SH)

    def exclusive(self) -> None:
        """Hold it alone. Raises StoreError after the wait."""
        self._acquire(fcntl.LOCK_EX)

    def _acquire(self, mode: int) -> None:
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                fcntl.flock(self._descriptor, mode | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"the history {self._path.parent} is in use and was not free within {self._timeout_s:g} s",
                        hint="wait for the other tumult command to end and try again; runs are recorded all the same",
                    ) from None
                time.sleep(_PAUSE_S)
            else:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
