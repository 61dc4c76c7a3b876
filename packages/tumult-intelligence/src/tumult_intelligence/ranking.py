"""Which experiment to run next: candidates, each with a score that is a sum of named, weighted terms.

The same signals, catalog, goal and tuning give the same order and the same numbers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from attrs import asdict, field, frozen

from tumult_core.catalog import PluginKind
from tumult_intelligence import _terms
from tumult_intelligence._goal import Goal, Text, stems
from tumult_intelligence.signals import ActionSignal, Coverage, ExperimentSignal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tumult_core.catalog import Catalog, Function
    from tumult_intelligence.signals import Signals
    from tumult_intelligence.weights import Tuning, Weights

DIGITS = 4


class Kind(StrEnum):
    """Why a candidate is one."""

    UNTESTED_ACTION = "untested_action"
    ONLY_FAILED_ACTION = "only_failed_action"
    FAILING_EXPERIMENT = "failing_experiment"
    STALE_EXPERIMENT = "stale_experiment"


@frozen
class Term:
    """One part of a score: ``value`` is between 0 and 1, ``weight`` says how much it counts."""

    name: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        """Give what the term adds to the score."""
        return round(self.value * self.weight, DIGITS) + 0.0  # never -0.0


@frozen
class Candidate:
    """Something that could be run next.

    Attributes:
        signal: what is known of it.
        functions: those of the catalog that it would execute.
        unavailable: the (plugin, function) that it would execute and that are not installed.
        undoes: the actions that it only reverses, where it is an action that is the undo of others; in name order.
    """

    kind: Kind
    signal: ActionSignal | ExperimentSignal
    functions: tuple[Function, ...] = ()
    unavailable: tuple[tuple[str, str], ...] = ()
    undoes: tuple[str, ...] = ()

    @property
    def undo(self) -> bool:
        """Tell whether it only reverses another action: no fault by itself."""
        return bool(self.undoes)

    @property
    def name(self) -> str:
        """Give the action's name or the experiment's title."""
        return self.signal.name if isinstance(self.signal, ActionSignal) else self.signal.title

    @property
    def missing(self) -> tuple[str, ...]:
        """Give what this machine lacks to run it, as sentences."""
        lacks = (sentence for function in self.functions for sentence in function.missing)
        gone = (f"{plugin}/{function} is not installed" for plugin, function in self.unavailable)
        return tuple(dict.fromkeys((*lacks, *gone)))


@frozen
class Ranked:
    """A candidate with its score and where it stands, counted from 1."""

    rank: int
    candidate: Candidate
    terms: tuple[Term, ...]

    @property
    def score(self) -> float:
        """Give the sum of the terms."""
        return _score(self.terms)


@frozen
class Ranking:
    """All candidates, best first.

    Attributes:
        unmatched: the goal's words that no candidate has.
    """

    ranked: tuple[Ranked, ...] = ()
    unmatched: tuple[str, ...] = field(default=())


def rank(signals: Signals, catalog: Catalog, tuning: Tuning, goal: str | None = None) -> Ranking:
    """Score every candidate and sort by score, then kind, then name."""
    candidates = tuple(find_candidates(signals, catalog))
    texts = tuple(map(_text, candidates)) if goal else ()
    wanted = Goal.over(goal, texts) if goal else Goal()
    relevance = [wanted.relevance(text) for text in texts] if goal else [0.0] * len(candidates)
    scored = [
        (candidate, tuple(_weigh(_values(candidate, fits, tuning.half_life_days), tuning.weights)))
        for candidate, fits in zip(candidates, relevance, strict=True)
    ]
    scored.sort(key=lambda pair: (-_score(pair[1]), pair[0].kind, pair[0].name))
    ranked = (Ranked(place, candidate, terms) for place, (candidate, terms) in enumerate(scored, start=1))
    return Ranking(ranked=tuple(ranked), unmatched=wanted.unmatched)


def find_candidates(signals: Signals, catalog: Catalog) -> Iterator[Candidate]:
    """Give every untested action, every action that only failed, every failing and every stale experiment."""
    known = _by_target(catalog)
    undone: dict[tuple[str, str], set[str]] = {}
    for function in catalog.functions():
        if function.undo:
            undone.setdefault((function.plugin, function.undo), set()).add(f"{function.plugin}/{function.name}")
    for action in signals.actions:
        target = (action.plugin, action.function)
        if action.coverage is Coverage.TESTED or not (action.installed or "python" in action.kinds):
            continue
        kind = Kind.UNTESTED_ACTION if action.coverage is Coverage.UNTESTED else Kind.ONLY_FAILED_ACTION
        functions = (known[target],) if target in known else ()
        yield Candidate(kind=kind, signal=action, functions=functions, undoes=tuple(sorted(undone.get(target, ()))))
    for experiment in signals.experiments:
        if experiment.failing or experiment.stale:
            yield _experiment_candidate(experiment, known)


def _experiment_candidate(experiment: ExperimentSignal, known: dict[tuple[str, str], Function]) -> Candidate:
    targets = [(plugin, function) for kind, plugin, function in experiment.actions if kind in set(PluginKind)]
    return Candidate(
        kind=Kind.FAILING_EXPERIMENT if experiment.failing else Kind.STALE_EXPERIMENT,
        signal=experiment,
        functions=tuple(known[target] for target in targets if target in known),
        unavailable=tuple(target for target in targets if target not in known),
    )


def _by_target(catalog: Catalog) -> dict[tuple[str, str], Function]:
    """Map plugin and name, or alias, to the function; a Python plugin wins over a script plugin of the same name."""
    found: dict[tuple[str, str], Function] = {}
    for function in catalog.functions():
        for name in (function.name, *function.aliases):
            if (function.plugin, name) not in found or function.kind is PluginKind.NATIVE:
                found[function.plugin, name] = function
    return found


def _values(candidate: Candidate, relevance: float, half_life_days: float) -> dict[str, float]:
    harm = _terms.harm(function.risk for function in candidate.functions)
    undone = candidate.undo or (bool(candidate.functions) and all(each.undo for each in candidate.functions))
    return {
        **_history_values(candidate.signal, half_life_days),
        "relevance": relevance,
        "reach": 0.0 if candidate.undo else harm,
        "cost": _terms.cost(harm, undone=undone),
        "readiness": float(bool(candidate.missing)),
    }


def _history_values(signal: ActionSignal | ExperimentSignal, half_life_days: float) -> dict[str, float]:
    if isinstance(signal, ActionSignal):
        return {
            "novelty": _terms.novelty(signal.runs, signal.succeeded),
            "failure": _terms.failure(signal.runs, signal.runs - signal.succeeded),
            "staleness": _terms.staleness(signal.days_since or 0, half_life_days),
        }
    return {
        "novelty": _terms.novelty(signal.runs, signal.runs - signal.not_completed),
        "failure": _terms.recent_failure(
            signal.runs, signal.not_completed, signal.recent_runs, signal.recent_not_completed
        ),
        "staleness": _terms.staleness(signal.days_since, half_life_days),
    }


def _weigh(values: dict[str, float], weights: Weights) -> Iterator[Term]:
    for name, weight in asdict(weights).items():
        yield Term(name=name, value=round(values[name], DIGITS), weight=float(weight))


def _score(terms: Iterable[Term]) -> float:
    return round(sum(term.contribution for term in terms), DIGITS)


def _text(candidate: Candidate) -> Text:
    signal = candidate.signal
    if isinstance(signal, ActionSignal):
        names = [signal.plugin, signal.function]
    else:
        names = [signal.title, *signal.tags, *(word for action in signal.actions for word in action[1:])]
    arguments = (argument.name for function in candidate.functions for argument in function.arguments or ())
    descriptions = (function.description for function in candidate.functions)
    return Text(names=stems(*names), descriptions=stems(*descriptions, *arguments))
