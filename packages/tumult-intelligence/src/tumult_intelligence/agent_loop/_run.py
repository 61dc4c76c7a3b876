"""The loop: ask, act, record, until the model answers or a limit is reached."""

from __future__ import annotations

import asyncio
import time
from itertools import groupby
from typing import TYPE_CHECKING

from tumult_intelligence.agent_loop._events import Hint, StepStarted
from tumult_intelligence.agent_loop._execution import Result, execute, is_being_cancelled
from tumult_intelligence.agent_loop._finish import (
    BudgetExceeded,
    Cancelled,
    CostBudgetExceeded,
    ProviderFailed,
    Stuck,
    TokenBudgetExceeded,
    WallClockExceeded,
    finish_of,
    said,
)
from tumult_intelligence.agent_loop._messages import Message, Role
from tumult_intelligence.agent_loop._model import Completion, Usage
from tumult_intelligence.agent_loop._stuck import StuckDetector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_intelligence.agent_loop._events import AgentOutcome
    from tumult_intelligence.agent_loop._finish import Finish
    from tumult_intelligence.agent_loop._limits import Limits
    from tumult_intelligence.agent_loop._messages import ToolCall
    from tumult_intelligence.agent_loop._model import LlmProvider, Nudge
    from tumult_intelligence.agent_loop._record import Record
    from tumult_intelligence.agent_loop._tools import ToolRegistry, ToolSpec

LAST_STEP = "This is the last step, and tools are off. Answer now with what you have."
TOOLS_ON = "The work goes on: tools are on again."
# A signal or a deadline that came while the loop was blocked takes so many turns to the task that it cancels.
_TURNS = 5


class _End(Exception):
    """Leaves the loop from wherever a limit is noticed."""

    def __init__(self, finish: Finish) -> None:
        self.finish = finish


class Run:
    """One run of an agent."""

    def __init__(
        self, *, llm: LlmProvider, tools: ToolRegistry, system_prompt: str, limits: Limits, record: Record
    ) -> None:
        self._llm, self._tools, self._limits, self._record = llm, tools, limits, record
        self._preamble = (Message.system(system_prompt),) if system_prompt else ()
        self._detector = StuckDetector(limits.stuck)
        self._parallel = asyncio.Semaphore(limits.max_parallel_tools)
        self._stuck: Stuck | None = None
        self._nudges = 0

    async def run(self, goal: str | None) -> AgentOutcome:
        """Carry the run out; on every path each call has its result and ``Finished`` comes last."""
        finish: Finish = Cancelled()
        try:
            self._record.settle("the run before this one was interrupted")
            if self._tools.specs and self._limits.max_steps > 1 and _were_tools_off(self._record.transcript):
                self._record.tell("tools on", TOOLS_ON)
            if goal is not None:
                self._record.append(Message.user(goal))
            finish = await self._bounded()
        finally:
            outcome = self._record.finish(finish)
        return outcome

    async def _bounded(self) -> Finish:
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        try:
            async with asyncio.timeout(self._limits.max_seconds):
                return await self._steps()
        except _End as end:
            return end.finish
        except TimeoutError:
            return WallClockExceeded(self._limits.max_seconds or 0.0)
        except asyncio.CancelledError:
            # The caller asked for the end and gets it as data, so the request is settled.
            while task and task.cancelling() > before:
                task.uncancel()
            return Cancelled()

    async def _steps(self) -> Finish:
        """Ask, act, record: the loop itself."""
        for step in range(1, self._limits.max_steps + 1):
            await _checkpoint()
            self._record.step, last = step, step == self._limits.max_steps
            reply = await self._ask(last=last)
            calls = self._record.reply(reply)
            await _checkpoint()
            if reply.nudge is not None:
                self._nudge(reply.nudge)
            elif not calls:
                return finish_of(reply.finish_reason)
            else:
                self._nudges = 0
            self._check_spending()
            if not last:
                await self._act(calls)
            if self._stuck is not None:
                return self._stuck
        return BudgetExceeded(self._limits.max_steps)

    async def _ask(self, *, last: bool) -> Completion:
        record, specs = self._record, self._tools.specs
        record.emit(StepStarted(record.step, last=last))
        if last and specs:
            record.tell("last step", LAST_STEP)
        started, usage = time.monotonic(), Usage()
        try:
            reply = await self._complete((*self._preamble, *record.transcript), () if last else specs)
            usage = reply.usage
        finally:
            record.count(usage, time.monotonic() - started, self._limits)
        return reply

    async def _complete(self, messages: Sequence[Message], specs: Sequence[ToolSpec]) -> Completion:
        try:
            reply = await self._llm.complete(messages, specs)
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            raise _End(ProviderFailed(RuntimeError("the provider was cancelled from within"))) from error
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            problem = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {said(error)}")
            raise _End(ProviderFailed(problem)) from error
        if not isinstance(reply, Completion):
            raise _End(ProviderFailed(TypeError(f"the provider gave {type(reply).__name__}, not Completion")))
        return reply

    def _nudge(self, nudge: Nudge) -> None:
        self._nudges += 1
        self._record.tell(nudge.kind, nudge.text)
        if self._nudges >= self._limits.stuck.nudges:
            raise _End(Stuck(nudge.kind, repeats=self._nudges))

    def _check_spending(self) -> None:
        limits, usage = self._limits, self._record.usage
        if limits.max_tokens is not None and usage.known_tokens >= limits.max_tokens:
            raise _End(TokenBudgetExceeded(usage.known_tokens, limits.max_tokens))
        if limits.max_cost_usd is not None and usage.known_cost_usd >= limits.max_cost_usd:
            raise _End(CostBudgetExceeded(usage.known_cost_usd, limits.max_cost_usd))

    async def _act(self, calls: Sequence[ToolCall]) -> None:
        """Give every call its result, in order; read-only ones that stand side by side run side by side."""
        for read_only, group in groupby(calls, self._is_read_only):
            batch = list(group)
            if read_only and len(batch) > 1:
                await self._act_side_by_side(batch)
            else:
                for call in batch:
                    self._take(call, await self._execute(call))

    async def _act_side_by_side(self, calls: Sequence[ToolCall]) -> None:
        async with asyncio.TaskGroup() as tasks:
            running = [(call, tasks.create_task(self._execute(call))) for call in calls]
            for call, task in running:
                self._take(call, await task)

    def _is_read_only(self, call: ToolCall) -> bool:
        spec = self._tools.spec(call.name)
        return spec is not None and spec.read_only

    async def _execute(self, call: ToolCall) -> Result:
        async with self._parallel:
            await _checkpoint()
            self._record.begin(call)
            return await execute(call, self._tools, self._limits.max_result_chars)

    def _take(self, call: ToolCall, result: Result) -> None:
        """Record a result; a sign of being stuck is told to the model, or ends the run when the batch is done."""
        spec, step = self._tools.spec(call.name), self._record.step
        signs = self._detector.observe(call, spec, result.text, is_error=result.is_error, step=step)
        hints = [sign for sign in signs if sign.hint]
        text = "".join([result.text, *(f"\n\nHINT: {sign.hint}" for sign in hints)])
        self._record.answer(call, text, is_error=result.is_error)
        for sign in hints:
            self._record.emit(Hint(self._record.step, sign.stuck.kind, sign.hint))
        ends = (sign.stuck for sign in signs if not sign.hint)
        self._stuck = self._stuck or next(ends, None)


def _were_tools_off(transcript: Sequence[Message]) -> bool:
    """Tell whether the last that the model heard of its tools is that they are off."""
    notices = (message.text for message in reversed(transcript) if message.role is Role.USER)
    return next((text for text in notices if text in {LAST_STEP, TOOLS_ON}), "") == LAST_STEP


async def _checkpoint() -> None:
    """Let others run, and notice that the end was asked for, also by what a tool or a provider kept from the loop."""
    for _turn in range(_TURNS):
        await asyncio.sleep(0)
    if is_being_cancelled():
        raise asyncio.CancelledError
