"""What callers of the loop rely on."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tumult_intelligence.agent_loop import (
    Agent,
    AssistantText,
    BudgetExceeded,
    Cancelled,
    Completion,
    ConfigurationError,
    CostBudgetExceeded,
    Finished,
    FunctionTool,
    Hint,
    Limits,
    Message,
    NoMoreToolCalls,
    Nudge,
    ProviderFailed,
    ProviderStop,
    Role,
    ScriptedProvider,
    ScriptExhausted,
    StepStarted,
    Stuck,
    StuckKind,
    TokenBudgetExceeded,
    ToolCall,
    ToolCallStarted,
    ToolError,
    ToolResultReady,
    ToolSpec,
    Usage,
    UsageUpdated,
    WallClockExceeded,
    unanswered,
)
from tumult_intelligence.agent_loop._run import TOOLS_ON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tumult_intelligence.agent_loop import AgentOutcome, Event, Tool

NUMBERS: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


async def add(a: float, b: float) -> str:
    return str(a + b)


ADD = FunctionTool(ToolSpec("add", "Add two numbers.", NUMBERS), add)


def tool(name: str, function: Callable[..., Any], **spec: Any) -> Tool:
    return FunctionTool(ToolSpec(name, parameters={"type": "object"}, **spec), function)


def call(name: str = "add", call_id: str = "", /, **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments)


def calling(*calls: ToolCall, **more: Any) -> Completion:
    return Completion.calling(*calls, **more)


class Spy:
    """A function that notes that it ran."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def __call__(self, **arguments: Any) -> str:
        self.ran.append(arguments)
        return "ran"


class Watch:
    """Keeps the events of a run."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    def names(self, *but: type) -> list[str]:
        return [type(event).__name__ for event in self.events if not isinstance(event, but)]


def play(
    *script: Completion | Exception, tools: Sequence[Tool] = (ADD,), goal: str = "do it", **options: Any
) -> tuple[AgentOutcome, Watch, ScriptedProvider]:
    watch = Watch()
    provider = ScriptedProvider(script)
    outcome = Agent(llm=provider, tools=tools, on_event=watch, **options).run_sync(goal)
    return outcome, watch, provider


def results(outcome: AgentOutcome) -> list[Message]:
    return [message for message in outcome.transcript if message.role is Role.TOOL]


# --- answers ---------------------------------------------------------------------------------------------------------


def test_it_ends_at_once_without_tools() -> None:
    outcome, watch, _ = play(Completion.answer("hello"))
    assert outcome.finish == NoMoreToolCalls()
    assert (outcome.steps, outcome.final_text) == (1, "hello")
    assert outcome.transcript == (Message.user("do it"), Message.assistant("hello"))
    assert watch.names(UsageUpdated) == ["StepStarted", "AssistantText", "Finished"]


def test_one_tool_then_an_answer() -> None:
    outcome, watch, provider = play(calling(call(a=2, b=3), text="I add."), Completion.answer("5"))
    assert len(outcome.transcript) == 4
    assert (outcome.steps, outcome.final_text, outcome.finish) == (2, "5", NoMoreToolCalls())
    assert watch.names(StepStarted, UsageUpdated) == [
        "AssistantText",
        "ToolCallStarted",
        "ToolResultReady",
        "AssistantText",
        "Finished",
    ]
    assert [event.step for event in watch.events] == [1] * 5 + [2] * 4
    assert provider.asked[1].messages[-1] == Message.result("call-1", "5")


def test_the_final_text_is_the_last_that_was_not_empty() -> None:
    outcome, _, _ = play(calling(call(a=1, b=1), text="thinking"), Completion(" \n"))
    assert outcome.final_text == "thinking"
    assert outcome.finish == NoMoreToolCalls()


@pytest.mark.parametrize("reason", ["stop", "end_turn", None])
def test_a_normal_stop_is_success(reason: str | None) -> None:
    outcome, _, _ = play(Completion("yes", finish_reason=reason))
    assert outcome.finish == NoMoreToolCalls()


@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls", ""])
def test_a_reply_that_was_cut_is_no_success(reason: str) -> None:
    outcome, _, _ = play(Completion("half an ans", finish_reason=reason))
    assert outcome.finish == ProviderStop(reason)
    assert outcome.final_text == "half an ans"


def test_the_system_prompt_stands_before_each_call_and_not_in_the_transcript() -> None:
    outcome, _, provider = play(calling(call(a=1, b=2)), Completion.answer("3"), system_prompt="Be brief.")
    assert [asked.messages[0] for asked in provider.asked] == [Message.system("Be brief.")] * 2
    assert all(message.role is not Role.SYSTEM for message in outcome.transcript)


def test_a_second_run_continues_the_transcript() -> None:
    provider = ScriptedProvider([Completion.answer("one"), Completion.answer("two")])
    agent = Agent(llm=provider)
    agent.run_sync("first")
    outcome = agent.run_sync("second")
    assert [message.text for message in outcome.transcript] == ["first", "one", "second", "two"]
    assert provider.asked[1].messages == outcome.transcript[:3]
    assert outcome.steps == 1


# --- tool calls ------------------------------------------------------------------------------------------------------


def test_an_unknown_tool_is_an_error_that_the_model_sees_and_the_run_goes_on() -> None:
    outcome, _, provider = play(calling(call("ad", a=1, b=2)), Completion.answer("sorry"))
    (result,) = results(outcome)
    assert result.is_error
    assert result.text.startswith("ERROR: there is no tool 'ad'; did you mean 'add'?")
    assert provider.asked[1].messages[-1] == result
    assert outcome.finish == NoMoreToolCalls()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"a": 1}, "b is missing"),
        ({"a": "1", "b": 2}, "a: must be number, not string"),
        ({"a": 1, "b": True}, "b: must be number, not boolean"),
        ({"a": 1, "b": 2, "c": 3}, "'c' is unknown; known: a, b"),
        ("1 and 2", "must be a JSON object, not str"),
        ([1, 2], "must be a JSON object, not list"),
    ],
)
def test_invalid_arguments_are_refused_before_the_tool_runs(arguments: Any, complaint: str) -> None:
    spy = Spy()
    outcome, _, _ = play(
        calling(ToolCall("", "add", arguments)), Completion.answer("ok"), tools=[FunctionTool(ADD.spec, spy)]
    )
    (result,) = results(outcome)
    assert result.is_error
    assert complaint in result.text
    assert not spy.ran


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("the table is gone; try runs"), "ERROR: the table is gone; try runs"),
        (ToolError(), "ERROR: the tool gave no reason"),
        (ValueError("no"), "ERROR: crash failed: ValueError: no"),
        (TimeoutError("inner"), "ERROR: crash failed: TimeoutError: inner"),
        (SystemExit(3), "ERROR: crash failed: SystemExit: 3"),
        (asyncio.CancelledError(), "ERROR: crash was cancelled from within"),
    ],
)
def test_a_tool_that_fails_is_an_error_that_the_model_sees(error: BaseException, text: str) -> None:
    async def crash() -> str:
        raise error

    outcome, _, _ = play(calling(call("crash")), Completion.answer("ok"), tools=[tool("crash", crash)])
    assert results(outcome) == [Message(Role.TOOL, text, call_id="call-1", is_error=True)]
    assert outcome.finish == NoMoreToolCalls()


def test_a_tool_that_gives_no_text_is_an_error() -> None:
    outcome, _, _ = play(calling(call("one")), Completion.answer("ok"), tools=[tool("one", lambda: 1)])
    assert results(outcome)[0].text == "ERROR: one gave int, not text"


def test_an_error_is_a_field_and_never_read_from_the_text() -> None:
    outcome, watch, _ = play(
        calling(call("log")), Completion.answer("ok"), tools=[tool("log", lambda: "ERROR: from a log file")]
    )
    assert results(outcome) == [Message.result("call-1", "ERROR: from a log file")]
    assert not watch.of(ToolResultReady)[0].is_error


def test_a_tool_has_its_own_time_limit() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    slow = tool("slow", forever, timeout_s=0.05)
    outcome, _, _ = play(calling(call("slow")), Completion.answer("ok"), tools=[slow])
    assert results(outcome)[0].text == "ERROR: slow did not end within 0.05 s"


def test_a_tool_cannot_change_the_transcript_through_its_arguments() -> None:
    def greedy(items: list[int]) -> str:
        items.clear()
        return "done"

    outcome, _, _ = play(calling(call("eat", items=[1, 2])), Completion.answer("ok"), tools=[tool("eat", greedy)])
    assert outcome.transcript[1].tool_calls[0].arguments == {"items": [1, 2]}


def test_calls_get_ids_of_their_own() -> None:
    script = [calling(call("add", "x", a=1, b=1), call("add", "x", a=2, b=2), call(a=3, b=3)), Completion.answer("ok")]
    outcome, _, _ = play(*script)
    ids = [made.id for made in outcome.transcript[1].tool_calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert [result.call_id for result in results(outcome)] == ids


def test_results_keep_the_order_of_the_calls() -> None:
    async def wait(s: float) -> str:
        await asyncio.sleep(s)
        return f"waited {s}"

    sleeper = tool("wait", wait, read_only=True)
    outcome, _, _ = play(
        calling(call("wait", s=0.05), call("wait", s=0.0), call("wait", s=0.02)),
        Completion.answer("ok"),
        tools=[sleeper],
    )
    assert [result.text for result in results(outcome)] == ["waited 0.05", "waited 0.0", "waited 0.02"]


class Gauge:
    """A tool that knows how many of its kind run at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def __call__(self, n: int) -> str:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return str(n)


@pytest.mark.parametrize(("read_only", "most"), [(True, 3), (False, 1)])
def test_only_read_only_calls_run_side_by_side_and_not_too_many(read_only: bool, most: int) -> None:
    gauge = Gauge()
    calls = [call("gauge", n=number) for number in range(8)]

    async def measured(n: int) -> str:
        return await gauge(n)

    outcome, _, _ = play(
        calling(*calls),
        Completion.answer("ok"),
        tools=[tool("gauge", measured, read_only=read_only)],
        limits=Limits(max_parallel_tools=3),
    )
    assert gauge.most == most
    assert [result.text for result in results(outcome)] == [str(number) for number in range(8)]


def test_a_call_that_changes_something_splits_the_read_only_ones() -> None:
    log: list[str] = []

    async def note(name: str) -> str:
        log.append(f"{name} begins")
        await asyncio.sleep(0.01)
        log.append(f"{name} ends")
        return name

    look, change = tool("look", note, read_only=True), tool("change", note)
    calls = [call("look", name="a"), call("look", name="b"), call("change", name="c"), call("look", name="d")]
    play(calling(*calls), Completion.answer("ok"), tools=[look, change])
    assert log[:2] == ["a begins", "b begins"]
    assert log[4:] == ["c begins", "c ends", "d begins", "d ends"]


def test_a_long_result_keeps_head_and_tail_and_names_what_was_left_out() -> None:
    long = tool("long", lambda: "head" + "x" * 100_000 + "tail")
    outcome, _, _ = play(
        calling(call("long")), Completion.answer("ok"), tools=[long], limits=Limits(max_result_chars=1000)
    )
    text = results(outcome)[0].text
    assert text.startswith("head")
    assert text.endswith("tail")
    assert "[… 99008 characters left out …]" in text
    assert len(text) < 1100


def test_a_plain_function_runs_in_a_thread() -> None:
    threads: list[threading.Thread] = []
    where = tool("where", lambda: threads.append(threading.current_thread()))
    play(calling(call("where")), Completion.answer("ok"), tools=[where])
    assert threads[0] is not threading.main_thread()


def test_a_callable_that_gives_something_to_await_is_awaited() -> None:
    class Later:
        async def __call__(self) -> str:
            return "awaited"

    outcome, _, _ = play(calling(call("later")), Completion.answer("ok"), tools=[tool("later", Later())])
    assert results(outcome)[0].text == "awaited"


def test_a_function_that_blocks_does_not_hold_up_the_end() -> None:
    begun = time.monotonic()
    blocked = tool("block", lambda: time.sleep(30))
    outcome, _, _ = play(calling(call("block")), tools=[blocked], limits=Limits(max_seconds=0.1))
    assert outcome.finish == WallClockExceeded(0.1)
    assert time.monotonic() - begun < 15


def test_a_function_that_stops_an_iteration_is_an_error() -> None:
    outcome, _, _ = play(calling(call("end")), Completion.answer("ok"), tools=[tool("end", lambda: next(iter(())))])
    assert results(outcome)[0].text == "ERROR: end failed: RuntimeError: StopIteration()"


# --- limits ----------------------------------------------------------------------------------------------------------


def test_the_budget_ends_the_run_with_the_whole_transcript() -> None:
    script = [calling(call(a=number, b=1), text=f"step {number}") for number in range(3)]
    outcome, _, provider = play(*script, limits=Limits(max_steps=3))
    assert outcome.finish == BudgetExceeded(3)
    assert outcome.steps == 3
    assert outcome.final_text == "step 2"
    assert [message.role.value for message in outcome.transcript] == (
        ["user"] + ["assistant", "tool"] * 2 + ["user", "assistant", "tool"]
    )
    assert not unanswered(outcome.transcript)
    assert [len(asked.tools) for asked in provider.asked] == [1, 1, 0]


def test_the_model_is_told_of_the_last_step_and_can_answer() -> None:
    outcome, watch, provider = play(
        calling(call(a=1, b=1)), Completion.answer("what I have"), limits=Limits(max_steps=2)
    )
    assert outcome.finish == NoMoreToolCalls()
    assert "last step" in provider.asked[1].messages[-1].text
    assert provider.asked[1].tools == ()
    assert [event.last for event in watch.of(StepStarted)] == [False, True]


def test_tools_are_really_off_in_the_last_step() -> None:
    spy = Spy()
    outcome, watch, _ = play(calling(call(a=1, b=1)), tools=[FunctionTool(ADD.spec, spy)], limits=Limits(max_steps=1))
    assert outcome.finish == BudgetExceeded(1)
    assert not spy.ran
    assert "not carried out" in results(outcome)[0].text
    assert not watch.of(ToolCallStarted)


def test_there_are_32_steps_by_default() -> None:
    outcome, _, _ = play(*[calling(call(a=number, b=1)) for number in range(40)])
    assert outcome.finish == BudgetExceeded(32)


def test_tokens_are_limited() -> None:
    used = Usage(input_tokens=60, output_tokens=40)
    script = [calling(call(a=number, b=1), usage=used) for number in range(5)]
    outcome, _, _ = play(*script, limits=Limits(max_tokens=200))
    assert outcome.finish == TokenBudgetExceeded(200, 200)
    assert outcome.steps == 2
    assert outcome.usage.input_tokens == 120
    assert not unanswered(outcome.transcript)


def test_cost_is_limited() -> None:
    script = [calling(call(a=number, b=1), usage=Usage(cost_usd=0.2)) for number in range(5)]
    outcome, _, _ = play(*script, limits=Limits(max_cost_usd=0.5))
    assert isinstance(outcome.finish, CostBudgetExceeded)
    assert outcome.finish.cost_usd == pytest.approx(0.6)
    assert "not carried out" in results(outcome)[-1].text


def test_an_answer_that_was_paid_for_is_not_thrown_away() -> None:
    outcome, _, _ = play(Completion.answer("dear", usage=Usage(cost_usd=9.0)), limits=Limits(max_cost_usd=0.5))
    assert outcome.finish == NoMoreToolCalls()


def test_an_unknown_cost_is_none_and_a_limit_that_cannot_be_applied_says_so_once() -> None:
    script = [calling(call(a=number, b=1), usage=Usage(1, 1)) for number in range(2)]
    outcome, watch, _ = play(*script, Completion.answer("ok", usage=Usage(1, 1)), limits=Limits(max_cost_usd=0.5))
    assert outcome.usage.cost_usd is None
    assert outcome.usage.to_json()["cost_usd"] is None
    assert outcome.notes == ("the limit of 0.5 USD cannot be applied: the model does not name its price",)
    assert [event.note for event in watch.of(UsageUpdated)] == [outcome.notes[0], "", ""]


def test_one_unknown_cost_makes_the_total_unknown_and_what_is_known_still_counts() -> None:
    script = [
        calling(call(a=1, b=1), usage=Usage(cost_usd=0.3)),
        calling(call(a=2, b=1)),
        calling(call(a=3, b=1), usage=Usage(cost_usd=0.3)),
    ]
    outcome, _, _ = play(*script, limits=Limits(max_cost_usd=0.5))
    assert isinstance(outcome.finish, CostBudgetExceeded)
    assert outcome.usage.cost_usd is None
    assert outcome.usage.known_cost_usd == pytest.approx(0.6)


class Hanging:
    """A model that never answers; ``asked`` is set when it is asked."""

    def __init__(self, asked: asyncio.Event | None = None) -> None:
        self.asked = asked or asyncio.Event()

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


def test_the_wall_clock_ends_a_model_call() -> None:
    outcome = Agent(llm=Hanging(), limits=Limits(max_seconds=0.05)).run_sync("go")
    assert outcome.finish == WallClockExceeded(0.05)
    assert (outcome.steps, outcome.usage.calls) == (1, 1)


def test_the_wall_clock_ends_a_tool() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    outcome, _, _ = play(calling(call("slow")), tools=[tool("slow", forever)], limits=Limits(max_seconds=0.05))
    assert outcome.finish == WallClockExceeded(0.05)
    assert results(outcome)[0].text == "ERROR: interrupted; it may have taken effect (no answer within 0.05 s)"


def test_the_wall_clock_ends_a_run_that_never_waits() -> None:
    class Busy:
        async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
            time.sleep(0.002)  # noqa: ASYNC251 -- a provider that hogs the event loop is the point
            return calling(call(a=len(messages), b=1))

    limits = Limits(max_seconds=0.05, max_steps=10_000)
    assert Agent(llm=Busy(), tools=[ADD], limits=limits).run_sync("go").finish == WallClockExceeded(0.05)


# --- the model fails -------------------------------------------------------------------------------------------------


def test_a_provider_that_fails_ends_the_run_with_the_transcript() -> None:
    error = RuntimeError("overloaded")
    outcome, watch, _ = play(calling(call(a=1, b=1), text="on it"), error)
    assert outcome.finish == ProviderFailed(error)
    assert str(outcome.finish) == "the model could not be asked: overloaded"
    assert len(outcome.transcript) == 3
    assert (outcome.steps, outcome.usage.calls) == (2, 2)
    assert isinstance(watch.events[-1], Finished)


def test_a_script_that_is_too_short_is_a_failed_provider() -> None:
    outcome, _, _ = play()
    assert isinstance(outcome.finish, ProviderFailed)
    assert isinstance(outcome.finish.error, ScriptExhausted)


def test_a_provider_cannot_make_what_is_no_reply() -> None:
    class Odd:
        async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
            return Completion("", [ToolCall("1", None)])  # type: ignore[arg-type]  # the fault that is meant

    assert isinstance(Agent(llm=Odd()).run_sync("go").finish, ProviderFailed)


@pytest.mark.parametrize("reply", [None, "text", {"text": "x"}])
def test_a_provider_that_gives_something_else_has_failed(reply: Any) -> None:
    class Odd:
        async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Any:
            return reply

    outcome = Agent(llm=Odd()).run_sync("go")
    assert isinstance(outcome.finish, ProviderFailed)
    assert isinstance(outcome.finish.error, TypeError)


def test_a_provider_that_cancels_itself_has_failed() -> None:
    class Odd:
        async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
            raise asyncio.CancelledError

    assert isinstance(Agent(llm=Odd()).run_sync("go").finish, ProviderFailed)


# --- cancellation ----------------------------------------------------------------------------------------------------


async def cancelled_when(started: asyncio.Event, agent: Agent) -> AgentOutcome:
    task = asyncio.create_task(agent.run("go"))
    await started.wait()
    task.cancel()
    outcome = await task
    assert not task.cancelled()
    return outcome


def test_cancelling_during_a_model_call_gives_the_outcome() -> None:
    async def main() -> tuple[AgentOutcome, Watch]:
        watch, started = Watch(), asyncio.Event()
        outcome = await cancelled_when(started, Agent(llm=Hanging(started), on_event=watch))
        return outcome, watch

    outcome, watch = asyncio.run(main())
    assert outcome.finish == Cancelled()
    assert outcome.transcript == (Message.user("go"),)
    assert outcome.usage.calls == 1
    assert watch.names().count("Finished") == 1


@pytest.mark.parametrize("read_only", [True, False])
def test_cancelling_during_a_tool_gives_every_call_its_result(read_only: bool) -> None:
    async def main() -> AgentOutcome:
        started = asyncio.Event()

        async def forever(n: int) -> None:
            started.set()
            await asyncio.Event().wait()

        slow = tool("slow", forever, read_only=read_only)
        script = [calling(call("slow", n=1), call("slow", n=2), call("nothing"))]
        return await cancelled_when(started, Agent(llm=ScriptedProvider(script), tools=[slow]))

    outcome = asyncio.run(main())
    assert outcome.finish == Cancelled()
    texts = [result.text for result in results(outcome)]
    assert len(texts) == 3
    assert texts[0] == "ERROR: interrupted; it may have taken effect (cancelled)"
    assert texts[2] == "ERROR: not carried out (cancelled)"
    assert not unanswered(outcome.transcript)


def test_a_tool_that_swallows_the_cancellation_does_not_keep_the_run_alive() -> None:
    async def main() -> AgentOutcome:
        started = asyncio.Event()

        async def stubborn() -> str:
            started.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return "I carry on"

        script = [calling(call("stubborn")), Completion.answer("never asked")]
        return await cancelled_when(started, Agent(llm=ScriptedProvider(script), tools=[tool("stubborn", stubborn)]))

    outcome = asyncio.run(main())
    assert outcome.finish == Cancelled()
    assert outcome.steps == 1
    assert results(outcome)[0].text == "I carry on"


def test_after_a_cancellation_the_agent_goes_on() -> None:
    async def main() -> AgentOutcome:
        started = asyncio.Event()

        class Once:
            asked = 0

            async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
                self.asked += 1
                if self.asked == 1:
                    started.set()
                    await asyncio.Event().wait()
                return Completion.answer("back")

        agent = Agent(llm=Once())
        await cancelled_when(started, agent)
        return await agent.run()

    outcome = asyncio.run(main())
    assert outcome.final_text == "back"
    assert [message.text for message in outcome.transcript] == ["go", "back"]


def test_a_time_limit_around_the_run_gets_the_outcome() -> None:
    async def main() -> list[AgentOutcome]:
        async with asyncio.timeout(0.05):
            outcome = await Agent(llm=Hanging()).run("go")
        return [outcome, await asyncio.wait_for(Agent(llm=Hanging()).run("go"), 0.05)]

    assert [outcome.finish for outcome in asyncio.run(main())] == [Cancelled(), Cancelled()]


def test_ctrl_c_gives_the_outcome_and_leaves_nothing_behind() -> None:
    program = """
import asyncio, sys
from tumult_intelligence.agent_loop import Agent
class Hanging:
    async def complete(self, messages, tools):
        print("asked", flush=True)
        await asyncio.Event().wait()
outcome = Agent(llm=Hanging()).run_sync("go")
print(outcome.finish, len(outcome.transcript))
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "asked\n"
        os.kill(child.pid, signal.SIGINT)
        assert child.stdout.read() == "cancelled 1\n"
    assert child.returncode == 0


# --- going on with a transcript --------------------------------------------------------------------------------------


def test_an_interrupted_call_gets_a_result_that_says_so() -> None:
    transcript = [Message.user("go"), Message.assistant("", [call("add", "x", a=1, b=2)])]
    provider = ScriptedProvider([Completion.answer("3")])
    watch = Watch()
    outcome = Agent(llm=provider, tools=[ADD], transcript=transcript, on_event=watch).run_sync()
    result = outcome.transcript[2]
    assert (result.call_id, result.is_error) == ("x", True)
    assert "interrupted; it may have taken effect" in result.text
    assert provider.asked[0].messages == outcome.transcript[:3]
    assert watch.names(UsageUpdated) == ["ToolResultReady", "StepStarted", "AssistantText", "Finished"]
    assert len(transcript) == 2


def test_messages_survive_json() -> None:
    outcome, _, _ = play(calling(call(a=1, b=2), text="计算"), calling(call("no")), Completion.answer("3"))
    assert tuple(Message.from_json(message.to_json()) for message in outcome.transcript) == outcome.transcript


# --- nudges ----------------------------------------------------------------------------------------------------------


def malformed(text: str = "hm") -> Completion:
    return Completion(text, nudge=Nudge("Line 1: no JSON.", StuckKind.MALFORMED))


def test_two_malformed_replies_then_a_good_one() -> None:
    outcome, watch, provider = play(
        malformed(), malformed(), calling(call(a=1, b=1)), malformed(), Completion.answer("2")
    )
    assert outcome.finish == NoMoreToolCalls()
    assert provider.asked[1].messages[-1] == Message.user("Line 1: no JSON.")
    assert [(event.step, event.kind) for event in watch.of(Hint)] == [
        (1, "malformed"),
        (2, "malformed"),
        (4, "malformed"),
    ]
    assert outcome.usage.calls == 5


@pytest.mark.parametrize("kind", [StuckKind.MALFORMED, StuckKind.MONOLOGUE])
def test_three_replies_without_call_or_answer_end_the_run(kind: StuckKind) -> None:
    outcome, _, _ = play(*[Completion("well", nudge=Nudge("Answer in the form.", kind))] * 4)
    assert outcome.finish == Stuck(kind, "", 3)
    assert outcome.steps == 3


def test_calls_of_a_reply_that_is_nudged_are_not_run() -> None:
    reply = Completion("x", [call(a=1, b=1)], nudge=Nudge("No."))
    outcome, watch, _ = play(reply, Completion.answer("ok"))
    assert not watch.of(ToolCallStarted)
    assert not unanswered(outcome.transcript)


# --- observers and misuse --------------------------------------------------------------------------------------------


def test_observers_that_raise_never_harm_the_run(caplog: pytest.LogCaptureFixture) -> None:
    def broken(news: object) -> None:
        raise OSError("no space left")

    script = [calling(call(a=1, b=1), text="x"), Completion.answer("2")]
    with caplog.at_level(logging.WARNING):
        outcome = Agent(llm=ScriptedProvider(script), tools=[ADD], on_event=broken, on_message=broken).run_sync("go")
    assert outcome.finish == NoMoreToolCalls()
    assert len(outcome.transcript) == 4
    assert "no space left" in caplog.text


def test_every_message_is_told_as_it_is_recorded() -> None:
    heard: list[Message] = []
    script = [calling(call(a=1, b=1)), Completion.answer("2")]
    outcome = Agent(llm=ScriptedProvider(script), tools=[ADD], on_message=heard.append).run_sync("go")
    assert tuple(heard) == outcome.transcript


def test_finished_carries_the_outcome() -> None:
    outcome, watch, _ = play(Completion.answer("x"))
    assert watch.events[-1] == Finished(1, outcome)
    assert watch.of(AssistantText) == [AssistantText(1, "x")]


def test_misuse_raises() -> None:
    with pytest.raises(ConfigurationError, match="needs a model"):
        Agent()
    with pytest.raises(ConfigurationError, match="two tools are named 'add'"):
        Agent(llm=ScriptedProvider([]), tools=[ADD, ADD])
    with pytest.raises(ConfigurationError, match="no goal"):
        Agent(llm=ScriptedProvider([])).run_sync()
    with pytest.raises(ValueError, match="max_steps"):
        Limits(max_steps=0)


def test_there_is_no_second_event_loop_inside_one() -> None:
    async def main() -> None:
        with pytest.raises(ConfigurationError, match="await run"):
            Agent(llm=ScriptedProvider([])).run_sync("go")

    asyncio.run(main())


def test_one_agent_runs_once_at_a_time() -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = Agent(llm=Hanging(started))
        task = asyncio.create_task(agent.run("one"))
        await started.wait()
        with pytest.raises(ConfigurationError, match="running already"):
            await agent.run("two")
        task.cancel()
        assert (await task).finish == Cancelled()

    asyncio.run(main())


def test_importing_the_loop_costs_nothing_else() -> None:
    program = "import sys, tumult_intelligence.agent_loop; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )
    foreign = {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith("__editable__")}
    assert foreign <= {"tumult_intelligence", "attr", "attrs", "__main__", "__mp_main__", "_virtualenv"}


def test_an_observer_that_would_have_to_be_awaited_is_refused() -> None:
    async def observe(_news: object) -> None:
        raise AssertionError

    with pytest.raises(ConfigurationError, match="on_event is async"):
        Agent(llm=ScriptedProvider([]), on_event=observe)
    with pytest.raises(ConfigurationError, match="on_message is async"):
        Agent(llm=ScriptedProvider([]), on_message=observe)


def test_a_number_that_no_float_holds_is_an_argument_like_any_other() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}}
    tool = FunctionTool(ToolSpec("count", parameters=schema), str)
    script = [Completion.calling(ToolCall("", "count", {"n": 10**400})), Completion.answer("done")]
    outcome = Agent(llm=ScriptedProvider(script), tools=[tool]).run_sync("goal")
    assert outcome.finish == NoMoreToolCalls()
    assert "must be at most 5" in outcome.transcript[2].text


def test_no_call_begins_after_the_deadline_although_the_model_held_up_the_loop() -> None:
    class Blocking:
        async def complete(self, _messages: object, _tools: object) -> Completion:
            time.sleep(0.2)  # noqa: ASYNC251 -- this is the fault
            return Completion.calling(ToolCall("", "write"), ToolCall("", "write"))

    done: list[int] = []
    tool = FunctionTool(ToolSpec("write"), lambda: done.append(1))
    outcome = Agent(llm=Blocking(), tools=[tool], limits=Limits(max_seconds=0.1)).run_sync("goal")
    assert outcome.finish == WallClockExceeded(0.1)
    assert not done
    assert [message.is_error for message in outcome.transcript[2:]] == [True, True]


def test_a_call_that_held_up_the_loop_past_the_deadline_is_the_last() -> None:
    done: list[int] = []

    async def write() -> str:
        done.append(1)
        time.sleep(0.2)  # noqa: ASYNC251 -- this is the fault
        return "written"

    script = [Completion.calling(ToolCall("", "write"), ToolCall("", "write"))]
    agent = Agent(
        llm=ScriptedProvider(script), tools=[FunctionTool(ToolSpec("write"), write)], limits=Limits(max_seconds=0.1)
    )
    assert agent.run_sync("goal").finish == WallClockExceeded(0.1)
    assert done == [1]


def test_a_run_after_the_last_step_says_that_tools_are_on_again() -> None:
    tool = FunctionTool(ToolSpec("look"), lambda: "seen")
    model = ScriptedProvider([Completion.answer("one"), Completion.answer("two"), Completion.answer("three")])
    first = Agent(llm=model, tools=[tool], limits=Limits(max_steps=1)).run_sync("goal")
    later = Agent(llm=model, tools=[tool], transcript=first.transcript)
    later.run_sync("more")
    assert [message.text for message in model.asked[1].messages][-2:] == [TOOLS_ON, "more"]
    later.run_sync("again")
    assert [message.text for message in model.asked[2].messages].count(TOOLS_ON) == 1
