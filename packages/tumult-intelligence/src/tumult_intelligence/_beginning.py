"""Where a run of an investigation begins: anew, or where its transcript ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from tumult_intelligence.agent_loop import NoMoreToolCalls
from tumult_intelligence.exceptions import InvestigationError
from tumult_intelligence.transcripts import Kept

if TYPE_CHECKING:
    from tumult_intelligence.agent_loop import Limits, TotalUsage


@frozen
class Beginning:
    """What a run goes out from.

    Attributes:
        goal: what is pursued.
        said: the goal, where the agent has not heard it yet; None goes on with the conversation.
        kept: what was before.
        steps, usage: what was spent on this goal before.
        limits: what is left of them.
    """

    goal: str
    said: str | None
    kept: Kept
    steps: int
    usage: TotalUsage
    limits: Limits


def begin(goal: str | None, limits: Limits, kept: Kept | None) -> Beginning:
    """Say where to begin; a new goal has the limits to itself, an old one what is left of them.

    Raises:
        InvestigationError: there is no goal, the transcript has its answer, or nothing is left of the limits.
    """
    if kept is None:
        kept = Kept(start={})
    if goal is not None:
        fresh = Kept(start={})
        return Beginning(goal, goal, kept, fresh.steps, fresh.usage, limits)
    old_goal = kept.start.get("goal")
    if not old_goal:
        raise InvestigationError("there is nothing to find out", hint="give a goal")
    if kept.finish == NoMoreToolCalls.reason:
        hint = "give a new goal to go on with the same conversation"
        raise InvestigationError("this investigation has its answer already", hint=hint)
    return Beginning(old_goal, kept.unsaid, kept, kept.steps, kept.usage, _left(limits, kept.steps, kept.usage))


def _left(limits: Limits, steps: int, usage: TotalUsage) -> Limits:
    max_tokens, max_cost = limits.max_tokens, limits.max_cost_usd
    used_up = [
        *([f"all {limits.max_steps} steps"] if steps >= limits.max_steps else []),
        *([f"all {max_tokens} tokens"] if max_tokens is not None and usage.known_tokens >= max_tokens else []),
        *([f"all {max_cost:g} USD"] if max_cost is not None and usage.known_cost_usd >= max_cost else []),
    ]
    if used_up:
        hint = "give it more with --max-steps, --max-tokens or --max-cost; they count from the goal on"
        raise InvestigationError(f"{' and '.join(used_up)} are used up", hint=hint)
    return evolve(
        limits,
        max_steps=limits.max_steps - steps,
        max_tokens=None if max_tokens is None else max_tokens - usage.known_tokens,
        max_cost_usd=None if max_cost is None else max_cost - usage.known_cost_usd,
    )
