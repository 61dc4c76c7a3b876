"""What an observer of a run is told, in order; each event with the number of its step, counted from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

if TYPE_CHECKING:
    from tumult_intelligence.agent_loop._finish import Finish
    from tumult_intelligence.agent_loop._messages import Message, ToolCall
    from tumult_intelligence.agent_loop._model import TotalUsage, Usage


@frozen
class StepStarted:
    """The model is about to be asked; in the ``last`` step without tools."""

    step: int
    last: bool = False


@frozen
class UsageUpdated:
    """A model call ended.

    Attributes:
        usage: what it took.
        total: what the run took so far.
        note: said once, when a limit cannot be applied since the model does not say what it takes.
    """

    step: int
    usage: Usage
    total: TotalUsage
    note: str = ""


@frozen
class AssistantText:
    """The model said something."""

    step: int
    text: str


@frozen
class ToolCallStarted:
    """A call is being carried out."""

    step: int
    call: ToolCall


@frozen
class ToolResultReady:
    """A call has its result; one that was never carried out has one too.

    Attributes:
        text: what the model sees, hint included.
        seconds: how long it took.
    """

    step: int
    call: ToolCall
    text: str
    is_error: bool
    seconds: float = 0.0


@frozen
class Hint:
    """The loop told the model something of its own accord; ``kind`` says what for."""

    step: int
    kind: str
    text: str


@frozen
class AgentOutcome:
    """What became of a run.

    Attributes:
        final_text: the last text of the model in this run; empty where it said none.
        transcript: the whole conversation, earlier runs of the agent included, every call with its result.
        steps: model calls of this run.
        notes: what a reader should know, such as a limit that could not be applied.
    """

    final_text: str
    transcript: tuple[Message, ...] = field(repr=False)
    steps: int
    finish: Finish
    usage: TotalUsage
    notes: tuple[str, ...] = ()


@frozen
class Finished:
    """The run is over; the last event, exactly once."""

    step: int
    outcome: AgentOutcome


Event = StepStarted | UsageUpdated | AssistantText | ToolCallStarted | ToolResultReady | Hint | Finished
