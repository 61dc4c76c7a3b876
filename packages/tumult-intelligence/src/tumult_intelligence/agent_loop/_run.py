"""The loop: ask, act, record, until the model answers or a limit is reached."""

from __future__ import annotations

import asyncio
import logging
import time
from itertools import groupby
from typing import TYPE_CHECKING, Any

from attrs import evolve

from tumult_intelligence.agent_loop._events import (
    AgentOutcome,
    AssistantText,
    Finished,
    Hint,
    StepStarted,
    ToolCallStarted,
    ToolResultReady,
    UsageUpdated,
)
from tumult_intelligence.agent_loop._execution import Result, execute
from tumult_intelligence.agent_loop._finish import (
    BudgetExceeded,
    Cancelled,
    CostBudgetExceeded,
    ProviderFailed,
    Stuck,
    TokenBudgetExceeded,
    WallClockExceeded,
    finish_of,
)
from tumult_intelligence.agent_loop._messages import Message, unanswered
from tumult_intelligence.agent_loop._model import Completion, TotalUsage, Usage
from tumult_intelligence.agent_loop._stuck import StuckDetector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tumult_intelligence.agent_loop._events import Event
    from tumult_intelligence.agent_loop._finish import Finish
    from tumult_intelligence.agent_loop._limits import Limits
    from tumult_intelligence.agent_loop._messages import ToolCall
    from tumult_intelligence.agent_loop._model import LlmProvider, Nudge
    from tumult_intelligence.agent_loop._tools import ToolRegistry

_log = logging.getLogger(__name__)

LAST_STEP = "This is the last step, and tools are off. Answer now with what you have."


class _End(Exception):
    """Leaves the loop from wherever a limit is noticed."""

    def __init__(self, finish: Finish) -> None:
        self.finish = finish


class Run:
    """One run of an agent; ``transcript`` is the agent's own and grows."""

    def __init__(
        self,
        *,
        llm: LlmProvider,
        tools: ToolRegistry,
        system_prompt: str,
        limits: Limits,
        transcript: list[Message],
        on_event: Callable[[Event], object] | None,
        on_message: Callable[[Message], object] | None,
    ) -> None:
        self._llm, self._tools, self._limits, self._transcript = llm, tools, limits, transcript
        self._preamble = (Message.system(system_prompt),) if system_prompt else ()
        self._on_event, self._on_message = on_event, on_message
        self._detector = StuckDetector(limits.stuck)
        self._parallel = asyncio.Semaphore(limits.max_parallel_tools)
        self._stuck: Stuck | None = None
        self._step, self._nudges, self._final_text = 0, 0, ""
        self._usage, self._notes = TotalUsage(), list[str]()
        self._ids = {call.id for message in transcript for call in message.tool_calls}
        self._started: dict[str, float] = {}

    async def run(self, goal: str | None) -> AgentOutcome:
        """Carry the run out; ``Finished`` is emitted and every call has its result on every path."""
        finish: Finish = Cancelled()
        try:
            self._settle("the run was interrupted before")
            if goal is not None:
                self._append(Message.user(goal))
            finish = await self._bounded()
        finally:
            self._settle(str(finish))
            outcome = AgentOutcome(
                self._final_text, tuple(self._transcript), self._step, finish, self._usage, tuple(self._notes)
            )
            self._emit(Finished(self._step, outcome))
        return outcome

    async def _bounded(self) -> Finish:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine that runs has a task
        before = task.cancelling()
        try:
            async with asyncio.timeout(self._limits.max_seconds):
                return await self._steps(before)
        except _End as end:
            return end.finish
        except TimeoutError:
            return WallClockExceeded(self._limits.max_seconds or 0.0)
        except asyncio.CancelledError:
            # The caller asked for the end and gets it as data, so the request is settled.
            while task.cancelling() > before:
                task.uncancel()
            return Cancelled()

    async def _steps(self, cancellations: int) -> Finish:
        """Ask, act, record: the loop itself."""
        for step in range(1, self._limits.max_steps + 1):
            await _checkpoint(cancellations)
            self._step, last = step, step == self._limits.max_steps
            reply = await self._ask(last=last)
            if reply.nudge is not None:
                self._nudge(reply.nudge)
            elif not reply.tool_calls:
                return finish_of(reply.finish_reason)
            self._check_spending()
            if not last:
                await self._act(reply.tool_calls)
            if self._stuck is not None:
                return self._stuck
        return BudgetExceeded(self._step)

    async def _ask(self, *, last: bool) -> Completion:
        self._emit(StepStarted(self._step, last=last))
        if last and len(self._tools):
            self._tell("last step", LAST_STEP)
        started, usage = time.monotonic(), Usage()
        try:
            reply = await self._llm.complete((*self._preamble, *self._transcript), () if last else self._tools.specs)
            if not isinstance(reply, Completion):
                raise TypeError(f"the provider gave {type(reply).__name__}, not Completion")  # noqa: TRY301
            usage = reply.usage
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise _End(ProviderFailed(RuntimeError("the provider was cancelled from within"))) from None
        except Exception as error:
            raise _End(ProviderFailed(error)) from error
        finally:
            self._count(usage, time.monotonic() - started)
        return self._record_reply(reply)

    def _count(self, usage: Usage, seconds: float) -> None:
        self._usage = self._usage.plus(usage, seconds)
        note = self._unapplied_limit()
        if note:
            self._notes.append(note)
        self._emit(UsageUpdated(self._step, usage, self._usage, note))

    def _unapplied_limit(self) -> str:
        """Say, the first time, that a limit cannot be applied in full."""
        limits, usage = self._limits, self._usage
        if limits.max_cost_usd is not None and usage.calls_without_cost == 1:
            note = (
                f"the limit of {limits.max_cost_usd:g} USD cannot be applied: the model does not say what a call costs"
            )
        elif limits.max_tokens is not None and usage.calls_without_tokens == 1:
            note = f"the limit of {limits.max_tokens} tokens cannot be applied: the model does not say how many it uses"
        else:
            return ""
        return "" if note in self._notes else note

    def _record_reply(self, reply: Completion) -> Completion:
        calls = () if reply.nudge else reply.tool_calls
        reply = evolve(reply, tool_calls=[self._numbered(call) for call in calls])
        self._append(Message.assistant(reply.text, reply.tool_calls))
        if reply.text.strip():
            self._final_text = reply.text
            self._emit(AssistantText(self._step, reply.text))
        if reply.nudge is None:
            self._nudges = 0
        return reply

    def _numbered(self, call: ToolCall) -> ToolCall:
        """Make the call's id unique in the transcript."""
        number = len(self._ids) + 1
        while not call.id or call.id in self._ids:
            call, number = evolve(call, id=f"call-{number}"), number + 1
        self._ids.add(call.id)
        return call

    def _nudge(self, nudge: Nudge) -> None:
        self._nudges += 1
        self._tell(nudge.kind, nudge.text)
        if self._nudges >= self._limits.stuck.nudges:
            raise _End(Stuck(nudge.kind, repeats=self._nudges))

    def _check_spending(self) -> None:
        limits, usage = self._limits, self._usage
        if limits.max_tokens is not None and usage.known_tokens >= limits.max_tokens:
            raise _End(TokenBudgetExceeded(usage.known_tokens, limits.max_tokens))
        if limits.max_cost_usd is not None and usage.known_cost_usd >= limits.max_cost_usd:
            raise _End(CostBudgetExceeded(usage.known_cost_usd, limits.max_cost_usd))

    async def _act(self, calls: Sequence[ToolCall]) -> None:
        """Give every call its result, in order; read-only ones that stand side by side run side by side."""
        for together, group in groupby(calls, self._is_read_only):
            batch = list(group)
            if together and len(batch) > 1:
                async with asyncio.TaskGroup() as tasks:
                    running = [(call, tasks.create_task(self._execute(call))) for call in batch]
                    for call, task in running:
                        self._record_result(call, await task)
            else:
                for call in batch:
                    self._record_result(call, await self._execute(call))

    def _is_read_only(self, call: ToolCall) -> bool:
        spec = self._tools.spec(call.name)
        return spec is not None and spec.read_only

    async def _execute(self, call: ToolCall) -> Result:
        async with self._parallel:
            self._started[call.id] = time.monotonic()
            self._emit(ToolCallStarted(self._step, call))
            return await execute(call, self._tools, self._limits.max_result_chars)

    def _record_result(self, call: ToolCall, result: Result) -> None:
        sign = self._detector.observe(call, self._tools.spec(call.name), result.text, is_error=result.is_error)
        hint = sign.hint if sign else ""
        if sign and not hint:
            self._stuck = self._stuck or sign.stuck
        self._answer(call, f"{result.text}\n\nHINT: {hint}" if hint else result.text, is_error=result.is_error)
        if sign and hint:
            self._emit(Hint(self._step, sign.stuck.kind, hint))

    def _answer(self, call: ToolCall, text: str, *, is_error: bool) -> None:
        message = Message.result(call.id, text, is_error=is_error)
        self._append(message)
        seconds = time.monotonic() - self._started.get(call.id, time.monotonic())
        self._emit(ToolResultReady(self._step, call, message.text, is_error, seconds))

    def _settle(self, why: str) -> None:
        """Give each call that has no result one that says so."""
        for call in unanswered(self._transcript):
            begun = call.id in self._started or self._step == 0
            what = "interrupted; it may have taken effect" if begun else "not carried out"
            self._answer(call, f"{what} ({why})", is_error=True)

    def _tell(self, kind: str, text: str) -> None:
        self._append(Message.user(text))
        self._emit(Hint(self._step, kind, text))

    def _append(self, message: Message) -> None:
        self._transcript.append(message)
        if self._on_message is not None:
            _notify(self._on_message, message)

    def _emit(self, event: Event) -> None:
        if self._on_event is not None:
            _notify(self._on_event, event)


async def _checkpoint(cancellations: int) -> None:
    """Let others run, and notice a cancellation that a tool or a provider swallowed."""
    await asyncio.sleep(0)
    task = asyncio.current_task()
    if task is not None and task.cancelling() > cancellations:
        raise asyncio.CancelledError


def _notify(observer: Callable[[Any], object], news: object) -> None:
    try:
        observer(news)
    except Exception as error:  # noqa: BLE001 -- an observer never harms the run
        _log.warning("an observer failed on %s: %s: %s", type(news).__name__, type(error).__name__, error)
