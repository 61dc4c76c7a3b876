"""What a run tells while it goes on."""

from __future__ import annotations

import threading
from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from tumult_core.journal import ActivityResult, Phase


class EventKind(StrEnum):
    """What happened."""

    STEP_STARTED = "step_started"
    STEP_FINISHED = "step_finished"
    NOTE = "note"


@frozen
class RunEvent:
    """One thing that happened in a run. Values of secrets never appear in it.

    Attributes:
        phase: the part of the run; None for a note.
        name: of the step; empty for a note.
        result: of a step that finished.
        text: of a note.
    """

    kind: EventKind
    phase: Phase | None = None
    name: str = ""
    result: ActivityResult | None = None
    text: str = ""


class Emitter:
    """Hands events to a listener, one at a time whatever thread they come from.

    A listener that raises is not called again: no terminal that went away may cost a rollback.
    """

    def __init__(self, listener: Callable[[RunEvent], None] | None) -> None:
        self._listener = listener
        self._lock = threading.Lock()

    def __call__(self, event: RunEvent) -> None:
        """Hand over ``event``."""
        with self._lock:
            if self._listener is None:
                return
            try:
                self._listener(event)
            except Exception:  # noqa: BLE001 - see the class
                self._listener = None

    def note(self, text: str) -> None:
        """Hand over a note."""
        self(RunEvent(EventKind.NOTE, text=text))
