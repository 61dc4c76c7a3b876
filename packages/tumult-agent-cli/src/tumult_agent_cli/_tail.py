"""Read a file that another process is still writing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 256 * 1024


class Tail:
    """The complete lines of a growing file, each given once.

    What is kept in memory is one chunk and the line being given, however much was written: a line's start is an offset,
    not a buffer, so that a line may be as long as the file.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._line_start = 0
        self._seen = 0

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def size(self) -> int:
        """Give the bytes that were written so far."""
        return os.fstat(self._file.fileno()).st_size

    def lines(self, budget: int, *, last: bool = False) -> Iterator[str]:
        """Give the lines that became complete since the last call, reading on for about ``budget`` bytes.

        With ``last`` what follows the last newline counts as a line too.
        """
        stop = self._seen + budget
        while self._seen < stop and (chunk := self._read(self._seen, _CHUNK)):
            *complete, rest = chunk.split(b"\n")
            if complete:
                complete[0] = self._read(self._line_start, self._seen - self._line_start) + complete[0]
                self._line_start = self._seen + len(chunk) - len(rest)
            self._seen += len(chunk)
            yield from (line.decode("utf-8", "replace") for line in complete)
        if last and self._line_start < self._seen:
            yield self._read(self._line_start, self._seen - self._line_start).decode("utf-8", "replace")
            self._line_start = self._seen

    def _read(self, start: int, length: int) -> bytes:
        self._file.seek(start)
        return self._file.read(length)


def end_of(path: Path, limit: int) -> str:
    """Give the last ``limit`` bytes of a file as text; of a line that is cut, its rest."""
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - limit))
        return file.read(limit).decode("utf-8", "replace")
