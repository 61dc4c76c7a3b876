"""Undo what the method did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core._perform import Setting, perform
from tumult_core.journal import ActivityResult, ActivityStatus, Phase, RollbackStrategy, RunStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_core._cancellation import Cancellation
    from tumult_core.experiment import Activity

# A rollback that hangs must not keep the next one from running.
DEFAULT_TIMEOUT_S = 300.0


def due(strategy: RollbackStrategy, status: RunStatus, method: Sequence[ActivityResult]) -> bool:
    """Tell whether rollbacks must run.

    By default they do after anything but success; after an interrupt, once an action was started.
    """
    if strategy is not RollbackStrategy.ON_DEVIATION:
        return strategy is RollbackStrategy.ALWAYS
    if status is RunStatus.INTERRUPTED:
        return any(step.activity_type == "action" and step.status is not ActivityStatus.SKIPPED for step in method)
    return status is not RunStatus.COMPLETED


def run_rollbacks(rollbacks: Sequence[Activity], setting: Setting, abandon: Cancellation) -> tuple[ActivityResult, ...]:
    """Perform every rollback in order, also after one that fails; only ``abandon`` ends them before their time."""
    return tuple(
        perform(step, Phase.ROLLBACK, setting, abandon, default_timeout_s=DEFAULT_TIMEOUT_S) for step in rollbacks
    )
