"""Send what the gate refused back to the model, through the agent loop, until it passes or the rounds are used up.

A round is one model call. The model mends a proposal by calling ``propose_experiment``, whose error is the gate's; one
that just answers with ``toon`` fences again is understood too.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from tumult_intelligence._proposal_text import DOCUMENT_ARGUMENTS, TOOL_NAME, document_in, reasons
from tumult_intelligence.agent_loop import (
    Agent,
    Cancelled,
    Completion,
    Limits,
    Message,
    ToolCall,
    ToolError,
    ToolSpec,
    TotalUsage,
)
from tumult_intelligence.answer import Block, parse_answer
from tumult_intelligence.gate import Passed, Rejected, check_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tumult_core.catalog import Catalog
    from tumult_intelligence.agent_loop import LlmProvider

TOOL = ToolSpec(
    name=TOOL_NAME,
    description="Give a mended experiment in place of a proposal that was rejected. It is checked at once.",
    parameters={
        "type": "object",
        "properties": {
            "proposal": {"type": "integer", "description": "the number of the rejected proposal"},
            **DOCUMENT_ARGUMENTS,
        },
        "required": ["proposal"],
        "additionalProperties": False,
    },
)


@frozen
class Repaired:
    """What became of the proposals.

    Attributes:
        verdicts: one for each proposal, in order.
        rounds: index of a proposal that was sent back -> the round in which it passed, or the last one.
        steps: model calls.
        finish: why it ended, in words.
    """

    verdicts: tuple[Passed | Rejected, ...]
    rounds: Mapping[int, int] = field(factory=dict)
    usage: TotalUsage = field(factory=TotalUsage)
    steps: int = 0
    finish: str = ""


async def repair(
    model: LlmProvider,
    question: str,
    answer: str,
    verdicts: Sequence[Passed | Rejected],
    catalog: Catalog,
    *,
    rounds: int,
) -> Repaired:
    """Have the rejected proposals of ``answer`` mended in at most ``rounds`` model calls."""
    desk = Desk(catalog, {verdict.index: verdict for verdict in verdicts})
    if rounds < 1 or not desk.pending:
        return Repaired(tuple(verdicts))
    sent_back = [verdict.index for verdict in desk.pending]
    asked = _Rounds(model, desk, rounds)
    agent = Agent(
        llm=asked,
        tools=[desk],
        limits=Limits(max_steps=rounds + 2),  # the step that says that it is the last is never the model's
        transcript=[Message.user(question), Message.assistant(answer)],
    )
    outcome = await agent.run(_complaint(desk.pending, rounds))
    if isinstance(outcome.finish, Cancelled):
        raise asyncio.CancelledError
    return Repaired(
        verdicts=tuple(desk.verdicts[index] for index in sorted(desk.verdicts)),
        rounds={index: desk.mended.get(index, asked.used) for index in sent_back},
        usage=asked.usage,
        steps=asked.used,
        finish=str(outcome.finish),
    )


@define
class Desk:
    """Takes mended proposals, as the tool that the model calls; keeps the verdicts."""

    catalog: Catalog
    verdicts: dict[int, Passed | Rejected]
    mended: dict[int, int] = field(factory=dict)
    round: int = 0

    @property
    def spec(self) -> ToolSpec:
        """Say what the tool is."""
        return TOOL

    @property
    def pending(self) -> tuple[Rejected, ...]:
        """Give what is still rejected and could be mended, in order."""
        rejected = (each for _, each in sorted(self.verdicts.items()) if isinstance(each, Rejected))
        return tuple(each for each in rejected if each.mendable)

    @property
    def passed(self) -> tuple[Passed, ...]:
        """Give what passed, in order."""
        return tuple(each for _, each in sorted(self.verdicts.items()) if isinstance(each, Passed))

    async def execute(self, arguments: dict[str, Any]) -> str:
        """Judge a mended proposal.

        Raises:
            ToolError: it is refused, or was never rejected; says everything that is wrong.
        """
        index = arguments["proposal"]
        known = [each.index for each in self.pending]
        if index not in known:
            raise ToolError(f"proposal {index} is not rejected; rejected: {', '.join(map(str, known)) or 'none'}")
        verdict = check_block(Block(index, document_in(arguments), line=1), self.catalog, self.passed)
        self.verdicts[index] = verdict
        if isinstance(verdict, Rejected):
            raise ToolError(reasons(verdict))
        self.mended[index] = self.round
        return (
            f"proposal {index} passed; still rejected: {', '.join(str(each.index) for each in self.pending) or 'none'}"
        )


@define
class _Rounds:
    """A model that is asked at most ``limit`` times, and not at all once nothing is rejected any more."""

    model: LlmProvider
    desk: Desk
    limit: int
    used: int = 0
    usage: TotalUsage = field(factory=TotalUsage)

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        if not self.desk.pending or self.used >= self.limit:
            return Completion.answer("")
        self.used += 1
        self.desk.round = self.used
        started = asyncio.get_running_loop().time()
        reply = Completion()
        try:
            reply = await self.model.complete(messages, tools)
        finally:
            self.usage = self.usage.plus(reply.usage, asyncio.get_running_loop().time() - started)
        return reply if reply.tool_calls or reply.nudge else self._with_fences_as_calls(reply)

    def _with_fences_as_calls(self, reply: Completion) -> Completion:
        blocks = parse_answer(reply.text).blocks
        calls = tuple(_calls(blocks, self.desk))
        return evolve(reply, tool_calls=calls, finish_reason="tool_calls") if calls else reply


def _calls(blocks: Iterable[Block], desk: Desk) -> Iterable[ToolCall]:
    """Match fences to rejected proposals: by title, else in order; what passed before and is sent again is left out."""
    open_indexes = [each.index for each in desk.pending]
    titles = {each.title: each.index for each in desk.pending if each.title}
    for block in blocks:
        verdict = check_block(block, desk.catalog)
        if not open_indexes or _is_known(verdict, desk.passed) or not block.terminated:
            continue
        index = titles.get(verdict.title, open_indexes[0])
        index = index if index in open_indexes else open_indexes[0]
        open_indexes.remove(index)
        yield ToolCall("", TOOL.name, {"proposal": index, "toon": block.text})


def _is_known(verdict: Passed | Rejected, passed: Iterable[Passed]) -> bool:
    return isinstance(verdict, Passed) and verdict.substance in {other.substance for other in passed}


def _complaint(pending: Sequence[Rejected], rounds: int) -> str:
    wrong = "\n\n".join(reasons(each, with_text=True) for each in pending)
    return (
        f"These proposals were rejected by the gate; the others passed. Mend each with the tool {TOOL.name}, and change"
        f" nothing but what is wrong. You have {rounds} replies; all mended proposals fit into one. Give up on one that"
        f" cannot be mended.\n\n{wrong}"
    )
