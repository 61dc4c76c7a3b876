"""What became of earlier recommendations, and the records that the next call will remember this one by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core._text import mask, one_line
from tumult_core.experiment import NativeProvider, ScriptProvider
from tumult_core.store.values import AgentCall, RecommendationRecord
from tumult_intelligence.recommendation import Previous
from tumult_intelligence.report import spent
from tumult_intelligence.signals import ActionSignal, days_between

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tumult_core.experiment import Experiment
    from tumult_intelligence.ranking import Candidate
    from tumult_intelligence.recommendation import Recommendation, Target
    from tumult_intelligence.report import Outcome

DRAFTED, WRITTEN = "drafted", "written"


def find_previous(candidate: Candidate, records: Sequence[RecommendationRecord], now_ns: int) -> Previous | None:
    """Give what became of the latest recommendation of the same target, whatever kind it was of then."""
    latest = max(
        (record for record in records if _same_target(record, candidate)),
        key=lambda record: (record.recorded_at_ns, record.recommendation_id),
        default=None,
    )
    if latest is None:
        return None
    last_run_ns = candidate.signal.last_run_ns
    return Previous(
        state=latest.state,
        days_since=days_between(latest.recorded_at_ns, now_ns),
        path=latest.path,
        run_since=last_run_ns is not None and last_run_ns > latest.recorded_at_ns,
    )


def _same_target(record: RecommendationRecord, candidate: Candidate) -> bool:
    signal = candidate.signal
    if isinstance(signal, ActionSignal):
        return (record.plugin, record.function) == (signal.plugin, signal.function)
    return not record.plugin and record.title == signal.title


def records_of(
    files: Iterable[tuple[Target | Recommendation, str]], *, state: str, now_ns: int
) -> tuple[RecommendationRecord, ...]:
    """Give a record for each candidate that is now in the file beside it."""
    return tuple(
        RecommendationRecord(
            recommendation_id=each.id,
            kind=str(each.kind),
            title=each.experiment if each.experiment is not None else each.title,
            plugin=each.plugin,
            function=each.function,
            recorded_at_ns=now_ns,
            state=state,
            score=each.score,
            path=path,
        )
        for each, path in files
    )


def answered_by(experiment: Experiment, targets: Iterable[Target]) -> list[Target]:
    """Give the candidates that an experiment carries out: its method calls their target, or it has their title."""
    calls = {
        (step.provider.plugin, step.provider.function)
        for step in experiment.method
        if isinstance(step.provider, NativeProvider | ScriptProvider)
    }
    return [
        each
        for each in targets
        if (each.plugin and (each.plugin, each.function) in calls) or each.experiment == experiment.title
    ]


def call_of(outcome: Outcome, goal: str | None) -> AgentCall:
    """Give one agent's part of this call as the store keeps it."""
    found = outcome.consultation
    return AgentCall(
        call_id=f"{found.started_at_ns}-{found.adapter}",
        adapter=found.adapter,
        model=found.model,
        started_at_ns=found.started_at_ns,
        duration_s=round(found.duration_s, 3),
        outcome="answered" if found.error is None else str(found.error.kind),
        **spent(found.usage),
        written=len(outcome.written),
        rejected=sum(each.refused for each in outcome.rejected),
        goal=mask(one_line(goal)) if goal else "",
    )
