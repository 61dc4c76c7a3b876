"""One call from end to end: read the past, advise, ask agents, judge and write, remember."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from tumult_agent_cli.values import Capabilities
from tumult_core._text import one_line
from tumult_core.exceptions import TumultError
from tumult_intelligence import memory
from tumult_intelligence.advice import Past, advise, past_problem, read_past
from tumult_intelligence.consult import DEFAULT_ROUNDS, DEFAULT_TIMEOUT_S, Question, consult_all
from tumult_intelligence.merge import merge_rankings, read_ranking
from tumult_intelligence.report import Outcome, Rejection, Report, problem_lines
from tumult_intelligence.weights import Tuning
from tumult_intelligence.writer import Document, NotWritten, Written, write_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from tumult_agent_cli.registry import AdapterRegistry
    from tumult_agent_cli.values import Progress
    from tumult_core.catalog import Catalog
    from tumult_core.store.values import RecommendationRecord, Store
    from tumult_intelligence.advice import Advice
    from tumult_intelligence.consult import Consultation
    from tumult_intelligence.gate import Passed, Rejected
    from tumult_intelligence.merge import Merged
    from tumult_intelligence.recommendation import Recommendation, Target


_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 8  # shorter values would mask ordinary words


@frozen
class Wishes:
    """What the operator asked for.

    Attributes:
        drafts: the folder to write drafts into.
        agents: names of adapters, each once.
        generate: the folder to write what agents propose into.
        secrets: values that must not reach an agent.
    """

    goal: str | None = None
    limit: int = 10
    tuning: Tuning = field(factory=Tuning)
    drafts: Path | None = None
    agents: tuple[str, ...] = ()
    generate: Path | None = None
    model: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    repair_rounds: int = DEFAULT_ROUNDS
    require_isolation: bool = False
    secrets: tuple[str, ...] = ()


@frozen
class House:
    """What the call works with.

    Attributes:
        store: the history, or why it cannot be had.
        now_ns: the time that days are counted to, epoch nanoseconds.
    """

    catalog: Catalog
    store: Store | TumultError
    registry: AdapterRegistry
    now_ns: int

    def past(self) -> Past:
        """Read the store."""
        return past_problem(self.store) if isinstance(self.store, TumultError) else read_past(self.store)


def advise_on(wishes: Wishes, house: House) -> Advice:
    """Give the deterministic half."""
    return advise(
        house.past(), house.catalog, now_ns=house.now_ns, goal=wishes.goal, tuning=wishes.tuning, limit=wishes.limit
    )


def question_of(wishes: Wishes, advice: Advice, catalog: Catalog) -> Question:
    """Give what the agents are asked."""
    return Question(
        advice=advice,
        catalog=catalog,
        goal=wishes.goal,
        generate_experiments=wishes.generate is not None,
        model=wishes.model,
        timeout_s=wishes.timeout_s,
        require_isolation=wishes.require_isolation,
        rounds=wishes.repair_rounds,
        secrets=wishes.secrets,
    )


def prompt_of(wishes: Wishes, house: House) -> str:
    """Give what the agents that were named would be asked, as long as the one that takes the least takes it."""
    question = question_of(wishes, advise_on(wishes, house), house.catalog)
    limits = [house.registry.get(name).capabilities.longest_prompt_bytes for name in wishes.agents]
    return question.prompt(min(limits, default=Capabilities().longest_prompt_bytes)).text


def open_or_error(location: str | None) -> Store | TumultError:
    """Open the history; what cannot be opened is said in the report and costs nothing else."""
    from tumult_core.store import open_store

    try:
        return open_store(location)
    except TumultError as error:
        return error


def secrets_in(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Give the values of environment variables whose names say that they are secret."""
    return tuple(
        value for name, value in environ.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    )


def recommend(
    wishes: Wishes,
    house: House,
    *,
    on_advice: Callable[[Report], None] | None = None,
    on_progress: Callable[[str, Progress], None] | None = None,
) -> Report:
    """Do all that was wished for; whatever fails on the way is in the report and costs nothing else.

    Args:
        wishes: what to do.
        house: what to do it with.
        on_advice: gets the report of the deterministic half, drafts written, before an agent is asked.
        on_progress: is told what each agent does, by its name.
    """
    advice = advise_on(wishes, house)
    report = Report(advice=advice, goal=wishes.goal, asked=wishes.agents, generating=wishes.generate is not None)
    if wishes.drafts is not None:
        report = evolve(report, drafts=_write_drafts(wishes.drafts, advice.recommendations))
    if on_advice is not None:
        on_advice(report)
    if wishes.agents:
        question = question_of(wishes, advice, house.catalog)
        found = consult_all(wishes.agents, house.registry, question, on_progress=on_progress)
        outcomes = tuple(_settle(each, wishes.generate) for each in found)
        report = evolve(report, outcomes=outcomes, merged=_merge(outcomes, advice.targets))
    return evolve(report, notes=(*report.notes, *_remember(report, wishes, house)))


def _write_drafts(
    folder: Path, recommendations: Iterable[Recommendation]
) -> tuple[tuple[Recommendation, Written | NotWritten], ...]:
    valid = [each for each in recommendations if each.draft.valid]
    results = write_documents(folder, [Document(each.draft.title, each.draft.text) for each in valid])
    return tuple(zip(valid, results, strict=True))


def _settle(found: Consultation, folder: Path | None) -> Outcome:
    """Write what passed the gate, and gather everything that is not in a file in the end."""
    results = write_documents(folder, [Document(each.title, each.text) for each in found.passed]) if folder else ()
    pairs = list(zip(found.passed, results, strict=False))
    refused = [_rejection(found, each, problem_lines(each.errors)) for each in found.rejected]
    unwritten = [
        evolve(_rejection(found, each, [f"it passed and could not be written: {result.reason}"]), refused=False)
        for each, result in pairs
        if isinstance(result, NotWritten)
    ]
    return Outcome(
        consultation=found,
        written=tuple((each, result) for each, result in pairs if isinstance(result, Written)),
        rejected=tuple(sorted([*refused, *unwritten], key=lambda each: each.index)),
    )


def _rejection(found: Consultation, each: Passed | Rejected, errors: list[str]) -> Rejection:
    return Rejection(each.title, each.index, tuple(errors), found.rounds.get(each.index, 0))


def _merge(outcomes: Sequence[Outcome], targets: Sequence[Target]) -> tuple[Merged, ...]:
    if len(outcomes) < 2:  # noqa: PLR2004 - one ranking needs no merging
        return ()
    rankings = {
        outcome.consultation.adapter: read_ranking(outcome.consultation.text, targets)
        for outcome in outcomes
        if outcome.consultation.error is None
    }
    return merge_rankings(rankings, targets)


def _remember(report: Report, wishes: Wishes, house: House) -> list[str]:
    """Keep agent calls and what was drafted or written; a store that takes nothing is a note."""
    records = [*_drafted(report, house.now_ns), *_written(report, house.now_ns)]
    if isinstance(house.store, TumultError) or not (records or report.outcomes):
        return []
    try:
        for outcome in report.outcomes:
            house.store.record_agent_call(memory.call_of(outcome, wishes.goal))
        if records:
            house.store.record_recommendations(records)
    except Exception as error:  # noqa: BLE001 - a store is a plugin: what it raises must not cost the report
        return [f"The history took no note of this call: {one_line(str(error))}"]
    return []


def _drafted(report: Report, now_ns: int) -> Iterable[RecommendationRecord]:
    files = [(each, str(result.path.absolute())) for each, result in report.drafts or () if isinstance(result, Written)]
    return memory.records_of(files, state=memory.DRAFTED, now_ns=now_ns)


def _written(report: Report, now_ns: int) -> Iterable[RecommendationRecord]:
    files = [
        (each, str(file.path.absolute()))
        for outcome in report.outcomes
        for passed, file in outcome.written
        for each in memory.answered_by(passed.experiment, report.advice.targets)
    ]
    return memory.records_of(files, state=memory.WRITTEN, now_ns=now_ns)
