"""What the history says: which actions were ever tried, which experiments fail, alternate, or were left lying.

Coverage is by what was executed, (plugin, function), whatever its author called the step and whichever kind of provider
ran it: a script plugin that became a Python plugin of the same name keeps its coverage.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_core._text import mask, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_core.catalog import Catalog, Function
    from tumult_core.store.values import ActionHistory, ExperimentHistory, History

NS_PER_DAY = 86_400 * 10**9
STALE_AFTER_DAYS = 30
ACTION = "action"
MAX_ERROR = 2000


class Coverage(StrEnum):
    """How far an action was tried."""

    UNTESTED = "untested"
    ONLY_FAILED = "only failed"
    TESTED = "tested"


@frozen
class ActionSignal:
    """What is known of one action.

    Attributes:
        kinds: provider kinds that executed it, or that the catalog brings it as; sorted.
        installed: the catalog has it.
        days_since: whole days since its last run; None where it never ran.
        last_error: of its last failure; None where there was none.
    """

    plugin: str
    function: str
    kinds: tuple[str, ...]
    coverage: Coverage
    runs: int = 0
    succeeded: int = 0
    installed: bool = False
    last_run_ns: int | None = None
    days_since: int | None = None
    last_error: str | None = None

    @property
    def name(self) -> str:
        """Give plugin and function."""
        return f"{self.plugin}/{self.function}"


@frozen
class ExperimentSignal:
    """What is known of the runs of one experiment.

    Attributes:
        failing: one of its recent runs did not complete.
        flaky: its outcome changed at least twice, and on at least every third of its runs.
        stale: its last run is longer ago than the limit.
        days_since: whole days since its last run.
        actions: the (provider kind, plugin, function) of the method of its last run.
    """

    title: str
    tags: tuple[str, ...]
    runs: int
    not_completed: int
    recent_runs: int
    recent_not_completed: int
    flips: int
    failing: bool
    flaky: bool
    stale: bool
    days_since: int
    last_run_ns: int
    last_status: str
    last_error: str | None
    actions: tuple[tuple[str, str, str], ...]
    experiment_sha256: str = ""


@frozen
class Signals:
    """Everything that ranking, report and prompt know of the past. Actions and experiments are in name order.

    Attributes:
        now_ns: the time that days are counted to, epoch nanoseconds.
        stale_after_days: the limit that was used.
        runs, activity_rows: how much was recorded.
        notes: what the store had to say.
        store_problem: why the history could not be read; None where it was read.
        store_advice: what to do about it.
    """

    now_ns: int
    stale_after_days: int = STALE_AFTER_DAYS
    runs: int = 0
    activity_rows: int = 0
    actions: tuple[ActionSignal, ...] = ()
    experiments: tuple[ExperimentSignal, ...] = ()
    notes: tuple[str, ...] = ()
    store_problem: str | None = None
    store_advice: str = ""

    def with_coverage(self, coverage: Coverage) -> tuple[ActionSignal, ...]:
        """Give the installed actions that were tried so far and no further."""
        return tuple(action for action in self.actions if action.installed and action.coverage is coverage)

    @property
    def installed_actions(self) -> int:
        """Count the actions of the catalog."""
        return sum(action.installed for action in self.actions)


def derive_signals(
    history: History,
    catalog: Catalog,
    *,
    now_ns: int,
    stale_after_days: int = STALE_AFTER_DAYS,
    store_problem: str | None = None,
    store_advice: str = "",
) -> Signals:
    """Join what was executed with what could be."""
    return Signals(
        now_ns=now_ns,
        stale_after_days=stale_after_days,
        runs=history.runs,
        activity_rows=history.activity_rows,
        actions=tuple(_actions(history.actions, catalog, now_ns)),
        experiments=tuple(_experiment(found, now_ns, stale_after_days) for found in history.experiments),
        notes=history.notes,
        store_problem=store_problem,
        store_advice=store_advice,
    )


def days_between(earlier_ns: int, now_ns: int) -> int:
    """Give whole days, rounded down; a clock that went backwards gives 0."""
    return max(0, (now_ns - earlier_ns) // NS_PER_DAY)


def _actions(executed: Iterable[ActionHistory], catalog: Catalog, now_ns: int) -> Iterable[ActionSignal]:
    actions = [function for function in catalog.functions() if function.activity_type == ACTION]
    canonical = {(each.plugin, alias): each.name for each in actions for alias in each.aliases}
    runs: dict[tuple[str, str], list[ActionHistory]] = {}
    for action in executed:
        if action.plugin:  # a process or http step has no plugin, and no catalog to be covered
            name = canonical.get((action.plugin, action.function), action.function)
            runs.setdefault((action.plugin, name), []).append(action)
    functions: dict[tuple[str, str], list[Function]] = {}
    for function in actions:
        functions.setdefault((function.plugin, function.name), []).append(function)
    for key in sorted(runs.keys() | functions.keys()):
        yield _action(key, runs.get(key, []), functions.get(key, []), now_ns)


def _action(
    key: tuple[str, str], executed: list[ActionHistory], functions: list[Function], now_ns: int
) -> ActionSignal:
    kinds = {each.provider_kind for each in executed} | {str(each.kind) for each in functions}
    latest = max(executed, key=lambda each: (each.last_run_ns, each.provider_kind), default=None)
    failed = [each for each in executed if each.last_error is not None]
    last_failed = max(failed, key=lambda each: (each.last_run_ns, each.provider_kind), default=None)
    succeeded = sum(each.succeeded for each in executed)
    runs = sum(each.runs for each in executed)
    return ActionSignal(
        plugin=key[0],
        function=key[1],
        kinds=tuple(sorted(kinds)),
        coverage=Coverage.TESTED if succeeded else Coverage.ONLY_FAILED if runs else Coverage.UNTESTED,
        runs=runs,
        succeeded=succeeded,
        installed=bool(functions),
        last_run_ns=latest.last_run_ns if latest else None,
        days_since=days_between(latest.last_run_ns, now_ns) if latest else None,
        last_error=_said(last_failed.last_error) if last_failed else None,
    )


def _experiment(found: ExperimentHistory, now_ns: int, stale_after_days: int) -> ExperimentSignal:
    days = days_between(found.last_run_ns, now_ns)
    return ExperimentSignal(
        title=found.title,
        tags=found.tags,
        runs=found.runs,
        not_completed=found.not_completed,
        recent_runs=found.recent_runs,
        recent_not_completed=found.recent_not_completed,
        flips=found.flips,
        failing=found.recent_not_completed > 0,
        flaky=found.flips >= 2 and 3 * found.flips >= found.runs - 1,  # noqa: PLR2004 - the definition, see the class
        stale=days >= stale_after_days,
        days_since=days,
        last_run_ns=found.last_run_ns,
        last_status=found.last_status,
        last_error=_said(found.last_error),
        actions=found.actions,
        experiment_sha256=found.experiment_sha256,
    )


def _said(error: str | None) -> str | None:
    """Give an error on one line, bounded and masked: it is what some program printed."""
    return None if error is None else mask(one_line(error, MAX_ERROR))
