"""One line on stderr that says what the agents are doing, while a person is watching."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tumult_agent_cli.values import Progress


class TerminalLine:
    """A line on stderr that is written over and over; silent unless stderr is a terminal."""

    def __init__(self) -> None:
        self._shown = False

    def write(self, line: str) -> None:
        """Put a line in place of the one before."""
        if sys.stderr.isatty():
            self._write(line)
            self._shown = True

    def close(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write("")
            self._shown = False

    @staticmethod
    def _write(line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{line[:width]}")
        sys.stderr.flush()


class ProgressLine(TerminalLine):
    """Shows the latest state of each agent on one line."""

    def __init__(self) -> None:
        super().__init__()
        self._states: dict[str, str] = {}

    def __call__(self, agent: str, progress: Progress) -> None:
        """Show what an agent does."""
        message = f" {progress.message}" if progress.message else ""
        self._states[agent] = f"{agent}: {progress.kind}{message} ({progress.elapsed_s:.0f} s)"
        self.write("; ".join(self._states.values()))
