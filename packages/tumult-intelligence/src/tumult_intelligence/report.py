"""Everything that one call found out and did, and its form as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from attrs import asdict, field, frozen

from tumult_core._text import one_line
from tumult_intelligence._prompt_sections import Quoter, signals_section
from tumult_intelligence.agent_loop import TotalUsage
from tumult_intelligence.signals import Coverage
from tumult_intelligence.writer import NotWritten, Written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_agent_cli.exceptions import AgentCliError
    from tumult_core.problems import Problem
    from tumult_intelligence.advice import Advice
    from tumult_intelligence.consult import Consultation
    from tumult_intelligence.gate import Passed
    from tumult_intelligence.merge import Merged
    from tumult_intelligence.recommendation import Recommendation
    from tumult_intelligence.signals import Signals

SOURCE = "heuristic-fallback"
"""What the deterministic half has been called in the JSON since before there was an agent."""

# C1 controls, zero-width and direction characters, line separators, surrogates, byte order marks, and Unicode tags.
_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
)


@frozen
class Rejection:
    """A proposal that was not written.

    Attributes:
        title: where one can be read.
        index: in its answer, counted from 1.
        errors: everything that is wrong, one line each.
        rounds: how often it was sent back.
        refused: by the gate; else it passed, and could not be written.
    """

    title: str
    index: int
    errors: tuple[str, ...]
    rounds: int = 0
    refused: bool = True


@frozen
class Outcome:
    """What one agent gave and what became of it.

    Attributes:
        written: each file with the proposal that it holds.
        rejected: what did not pass the gate, and what could not be written.
    """

    consultation: Consultation
    written: tuple[tuple[Passed, Written], ...] = ()
    rejected: tuple[Rejection, ...] = ()


@frozen
class Report:
    """Everything that one call found out and did.

    Attributes:
        outcomes: one for each agent, in the order in which they were asked for.
        merged: the agents' rankings as one; empty unless there were several.
        drafts: what became of each draft that could be written; None where it was not asked for.
        asked: the agents that were asked for, before any has answered too.
        generating: experiments were asked for.
        notes: what happened beside, such as a store that could not be written.
    """

    advice: Advice
    goal: str | None = None
    outcomes: tuple[Outcome, ...] = ()
    merged: tuple[Merged, ...] = ()
    drafts: tuple[tuple[Recommendation, Written | NotWritten], ...] | None = None
    asked: tuple[str, ...] = ()
    generating: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def failures(self) -> tuple[AgentCliError, ...]:
        """Give why agents could not be used."""
        errors = (outcome.consultation.error for outcome in self.outcomes)
        return tuple(error for error in errors if error is not None)

    @property
    def exit_code(self) -> int:
        """Give 1 where none of the agents that were asked for could be used, or a file could not be written, else 0."""
        no_agent = bool(self.outcomes) and len(self.failures) == len(self.outcomes)
        no_draft = any(isinstance(result, NotWritten) for _, result in self.drafts or ())
        no_file = any(not each.refused for outcome in self.outcomes for each in outcome.rejected)
        return int(no_agent or no_draft or no_file)


def render_json(report: Report) -> str:
    """Give the report as JSON, keys in a fixed order; characters that a terminal would act on are escaped."""
    text = json.dumps(to_data(report), indent=2, ensure_ascii=False)
    return _UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n"


def to_data(report: Report) -> dict[str, Any]:
    """Give the report as JSON-like data."""
    advice = report.advice
    first = next((each.draft for each in advice.recommendations if each.draft.text), None)
    data: dict[str, Any] = {
        "source": SOURCE,
        "model": None,
        "goal": report.goal,
        "recommendations": [_recommendation(each) for each in advice.recommendations],
        "draft_toon": first.text if first else None,
        "draft_valid": first.valid if first else None,
        "draft_validation_error": "\n".join(map(str, first.errors)) or None if first else None,
        "notes": [*advice.notes, *report.notes, *_draft_notes(report.drafts)],
        "heuristic_context": "\n".join(signals_section(advice.signals, Quoter()).lines),
        "signals": _signals(advice.signals),
    }
    agents = [_agent(outcome) for outcome in report.outcomes]
    if len(agents) == 1:
        return {**data, "agent": agents[0]}
    return {**data, "agents": agents, "merged": [asdict(each) for each in report.merged]} if agents else data


def _recommendation(each: Recommendation) -> dict[str, Any]:
    return {
        "rank": each.rank,
        "id": each.id,
        "title": each.title,
        "kind": str(each.kind),
        "target": {"plugin": each.plugin, "function": each.function, "experiment": each.experiment},
        "rationale": each.rationale,
        "plugins": list(dict.fromkeys(plugin for plugin, _ in each.actions if plugin)),
        "actions": [function for _, function in each.actions if function],
        "preconditions": list(each.preconditions),
        "expected_learning": each.expected_learning,
        "score": each.score,
        "terms": [
            {"name": term.name, "value": term.value, "weight": term.weight, "contribution": term.contribution}
            for term in each.terms
        ],
        "draft": {
            "toon": each.draft.text or None,
            "valid": each.draft.valid,
            "problems": problem_lines(each.draft.problems),
            "unknowns": [{"env": name, "what": what} for name, what in each.draft.unknowns],
            "note": each.draft.note or None,
        },
        "previous": asdict(each.previous) if each.previous else None,
    }


def _signals(signals: Signals) -> dict[str, Any]:
    coverage = {each.name.lower(): len(signals.with_coverage(each)) for each in Coverage}
    return {
        "runs": signals.runs,
        "activity_rows": signals.activity_rows,
        "store_problem": signals.store_problem,
        "store_advice": signals.store_advice or None,
        "stale_after_days": signals.stale_after_days,
        "coverage": {"installed_actions": signals.installed_actions, **coverage},
        "actions": [_without(asdict(each), "last_run_ns") for each in signals.actions],
        "experiments": [_without(asdict(each), "last_run_ns") for each in signals.experiments],
    }


def _without(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != key}


def _agent(outcome: Outcome) -> dict[str, Any]:
    found = outcome.consultation
    return {
        "adapter": found.adapter,
        "model": found.model,
        "recommendations": found.text or None,
        "experiments_written": [str(written.path) for _, written in outcome.written],
        "experiments_rejected": [_rejection(each) for each in outcome.rejected],
        "usage": {**spent(found.usage), "calls": found.usage.calls, "seconds": round(found.duration_s, 3)},
        "steps": found.usage.calls,
        "finish": found.finish,
        "repair_rounds": {str(index): rounds for index, rounds in sorted(found.rounds.items())},
        "notes": [*found.notes, *written_notes(outcome.written)],
        "error": _error(found.error) if found.error else None,
    }


def spent(usage: TotalUsage) -> dict[str, Any]:
    """Give tokens and price; None where no call says them, or none answered."""
    known = usage if usage.calls else TotalUsage(calls_without_tokens=1, calls_without_cost=1)
    return {
        "input_tokens": known.input_tokens,
        "output_tokens": known.output_tokens,
        "cost_usd": known.cost_usd,
    }


def _rejection(each: Rejection) -> dict[str, Any]:
    return {
        "title": each.title or None,
        "index": each.index,
        "error": each.errors[0],
        "errors": list(each.errors),
        "rounds": each.rounds,
        "refused": each.refused,
    }


def _error(error: AgentCliError) -> dict[str, Any]:
    return {
        "kind": str(error.kind),
        "detail": error.detail,
        "hint": error.hint,
        "retryable": error.retryable,
    }


def _draft_notes(drafts: Iterable[tuple[Recommendation, Written | NotWritten]] | None) -> list[str]:
    return [
        f"draft written: {result.path}"
        if isinstance(result, Written)
        else f"draft not written: {result.title}: {result.reason}"
        for _, result in drafts or ()
    ]


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """Give each problem on one line, cleaned."""
    return [one_line(str(problem)) for problem in problems]


def written_notes(written: Iterable[tuple[Passed, Written]]) -> list[str]:
    """Say what a reader should know of each file: what was repaired, what to review, which file it equals."""
    notes = []
    for passed, file in written:
        notes += [f"{file.path.name}: {line}" for line in problem_lines(passed.notes)]
        if file.equals is not None:
            notes.append(f"{file.path.name}: equals {file.equals}, which was there already")
    return notes
