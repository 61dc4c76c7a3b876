from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tumult_intelligence.advice import Past, advise
from tumult_intelligence.merge import Choice, merge_rankings, read_ranking

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog
    from tumult_core.store.values import History
    from tumult_intelligence.recommendation import Target

KILL, FLUSH = "untested_action:tumult-process/kill", "untested_action:tumult-db-redis/flush-all"


@pytest.fixture
def targets(history: History, catalog: Catalog, now_ns: int) -> tuple[Target, ...]:
    return advise(Past(history), catalog, now_ns=now_ns, limit=1).targets


def keys(text: str, targets: tuple[Target, ...]) -> list[str]:
    return [choice.key for choice in read_ranking(text, targets)]


def test_items_are_read_by_id(targets: tuple[Target, ...]) -> None:
    text = f"## Recommendations\n\n1. [{FLUSH}] first, since\n   it is new\n2) **[{KILL}]** then\n10. [{FLUSH}] again\n"

    assert keys(text, targets) == [FLUSH, KILL]


def test_items_without_an_id_are_matched_by_what_they_name(targets: tuple[Target, ...]) -> None:
    text = (
        "1. Run `flush-all` of tumult-db-redis\n2. Exercise tumult-process kill\n3. The experiment Cache outage again\n"
    )

    found = keys(text, targets)

    assert found[:2] == [FLUSH, KILL]
    assert found[2].startswith("failing_experiment:")


def test_a_name_inside_a_longer_name_is_no_match(targets: tuple[Target, ...]) -> None:
    assert keys("1. tumult-process kill-everything\n", targets) == ["tumult-process kill-everything"]


def test_an_own_idea_is_kept_under_its_words(targets: tuple[Target, ...]) -> None:
    (choice,) = read_ranking("1. [new] **Break DNS** — nobody did\n", targets)

    assert choice == Choice("break dns — nobody did", "Break DNS — nobody did")


def test_text_without_a_list_is_no_ranking(targets: tuple[Target, ...]) -> None:
    assert keys("Nothing to say.\nIn 2025. we did\n", targets) == []


def test_scores_are_sums_of_reciprocal_ranks(targets: tuple[Target, ...]) -> None:
    kill, flush, own = Choice(KILL, "kill"), Choice(FLUSH, "flush"), Choice("own", "own")

    merged = merge_rankings({"a": [kill, flush], "b": [flush, own, kill]}, targets)

    assert [(each.rank, each.key, each.score, dict(each.ranks)) for each in merged] == [
        (1, FLUSH, round(1 / 62 + 1 / 61, 6), {"a": 2, "b": 1}),
        (2, KILL, round(1 / 61 + 1 / 63, 6), {"a": 1, "b": 3}),
        (3, "own", round(1 / 62, 6), {"b": 2}),
    ]


def test_ties_go_to_the_better_computed_rank_and_then_by_name(targets: tuple[Target, ...]) -> None:
    ranks = {each.id: each.rank for each in targets}
    better, worse = sorted((KILL, FLUSH), key=lambda key: ranks[key])

    merged = merge_rankings(
        {"a": [Choice(worse, "w")], "b": [Choice(better, "b")], "c": [Choice("x", "x")], "d": [Choice("aa", "aa")]},
        targets,
    )

    assert [each.key for each in merged] == [better, worse, "aa", "x"]
