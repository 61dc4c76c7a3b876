"""Why a run ended: data, never an exception."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from attrs import frozen


def said(error: BaseException) -> str:
    """Give what an error says; one from outside may fail at that too."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 -- its text is lost, the run is not
        return "(its text cannot be had)"


class StuckKind(StrEnum):
    """How a run goes round in circles."""

    SAME_FAILURE = "same failing call"
    SAME_RESULT = "same call, same result"
    CYCLE = "cycle"
    MOSTLY_ERRORS = "mostly errors"
    MONOLOGUE = "monologue"
    MALFORMED = "malformed"


@frozen
class NoMoreToolCalls:
    """The model answered: it asked for nothing more."""

    reason: ClassVar[str] = "no-more-tool-calls"

    def __str__(self) -> str:
        """Say it to a person."""
        return "answered"


@frozen
class ProviderStop:
    """The provider ended the reply for another reason than its end, such as its length; the answer is not whole."""

    provider_reason: str
    reason: ClassVar[str] = "provider-stop"

    def __str__(self) -> str:
        """Say it to a person."""
        return f"the model stopped: {self.provider_reason}"


@frozen
class ProviderFailed:
    """The model could not be asked; ``error`` is what the provider raised."""

    error: Exception
    reason: ClassVar[str] = "provider-failed"

    def __str__(self) -> str:
        """Say it to a person."""
        return f"the model could not be asked: {said(self.error) or type(self.error).__name__}"


@frozen
class BudgetExceeded:
    """All ``steps`` model calls were made, and the last reply was no answer."""

    steps: int
    reason: ClassVar[str] = "budget-exceeded"

    def __str__(self) -> str:
        """Say it to a person."""
        return f"no answer within {self.steps} steps"


@frozen
class WallClockExceeded:
    """The limit of ``seconds`` passed."""

    seconds: float
    reason: ClassVar[str] = "wall-clock-exceeded"

    def __str__(self) -> str:
        """Say it to a person."""
        return f"no answer within {self.seconds:g} s"


@frozen
class TokenBudgetExceeded:
    """At least ``tokens`` were used, which reaches ``limit``."""

    tokens: int
    limit: int
    reason: ClassVar[str] = "token-budget-exceeded"

    def __str__(self) -> str:
        """Say it to a person."""
        return f"{self.tokens} tokens used, the limit is {self.limit}"


@frozen
class CostBudgetExceeded:
    """At least ``cost_usd`` were spent, which reaches ``limit_usd``."""

    cost_usd: float
    limit_usd: float
    reason: ClassVar[str] = "cost-budget-exceeded"

    def __str__(self) -> str:
        """Say it to a person."""
        return f"{self.cost_usd:.4f} USD spent, the limit is {self.limit_usd:g} USD"


@frozen
class Stuck:
    """The run went round in circles.

    Attributes:
        call: the tool that was called, those of a cycle joined by arrows; empty for replies without a call.
        repeats: how many calls, rounds, errors or replies there were.
    """

    kind: StuckKind
    call: str = ""
    repeats: int = 0
    reason: ClassVar[str] = "stuck"

    def __str__(self) -> str:
        """Say it to a person."""
        call = f" ({self.call})" if self.call else ""
        return f"stuck: {self.kind}{call}, {self.repeats} times"


@frozen
class Cancelled:
    """The task that ran it was cancelled."""

    reason: ClassVar[str] = "cancelled"

    def __str__(self) -> str:
        """Say it to a person."""
        return "cancelled"


Finish = (
    NoMoreToolCalls
    | ProviderStop
    | ProviderFailed
    | BudgetExceeded
    | WallClockExceeded
    | TokenBudgetExceeded
    | CostBudgetExceeded
    | Stuck
    | Cancelled
)

_GOOD_REASONS = frozenset({None, "stop", "end_turn"})


def finish_of(provider_reason: str | None) -> Finish:
    """Judge the provider's own reason of a reply without calls: a reply that was cut is not success."""
    return NoMoreToolCalls() if provider_reason in _GOOD_REASONS else ProviderStop(str(provider_reason))
