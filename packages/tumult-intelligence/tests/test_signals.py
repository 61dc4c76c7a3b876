from __future__ import annotations

from typing import Any

from attrs import evolve

from tumult_core.catalog import Catalog, Function, Plugin, PluginKind
from tumult_core.store.values import ActionHistory, ExperimentHistory, History
from tumult_intelligence.signals import NS_PER_DAY, Coverage, Signals, days_between, derive_signals


def test_coverage_is_by_what_was_executed(history: History, catalog: Catalog, now_ns: int) -> None:
    signals = derive_signals(history, catalog, now_ns=now_ns)
    found = {action.name: (action.coverage, action.installed, action.runs) for action in signals.actions}

    assert found == {
        "acme.chaos/drain_node": (Coverage.ONLY_FAILED, False, 2),
        "tumult-db-redis/block-clients": (Coverage.ONLY_FAILED, True, 3),
        "tumult-db-redis/flush-all": (Coverage.UNTESTED, True, 0),
        "tumult-process/kill": (Coverage.UNTESTED, True, 0),
        "tumult-process/resume": (Coverage.UNTESTED, True, 0),
        "tumult-process/suspend": (Coverage.TESTED, True, 12),
    }


def test_probes_and_steps_without_a_plugin_are_no_coverage(history: History, catalog: Catalog, now_ns: int) -> None:
    names = {action.function for action in derive_signals(history, catalog, now_ns=now_ns).actions}

    assert not names & {"sh", "exists", "redis-ping"}


def test_a_plugin_keeps_its_coverage_when_it_is_written_anew_in_another_kind() -> None:
    function = Function("redis", "flush", PluginKind.NATIVE, "action")
    catalog = Catalog((Plugin("redis", PluginKind.NATIVE, "2", "", (function,), "x"),))
    history = History(actions=(ActionHistory("script", "redis", "flush", 2, 1, 0, None),))

    (action,) = derive_signals(history, catalog, now_ns=0).actions

    assert action.coverage is Coverage.TESTED
    assert action.kinds == ("native", "script")


def test_one_action_that_ran_in_two_kinds_counts_once() -> None:
    ran = (
        ActionHistory("native", "redis", "flush", 2, 0, 5 * NS_PER_DAY, "new"),
        ActionHistory("script", "redis", "flush", 3, 1, 2 * NS_PER_DAY, "old"),
    )

    (action,) = derive_signals(History(actions=ran), Catalog(), now_ns=7 * NS_PER_DAY).actions

    assert (action.runs, action.succeeded, action.days_since, action.last_error) == (5, 1, 2, "new")


def test_days_are_rounded_down_and_never_negative() -> None:
    assert days_between(0, NS_PER_DAY - 1) == 0
    assert days_between(0, NS_PER_DAY) == 1
    assert days_between(5 * NS_PER_DAY, 0) == 0


def experiment(**facts: Any) -> ExperimentHistory:
    plain = ExperimentHistory("x", "", (), 10, 0, 5, 0, 0, "completed", 0, None)
    return evolve(plain, **facts)


def signal_of(now_days: int = 0, **facts: Any) -> Signals:
    history = History(experiments=(experiment(**facts),))
    return derive_signals(history, Catalog(), now_ns=now_days * NS_PER_DAY)


def test_failing_is_a_recent_run_that_did_not_complete() -> None:
    assert signal_of(not_completed=1, recent_not_completed=1).experiments[0].failing
    assert not signal_of(not_completed=4, recent_not_completed=0).experiments[0].failing


def test_flaky_is_an_outcome_that_alternates() -> None:
    assert not signal_of(runs=10, flips=1).experiments[0].flaky
    assert signal_of(runs=3, flips=2).experiments[0].flaky
    assert signal_of(runs=10, flips=3).experiments[0].flaky
    assert not signal_of(runs=11, flips=3).experiments[0].flaky


def test_stale_begins_on_the_day_of_the_limit() -> None:
    assert not signal_of(now_days=29).experiments[0].stale
    assert signal_of(now_days=30).experiments[0].stale
    assert signal_of(now_days=30).experiments[0].days_since == 30


def test_it_counts_installed_actions(history: History, catalog: Catalog, now_ns: int) -> None:
    signals = derive_signals(history, catalog, now_ns=now_ns)

    assert signals.installed_actions == 5
    assert [action.name for action in signals.with_coverage(Coverage.ONLY_FAILED)] == ["tumult-db-redis/block-clients"]


def test_an_action_keeps_its_coverage_under_its_new_name() -> None:
    function = Function("redis", "flush", PluginKind.NATIVE, "action", aliases=("flush-all",))
    catalog = Catalog((Plugin("redis", PluginKind.NATIVE, "2", "", (function,), "x"),))
    history = History(actions=(ActionHistory("script", "redis", "flush-all", 2, 1, 0, None),))

    (action,) = derive_signals(history, catalog, now_ns=0).actions

    assert (action.function, action.coverage) == ("flush", Coverage.TESTED)
