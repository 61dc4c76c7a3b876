"""Warnings: what a careful author would not leave as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tumult_core._activities import Step, steps
from tumult_core._catalog_checks import find_function
from tumult_core.experiment import ActivityType, HttpProvider, ProcessProvider
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_core.catalog import Catalog, Function
    from tumult_core.experiment import Experiment, Provider

_HYPOTHESIS = "steady_state_hypothesis.probes"

# Words of a command line that change something. `kill -0` only looks, and a redirection to /dev or to a descriptor too.
_CHANGES = re.compile(
    r"""
    (?<![\w./-]) (?: (?:/usr)? /s?bin/ )?
    (?: rm | mv | cp | mkdir | rmdir | touch | truncate | dd | mkfs\S* | ln | chmod | chown | tee
      | pkill | killall | reboot | shutdown | iptables | setsid | nohup
      | kill (?! \s+ -0\b ) | sed \s+ -i | tc \s+ qdisc \s+ (?:add|del|change|replace)
      | docker \s+ (?:run|start|stop|kill|rm|pause|unpause|restart) | systemctl \s+ (?:start|stop|restart|kill)
      | kubectl \s+ (?:apply|create|delete|scale|patch|drain|cordon) ) (?![\w-])
    | >{1,2} \s* (?! [&\s>] | /dev/ ) \S
    | (?i: \b (?: drop \s+ table | delete \s+ from | insert \s+ into | truncate \s+ table | pg_terminate_backend ) \b )
    """,
    re.VERBOSE,
)


def advise(experiment: Experiment, catalog: Catalog) -> Iterator[Problem]:
    """Find what is allowed and yet most likely an oversight."""
    found = list(steps(experiment))
    yield from _whole(experiment)
    for step in found:
        yield from _step(step)
        yield from _undo(step, found, find_function(catalog, step.activity.provider))
        yield from _background(step, experiment, find_function(catalog, step.activity.provider))
        if step.section == _HYPOTHESIS and _changes(step.activity.provider):
            message = "looks like it changes something; the hypothesis is looked at several times"
            yield _warning(
                step.path, "changing-probe", message, "let the probe only look, and move the change to `method`"
            )


def _warning(path: str, code: str, message: str, hint: str = "") -> Problem:
    return Problem(Severity.WARNING, path, message, hint, code)


def _whole(experiment: Experiment) -> Iterator[Problem]:
    actions = sum(activity.activity_type is ActivityType.ACTION for activity in experiment.method)
    if actions and not experiment.rollbacks:
        message = f"nothing undoes the {f'{actions} actions' if actions > 1 else 'action'} of the method"
        yield _warning("rollbacks", "no-rollback", message, "add a rollback for each action")
    if experiment.steady_state_hypothesis is None:
        hint = "add `steady_state_hypothesis:` with a probe that tells whether the system is well"
        yield _warning("method", "no-hypothesis", "without a hypothesis a run shows nothing", hint)
        if experiment.baseline is not None:
            yield _warning("baseline", "no-hypothesis", "there is no hypothesis whose probes it could sample")


def _step(step: Step) -> Iterator[Problem]:
    provider = step.activity.provider
    if isinstance(provider, ProcessProvider) and provider.timeout_s is None:
        yield _warning(f"{step.path}.provider", "no-timeout", "the program may run for ever", "add `timeout_s: …`")
    if provider.timeout_s == 0:
        yield _warning(f"{step.path}.provider.timeout_s", "no-time", "0 seconds leave the step no time to succeed")
    if step.activity.background and step.section != "method":
        yield _warning(
            f"{step.path}.background", "background", "only steps of the method run in the background", "remove it"
        )


def _undo(step: Step, found: list[Step], function: Function | None) -> Iterator[Problem]:
    """An action whose plugin knows how to undo it, in an experiment that does not."""
    has_rollbacks = any(other.section == "rollbacks" for other in found)
    if step.section != "method" or function is None or function.undo is None or not has_rollbacks:
        return
    if not _is_undone(step, found, function):
        message = f"is undone by {function.undo} of {function.plugin}, which no later step calls"
        yield _warning(step.path, "no-rollback", message, f"add a rollback that calls {function.undo}")


def _is_undone(step: Step, found: list[Step], function: Function) -> bool:
    later = found[found.index(step) + 1 :]
    wanted = (function.plugin, function.undo)
    return any(
        (getattr(p, "plugin", None), getattr(p, "function", None)) == wanted
        for p in (s.activity.provider for s in later)
    )


def _background(step: Step, experiment: Experiment, function: Function | None) -> Iterator[Problem]:
    activity = step.activity
    endless = activity.provider.timeout_s is None and (function is None or function.timeout_s is None)
    action = activity.activity_type is ActivityType.ACTION
    if step.section == "method" and activity.background and action and endless and not experiment.rollbacks:
        yield _warning(
            step.path,
            "endless-background",
            "runs in the background and nothing stops it",
            "add a timeout or a rollback",
        )


def _changes(provider: Provider) -> bool:
    match provider:
        case ProcessProvider(path, arguments):
            return _CHANGES.search(" ".join((path.rpartition("/")[2], *arguments))) is not None
        case HttpProvider(method):
            return method not in {"GET", "HEAD", "OPTIONS"}
        case _:
            return False
