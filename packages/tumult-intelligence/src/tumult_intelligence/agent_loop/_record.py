"""What a run has said and done so far, and who is told of it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from tumult_intelligence.agent_loop._events import (
    AgentOutcome,
    AssistantText,
    Finished,
    Hint,
    ToolCallStarted,
    ToolResultReady,
    UsageUpdated,
)
from tumult_intelligence.agent_loop._finish import said
from tumult_intelligence.agent_loop._messages import Message, ToolCall, unanswered
from tumult_intelligence.agent_loop._model import TotalUsage

if TYPE_CHECKING:
    from collections.abc import Callable

    from tumult_intelligence.agent_loop._events import Event
    from tumult_intelligence.agent_loop._finish import Finish
    from tumult_intelligence.agent_loop._limits import Limits
    from tumult_intelligence.agent_loop._model import Completion, Usage

_log = logging.getLogger(__name__)


class Record:
    """Keeps the transcript complete and the observers informed; ``transcript`` is the agent's own and grows."""

    def __init__(
        self,
        transcript: list[Message],
        on_event: Callable[[Event], object] | None,
        on_message: Callable[[Message], object] | None,
    ) -> None:
        self.transcript = transcript
        self.step = 0
        self.usage = TotalUsage()
        self._on_event, self._on_message = on_event, on_message
        self._final_text = ""
        self._notes: list[str] = []
        self._ids = {call.id for message in transcript for call in message.tool_calls}
        self._begun: dict[str, float] = {}

    def append(self, message: Message) -> None:
        """Add a message."""
        self.transcript.append(message)
        _notify(self._on_message, message)

    def emit(self, event: Event) -> None:
        """Tell of an event."""
        _notify(self._on_event, event)

    def tell(self, kind: str, text: str) -> None:
        """Say something to the model."""
        self.append(Message.user(text))
        self.emit(Hint(self.step, kind, text))

    def count(self, usage: Usage, seconds: float, limits: Limits) -> None:
        """Add what a model call took; say once when a limit cannot be applied to it."""
        self.usage = self.usage.plus(usage, seconds)
        notes = [note for note in _unapplied(limits, self.usage) if note not in self._notes]
        self._notes += notes
        self.emit(UsageUpdated(self.step, usage, self.usage, "; ".join(notes)))

    def reply(self, reply: Completion) -> tuple[ToolCall, ...]:
        """Add what the model said; gives the calls to carry out, each with an id of its own."""
        calls = () if reply.nudge else tuple(self._numbered(call) for call in reply.tool_calls)
        self.append(Message.assistant(reply.text, calls))
        if reply.text.strip():
            self._final_text = reply.text
            self.emit(AssistantText(self.step, reply.text))
        return calls

    def begin(self, call: ToolCall) -> None:
        """Note that a call is being carried out."""
        self._begun[call.id] = time.monotonic()
        self.emit(ToolCallStarted(self.step, call))

    def answer(self, call: ToolCall, text: str, *, is_error: bool) -> None:
        """Add the result of a call."""
        message = Message.result(call.id, text, is_error=is_error)
        self.append(message)
        now = time.monotonic()
        self.emit(ToolResultReady(self.step, call, message.text, is_error, now - self._begun.get(call.id, now)))

    def settle(self, why: str) -> None:
        """Give each call that has no result one that says so."""
        for call in unanswered(self.transcript):
            # A call from before this run was made by a process that is gone: how far it came is not known.
            begun = call.id in self._begun or self.step == 0
            what = "interrupted; it may have taken effect" if begun else "not carried out"
            self.answer(call, f"{what} ({why})", is_error=True)

    def finish(self, finish: Finish) -> AgentOutcome:
        """Close the record: every call has its result, and ``Finished`` is the last event."""
        self.settle(str(finish))
        outcome = AgentOutcome(
            self._final_text, tuple(self.transcript), self.step, finish, self.usage, tuple(self._notes)
        )
        self.emit(Finished(self.step, outcome))
        return outcome

    def _numbered(self, call: ToolCall) -> ToolCall:
        number = len(self._ids) + 1
        while not call.id or call.id in self._ids:
            call, number = ToolCall(f"call-{number}", call.name, call.arguments), number + 1
        self._ids.add(call.id)
        return call


def _unapplied(limits: Limits, usage: TotalUsage) -> list[str]:
    notes = []
    if limits.max_cost_usd is not None and usage.calls_without_cost:
        notes.append(f"the limit of {limits.max_cost_usd:g} USD cannot be applied: the model does not name its price")
    if limits.max_tokens is not None and usage.calls_without_tokens:
        notes.append(f"the limit of {limits.max_tokens} tokens cannot be applied: the model does not count them")
    return notes


def _notify(observer: Callable[[Any], object] | None, news: object) -> None:
    if observer is None:
        return
    try:
        observer(news)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- an observer never harms the run
        _log.warning("an observer failed on %s: %s: %s", type(news).__name__, type(error).__name__, said(error))
