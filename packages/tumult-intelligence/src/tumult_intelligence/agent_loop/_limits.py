"""What bounds a run."""

from __future__ import annotations

from attrs import field, frozen, validators

_positive = validators.optional(validators.gt(0))


@frozen
class StuckLimits:
    """When a run counts as stuck; the hint comes one repetition before.

    Attributes:
        same_failure: the same failing call in a row.
        same_result: the same call with the same result in a row.
        polled: both of them, and rounds of a cycle, for tools that are polled on purpose.
        cycle_rounds: rounds of a cycle of two to four calls.
        window: how many last results ``errors`` and ``errors_hint`` look at.
        errors: so many errors among them.
        errors_hint: so many errors among them bring the hint.
        nudges: replies in a row with neither a call nor an answer.
    """

    same_failure: int = field(default=3, validator=validators.ge(3))
    same_result: int = field(default=4, validator=validators.ge(3))
    polled: int = field(default=20, validator=validators.ge(3))
    cycle_rounds: int = field(default=3, validator=validators.ge(3))
    window: int = field(default=10, validator=validators.ge(2))
    errors: int = field(default=8, validator=validators.ge(2))
    errors_hint: int = field(default=6, validator=validators.ge(1))
    nudges: int = field(default=3, validator=validators.ge(1))


@frozen
class Limits:
    """The bounds of one run; None means no bound.

    Attributes:
        max_steps: model calls.
        max_seconds: wall time; a model call or tool that is running then is cancelled.
        max_tokens: tokens in and out, as far as the model says them; checked after each call.
        max_cost_usd: price, as far as the model says it; checked after each call.
        max_parallel_tools: read-only tools that run at the same time.
        max_result_chars: a longer tool result keeps its head and its tail.
    """

    max_steps: int = field(default=32, validator=validators.ge(1))
    max_seconds: float | None = field(default=None, validator=_positive)
    max_tokens: int | None = field(default=None, validator=_positive)
    max_cost_usd: float | None = field(default=None, validator=_positive)
    max_parallel_tools: int = field(default=4, validator=validators.ge(1))
    max_result_chars: int = field(default=16_000, validator=validators.ge(200))
    stuck: StuckLimits = StuckLimits()
