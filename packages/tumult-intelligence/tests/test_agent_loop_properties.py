"""Whatever a model and its tools do, the record of a run is complete."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tumult_intelligence.agent_loop import (
    Agent,
    AgentOutcome,
    BudgetExceeded,
    Cancelled,
    Completion,
    CostBudgetExceeded,
    Finished,
    FunctionTool,
    Limits,
    Message,
    NoMoreToolCalls,
    Nudge,
    ProviderFailed,
    ProviderStop,
    Role,
    StepStarted,
    Stuck,
    StuckKind,
    TokenBudgetExceeded,
    Tool,
    ToolCall,
    ToolCallStarted,
    ToolError,
    ToolResultReady,
    ToolSpec,
    Usage,
    UsageUpdated,
    unanswered,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tumult_intelligence.agent_loop import Event

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
TOOL_NAMES = ["quiet", "loud", "slow", "swallow", "odd", "crash", "refuse", "mute", "own", "leave"]


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _level in range(depth):
        value = [value]
    return value


# Numbers that are no float, numbers that cannot be printed, and data that recursion cannot reach the end of.
HARD = st.sampled_from([10**400, -(10**400), 10**5000, float("inf"), float("nan"), nested(5000)])
CALLS = st.builds(
    ToolCall,
    st.sampled_from(["", "a", "b"]),
    st.sampled_from([*TOOL_NAMES, "unknown", ""]),
    st.dictionaries(st.sampled_from(["x", "y", "n"]), JSON | HARD, max_size=2) | JSON,
)
USAGE = st.builds(Usage, st.none() | st.integers(0, 50), st.none() | st.integers(0, 50), st.none() | st.floats(0, 0.4))
REPLIES = st.builds(
    Completion,
    st.sampled_from(["", " ", "text", "ERROR: text"]),
    st.lists(CALLS, max_size=4),
    st.sampled_from(["stop", "length", None]),
    USAGE,
    st.none() | st.builds(Nudge, st.just("again"), st.sampled_from([StuckKind.MALFORMED, StuckKind.MONOLOGUE])),
)


class Mute(ToolError):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


class OwnError(BaseException):
    """What a tool's library raises past ``except Exception``."""


ERRORS = [ZeroDivisionError, ToolError, Mute, OwnError, GeneratorExit]


def broken_reply(**fields: Any) -> Callable[[], Completion]:
    return lambda: Completion(**fields)


BROKEN = st.sampled_from(
    [
        broken_reply(usage=None),
        broken_reply(usage=("1", None)),
        broken_reply(finish_reason=["stop"]),
        lambda: Usage("1"),  # type: ignore[arg-type]  # the fault
    ]
)
SCRIPTS = st.lists(
    REPLIES | BROKEN | st.sampled_from([RuntimeError("provider down"), OwnError(), Mute()]) | st.just("hang"),
    max_size=12,
)
OBSERVERS = st.sampled_from([None, RuntimeError("observer"), SystemExit(3), asyncio.CancelledError(), Mute()])
LIMITS = st.builds(
    Limits,
    max_steps=st.integers(1, 8),
    max_tokens=st.none() | st.integers(1, 200),
    max_cost_usd=st.none() | st.floats(0.01, 1.0),
    max_parallel_tools=st.integers(1, 3),
)


class Script:
    """A model that plays replies, raises errors, or hangs until it is cancelled."""

    def __init__(self, script: Sequence[Any]) -> None:
        self._script = iter(script)
        self.asked: list[tuple[tuple[Message, ...], int]] = []

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        self.asked.append((tuple(messages), len(tools)))
        reply = next(self._script, RuntimeError("the end"))
        if isinstance(reply, BaseException):
            raise reply
        if callable(reply):
            reply = reply()
        if isinstance(reply, Completion):
            return reply
        await asyncio.Event().wait()
        raise AssertionError("cannot be reached")


def raising(error: type[BaseException]) -> Callable[..., Any]:
    async def fail(**_: Any) -> str:
        raise error("not today")

    return fail


def make_tools() -> list[Tool]:
    ticks = count()

    async def quiet(**_: Any) -> str:
        return "same"

    async def loud(**_: Any) -> str:
        return f"tick {next(ticks)}"

    async def slow(**_: Any) -> str:
        for _turn in range(5):
            await asyncio.sleep(0)
        return "at last"

    async def swallow(**_: Any) -> str:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return "not impressed"
        return "fine"

    async def odd(**_: Any) -> Any:
        return None

    functions = [quiet, loud, slow, swallow, odd, *map(raising, ERRORS)]
    parameters = {"type": "object", "properties": {"n": {"type": ["number", "array"], "minimum": 0}}}
    return [
        FunctionTool(ToolSpec(name, parameters=parameters, read_only=index % 2 == 0), function)
        for index, (name, function) in enumerate(zip(TOOL_NAMES, functions, strict=True))
    ]


async def run(script: Sequence[Any], limits: Limits, cancel_after: int | None, *, broken: BaseException | None) -> Any:
    events: list[Event] = []
    messages: list[Message] = []
    llm = Script(script)

    def observe(event: Event) -> None:
        events.append(event)
        if broken is not None:
            raise broken

    agent = Agent(llm=llm, tools=make_tools(), limits=limits, on_event=observe, on_message=messages.append)
    task = asyncio.create_task(agent.run("goal"))
    for _turn in range(400 if cancel_after is None else cancel_after):
        await asyncio.sleep(0)  # a task that was cancelled before its first turn has not run at all
        if task.done():
            break
    task.cancel()
    return await task, events, messages, llm


@settings(max_examples=300, deadline=None)
@given(SCRIPTS, LIMITS, st.none() | st.integers(1, 90), OBSERVERS)
@example([Completion("", [ToolCall("", "slow"), ToolCall("", "quiet")])], Limits(), 4, None)
@example([Completion("", [ToolCall("", "swallow")]), Completion("x")], Limits(), 3, None)
def test_the_record_is_complete(
    script: list[Any], limits: Limits, cancel_after: int | None, broken: BaseException | None
) -> None:
    outcome, events, messages, llm = asyncio.run(run(script, limits, cancel_after, broken=broken))
    assert isinstance(outcome, AgentOutcome)
    check_transcript(outcome, messages)
    check_events(outcome, events)
    check_limits(outcome, limits, llm, events)
    check_finish(outcome, script)


def check_transcript(outcome: AgentOutcome, messages: list[Message]) -> None:
    assert list(outcome.transcript) == messages
    assert not unanswered(outcome.transcript)
    ids = [call.id for message in outcome.transcript for call in message.tool_calls]
    assert len(ids) == len(set(ids))
    assert [message.call_id for message in outcome.transcript if message.role is Role.TOOL] == ids
    for message in outcome.transcript:
        assert not message.is_error or message.text.startswith("ERROR: ")


def check_events(outcome: AgentOutcome, events: list[Event]) -> None:
    assert [index for index, event in enumerate(events) if isinstance(event, Finished)] == [len(events) - 1]
    assert events[-1] == Finished(outcome.steps, outcome)
    results = [event.call.id for event in events if isinstance(event, ToolResultReady)]
    assert results == [message.call_id for message in outcome.transcript if message.role is Role.TOOL]
    started = [event.call.id for event in events if isinstance(event, ToolCallStarted)]
    assert len(started) == len(set(started))
    assert set(started) <= set(results)
    assert [event.step for event in events] == sorted(event.step for event in events)


def check_limits(outcome: AgentOutcome, limits: Limits, llm: Script, events: list[Event]) -> None:
    assert outcome.steps == len(llm.asked) == outcome.usage.calls <= limits.max_steps
    assert all(tools == 0 for _, tools in llm.asked[limits.max_steps - 1 :])
    for asked, _ in llm.asked:
        assert not unanswered(asked)
    spent_at = {event.step: event.total for event in events if isinstance(event, UsageUpdated)}
    for event in events:
        if isinstance(event, StepStarted) and event.step > 1:
            before = spent_at[event.step - 1]
            assert limits.max_tokens is None or before.known_tokens < limits.max_tokens
            assert limits.max_cost_usd is None or before.known_cost_usd < limits.max_cost_usd


def check_finish(outcome: AgentOutcome, script: list[Any]) -> None:
    last = script[outcome.steps - 1] if 0 < outcome.steps <= len(script) else None
    match outcome.finish:
        case NoMoreToolCalls() | ProviderStop():
            assert isinstance(last, Completion)
            assert not last.tool_calls
            assert outcome.transcript[-1] == Message.assistant(last.text)
        case ProviderFailed(error):
            assert last is error or not isinstance(last, Completion)
        case Stuck() | BudgetExceeded() | TokenBudgetExceeded() | CostBudgetExceeded():
            assert isinstance(last, Completion)
        case other:
            assert other == Cancelled()
