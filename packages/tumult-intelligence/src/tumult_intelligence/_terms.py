"""The terms of a score, each between 0 and 1; docs/ranking.md derives them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tumult_core.catalog import Risk

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN_HARM = 0.5
_HARM = {Risk.LOW: 1 / 3, Risk.MEDIUM: 2 / 3, Risk.HIGH: 1.0}
_UNDO_KEEPS = 0.25


def novelty(runs: int, succeeded: int) -> float:
    """Give how little is known: the variance of the success rate, as a share of what it is before the first run.

    With a uniform prior (Laplace's rule of succession) the rate is Beta(s + 1, f + 1) after s successes and f failures,
    with variance (s + 1)(f + 1) / ((n + 2)² (n + 3)), and 1/12 before any run.
    """
    failed = runs - succeeded
    return 12 * (succeeded + 1) * (failed + 1) / ((runs + 2) ** 2 * (runs + 3))


def failure(runs: int, failed: int) -> float:
    """Give the failure rate that the runs bear out: the lower bound of Wilson's interval (1927) at one standard error.

    One failure of one run gives 0.5, five of five 0.83, one of a hundred 0.004: evidence counts, not the bare share.
    """
    if not failed:
        return 0.0
    rate = failed / runs
    margin = math.sqrt(rate * (1 - rate) / runs + 1 / (4 * runs**2))
    return (rate + 1 / (2 * runs) - margin) / (1 + 1 / runs)


def recent_failure(runs: int, failed: int, recent_runs: int, recent_failed: int) -> float:
    """Give the failure rate with the recent runs counted twice as much as all of them."""
    return (2 * failure(recent_runs, recent_failed) + failure(runs, failed)) / 3


def staleness(days: int, half_life_days: float) -> float:
    """Give how much of what was learned is out of date: half of it after each half-life."""
    return float(1 - 2 ** (-days / half_life_days))


def harm(risks: Iterable[Risk]) -> float:
    """Give the harm of the worst of the faults; where none is known, a half."""
    return max((_HARM[risk] for risk in risks), default=UNKNOWN_HARM)


def cost(harm_of_fault: float, *, undone: bool) -> float:
    """Give what a mistake costs: the harm, of which an undo that the catalog knows leaves a quarter."""
    return harm_of_fault * (_UNDO_KEEPS if undone else 1.0)
