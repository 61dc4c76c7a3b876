"""The report for a terminal: a table, the evidence, what to do next; then each agent's part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabulate import tabulate

from tumult_core._text import one_line
from tumult_intelligence.explain import ALWAYS
from tumult_intelligence.report import SOURCE, problem_lines, written_notes
from tumult_intelligence.signals import Coverage
from tumult_intelligence.writer import NotWritten, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tumult_core.store.values import AgentCall, RecommendationRecord
    from tumult_intelligence.advice import Advice
    from tumult_intelligence.merge import Merged
    from tumult_intelligence.recommendation import Previous, Recommendation
    from tumult_intelligence.report import Outcome, Rejection, Report

    Style = Callable[[str], str]

_TITLE_WIDTH = 60


def render_advice(report: Report, *, explain: bool = False, bold: Callable[[str], str] = str) -> str:
    """Give the deterministic half as text.

    Args:
        report: what there is to say.
        explain: show how each score comes to be.
        bold: marks a heading.
    """
    advice = report.advice
    blocks = [
        "\n".join([bold("=== Recommendations ==="), *_head(report)]),
        _table(advice),
        *(_evidence(each, explain=explain) for each in advice.recommendations),
        _listed(bold("Notes"), [*advice.notes, *report.notes]),
        _listed(bold("Drafts"), list(_drafts(report.drafts))),
        _listed(bold("Next steps"), list(_next_steps(report))),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def render_agents(report: Report, *, bold: Callable[[str], str] = str) -> str:
    """Give what the agents said and what became of their proposals; empty where none answered."""
    answered = [outcome for outcome in report.outcomes if outcome.consultation.error is None]
    blocks = [_agent(outcome, bold, generating=report.generating) for outcome in answered]
    blocks += [_merged(report.merged, bold)] if report.merged else []
    return "".join(f"\n{block}\n" for block in blocks)


def failure_lines(report: Report) -> list[str]:
    """Say which agents could not be used, why, and what to do."""
    lines = []
    for error in report.failures:
        detail = f": {one_line(error.detail)}" if error.detail else ""
        lines.append(f"Error: the agent {error.name} could not be used: {error.kind}{detail}")
        lines += [f"Hint: {one_line(error.hint)}"] if error.hint else []
        lines += ["Hint: the same request may succeed later"] if error.retryable else []
    return lines


def render_history(calls: Sequence[AgentCall], records: Sequence[RecommendationRecord]) -> str:
    """Give the recorded agent calls, newest first, and what became of recommendations."""
    rows = [
        (
            when(each.started_at_ns),
            each.adapter,
            each.model or "-",
            each.outcome,
            f"{each.duration_s:.1f}",
            *_spent(each),
        )
        for each in calls
    ]
    headers = ("when", "agent", "model", "outcome", "seconds", "tokens in", "out", "USD", "written", "rejected")
    acted = [(when(each.recorded_at_ns), each.state, _cell(each.title), each.path or "-") for each in records]
    return (
        "Agent calls\n\n"
        + (_grid(rows, headers) if rows else "None yet.")
        + "\n\nRecommendations acted on\n\n"
        + (_grid(acted, ("when", "state", "recommendation", "file")) if acted else "None yet.")
        + "\n"
    )


def when(epoch_ns: int) -> str:
    """Give a time as text, UTC, to the second."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(epoch_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _spent(call: AgentCall) -> tuple[str, ...]:
    values = (call.input_tokens, call.output_tokens, call.cost_usd, call.written, call.rejected)
    return tuple("-" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _grid(rows: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    return tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True)


def _head(report: Report) -> Iterator[str]:
    signals = report.advice.signals
    yield f"Source: {SOURCE}"
    if report.goal:
        yield f"Goal: {one_line(report.goal)}"
    if signals.store_problem is not None:
        yield f"History: not read: {signals.store_problem}"
        if signals.store_advice:
            yield f"What to do: {signals.store_advice}"
        return
    tested, failed, untested = (
        len(signals.with_coverage(each)) for each in (Coverage.TESTED, Coverage.ONLY_FAILED, Coverage.UNTESTED)
    )
    failing, flaky, stale = (
        sum(getattr(each, name) for each in signals.experiments) for name in ("failing", "flaky", "stale")
    )
    yield f"History: {counted(signals.runs, 'run')}, {counted(signals.activity_rows, 'step')}"
    yield f"Actions: {signals.installed_actions} installed: {tested} tested, {failed} only failed, {untested} untested"
    yield f"Experiments: {len(signals.experiments)} known: {failing} failing, {flaky} flaky, {stale} stale"


def _table(advice: Advice) -> str:
    if not advice.recommendations:
        return ""
    rows = [
        (
            str(each.rank),
            f"{each.score:.2f}",
            each.kind.replace("_", " "),
            _cell(each.title),
            _draft_state(each),
            _before(each.previous),
        )
        for each in advice.recommendations
    ]
    more = len(advice.targets) - len(rows)
    note = f"\n({counted(more, 'more candidate')}: raise --limit)" if more else ""
    return _grid(rows, ("#", "score", "kind", "recommendation", "draft", "before")) + note


def _draft_state(each: Recommendation) -> str:
    return "valid" if each.draft.valid else "not valid" if each.draft.text else "none"


def _before(previous: Previous | None) -> str:
    if previous is None:
        return ""
    ran = ", run since" if previous.run_since else ""
    return f"{previous.state} {counted(previous.days_since, 'day')} ago{ran}"


def counted(number: int, noun: str) -> str:
    """Give a number with its noun in the right form."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _cell(text: str, width: int = _TITLE_WIDTH) -> str:
    """Cut a text to the width of its column; the evidence below has it whole."""
    line = one_line(text)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _evidence(each: Recommendation, *, explain: bool) -> str:
    lines = [
        f"{each.rank}. {one_line(each.title)}",
        f"   Why: {each.rationale}",
        f"   Teaches: {each.expected_learning}",
    ]
    lines += [f"   First: {one_line(sentence)}" for sentence in each.preconditions if sentence != ALWAYS]
    lines += [f"   Draft: {one_line(each.draft.note)}"] if each.draft.note else []
    lines += [f"   Set: export {name}=… ({one_line(what)})" for name, what in each.draft.unknowns]
    if each.previous is not None and each.previous.path:
        lines.append(f"   Before: {_before(each.previous)}: {one_line(each.previous.path)}")
    if explain:
        lines += [
            f"   {term.name:<10} {term.value:.4f} x {term.weight:+g} = {term.contribution:+.4f}" for term in each.terms
        ]
        lines.append(f"   {'score':<10} {each.score:.4f}")
    return "\n".join([*lines, *(f"   Draft: {line}" for line in problem_lines(each.draft.errors))])


def _listed(heading: str, items: Sequence[str]) -> str:
    return "\n".join([heading, *(f"  - {item}" for item in items)]) if items else ""


def _drafts(drafts: Iterable[tuple[Recommendation, Written | NotWritten]] | None) -> Iterator[str]:
    for _, result in drafts or ():
        if isinstance(result, NotWritten):
            yield f"not written: {one_line(result.title)}: {result.reason}"
        else:
            yield f"wrote {result.path}" + (f" (equals {result.equals})" if result.equals else "")


def _next_steps(report: Report) -> Iterator[str]:
    written = [result for _, result in report.drafts or () if isinstance(result, Written)]
    if written:
        yield f"Set what the draft leaves open, then look at the plan: tumult run --dry-run {written[0].path}"
        yield f"Run it: tumult run {written[0].path}"
    elif report.advice.recommendations and report.drafts is None:
        yield "Write the drafts as files: tumult recommend --drafts DIR"
    if report.advice.recommendations:
        yield f"{ALWAYS}."
    if report.advice.recommendations and not report.asked:
        yield "Have an agent reason on top: tumult recommend --agent NAME (tumult agents lists them)"


def _agent(outcome: Outcome, bold: Callable[[str], str], *, generating: bool) -> str:
    found = outcome.consultation
    lines = [bold(f"=== Agent-enhanced recommendations ({found.adapter}) ===")]
    lines += [f"Model: {one_line(found.model)}"] if found.model else []
    lines += ["", found.text or "(no text)"]
    lines += [f"Note: {one_line(note)}" for note in found.notes]
    return "\n".join([*lines, *(_proposals(outcome) if generating else ())])


def _proposals(outcome: Outcome) -> Iterator[str]:
    yield ""
    for passed, file in outcome.written:
        yield f"Wrote {file.path}{_after_rounds(outcome.consultation.rounds.get(passed.index, 0))}"
    for note in written_notes(outcome.written):
        yield f"  {note}"
    for each in outcome.rejected:
        yield from _rejection(each)
    refused = sum(each.refused for each in outcome.rejected)
    unwritten = len(outcome.rejected) - refused
    more = f", {unwritten} could not be written" if unwritten else ""
    if outcome.written:
        yield f"Next: look at the plan, which runs nothing: tumult run --dry-run {outcome.written[0][1].path}"
    yield f"{len(outcome.written)} experiment(s) written, {refused} rejected (validation failed){more}"


def _rejection(each: Rejection) -> Iterator[str]:
    title = f' "{one_line(each.title, 80)}"' if each.title else ""
    sent_back = f" (sent back {counted(each.rounds, 'time')})" if each.rounds else ""
    what = "Rejected experiment" if each.refused else "Not written"
    yield f"{what}: {each.index}{title}{sent_back}: {each.errors[0]}"
    yield from (f"  {error}" for error in each.errors[1:])


def _after_rounds(rounds: int) -> str:
    return f" (after {counted(rounds, 'round')} of repair)" if rounds else ""


def _merged(merged: Sequence[Merged], bold: Callable[[str], str]) -> str:
    agents = sorted({agent for each in merged for agent in each.ranks})
    rows = [
        (
            str(each.rank),
            _cell(each.title),
            f"{each.score:.4f}",
            *(str(each.ranks.get(agent, "-")) for agent in agents),
        )
        for each in merged
    ]
    return f"{bold('=== Merged ranking ===')}\n{_grid(rows, ('#', 'recommendation', 'score', *agents))}"
