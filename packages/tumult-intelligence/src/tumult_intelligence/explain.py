"""Say why a candidate is recommended, what to settle first, and what a run would teach, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core._text import mask, one_line
from tumult_core.catalog import Risk
from tumult_intelligence.ranking import Kind
from tumult_intelligence.signals import ActionSignal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tumult_intelligence.ranking import Candidate
    from tumult_intelligence.signals import ExperimentSignal, Signals

_MAX_ERROR = 160

ALWAYS = "Agree on the target and the time with whoever owns it"
"""What is to be settled before every experiment."""


def title_of(candidate: Candidate) -> str:
    """Give the recommendation's title."""
    verb = {
        Kind.UNTESTED_ACTION: "Exercise",
        Kind.ONLY_FAILED_ACTION: "Get a first success of",
        Kind.FAILING_EXPERIMENT: "Repeat the failing experiment:",
        Kind.STALE_EXPERIMENT: "Repeat the stale experiment:",
    }
    signal = candidate.signal
    name = f"{signal.plugin} {signal.function}" if isinstance(signal, ActionSignal) else signal.title
    return f"{verb[candidate.kind]} {one_line(name)}"


def rationale(candidate: Candidate, signals: Signals) -> str:
    """Say why, with the numbers."""
    signal = candidate.signal
    if not isinstance(signal, ActionSignal):
        return _experiment_rationale(signal)
    undoes = f" It is the undo of {_listed(candidate.undoes)}, and no fault by itself." if candidate.undo else ""
    if not signal.runs:
        return f"{_untested_rationale(signal, signals)}{undoes}"
    tried = f"Executed {_times(signal.runs)}, never with success; {_ago(signal.days_since)}."
    return f"{tried}{undoes}{_error(signal.last_error)}"


def _untested_rationale(signal: ActionSignal, signals: Signals) -> str:
    total = signals.installed_actions
    untested = sum(action.installed and not action.runs for action in signals.actions)
    of_plugin = [action for action in signals.actions if action.installed and action.plugin == signal.plugin]
    tested = sum(action.succeeded > 0 for action in of_plugin)
    return (
        f"Never executed. {tested} of {len(of_plugin)} actions of {signal.plugin} were ever tested;"
        f" {untested} of all {total} were not."
    )


def _experiment_rationale(signal: ExperimentSignal) -> str:
    overall = f"{signal.not_completed} of {_runs(signal.runs)} did not complete"
    recent = f", {signal.recent_not_completed} of the last {signal.recent_runs}" if signal.failing else ""
    flaky = f" Flaky: its outcome changed {_times(signal.flips)}." if signal.flaky else ""
    error = _error(signal.last_error) if signal.failing else ""
    return f"{overall}{recent}; {_ago(signal.days_since)}, {signal.last_status}.{flaky}{error}"


def preconditions(candidate: Candidate) -> tuple[str, ...]:
    """Say what to settle before a run."""
    return tuple(dict.fromkeys(_preconditions(candidate)))


def _preconditions(candidate: Candidate) -> Iterator[str]:
    for sentence in candidate.missing:
        yield f"This machine cannot run it yet: {sentence}"
    for function in candidate.functions:
        if function.risk is Risk.HIGH:
            yield f"{function.plugin}/{function.name} is of high risk: use a target that may be lost"
        if not function.undo and not candidate.undo:
            yield f"No undo is known for {function.plugin}/{function.name}: have your own way back"
    yield ALWAYS


def expected_learning(candidate: Candidate) -> str:
    """Say what a run would teach."""
    match candidate.kind:
        case Kind.UNTESTED_ACTION:
            return "Whether the system notices this fault, keeps its steady state, and recovers from it."
        case Kind.ONLY_FAILED_ACTION:
            return "Whether the action works here at all: until it does, nothing is known of the system's answer to it."
        case Kind.FAILING_EXPERIMENT:
            return "Whether the weakness that it showed is still there."
        case Kind.STALE_EXPERIMENT:
            return "Whether what it showed still holds after everything that changed since."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def _ago(days: int | None) -> str:
    if not days:
        return "last run less than a day ago"
    return f"last run {days} day{'' if days == 1 else 's'} ago"


def _error(error: str | None) -> str:
    return f" Last error: {mask(one_line(error, _MAX_ERROR))}" if error else ""
