"""One line on stderr that says what an investigation is doing, while a person is watching."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tumult_core._text import one_line
from tumult_intelligence._cli._progress import TerminalLine
from tumult_intelligence.agent_loop import (
    StepStarted,
    ToolCallStarted,
    ToolResultReady,
    TotalUsage,
    UsageUpdated,
)

if TYPE_CHECKING:
    from tumult_agent_cli.values import Progress
    from tumult_intelligence.agent_loop import Event


class StepLine:
    """Shows step, tool, elapsed time, tokens and cost; silent unless stderr is a terminal."""

    def __init__(self) -> None:
        self._line = TerminalLine()
        self._started = time.monotonic()
        self._step, self._doing = 0, ""
        self._usage = TotalUsage()

    def event(self, event: Event) -> None:
        """Take what the loop does."""
        self._step = event.step or self._step
        match event:
            case StepStarted():
                self._doing = "asking the agent"
            case ToolCallStarted(call=call):
                self._doing = one_line(call.name, 40)
            case ToolResultReady(call=call, is_error=True):
                self._doing = f"{one_line(call.name, 40)} failed"
            case UsageUpdated(total=total):
                self._usage = total
            case _:
                pass
        self._show()

    def progress(self, progress: Progress) -> None:
        """Take what the agent's CLI does; it says something every second."""
        message = f": {progress.message}" if progress.message else ""
        self._doing = f"agent {progress.kind}{message}"
        self._show()

    def close(self) -> None:
        """Take the line away."""
        self._line.close()

    def _show(self) -> None:
        self._line.write(self.text())

    def text(self) -> str:
        """Give the line."""
        usage = self._usage
        parts = [
            f"step {self._step}",
            self._doing,
            f"{time.monotonic() - self._started:.0f} s",
            *([f"{usage.known_tokens} tokens"] if usage.known_tokens else []),
            *([f"{usage.known_cost_usd:.4f} USD"] if usage.known_cost_usd else []),
        ]
        return " · ".join(filter(None, parts))
