"""What a proposal may not do however valid it is, and what a person must look at before it runs.

The policy reads programs and arguments, not intentions. It keeps out what cannot be undone and what cannot be reviewed;
everything else that changes a system is marked, since breaking things on purpose is what experiments are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from tumult_core._placeholders import find_placeholders, substitute
from tumult_core.catalog import PluginKind, Risk
from tumult_core.experiment import (
    Activity,
    HttpProvider,
    InlineValue,
    NativeProvider,
    ProcessProvider,
    PythonProvider,
    ScriptProvider,
)
from tumult_core.problems import Problem, Severity
from tumult_intelligence import _programs
from tumult_intelligence._commands import all_commands
from tumult_intelligence._files import made_by
from tumult_intelligence._shell import PLACE, UnreadableShell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_core.catalog import Catalog
    from tumult_core.experiment import Experiment, Provider
    from tumult_intelligence._commands import Command
    from tumult_intelligence._files import Made

MAX_REVIEWABLE = 10_000
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@frozen
class _Line:
    """What a ``process`` step runs, placeholders filled in as far as they are known.

    Attributes:
        problem: why its commands cannot be told.
    """

    words: tuple[str, ...]
    commands: tuple[Command, ...] = ()
    problem: str = ""


@frozen
class Step:
    """One place in an experiment that executes something."""

    path: str
    provider: Provider


def check_policy(experiment: Experiment, catalog: Catalog) -> tuple[Problem, ...]:
    """Give what the policy refuses (errors) and what a person must review (warnings), in the order of the document."""
    lines = {step.path: _lines(step.provider, experiment) for step in steps(experiment)}
    made = made_by(command for each in lines.values() for line in each for command in line.commands)
    found = [problem for step in steps(experiment) for problem in _check_step(step, catalog, lines[step.path], made)]
    found += _check_whole(experiment)
    return tuple(_placed(experiment, problem) for problem in found)


def steps(experiment: Experiment) -> Iterator[Step]:
    """Give everything that a run of the experiment would execute."""
    for index, control in enumerate(experiment.controls):
        yield Step(f"controls[{index}].provider", control.provider)
    if experiment.steady_state_hypothesis is not None:
        yield from _activities("steady_state_hypothesis.probes", experiment.steady_state_hypothesis.probes)
    for index, guard in enumerate(experiment.guards):
        yield Step(f"guards[{index}].probe.provider", guard.probe.provider)
    yield from _activities("method", experiment.method)
    yield from _activities("rollbacks", experiment.rollbacks)


def _activities(section: str, activities: tuple[Activity, ...]) -> Iterator[Step]:
    for index, activity in enumerate(activities):
        yield Step(f"{section}[{index}].provider", activity.provider)


def _check_whole(experiment: Experiment) -> Iterator[Problem]:
    if not experiment.method:
        yield _refuse(
            "method", "the method is empty: an experiment does something", "add at least one action", "empty-method"
        )
    if experiment.secrets:
        yield _review("secrets", "it reads secrets", "look at where their values go")
    if experiment.controls:
        yield _review("controls", "it brings controls, code that runs around every step", "read what they do")
    if experiment.load is not None:
        yield _review("load", f"it runs the load script {experiment.load.script}", "read the script")


def _check_step(step: Step, catalog: Catalog, lines: tuple[_Line, ...], made: Made) -> Iterator[Problem]:
    match step.provider:
        case ProcessProvider():
            yield from _check_process(step.path, step.provider, lines, made)
        case PythonProvider():
            yield from _check_python(step.path, step.provider)
        case HttpProvider() if step.provider.method.upper() not in _SAFE_METHODS:
            yield _review(
                step.path, f"an HTTP {step.provider.method} changes something", "check the address and the body"
            )
        case NativeProvider() | ScriptProvider():
            yield from _check_function(step.path, step.provider, catalog)
        case _:
            pass


def _check_function(path: str, provider: NativeProvider | ScriptProvider, catalog: Catalog) -> Iterator[Problem]:
    kind = PluginKind.NATIVE if isinstance(provider, NativeProvider) else PluginKind.SCRIPT
    plugin = catalog.plugin(kind, provider.plugin)
    found = plugin.function(provider.function) if plugin else None
    if found is not None and found.risk is Risk.HIGH:
        yield _review(path, f"{found.plugin}/{found.name} is of high risk", "run it where its harm is acceptable")


def _lines(provider: Provider, experiment: Experiment) -> tuple[_Line, ...]:
    """Read a step as it is written, and with the values that the document itself gives its placeholders."""
    if not isinstance(provider, ProcessProvider) or sum(map(len, provider.arguments)) > MAX_REVIEWABLE:
        return ()
    words, env = (provider.path, *provider.arguments), dict(provider.env)
    found = {_line(words, env, values): None for values in ({}, _given(experiment))}
    return tuple(found)


def _given(experiment: Experiment) -> dict[str, Any]:
    return {
        f"config.{name}": value.value if isinstance(value, InlineValue) else value.default
        for name, value in experiment.configuration.items()
        if isinstance(value, InlineValue) or value.default is not None
    }


def _line(words: tuple[str, ...], env: dict[str, str], values: dict[str, Any]) -> _Line:
    marks = {each.name: f"{PLACE}{{{each.name}}}" for each in find_placeholders([*words, *env.values()])}
    filled = tuple(str(word) for word in substitute(list(words), marks | values))
    known = {name: str(value) for name, value in substitute(env, marks | values).items()}
    if sum(map(len, filled)) > MAX_REVIEWABLE:
        return _Line(filled, problem=f"it has more than {MAX_REVIEWABLE} characters")
    try:
        return _Line(filled, all_commands(filled, known))
    except UnreadableShell as error:
        return _Line(filled, problem=str(error))


def _check_process(path: str, provider: ProcessProvider, lines: tuple[_Line, ...], made: Made) -> Iterator[Problem]:
    yield _review(path, f"it runs the program {provider.path}", "read the command before it runs")
    if loaders := sorted(filter(_programs.sets_loader, provider.env)):
        message = f"it sets {', '.join(loaders)}, which decides what code runs"
        yield _refuse(f"{path}.env", message, "leave it out", "loader-variable")
    if not lines:
        message = f"its arguments have more than {MAX_REVIEWABLE} characters"
        yield _refuse(f"{path}.arguments", message, "nobody reviews that: put it into a program of its own", "too-long")
    for problem in dict.fromkeys(line.problem for line in lines if line.problem):
        message = f"the shell text cannot be read: {problem}"
        yield _refuse(f"{path}.arguments", message, "write it plainly", "unreadable-shell")
    for reason in dict.fromkeys(_reasons(lines, made)):
        yield _refuse(path, reason.message, reason.hint, reason.code)


def _reasons(lines: tuple[_Line, ...], made: Made) -> Iterator[_programs.Refusal]:
    for line in lines:
        for reason in _programs.refusals(line.commands, " ".join(line.words), made):
            # What a name that the document itself gives is, only its value tells.
            if reason.code != "deletes" or line is lines[-1]:
                yield reason


def _check_python(path: str, provider: PythonProvider) -> Iterator[Problem]:
    if (reason := _programs.python_refusal(provider.module, provider.function)) is not None:
        yield _refuse(path, reason.message, reason.hint, reason.code)
    else:
        yield _review(path, f"it calls {provider.module}.{provider.function}", "read what the function does")


def _refuse(path: str, message: str, hint: str, code: str) -> Problem:
    return Problem(Severity.ERROR, path, message, hint, f"policy-{code}")


def _review(path: str, message: str, hint: str) -> Problem:
    return Problem(Severity.WARNING, path, f"review: {message}", hint, "policy-review")


def _placed(experiment: Experiment, problem: Problem) -> Problem:
    line, column = experiment.origin.place(problem.path) if experiment.origin else (None, None)
    return evolve(problem, line=line, column=column)
