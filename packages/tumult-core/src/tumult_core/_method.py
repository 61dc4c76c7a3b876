"""Perform the method: background steps beside the foreground ones, which keep their order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tumult_core._perform import Setting, perform
from tumult_core.journal import ActivityResult, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_core._cancellation import Cancellation
    from tumult_core.experiment import Activity


def run_method(
    steps: Sequence[Activity], setting: Setting, cancellation: Cancellation, max_concurrent: int | None
) -> tuple[ActivityResult, ...]:
    """Perform every step, also after one that fails, and give the results in the order of the document.

    Background steps start at once, at most ``max_concurrent`` of them at a time; the method ends when they have ended.
    """

    def perform_one(step: Activity) -> ActivityResult:
        return perform(step, Phase.METHOD, setting, cancellation)

    background = [step for step in steps if step.background]
    workers = min(max_concurrent or len(background), len(background)) or 1
    with ThreadPoolExecutor(workers, thread_name_prefix="tumult-background") as pool:
        futures = {id(step): pool.submit(perform_one, step) for step in background}
        results = {id(step): perform_one(step) for step in steps if not step.background}
    return tuple(futures[id(step)].result() if step.background else results[id(step)] for step in steps)
