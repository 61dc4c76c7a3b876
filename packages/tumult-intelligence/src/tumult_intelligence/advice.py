"""The deterministic half: from a history and a catalog to ranked, explained and drafted recommendations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from tumult_core._text import mask, one_line
from tumult_core.engine import experiment_to_data
from tumult_core.exceptions import StoreError, TumultError
from tumult_core.store.values import History
from tumult_core.toon import dumps_document
from tumult_intelligence import explain
from tumult_intelligence.drafts import draft_experiment
from tumult_intelligence.gate import check_experiment
from tumult_intelligence.memory import find_previous
from tumult_intelligence.ranking import rank
from tumult_intelligence.recommendation import Draft, Recommendation, Target, recommendation_id
from tumult_intelligence.signals import ActionSignal, ExperimentSignal, derive_signals
from tumult_intelligence.weights import Tuning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tumult_core.catalog import Catalog
    from tumult_core.store.values import RecommendationRecord, Store
    from tumult_intelligence.ranking import Candidate, Ranked
    from tumult_intelligence.signals import Signals

    Documents = Mapping[str, Mapping[str, Any]]

RECENT_RUNS = 5


@frozen
class Past:
    """What the store gave, or why it gave nothing.

    Attributes:
        records: the latest record of each recommendation that was acted on.
        location: where the history is, credentials masked; empty where that is not known.
        documents: gives, by digest, those recorded documents of experiments that are still there.
        problem: why the history could not be read; None where it was.
        advice: what to do about that.
    """

    history: History = field(factory=History)
    records: tuple[RecommendationRecord, ...] = ()
    location: str = ""
    documents: Callable[[Sequence[str]], Documents] = field(default=lambda _digests: {}, eq=False, repr=False)
    problem: str | None = None
    advice: str = ""


@frozen
class Advice:
    """What to do next.

    Attributes:
        targets: all candidates, best first, of which the recommendations are the first.
        notes: what a reader should know of how this came to be.
    """

    signals: Signals
    recommendations: tuple[Recommendation, ...]
    targets: tuple[Target, ...]
    notes: tuple[str, ...]


def read_past(store: Store) -> Past:
    """Read the store once; a store that cannot be read is a stated condition and never an error."""
    try:
        return Past(
            history=store.history(recent=RECENT_RUNS),
            records=store.recommendations(),
            location=mask(one_line(store.location)),
            documents=partial(_documents, store),
        )
    except TumultError as error:
        return past_problem(error)
    except Exception as error:  # noqa: BLE001 - a store is a plugin: whatever it raises must not cost the recommendations
        return past_problem(
            StoreError(f"{type(error).__name__}: {error}", hint="this is a bug of the store; report it")
        )


def _documents(store: Store, digests: Sequence[str]) -> Documents:
    """Give recorded documents; a store that cannot give them, whatever it raises, must not cost the recommendations."""
    try:
        return store.documents(digests)
    except Exception:  # noqa: BLE001 - a store is a plugin; the drafts say that the document could not be had
        return {}


def past_problem(error: TumultError) -> Past:
    """Give what is left when the store cannot be used."""
    return Past(problem=mask(one_line(error.message)), advice=mask(one_line(error.hint)))


def advise(
    past: Past,
    catalog: Catalog,
    *,
    now_ns: int,
    goal: str | None = None,
    tuning: Tuning = Tuning(),  # noqa: B008 - frozen
    limit: int = 10,
) -> Advice:
    """Rank everything, and explain and draft the first ``limit``; the same arguments give the same advice."""
    signals = derive_signals(
        past.history,
        catalog,
        now_ns=now_ns,
        stale_after_days=tuning.stale_after_days,
        store_problem=past.problem,
        store_advice=past.advice,
    )
    ranking = rank(signals, catalog, tuning, goal)
    first = ranking.ranked[:limit]
    digests = [digest for found in first if (digest := _digest(found.candidate))]
    documents = past.documents(digests) if digests else {}
    return Advice(
        signals=signals,
        recommendations=tuple(_recommend(found, signals, catalog, past, documents) for found in first),
        targets=tuple(map(_target, ranking.ranked)),
        notes=tuple(_notes(past, catalog, ranking.unmatched, len(ranking.ranked))),
    )


def _digest(candidate: Candidate) -> str:
    """Give the digest of the document that a recommendation would repeat; empty where it repeats none."""
    return candidate.signal.experiment_sha256 if isinstance(candidate.signal, ExperimentSignal) else ""


def _recommend(ranked: Ranked, signals: Signals, catalog: Catalog, past: Past, documents: Documents) -> Recommendation:
    candidate = ranked.candidate
    about = _target(ranked)
    return Recommendation(
        rank=about.rank,
        id=about.id,
        kind=about.kind,
        title=about.title,
        plugin=about.plugin,
        function=about.function,
        experiment=about.experiment,
        rationale=explain.rationale(candidate, signals),
        preconditions=explain.preconditions(candidate),
        expected_learning=explain.expected_learning(candidate),
        score=ranked.score,
        terms=ranked.terms,
        draft=_draft(candidate, catalog, documents.get(_digest(candidate))),
        previous=find_previous(candidate, past.records, signals.now_ns),
        actions=_actions(candidate.signal),
    )


def _actions(signal: ActionSignal | ExperimentSignal) -> tuple[tuple[str, str], ...]:
    if isinstance(signal, ActionSignal):
        return ((signal.plugin, signal.function),)
    return tuple((plugin, function) for _, plugin, function in signal.actions)


def _target(ranked: Ranked) -> Target:
    candidate = ranked.candidate
    action = candidate.signal if isinstance(candidate.signal, ActionSignal) else None
    return Target(
        rank=ranked.rank,
        id=recommendation_id(candidate),
        kind=candidate.kind,
        title=explain.title_of(candidate),
        plugin=action.plugin if action else "",
        function=action.function if action else "",
        experiment=None if action else candidate.name,
        score=ranked.score,
    )


def _draft(candidate: Candidate, catalog: Catalog, document: Mapping[str, Any] | None) -> Draft:
    found = draft_experiment(candidate, catalog, document)
    if found is None:
        return Draft(title=explain.title_of(candidate), text="")
    problems = check_experiment(found.experiment, catalog)
    return Draft(
        title=found.experiment.title,
        text=dumps_document(experiment_to_data(found.experiment)).decode(),
        problems=tuple(evolve(problem, line=None, column=None) for problem in problems),
        unknowns=tuple(found.unknowns.items()),
        note=found.note,
    )


def _notes(past: Past, catalog: Catalog, unmatched: tuple[str, ...], candidates: int) -> Iterator[str]:
    yield from (one_line(note) for note in past.history.notes)
    if past.problem is None and not past.history.runs:
        where = f" at {past.location}" if past.location else ""
        missing = past.history.condition == "missing"
        what = f"There is no history yet{where}" if missing else f"The history{where} is empty"
        yield f"{what}: the ranking rests on the catalog alone. Run an experiment with `tumult run`."
    for problem in catalog.problems:
        yield f"The plugin {one_line(problem.name, 80)} is left out: {one_line(problem.reason)}"
    if unmatched:
        yield f"These words of the goal name nothing here: {one_line(', '.join(unmatched))}"
    if not candidates:
        yield "There is nothing to recommend: every action was tested, and no experiment fails or is stale."
