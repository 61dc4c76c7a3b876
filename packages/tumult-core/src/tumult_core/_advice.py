"""Warnings: what a careful author would not leave as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tumult_core._activities import Step, steps
from tumult_core._catalog_checks import find_function
from tumult_core.experiment import ActivityType, HttpProvider, NativeProvider, ProcessProvider, ScriptProvider
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
    yield from _undo(found, catalog)
    for step in found:
        yield from _step(step)
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


def _undo(found: list[Step], catalog: Catalog) -> Iterator[Problem]:
    """An action whose plugin knows how to undo it, in an experiment with rollbacks that never does."""
    last = {_called(step): index for index, step in enumerate(found)}
    has_rollbacks = any(step.section == "rollbacks" for step in found)
    for index, step in enumerate(found if has_rollbacks else ()):
        function = find_function(catalog, step.activity.provider) if step.section == "method" else None
        if function and function.undo and last.get((function.plugin, function.undo), -1) < index:
            message = f"is undone by {function.undo} of {function.plugin}, which no later step calls"
            yield _warning(step.path, "no-rollback", message, f"add a rollback that calls {function.undo}")


def _called(step: Step) -> tuple[str, str] | None:
    provider = step.activity.provider
    return (provider.plugin, provider.function) if isinstance(provider, NativeProvider | ScriptProvider) else None


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
