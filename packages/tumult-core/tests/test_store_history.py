"""What the history says, against a plain count of the same journals in Python."""

from __future__ import annotations

import random
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tumult_core.journal import ActivityStatus, Phase, RunStatus
from tumult_core.store._embedded import EmbeddedStore
from tumult_core.store.values import ActionHistory, ExperimentHistory, History

if TYPE_CHECKING:
    from conftest import MakeJournal, MakeStep

    from tumult_core.journal import ActivityResult, Journal

TITLES = ["Orders survive", "orders survive", "Ünïcode ↯", "a'; DROP TABLE experiments; --"]
START = 1_700_000_000_000_000_000


def counted(journals: list[Journal], recent: int) -> History:
    """Count in the plainest way: the expected answer."""
    steps = [(journal, place, step) for journal in journals for place, step in enumerate(journal.activities)]
    return History(
        runs=len(journals),
        activity_rows=len(steps),
        first_run_ns=min((journal.started_at_ns for journal in journals), default=None),
        last_run_ns=max((journal.started_at_ns for journal in journals), default=None),
        actions=tuple(counted_actions(steps)),
        experiments=tuple(
            counted_experiment([one for one in journals if one.title == title], recent)
            for title in sorted({journal.title for journal in journals}, key=str.encode)
        ),
        condition="ok" if journals else "empty",
    )


def identity(step: ActivityResult) -> tuple[str, str, str]:
    return step.provider_kind, step.plugin or "", step.function or ""


def executed(step: ActivityResult) -> bool:
    return step.activity_type == "action" and step.status is not ActivityStatus.SKIPPED


def counted_actions(steps: list[tuple[Journal, int, ActivityResult]]) -> list[ActionHistory]:
    found = []
    for key in sorted({identity(step) for _, _, step in steps if executed(step)}):
        own = [(journal, place, step) for journal, place, step in steps if executed(step) and identity(step) == key]
        failed = [one for one in own if one[2].status in {ActivityStatus.FAILED, ActivityStatus.TIMEOUT}]
        last = max(failed, key=lambda one: (one[2].started_at_ns, one[0].experiment_id, one[1]), default=None)
        succeeded = sum(step.status is ActivityStatus.SUCCEEDED for _, _, step in own)
        found.append(
            ActionHistory(
                *key,
                len(own),
                succeeded,
                max(step.started_at_ns for _, _, step in own),
                last[2].error if last else None,
            )
        )
    return found


def counted_experiment(runs: list[Journal], recent: int) -> ExperimentHistory:
    ordered = sorted(runs, key=lambda journal: journal.started_at_ns)
    bad = [journal.status is not RunStatus.COMPLETED for journal in ordered]
    last = ordered[-1]
    last_bad = next((journal for journal in reversed(ordered) if journal.status is not RunStatus.COMPLETED), None)
    errors = [step.error for step in last_bad.activities if step.error is not None] if last_bad else []
    return ExperimentHistory(
        title=last.title,
        experiment_sha256=last.experiment_sha256,
        tags=last.tags,
        runs=len(runs),
        not_completed=sum(bad),
        recent_runs=min(recent, len(runs)),
        recent_not_completed=sum(bad[-recent:]),
        flips=sum(one != other for one, other in pairwise(bad)),
        last_status=str(last.status),
        last_run_ns=last.started_at_ns,
        last_error=errors[0] if errors else None,
        actions=tuple(sorted({identity(step) for step in last.method if executed(step)})),
    )


STEPS = st.fixed_dictionaries(
    {
        "activity_type": st.sampled_from(["action", "action", "probe"]),
        "status": st.sampled_from(list(ActivityStatus)),
        "provider_kind": st.sampled_from(["native", "script", "process"]),
        "plugin": st.sampled_from(["p", "q", None]),
        "function": st.sampled_from(["f", "g", None]),
        "error": st.sampled_from([None, None, "boom", "bang"]),
        "started_at_ns": st.integers(START, START + 3),
        "phase": st.sampled_from([Phase.METHOD, Phase.ROLLBACK]),
    }
)
RUNS = st.fixed_dictionaries(
    {
        "title": st.sampled_from(TITLES),
        "status": st.sampled_from(list(RunStatus)),
        "tags": st.sampled_from([(), ("a", "b")]),
    }
)
CASES = st.lists(st.tuples(RUNS, st.lists(STEPS, max_size=4)), max_size=12)


def journals_of(
    case: list[tuple[dict[str, Any], list[dict[str, Any]]]], make_journal: MakeJournal, make_step: MakeStep
) -> list[Journal]:
    return [
        make_journal(
            number,
            experiment_sha256=f"{number:064x}",
            hypothesis_before=None,
            method=tuple(make_step(**step) for step in steps if step["phase"] is Phase.METHOD),
            rollbacks=tuple(make_step(**step) for step in steps if step["phase"] is Phase.ROLLBACK),
            **run,
        )
        for number, (run, steps) in enumerate(case)
    ]


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(case=CASES, recent=st.integers(1, 6), seed=st.integers(0, 9))
def test_the_history_counts_what_a_plain_count_counts(
    make_journal: MakeJournal, make_step: MakeStep, case: list[Any], recent: int, seed: int
) -> None:
    journals = journals_of(case, make_journal, make_step)
    shuffled = random.Random(seed).sample(journals, len(journals))  # noqa: S311 - an order, not a secret
    with tempfile.TemporaryDirectory() as folder:
        store = EmbeddedStore(Path(folder) / "history")
        (Path(folder) / "history").mkdir()
        for place, journal in enumerate(shuffled):
            store.record_run(journal)
            if place == len(shuffled) // 2:
                store.history()  # folds half of them: the order must not matter

        assert store.history(recent=recent) == counted(journals, recent)


def test_the_answer_is_the_same_with_any_number_of_threads_and_after_a_rebuild(
    make_journal: MakeJournal, make_step: MakeStep, tmp_path: Path
) -> None:
    folder = tmp_path / "history"
    chance = random.Random(7)  # noqa: S311 - a fixed sequence, not a secret
    store = EmbeddedStore(folder)
    for number in range(300):
        steps = [
            make_step(
                status=chance.choice(list(ActivityStatus)),
                function=chance.choice("fgh"),
                error=f"error {chance.random()}",
                started_at_ns=START + chance.randrange(5),
            )
            for _ in range(5)
        ]
        run = {
            "status": chance.choice(list(RunStatus)),
            "title": chance.choice(TITLES),
            "started_at_ns": START + chance.randrange(5),
        }
        store.record_run(make_journal(number, method=tuple(steps), **run))

    answers = {repr(EmbeddedStore(folder, threads=threads).history()) for threads in (1, 2, 8) for _ in range(2)}
    store.rebuild()
    answers |= {repr(EmbeddedStore(folder, threads=threads).history()) for threads in (1, 2, 8)}

    assert len(answers) == 1
    assert "runs=300" in answers.pop()


@pytest.mark.parametrize("recent", [1, 3])
def test_recent_counts_the_last_runs_alone(make_journal: MakeJournal, tmp_path: Path, recent: int) -> None:
    store = EmbeddedStore(tmp_path / "history")
    for number, status in enumerate([RunStatus.FAILED, RunStatus.FAILED, RunStatus.COMPLETED, RunStatus.DEVIATED]):
        store.record_run(make_journal(number, status=status))

    (found,) = store.history(recent=recent).experiments

    assert attrs.asdict(
        found, filter=attrs.filters.include("runs", "not_completed", "recent_runs", "recent_not_completed", "flips")
    ) == {
        "runs": 4,
        "not_completed": 3,
        "recent_runs": recent,
        "recent_not_completed": {1: 1, 3: 2}[recent],
        "flips": 2,
    }
