"""A run in words: progress, result and plan as lines of text, cleaned and on one line each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tumult_core._text import one_line
from tumult_core.events import EventKind
from tumult_core.journal import ActivityStatus, Journal, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tumult_core._plan import Plan, PlannedStep
    from tumult_core.events import RunEvent
    from tumult_core.journal import ActivityResult, HypothesisResult

_SECOND_MS = 1000
_PHASES = {
    Phase.HYPOTHESIS_BEFORE: "before",
    Phase.METHOD: "method",
    Phase.HYPOTHESIS_AFTER: "after",
    Phase.ROLLBACK: "rollback",
}


def progress(event: RunEvent) -> str | None:
    """Give a line for an event; None where it needs none."""
    if event.kind is EventKind.NOTE:
        return one_line(event.text)
    if event.result is None:
        return None
    result = event.result
    outcome = str(result.status) if result.tolerance_met is not False else _missed(result)
    reason = f": {one_line(result.error)}" if result.error else ""
    return f"{_PHASES[result.phase]:<8}  {one_line(result.name)}  {outcome}  {duration(result.duration_ms)}{reason}"


def good(event: RunEvent) -> bool | None:
    """Tell whether an event is good news; None where it is neither."""
    if event.result is None:
        return None
    return event.result.status is ActivityStatus.SUCCEEDED and event.result.tolerance_met is not False


def result_lines(journal: Journal, kept: tuple[str, ...]) -> Iterator[str]:
    """Give the result: status, hypothesis, what went wrong, rollbacks, and where the record is."""
    yield f"{_status(journal)}: {one_line(journal.title)} ({duration(journal.duration_ms)})"
    if journal.hypothesis_before:
        before, after = map(_met, (journal.hypothesis_before, journal.hypothesis_after))
        recovered = "" if journal.recovery_s is None else f", {journal.recovery_s:g} s after the method"
        when = " (before the rollbacks)" if journal.hypothesis_after and journal.rollbacks else ""
        yield f"hypothesis: {before} before, {after} after{recovered}{when}"
    yield from map(_deviation, filter(_deviates, journal.activities))
    yield _rollbacks(journal)
    if journal.estimate_met is not None:
        yield f"estimate: {'met' if journal.estimate_met else 'not met'}"
    yield from map(one_line, journal.notes)
    yield f"run: {journal.experiment_id}"
    yield f"journal: {' and '.join(map(one_line, kept)) or 'kept nowhere'}"


def plan_lines(plan: Plan) -> Iterator[str]:
    """Give the plan, section by section."""
    yield f"plan: {one_line(plan.title)}"
    section = ""
    for step in plan.steps:
        if step.section != section:
            section = step.section
            yield f"{section}:"
        yield from _step_lines(step)
    if plan.max_concurrent_faults:
        yield f"at most {plan.max_concurrent_faults} background steps at a time"
    for name, value in (("baseline", plan.baseline), ("load", plan.load)):
        if value is not None:
            yield f"{name}: {_fields(value)}"
    if plan.unsupported:
        yield f"this version of Tumult cannot execute {', '.join(plan.unsupported)}: a run would be refused"
    yield "dry run: nothing was executed"


def _step_lines(step: PlannedStep) -> Iterator[str]:
    yield f"  {one_line(step.name)} ({step.activity_type}, {step.kind}){_details(step)}"
    yield f"    {one_line(step.call)}"
    if step.kind != "process" and step.arguments:
        for name, value in step.arguments.items():
            if name != "url":
                yield f"    {one_line(f'{name} = {_value(value)}')}"
    if step.tolerance:
        yield f"    tolerance: {_fields(step.tolerance)}"


def _fields(value: Mapping[str, Any]) -> str:
    return one_line(", ".join(f"{key} {_value(item)}" for key, item in value.items()))


def _value(value: Any) -> str:
    """Give text as it is, and anything else as a document writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _details(step: PlannedStep) -> str:
    parts = [
        "in the background" if step.background else "",
        f"{step.pause_before_s:g} s pause before" if step.pause_before_s else "",
        f"{step.pause_after_s:g} s pause after" if step.pause_after_s else "",
        f"at most {step.timeout_s:g} s" if step.timeout_s is not None else "no time limit",
    ]
    return f", {', '.join(filter(None, parts))}"


def duration(milliseconds: int) -> str:
    """Give a duration for people."""
    return f"{milliseconds} ms" if milliseconds < _SECOND_MS else f"{milliseconds / _SECOND_MS:.1f} s"


def _status(journal: Journal) -> str:
    by = f" by {journal.interrupted_by}" if journal.interrupted_by else ""
    failed = f", {journal.rollback_failures} of its rollbacks failed" if journal.rollback_failures else ""
    return f"{journal.status}{by}{failed}"


def _met(result: HypothesisResult | None) -> str:
    return "not looked at" if result is None else "met" if result.met else "not met"


def _missed(result: ActivityResult) -> str:
    return "outside its tolerance" if result.status is ActivityStatus.SUCCEEDED else str(result.status)


def _deviates(result: ActivityResult) -> bool:
    return result.status is not ActivityStatus.SUCCEEDED or result.tolerance_met is False


def _deviation(result: ActivityResult) -> str:
    return f"{_missed(result)}: {_PHASES[result.phase]} {one_line(result.name)}: {one_line(result.error or '')}"


def _rollbacks(journal: Journal) -> str:
    if not journal.rollbacks:
        return "rollbacks: none run"
    done = len(journal.rollbacks) - journal.rollback_failures
    return f"rollbacks: {done} of {len(journal.rollbacks)} succeeded"
