from __future__ import annotations

from itertools import pairwise

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tumult_core.catalog import Catalog, Risk
from tumult_core.store.values import History
from tumult_intelligence import _terms
from tumult_intelligence.ranking import Kind, Ranking, rank
from tumult_intelligence.signals import derive_signals
from tumult_intelligence.weights import Tuning, Weights


@pytest.fixture
def ranking(history: History, catalog: Catalog, now_ns: int) -> Ranking:
    return rank(derive_signals(history, catalog, now_ns=now_ns), catalog, Tuning())


def names(ranking: Ranking) -> list[str]:
    return [found.candidate.name for found in ranking.ranked]


def test_candidates_are_what_is_untested_only_failed_failing_or_stale(ranking: Ranking) -> None:
    assert {(found.candidate.kind, found.candidate.name) for found in ranking.ranked} == {
        (Kind.UNTESTED_ACTION, "tumult-db-redis/flush-all"),
        (Kind.UNTESTED_ACTION, "tumult-process/kill"),
        (Kind.UNTESTED_ACTION, "tumult-process/resume"),
        (Kind.ONLY_FAILED_ACTION, "tumult-db-redis/block-clients"),
        (Kind.ONLY_FAILED_ACTION, "acme.chaos/drain_node"),
        (Kind.FAILING_EXPERIMENT, "Cache outage"),
        (Kind.FAILING_EXPERIMENT, "Now and then"),
        (Kind.STALE_EXPERIMENT, "Old worker pause"),
    }


def test_a_score_is_the_sum_of_its_terms(ranking: Ranking) -> None:
    for found in ranking.ranked:
        assert found.score == pytest.approx(sum(term.value * term.weight for term in found.terms), abs=5e-4)
        assert [term.name for term in found.terms] == [
            "novelty", "failure", "staleness", "relevance", "reach", "cost", "readiness",
        ]  # fmt: skip
        assert all(0 <= term.value <= 1 for term in found.terms)


def test_ranks_follow_scores_and_ties_go_by_name(ranking: Ranking) -> None:
    assert [found.rank for found in ranking.ranked] == list(range(1, 9))
    for better, worse in pairwise(ranking.ranked):
        assert (-better.score, better.candidate.kind, better.candidate.name) < (
            -worse.score, worse.candidate.kind, worse.candidate.name,
        )  # fmt: skip


def test_equal_candidates_are_in_name_order(catalog: Catalog) -> None:
    plugin = catalog.plugins[1]
    twins = tuple(evolve(plugin.functions[0], name=name) for name in ("zap", "bang", "pow"))
    catalog = Catalog((evolve(plugin, functions=twins),))

    found = rank(derive_signals(History(), catalog, now_ns=0), catalog, Tuning())

    assert names(found) == ["tumult-process/bang", "tumult-process/pow", "tumult-process/zap"]


def test_the_goal_moves_what_it_names_to_the_front(history: History, catalog: Catalog, now_ns: int) -> None:
    signals = derive_signals(history, catalog, now_ns=now_ns)

    def first(goal: str) -> str:
        return names(rank(signals, catalog, Tuning(), goal))[0]

    assert first("survive a flush of redis") == "tumult-db-redis/flush-all"
    assert first("killing processes") == "tumult-process/kill"
    assert first("old worker pauses") == "Old worker pause"
    assert first("cache") == "Cache outage"
    assert first("Redis-Clients BLOCKED?") in {"tumult-db-redis/block-clients", "Cache outage"}


def test_words_of_the_goal_that_nothing_has_are_told_and_move_nothing(
    history: History, catalog: Catalog, now_ns: int, ranking: Ranking
) -> None:
    signals = derive_signals(history, catalog, now_ns=now_ns)

    found = rank(signals, catalog, Tuning(), "protect the zebra and the zebra")

    assert found.unmatched == ("protect", "zebra")
    assert names(found) == names(ranking)


def test_weights_decide(history: History, catalog: Catalog, now_ns: int) -> None:
    signals = derive_signals(history, catalog, now_ns=now_ns)
    zero = Weights(0, 0, 0, 0, 0, 0, 0)

    def first(**weights: float) -> str:
        return names(rank(signals, catalog, Tuning(weights=evolve(zero, **weights))))[0]

    assert first(staleness=1) == "Old worker pause"
    assert first(failure=1) == "tumult-db-redis/block-clients"
    assert first(novelty=1) == "tumult-db-redis/flush-all"
    assert first(readiness=1) in {
        "Cache outage",
        "Now and then",
        "acme.chaos/drain_node",
        "tumult-db-redis/block-clients",
    }


def test_what_cannot_run_here_moves_down(history: History, catalog: Catalog, now_ns: int) -> None:
    plugin = catalog.plugins[1]
    lacking = evolve(plugin.functions[0], missing=("the program gdb is not there",))
    lame = Catalog((catalog.plugins[0], evolve(plugin, functions=(lacking, *plugin.functions[1:]))))

    before = names(rank(derive_signals(history, catalog, now_ns=now_ns), catalog, Tuning()))
    after = names(rank(derive_signals(history, lame, now_ns=now_ns), lame, Tuning()))

    assert after.index("tumult-process/kill") > before.index("tumult-process/kill")


def test_an_experiment_whose_plugin_is_gone_is_not_ready(history: History, now_ns: int) -> None:
    found = rank(derive_signals(history, Catalog(), now_ns=now_ns), Catalog(), Tuning())
    stale = next(each for each in found.ranked if each.candidate.kind is Kind.STALE_EXPERIMENT)

    assert stale.candidate.missing == ("tumult-process/suspend is not installed",)
    assert {term.name: term.value for term in stale.terms}["readiness"] == 1.0


def test_novelty_falls_with_every_run_and_is_whole_before_the_first() -> None:
    assert _terms.novelty(0, 0) == 1
    assert _terms.novelty(1, 0) == pytest.approx(2 / 3)
    values = [_terms.novelty(runs, 0) for runs in range(20)]
    assert values == sorted(values, reverse=True)


def test_failure_counts_evidence_and_not_the_bare_share() -> None:
    assert _terms.failure(10, 0) == 0
    assert _terms.failure(1, 1) == pytest.approx(0.5)
    assert _terms.failure(5, 5) == pytest.approx(5 / 6)
    assert _terms.failure(100, 1) == pytest.approx(0.0038, abs=1e-4)


def test_recent_failures_count_twice() -> None:
    assert _terms.recent_failure(10, 5, 5, 5) > _terms.recent_failure(10, 5, 5, 0)
    assert _terms.recent_failure(5, 5, 5, 5) == pytest.approx(_terms.failure(5, 5))


def test_staleness_is_a_half_after_a_half_life() -> None:
    assert _terms.staleness(0, 30) == 0
    assert _terms.staleness(30, 30) == 0.5
    assert _terms.staleness(60, 30) == 0.75


def test_harm_is_that_of_the_worst_and_an_undo_leaves_a_quarter() -> None:
    assert _terms.harm([Risk.LOW, Risk.HIGH]) == 1
    assert _terms.harm([]) == _terms.UNKNOWN_HARM
    assert _terms.cost(1, undone=True) == 0.25


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_terms_stay_between_nothing_and_all(runs: int, failed: int) -> None:
    failed = min(failed, runs)

    assert 0 <= _terms.novelty(runs, runs - failed) <= 1
    assert 0 <= _terms.failure(runs, failed) <= 1


def test_an_undo_has_no_reach_and_ranks_below_the_faults(ranking: Ranking) -> None:
    untested = [found for found in ranking.ranked if found.candidate.kind is Kind.UNTESTED_ACTION]

    assert untested[-1].candidate.undoes == ("tumult-process/suspend",)
    assert {term.name: term.value for term in untested[-1].terms}["reach"] == 0
    assert all(not found.candidate.undo for found in untested[:-1])
