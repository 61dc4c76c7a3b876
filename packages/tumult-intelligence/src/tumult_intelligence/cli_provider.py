"""An installed agent CLI as a model for the agent loop."""

from __future__ import annotations

import re
import secrets as random
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Protocol

from attrs import evolve

from tumult_agent_cli._text import clean
from tumult_agent_cli.values import PromptRequest
from tumult_intelligence._call_reader import MalformedCall, Reading, read_calls
from tumult_intelligence._conversation_text import ConversationText
from tumult_intelligence._fences import split_lines
from tumult_intelligence._stray_calls import find_stray_call
from tumult_intelligence.agent_loop import Completion, Nudge, StuckKind, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.values import Answer, Progress
    from tumult_intelligence.agent_loop import Message, ToolSpec


class Runner(Protocol):
    """Asks an agent CLI one thing; ``tumult_agent_cli.run_prompt_async`` is one."""

    async def __call__(
        self,
        adapter: AgentCliAdapter,
        request: PromptRequest,
        *,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Answer:
        """Give the answer; raises AgentCliError."""


class AnswerForm(Protocol):
    """What an answer must look like, where not any text without a call is one."""

    @property
    def demand(self) -> str:
        """Say it to the model in a sentence."""

    def fits(self, text: str) -> bool:
        """Tell whether ``text`` has the form."""


class CliProvider:
    """Lets an agent CLI, which takes a text and gives a text, call tools: a model for one run of an agent.

    The conversation and the tools are written into one prompt for each call; calls are read out of the answer. A reply
    that was meant as a call and is none is never carried out: the model hears where it is wrong.

    Args:
        adapter: how to drive the CLI.
        runner: runs it; ``tumult_agent_cli.run_prompt_async``.
        request: model, time limits and the rest of each call; its prompt is replaced.
        answer_form: what an answer must look like; without one any text is an answer.
        secrets: values that are masked in every prompt.
        on_progress: told what the CLI does.
        nonce: letters and digits that nobody else knows; by default new for each provider.

    Attributes:
        model: that answered last, where the CLI says it.
        warnings: what a person must know of the calls so far, each once.
    """

    def __init__(
        self,
        adapter: AgentCliAdapter,
        runner: Runner,
        *,
        request: PromptRequest = PromptRequest(""),  # noqa: B008 -- frozen
        answer_form: AnswerForm | None = None,
        secrets: tuple[str, ...] = (),
        on_progress: Callable[[Progress], None] | None = None,
        nonce: str | None = None,
    ) -> None:
        self._adapter, self._runner, self._request, self._on_progress = adapter, runner, request, on_progress
        self._form = answer_form
        self._text = ConversationText(nonce or random.token_hex(6), answer_form.demand if answer_form else "", secrets)
        self.model: str | None = request.model
        self.warnings: list[str] = []

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Ask the CLI; raises AgentCliError."""
        max_bytes = self._adapter.capabilities.longest_prompt_bytes
        request = evolve(self._request, prompt=self._text.render(messages, tools, max_bytes))
        answer = await self._runner(self._adapter, request, on_progress=self._on_progress)
        self.model = answer.model or self.model
        self.warnings += [warning for warning in answer.warnings if warning not in self.warnings]
        usage = Usage(answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cost_usd)
        return evolve(self._read(clean(answer.text), tools), finish_reason=answer.stop_reason, usage=usage)

    def _read(self, reply: str, tools: Sequence[ToolSpec]) -> Completion:
        reply = _unwrapped(reply, self._text.nonce)
        try:
            reading = self._before_played_result(reply)
            if not reading.calls and (tools or self._form):
                self._refuse_stray(reply, tools)
        except MalformedCall as error:
            return self._malformed(reply, error, tools)
        if reading.calls or self._form is None or self._form.fits(reading.text):
            return Completion(reading.text, reading.calls)
        return Completion(reading.text, nudge=self._ask_for_answer(tools))

    def _before_played_result(self, reply: str) -> Reading:
        """Read up to a line that plays a result: what follows was said without knowing the real one.

        Raises:
            MalformedCall: as ``read_calls``; or calls follow, which rest on what was played.
        """
        lines = split_lines(reply)
        mark = re.compile(rf"</?result-{re.escape(self._text.nonce)}", re.IGNORECASE)
        played = next((number for number, line in enumerate(lines) if mark.search(line)), None)
        if played is None:
            return read_calls(reply, self._text.tag)
        if any(self._text.tag in line for line in lines[played:]):
            raise MalformedCall(played + 1, 1, "this plays the result of a call, and calls follow; write no results")
        return read_calls("\n".join(lines[:played]), self._text.tag)

    def _refuse_stray(self, reply: str, tools: Sequence[ToolSpec]) -> None:
        stray = find_stray_call(reply, self._text.tag, self._text.nonce, [spec.name for spec in tools])
        if stray is not None:
            raise stray

    def _malformed(self, reply: str, error: MalformedCall, tools: Sequence[ToolSpec]) -> Completion:
        text = f"Your call could not be read, and nothing was carried out. {error} {self._example(tools)}"
        # What follows may play a result, as after a call that can be read.
        before = reply.split("\n")[: error.line - 1]
        kept = "\n".join(takewhile(lambda line: self._text.nonce not in line, before)).strip()
        return Completion(kept, nudge=Nudge(text, StuckKind.MALFORMED))

    def _ask_for_answer(self, tools: Sequence[ToolSpec]) -> Nudge:
        demand = self._form.demand if self._form else ""
        text = f"Your reply holds neither a call nor an answer. {demand} {self._example(tools)}"
        return Nudge(text, StuckKind.MONOLOGUE)

    def _example(self, tools: Sequence[ToolSpec]) -> str:
        if not tools:
            return "Tools are off: no call is carried out now."
        return f"A call looks like this:\n\n{self._text.call_text([_example_call(tools[0])])}"


def _unwrapped(reply: str, nonce: str) -> str:
    """Take off the marks of an assistant's message, which models like to write around their own."""
    return reply.strip().removeprefix(f"<assistant-{nonce}>").removesuffix(f"</assistant-{nonce}>")


def _example_call(spec: ToolSpec) -> ToolCall:
    properties: dict[str, Any] = spec.parameters.get("properties", {})
    required = spec.parameters.get("required", [])
    return ToolCall("", spec.name, {name: _example_value(properties.get(name, {})) for name in required})


def _example_value(schema: dict[str, Any]) -> Any:
    by_type: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return schema["enum"][0] if schema.get("enum") else by_type.get(str(schema.get("type")), "…")
