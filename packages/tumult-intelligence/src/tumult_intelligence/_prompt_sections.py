"""The parts of the prompt that come from outside: one line each, all of it quoted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from attrs import field, frozen

from tumult_intelligence._inert import inert
from tumult_intelligence.signals import Coverage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_core.catalog import Argument, Catalog, Function
    from tumult_intelligence.recommendation import Recommendation
    from tumult_intelligence.signals import ActionSignal, ExperimentSignal, Signals

_COVERAGES = (Coverage.TESTED, Coverage.ONLY_FAILED, Coverage.UNTESTED)


@frozen
class Section:
    """A heading and lines that can be cut from the end of ``kept``, the least important first."""

    heading: str
    lines: list[str]
    intro: str = ""
    order: list[int] = field(factory=list)  # positions in ``lines``, most important first

    def render(self, kept: int) -> str:
        """Give the section with its ``kept`` most important lines, and say how many are left out."""
        chosen = sorted(self.order[:kept])
        left_out = len(self.lines) - kept
        note = [f"({left_out} more left out: the prompt is as long as it may be)"] if left_out else []
        body = [self.lines[place] for place in chosen] + note or ["(none)"]
        return "\n".join([f"## {self.heading}\n", *filter(None, [self.intro]), *body])


@frozen
class Quoter:
    secrets: tuple[str, ...] = ()

    def __call__(self, text: str, limit: int = 200) -> str:
        """Give ``text`` as one JSON string of at most about ``limit`` characters."""
        return inert(text, limit, self.secrets)


def recommendations_section(recommendations: Sequence[Recommendation], quote: Quoter) -> Section:
    """Give the recommendations, best first."""
    lines = [
        f"{each.rank}. [{_bare_id(each.id)}] {quote(each.title)}; score {each.score:g}"
        f" ({', '.join(f'{term.name} {term.contribution:+g}' for term in each.terms if term.contribution)});"
        f" {quote(each.rationale, 600)}"
        for each in recommendations
    ]
    return Section("Heuristic recommendations (computed)", lines, order=list(range(len(lines))))


def _bare_id(identity: str) -> str:
    # An id holds a plugin's and a function's name; the loader lets through only names without blanks and separators.
    return inert(identity)[1:-1].replace("[", "(").replace("]", ")")


def signals_section(signals: Signals, quote: Quoter) -> Section:
    """Give the numbers of coverage, then the experiments, those that fail first, then the actions that ran."""
    lines = [
        f"- {signals.runs} runs and {signals.activity_rows} steps are recorded.",
        _coverage_line(signals),
        *([f"- The history could not be read: {quote(signals.store_problem)}"] if signals.store_problem else []),
        *(_experiment_line(each, quote) for each in _by_importance(signals.experiments)),
        *(_action_line(each, quote) for each in signals.actions if each.runs),
    ]
    return Section("Journal signals", lines, order=list(range(len(lines))))


def _coverage_line(signals: Signals) -> str:
    tested, failed, untested = (len(signals.with_coverage(each)) for each in _COVERAGES)
    return (
        f"- Coverage: {tested} of {signals.installed_actions} installed actions tested, {failed} only ever failed,"
        f" {untested} never executed."
    )


def _by_importance(experiments: Sequence[ExperimentSignal]) -> list[ExperimentSignal]:
    return sorted(experiments, key=lambda each: (not each.failing, not each.flaky, not each.stale, each.title))


def _experiment_line(each: ExperimentSignal, quote: Quoter) -> str:
    marks = "".join(f", {name}" for name in ("failing", "flaky", "stale") if getattr(each, name))
    return (
        f"- experiment {quote(each.title)}: {each.runs} runs, {each.not_completed} not completed,"
        f" {each.recent_not_completed} of the last {each.recent_runs}; last {each.days_since} days ago,"
        f" {quote(each.last_status, 20)}{marks}{_error(each.last_error, quote)}"
    )


def _action_line(each: ActionSignal, quote: Quoter) -> str:
    counts = f"{each.runs} runs, {each.succeeded} succeeded, last {each.days_since} days ago"
    return f"- action {quote(each.name)}: {counts}{_error(each.last_error, quote)}"


def _error(error: str | None, quote: Quoter) -> str:
    return f"; last error {quote(error, 300)}" if error else ""


def catalog_section(catalog: Catalog, recommendations: Sequence[Recommendation], quote: Quoter) -> Section:
    """Give every function, those of recommended plugins as the most important."""
    functions = list(catalog.functions())
    named = {each.plugin for each in recommendations}
    order = sorted(range(len(functions)), key=lambda place: (functions[place].plugin not in named, place))
    intro = "Only these plugins, actions, probes and arguments exist; never use another.\n"
    return Section("Plugin catalog", [_function_line(each, quote) for each in functions], intro, order)


def _function_line(function: Function, quote: Quoter) -> str:
    facts = [f"risk {function.risk}", *([f"undo {quote(function.undo)}"] if function.undo else [])]
    facts += ["looks only"] if function.read_only else []
    facts += ["cannot run here"] if function.missing else []
    about = f": {quote(function.description)}" if function.description else ""
    return (
        f"- {function.activity_type} {quote(function.name)} of plugin {quote(function.plugin)}, `type: {function.kind}`"
        f" ({', '.join(facts)}){about}; {_arguments(function.arguments, quote)}"
    )


def _arguments(arguments: tuple[Argument, ...] | None, quote: Quoter) -> str:
    if arguments is None:
        return "arguments are not declared"
    return f"arguments: {', '.join(_argument(each, quote) for each in arguments)}" if arguments else "no arguments"


def _argument(argument: Argument, quote: Quoter) -> str:
    if argument.required:
        return f"{quote(argument.name)} {quote(argument.type)[1:-1]} required"
    return f"{quote(argument.name)} {quote(argument.type)[1:-1]} optional{_default(argument, quote)}"


def _default(argument: Argument, quote: Quoter) -> str:
    """Say the default as JSON; a text goes through the quoter, which gives JSON itself."""
    value = argument.default
    if value is None:
        return ""
    if argument.secret:
        return ", by default ***"
    is_plain = isinstance(value, bool | int | float)
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f", by default {said if is_plain else quote(said)}"
