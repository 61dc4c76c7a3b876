"""The agent: a model, tools and limits, and the conversation that they have had."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING

from tumult_intelligence.agent_loop._limits import Limits
from tumult_intelligence.agent_loop._record import Record
from tumult_intelligence.agent_loop._run import Run
from tumult_intelligence.agent_loop._tools import ConfigurationError, ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tumult_intelligence.agent_loop._events import AgentOutcome, Event
    from tumult_intelligence.agent_loop._messages import Message
    from tumult_intelligence.agent_loop._model import LlmProvider
    from tumult_intelligence.agent_loop._tools import Tool


class Agent:
    """Pursues goals with a model and tools, one run at a time; its only state is its transcript.

    Args:
        llm: the model.
        tools: what it may call, each name once; a ``ToolRegistry`` or the tools themselves.
        system_prompt: stands before the conversation in every model call; it is no part of the transcript.
        limits: of each run.
        on_event: told of every event, in order. What it raises is logged and does no harm.
        on_message: told of every message as it joins the transcript. What it raises is logged and does no harm.
        transcript: a conversation to continue; a call without a result gets one that says so.

    Raises:
        ConfigurationError: there is no model, two tools have one name, or an observer is async.
    """

    def __init__(
        self,
        *,
        llm: LlmProvider | None = None,
        tools: ToolRegistry | Iterable[Tool] = (),
        system_prompt: str = "",
        limits: Limits = Limits(),  # noqa: B008 -- frozen
        on_event: Callable[[Event], object] | None = None,
        on_message: Callable[[Message], object] | None = None,
        transcript: Iterable[Message] = (),
    ) -> None:
        if llm is None:
            raise ConfigurationError("an agent needs a model: Agent(llm=…)")
        self._llm, self._system_prompt, self._limits = llm, system_prompt, limits
        self._tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        for name, observer in (("on_event", on_event), ("on_message", on_message)):
            if _is_async(observer):
                raise ConfigurationError(f"{name} is async, and nobody would await it: give a plain function")
        self._on_event, self._on_message = on_event, on_message
        self._transcript = list(transcript)
        self._running = False

    @property
    def transcript(self) -> tuple[Message, ...]:
        """Give the conversation so far."""
        return tuple(self._transcript)

    async def run(self, goal: str | None = None) -> AgentOutcome:
        """Pursue ``goal``, or, where it is None, go on where the transcript ends.

        Every end of a run is data in the outcome, a cancellation of the calling task too: it is settled here and the
        outcome says ``Cancelled``.

        Raises:
            ConfigurationError: there is nothing to go on with, or this agent is running already.
        """
        if goal is None and not self._transcript:
            raise ConfigurationError("there is no goal, and no transcript to go on with")
        if self._running:
            raise ConfigurationError(
                "this agent is running already; give each run at the same time an agent of its own"
            )
        self._running = True
        try:
            return await self._new_run().run(goal)
        finally:
            self._running = False

    def run_sync(self, goal: str | None = None) -> AgentOutcome:
        """Do the same from code that has no event loop; Ctrl-C gives the outcome ``Cancelled``."""
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise ConfigurationError("an event loop is running here: await run(…)")
        return asyncio.run(self.run(goal))

    def _new_run(self) -> Run:
        return Run(
            llm=self._llm,
            tools=self._tools,
            system_prompt=self._system_prompt,
            limits=self._limits,
            record=Record(self._transcript, self._on_event, self._on_message),
        )


def _is_async(observer: object) -> bool:
    return callable(observer) and any(map(inspect.iscoroutinefunction, (observer, type(observer).__call__)))
