"""What stands between the loop and a model: the question's form, the answer's, and what it cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from attrs import astuple, field, frozen
from attrs.validators import deep_iterable, instance_of, optional

from tumult_intelligence.agent_loop._finish import StuckKind
from tumult_intelligence.agent_loop._messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attrs import Attribute

    from tumult_intelligence.agent_loop._messages import Message
    from tumult_intelligence.agent_loop._tools import ToolSpec


def _is_count(_usage: Usage, attribute: Attribute[Any], value: object) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise TypeError(f"{attribute.name} is a number of tokens or None, not {value!r:.40}")


def _is_price(_usage: Usage, attribute: Attribute[Any], value: object) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 <= value < math.inf):  # type: ignore[operator]  # a number by then
        raise TypeError(f"{attribute.name} is US dollars or None, not {value!r:.40}")


@frozen
class Usage:
    """Tokens and price of one model call; None where the model does not say."""

    input_tokens: int | None = field(default=None, validator=_is_count)
    output_tokens: int | None = field(default=None, validator=_is_count)
    cost_usd: float | None = field(default=None, validator=_is_price)


@frozen
class TotalUsage:
    """What the model calls of a run took together.

    Attributes:
        calls: how many there were, failed and malformed ones too.
        known_input_tokens, known_output_tokens, known_cost_usd: sums over the calls that say; lower bounds.
        calls_without_tokens, calls_without_cost: how many do not say.
        seconds: time spent waiting for the model.
    """

    calls: int = 0
    known_input_tokens: int = 0
    known_output_tokens: int = 0
    known_cost_usd: float = 0.0
    calls_without_tokens: int = 0
    calls_without_cost: int = 0
    seconds: float = 0.0

    def plus(self, usage: Usage, seconds: float = 0.0) -> TotalUsage:
        """Add one call."""
        tokens_known = usage.input_tokens is not None and usage.output_tokens is not None
        return TotalUsage(
            calls=self.calls + 1,
            known_input_tokens=self.known_input_tokens + (usage.input_tokens or 0),
            known_output_tokens=self.known_output_tokens + (usage.output_tokens or 0),
            known_cost_usd=self.known_cost_usd + (usage.cost_usd or 0.0),
            calls_without_tokens=self.calls_without_tokens + (not tokens_known),
            calls_without_cost=self.calls_without_cost + (usage.cost_usd is None),
            seconds=self.seconds + seconds,
        )

    def __add__(self, other: TotalUsage) -> TotalUsage:
        """Add the calls of another run."""
        return TotalUsage(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @property
    def known_tokens(self) -> int:
        """Give the tokens that are known of, in and out."""
        return self.known_input_tokens + self.known_output_tokens

    @property
    def input_tokens(self) -> int | None:
        """Give the tokens sent; None when any call does not say."""
        return None if self.calls_without_tokens else self.known_input_tokens

    @property
    def output_tokens(self) -> int | None:
        """Give the tokens received; None when any call does not say."""
        return None if self.calls_without_tokens else self.known_output_tokens

    @property
    def cost_usd(self) -> float | None:
        """Give the price in US dollars; None when any call does not say."""
        return None if self.calls_without_cost else self.known_cost_usd

    def to_json(self) -> dict[str, int | float | None]:
        """Give calls, tokens, price and seconds as JSON data."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "seconds": round(self.seconds, 3),
        }


@frozen
class Nudge:
    """A reply that is neither a call nor an answer, and what the model should hear about it.

    Attributes:
        text: a short message to the model: what is wrong, where, and how it is done right.
        kind: what the run is called stuck for when such replies follow one another.
    """

    text: str
    kind: StuckKind = StuckKind.MONOLOGUE


@frozen
class Completion:
    """One reply of a model.

    Attributes:
        finish_reason: as the provider names it; None where it does not say.
        nudge: set when the provider asks for a form that this reply does not have; the run then goes on.
    """

    text: str = field(default="", validator=instance_of(str))
    tool_calls: tuple[ToolCall, ...] = field(
        default=(), converter=tuple[ToolCall, ...], validator=deep_iterable(instance_of(ToolCall))
    )
    finish_reason: str | None = field(default=None, validator=optional(instance_of(str)))
    usage: Usage = field(default=Usage(), validator=instance_of(Usage))
    nudge: Nudge | None = field(default=None, validator=optional(instance_of(Nudge)))

    @classmethod
    def answer(cls, text: str, *, usage: Usage = Usage()) -> Completion:
        """Give a reply that ends a run."""
        return cls(text, finish_reason="stop", usage=usage)

    @classmethod
    def calling(cls, *calls: ToolCall, text: str = "", usage: Usage = Usage()) -> Completion:
        """Give a reply that asks for tools."""
        return cls(text, calls, finish_reason="tool_calls", usage=usage)


class LlmProvider(Protocol):
    """A model."""

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Continue the conversation.

        Called once a step, never twice at the same time; ``messages`` begins with the system prompt where there is
        one, and no ``tools`` means that none may be called. Whatever it raises ends the run as ``ProviderFailed``.
        It must let a cancellation through.
        """
