"""When a run counts as stuck, and what the model hears before."""

from __future__ import annotations

from itertools import count, islice, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tumult_intelligence.agent_loop import (
    Agent,
    Completion,
    FunctionTool,
    Hint,
    Limits,
    NoMoreToolCalls,
    Role,
    ScriptedProvider,
    StepStarted,
    Stuck,
    StuckKind,
    StuckLimits,
    ToolCall,
    ToolError,
    ToolSpec,
    unanswered,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_intelligence.agent_loop import AgentOutcome, Event

ANY = {"type": "object"}
_counter = count()


def fail(**_arguments: Any) -> str:
    raise ToolError(f"no luck, attempt {next(_counter)}")  # a different text each time, as with a timestamp


async def echo(**arguments: Any) -> str:
    return f"got {sorted(arguments.items())}"


async def tick(**_arguments: Any) -> str:
    return str(next(_counter))


async def same(**_arguments: Any) -> str:
    return "pending"


TOOLS = [
    FunctionTool(ToolSpec("fail", parameters=ANY), fail),
    FunctionTool(ToolSpec("echo", parameters=ANY), echo),
    FunctionTool(ToolSpec("tick", parameters=ANY), tick),
    FunctionTool(ToolSpec("poll", parameters=ANY, polled=True), same),
    FunctionTool(ToolSpec("stamped", parameters=ANY, volatile_arguments=["at"]), same),
]


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("", name, arguments)


def numbered(name: str) -> Iterable[ToolCall]:
    return (call(name, n=number) for number in count())


def play(*calls: ToolCall, max_steps: int = 100, stuck: StuckLimits | None = None) -> tuple[AgentOutcome, list[Event]]:
    """Make one call a step, then answer."""
    events: list[Event] = []
    script = [Completion.calling(made) for made in calls] + [Completion.answer("done")]
    limits = Limits(max_steps=max_steps, stuck=stuck or StuckLimits())
    outcome = Agent(llm=ScriptedProvider(script), tools=TOOLS, limits=limits, on_event=events.append).run_sync("go")
    assert not unanswered(outcome.transcript)
    return outcome, events


def hints(events: list[Event]) -> list[tuple[int, str]]:
    return [(event.step, event.kind) for event in events if isinstance(event, Hint)]


# --- the same failing call -------------------------------------------------------------------------------------------


def test_four_identical_unknown_calls_end_after_three_with_the_result_in_the_transcript() -> None:
    outcome, events = play(*[call("nope", x=1)] * 4)
    assert outcome.finish == Stuck(StuckKind.SAME_FAILURE, "nope", 3)
    assert outcome.steps == 3
    last = outcome.transcript[-1]
    assert (last.role, last.is_error) == (Role.TOOL, True)
    assert "there is no tool 'nope'" in last.text
    assert hints(events) == [(2, "same failing call")]


def test_the_second_failure_carries_the_hint() -> None:
    outcome, _ = play(call("fail"), call("fail"))
    first, second = [message.text for message in outcome.transcript if message.role is Role.TOOL]
    assert "HINT" not in first
    assert "HINT: This very call has now failed 2 times in a row." in second
    assert outcome.finish == NoMoreToolCalls()


def test_three_successful_calls_with_different_arguments_are_not_stuck() -> None:
    outcome, events = play(call("echo", a=1), call("echo", a=2), call("echo", a=3))
    assert outcome.finish == NoMoreToolCalls()
    assert not hints(events)


def test_the_order_of_keys_does_not_make_a_call_different() -> None:
    outcome, _ = play(
        call("fail", a=1, b={"x": 1, "y": 2}),
        call("fail", b={"y": 2, "x": 1}, a=1),
        call("fail", a=1, b={"x": 1, "y": 2}),
    )
    assert outcome.finish == Stuck(StuckKind.SAME_FAILURE, "fail", 3)


def test_a_different_failing_call_restarts_the_count() -> None:
    outcome, _ = play(call("fail", a=1), call("fail", a=1), call("fail", a=2), call("fail", a=1), call("fail", a=1))
    assert outcome.finish == NoMoreToolCalls()


def test_a_success_resets_the_count() -> None:
    outcome, _ = play(call("fail"), call("fail"), call("echo"), call("fail"), call("fail"))
    assert outcome.finish == NoMoreToolCalls()


# --- the same call with the same result ------------------------------------------------------------------------------


def test_the_same_success_four_times_is_stuck_with_a_hint_at_three() -> None:
    outcome, events = play(*[call("echo", a=1)] * 5)
    assert outcome.finish == Stuck(StuckKind.SAME_RESULT, "echo", 4)
    assert hints(events) == [(3, "same call, same result")]


def test_the_same_call_with_new_results_is_not_stuck() -> None:
    outcome, events = play(*[call("tick")] * 30)
    assert outcome.finish == NoMoreToolCalls()
    assert not hints(events)


def test_a_volatile_argument_does_not_make_a_call_different() -> None:
    outcome, _ = play(*[call("stamped", job="a", at=number) for number in range(4)])
    assert outcome.finish == Stuck(StuckKind.SAME_RESULT, "stamped", 4)
    outcome, _ = play(*[call("stamped", job=str(number), at=0) for number in range(8)])
    assert outcome.finish == NoMoreToolCalls()


def test_a_tool_that_is_polled_on_purpose_has_a_higher_bound() -> None:
    outcome, events = play(*[call("poll")] * 18)
    assert outcome.finish == NoMoreToolCalls()
    assert not hints(events)
    outcome, events = play(*[call("poll")] * 21)
    assert outcome.finish == Stuck(StuckKind.SAME_RESULT, "poll", 20)
    assert hints(events) == [(19, "same call, same result")]


def test_polling_between_other_looks_is_no_cycle_too_soon() -> None:
    outcome, _ = play(*[call("poll"), call("echo")] * 8)
    assert outcome.finish == NoMoreToolCalls()


# --- cycles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["echo", "fail"])
def test_two_calls_that_alternate_are_a_cycle_failing_or_not(name: str) -> None:
    outcome, events = play(*[call(name, a=1), call(name, a=2)] * 4)
    assert outcome.finish == Stuck(StuckKind.CYCLE, f"{name} → {name}", 3)
    assert outcome.steps == 6
    assert (4, "cycle") in hints(events)


@pytest.mark.parametrize("period", [2, 3, 4])
def test_cycles_of_two_to_four_calls_end_in_the_third_round(period: int) -> None:
    outcome, events = play(*[call("echo", a=number) for number in range(period)] * 4)
    assert outcome.finish == Stuck(StuckKind.CYCLE, " → ".join(["echo"] * period), 3)
    assert outcome.steps == 3 * period
    assert hints(events) == [(2 * period, "cycle")]


def test_a_cycle_that_begins_late_is_found() -> None:
    outcome, _ = play(
        *islice(numbered("echo"), 7),
        *[call("echo", a="x"), call("tick"), call("echo", a="y")],
        *[call("poll"), call("echo")],
    )
    assert outcome.finish == NoMoreToolCalls()
    outcome, _ = play(*islice(numbered("echo"), 7), *[call("echo", a="x"), call("echo", a="y")] * 3)
    assert isinstance(outcome.finish, Stuck)
    assert outcome.steps == 13


def test_alternating_calls_that_bring_news_are_no_cycle() -> None:
    outcome, _ = play(*[call("echo", a=1), call("tick")] * 10)
    assert outcome.finish == NoMoreToolCalls()


def test_five_calls_over_and_over_are_left_to_the_budget() -> None:
    outcome, events = play(*[call("echo", a=number) for number in range(5)] * 5)
    assert outcome.finish == NoMoreToolCalls()
    assert not hints(events)


# --- mostly errors ---------------------------------------------------------------------------------------------------


def test_ten_different_failures_are_mostly_errors_with_a_hint_at_six() -> None:
    outcome, events = play(*islice(numbered("fail"), 12))
    assert outcome.finish == Stuck(StuckKind.MOSTLY_ERRORS, "fail", 10)
    assert outcome.steps == 10
    assert hints(events) == [(6, "mostly errors")]


def test_a_success_is_never_what_ends_a_run() -> None:
    failures = list(islice(numbered("fail"), 8))
    outcome, _ = play(*failures, call("echo", a=1), call("echo", a=2))
    assert outcome.finish == NoMoreToolCalls()
    outcome, _ = play(*failures, call("echo", a=1), call("fail", last=True))
    assert outcome.finish == Stuck(StuckKind.MOSTLY_ERRORS, "fail", 9)


def test_old_errors_are_forgotten() -> None:
    mixed = [call("echo" if number % 3 else "fail", n=number) for number in range(40)]
    outcome, events = play(*mixed)
    assert outcome.finish == NoMoreToolCalls()
    assert not hints(events)


# --- batches and bounds ----------------------------------------------------------------------------------------------


def test_the_whole_batch_is_recorded_before_the_run_ends_as_stuck() -> None:
    batch = Completion.calling(*[call("fail")] * 3, call("echo", a=1))
    first = Completion.calling(*[call("fail")] * 2)
    outcome = Agent(llm=ScriptedProvider([first, batch]), tools=TOOLS).run_sync("go")
    assert outcome.finish == Stuck(StuckKind.SAME_FAILURE, "fail", 3)
    assert [message.text for message in outcome.transcript][-1] == "got [('a', 1)]"
    assert not unanswered(outcome.transcript)


def test_each_run_counts_anew() -> None:
    script = [Completion.calling(call("fail")), Completion.calling(call("fail")), Completion.answer("a")] * 2
    agent = Agent(llm=ScriptedProvider(script), tools=TOOLS)
    assert [agent.run_sync(goal).finish for goal in ("one", "two")] == [NoMoreToolCalls()] * 2


def test_bounds_can_be_set() -> None:
    outcome, events = play(*[call("fail")] * 9, stuck=StuckLimits(same_failure=5))
    assert outcome.finish == Stuck(StuckKind.SAME_FAILURE, "fail", 5)
    assert hints(events) == [(4, "same failing call")]
    with pytest.raises(ValueError, match="same_failure"):
        StuckLimits(same_failure=1)


@given(st.lists(st.tuples(st.sampled_from(["fail", "echo", "poll", "nope"]), st.integers(0, 2)), max_size=40))
def test_a_hint_of_the_same_kind_always_comes_in_an_earlier_step(calls: list[tuple[str, int]]) -> None:
    outcome, events = play(*[call(name, a=number) for name, number in calls])
    if isinstance(outcome.finish, Stuck):
        assert any(step < outcome.steps and kind == outcome.finish.kind for step, kind in hints(events))
    steps = [event.step for event in events if isinstance(event, StepStarted)]
    assert all(after == before + 1 for before, after in pairwise(steps))


@pytest.mark.parametrize("reply", [[call("fail")] * 12, [call("echo", a=1)] * 12, [call("echo"), call("stamped")] * 12])
def test_one_reply_cannot_end_the_run_before_the_model_saw_a_hint(reply: list[ToolCall]) -> None:
    again = ScriptedProvider([Completion.calling(*reply), Completion.answer("I see.")])
    outcome = Agent(llm=again, tools=TOOLS).run_sync("go")
    assert outcome.finish == NoMoreToolCalls()
    assert any("HINT: " in message.text for message in again.asked[1].messages)
    deaf = ScriptedProvider([Completion.calling(*reply)] * 2)
    assert Agent(llm=deaf, tools=TOOLS).run_sync("go").steps == 2
