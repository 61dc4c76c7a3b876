"""Show a person that an agent is at work: one live line on a terminal, nothing anywhere else."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Self, TextIO

from tumult_agent_cli._text import one_line
from tumult_agent_cli.values import Progress, ProgressKind

if TYPE_CHECKING:
    from types import TracebackType

_MINUTE_S = 60


class LiveLine:
    """A line that is written over and over, and is gone at the end.

    A context manager; call it with the name of an agent and what that agent does. It uses a carriage return and blanks
    alone, which every terminal knows.

    Args:
        stream: where to; by default stderr. Where that is no terminal, nothing is written.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_live = self._stream.isatty()
        self._agents: dict[str, str] = {}
        self._length = 0

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Take the line away."""
        if self._length:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def __call__(self, name: str, progress: Progress) -> None:
        """Show what an agent does and for how long it has been at it, beside what the others do."""
        self._agents[name] = f"{one_line(name, 60)}: {describe(progress)}"
        if self._is_live:
            self._write(" | ".join(self._agents.values()))

    def _write(self, text: str) -> None:
        text = text[: max(10, shutil.get_terminal_size().columns - 1)]
        self._stream.write(f"\r{text}{' ' * (self._length - len(text))}")
        self._stream.flush()
        self._length = len(text)


def describe(progress: Progress) -> str:
    """Say in a few words what happened, and how long after the start."""
    words = str(progress.kind)
    if progress.kind is ProgressKind.RETRYING and progress.attempt is not None:
        of = f" of {progress.max_attempts}" if progress.max_attempts is not None else ""
        words += f" ({progress.attempt}{of})"
    if progress.message:
        words += f": {one_line(progress.message, 100)}"
    return f"{words}, {_lasted(progress.elapsed_s)}"


def _lasted(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), _MINUTE_S)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
