"""Checks of an experiment's own parts: names, kinds of steps, tolerances, baseline."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

from tumult_core._activities import Step, steps
from tumult_core._placeholders import is_template
from tumult_core.experiment import (
    ActivityType,
    HttpProvider,
    JsonPathTolerance,
    RangeTolerance,
    RegexTolerance,
    Tolerance,
)
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tumult_core.experiment import Experiment

_HTTP_TARGET = re.compile(r"status|body|elapsed_ms|headers\.[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_experiment(experiment: Experiment) -> Iterator[Problem]:
    """Find what the tables cannot: relations between the parts of an experiment."""
    found = list(steps(experiment))
    yield from _same_names(experiment, found)
    for step in found:
        yield from _kind(step)
        yield from _tolerance(step)


def error(path: str, code: str, message: str, hint: str = "") -> Problem:
    """Make a problem that refuses the document; its place is found later."""
    return Problem(Severity.ERROR, path, message, hint, code)


def _same_names(experiment: Experiment, found: list[Step]) -> Iterator[Problem]:
    by_section: dict[str, list[tuple[str, str]]] = {}
    for step in found:
        if step.section != "guards":
            by_section.setdefault(step.section, []).append((f"{step.path}.name", step.activity.name))
    guards = [(f"guards[{index}].name", guard.name) for index, guard in enumerate(experiment.guards)]
    controls = [(f"controls[{index}].name", control.name) for index, control in enumerate(experiment.controls)]
    for names in (*by_section.values(), guards, controls):
        yield from _repeated(names)


def _repeated(names: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for path, name in names:
        if name in first:
            message = f"is the name of {first[name].removesuffix('.name')} too"
            yield error(path, "duplicate-name", message, "give each a name of its own")
        first.setdefault(name, path)


def _kind(step: Step) -> Iterator[Problem]:
    watches = step.section in {"steady_state_hypothesis.probes", "guards"}
    if watches and step.activity.activity_type is not ActivityType.PROBE:
        path = f"{step.path}.activity_type"
        yield error(path, "activity-type", "must be probe: an action may not stand here", "move the action to `method`")
    if step.section == "guards" and step.activity.tolerance is None:
        yield error(
            f"{step.path}.tolerance", "missing-key", "is required for a guard's probe and missing", "add a tolerance"
        )


def _tolerance(step: Step) -> Iterator[Problem]:
    tolerance, path = step.activity.tolerance, f"{step.path}.tolerance"
    match tolerance:
        case None:
            return
        case RangeTolerance(low, high) if low > high:
            yield error(f"{path}.from", "range", f"from {low:g} is more than to {high:g}", "exchange the two")
        case RegexTolerance(pattern):
            yield from _pattern(f"{path}.pattern", pattern)
        case JsonPathTolerance():
            yield from _json_path(path, tolerance)
        case _:
            pass
    yield from _target(step, tolerance)


def _pattern(path: str, pattern: str) -> Iterator[Problem]:
    if is_template(pattern):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        yield error(
            path, "regex", f"is not a regular expression: {fault}", "a backslash is written `\\\\` inside quotes"
        )


def _json_path(path: str, tolerance: JsonPathTolerance) -> Iterator[Problem]:
    from jsonpath_ng.ext.parser import parse

    if tolerance.value is not None and tolerance.count is not None:
        yield error(
            f"{path}.count", "value-and-count", "stands beside `value`; a JSON path takes one of them", "remove one"
        )
    if is_template(tolerance.path):
        return
    try:
        parse(tolerance.path)
    except Exception as fault:  # noqa: BLE001 - the parser's errors have no base, and some are plain Exception
        said = str(fault).partition("\n")[0]
        yield error(f"{path}.path", "json-path", f"is not a JSON path: {said}", "as in `$.items[0].name`")


def _target(step: Step, tolerance: Tolerance) -> Iterator[Problem]:
    http = isinstance(step.activity.provider, HttpProvider)
    if http and tolerance.target is not None and not _HTTP_TARGET.fullmatch(tolerance.target):
        message = "is no part of an HTTP answer"
        yield error(
            f"{step.path}.tolerance.target", "target", message, "it is status, body, headers.NAME or elapsed_ms"
        )
