"""Draft a complete experiment for a candidate: the recorded document to repeat it, else one out of the catalog.

Out of the catalog: the fault, a probe that only looks as the hypothesis, the undo as the rollback; what only the
operator knows is a placeholder that an environment variable fills.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from tumult_core.catalog import PluginKind
from tumult_core.experiment import (
    Activity,
    ActivityType,
    EnvValue,
    ExactTolerance,
    Experiment,
    Hypothesis,
    NativeProvider,
    ProcessProvider,
    PythonProvider,
    ScriptProvider,
)
from tumult_intelligence._recorded import PREFIX, SECRETS, NotRecorded, identifier, recorded_experiment
from tumult_intelligence.explain import title_of
from tumult_intelligence.signals import ActionSignal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tumult_core.catalog import Argument, Catalog, Function
    from tumult_core.experiment import Provider
    from tumult_intelligence.ranking import Candidate


@frozen
class Sketch:
    """An experiment for a candidate.

    Attributes:
        unknowns: the environment variable that gives what only the operator knows -> what it is.
        note: what a reader should know of how it came to be; empty where there is nothing to say.
    """

    experiment: Experiment
    unknowns: Mapping[str, str]
    note: str = ""


@define
class Unknowns:
    """What a draft leaves to the operator; the same argument name is the same value throughout."""

    configuration: dict[str, EnvValue] = field(factory=dict)
    secrets: dict[str, EnvValue] = field(factory=dict)
    described: dict[str, str] = field(factory=dict)
    types: dict[str, str] = field(factory=dict)

    def placeholder(self, argument: Argument) -> str:
        """Declare the argument and give the placeholder for it."""
        name = identifier(argument.name)
        if self.types.setdefault(name, argument.type) != argument.type:
            name = f"{name}_{argument.type}"  # two plugins mean two things by one name
        key = f"{PREFIX}{name.upper()}"
        about = f": {argument.description}" if argument.description else ""
        self.described.setdefault(key, f"{argument.type}{about}")
        if argument.secret:
            self.secrets[name] = EnvValue(key)
            return f"${{secrets.{SECRETS}.{name}}}"
        self.configuration.setdefault(name, EnvValue(key))
        return f"${{config.{name}}}"

    def arguments(self, function: Function) -> dict[str, Any]:
        """Give a placeholder for each argument that the operator has to give."""
        return {each.name: self.placeholder(each) for each in needed(function)}


def needed(function: Function) -> tuple[Argument, ...]:
    """Give the arguments that the operator has to give: those that are required, and where none is, the first one that
    has no default of its own: it names the target.
    """
    arguments = function.arguments or ()
    required = tuple(each for each in arguments if each.required)
    return required or tuple(each for each in arguments if each.default is None)[:1]


def draft_experiment(
    candidate: Candidate, catalog: Catalog, document: Mapping[str, Any] | None = None
) -> Sketch | None:
    """Give an experiment for the candidate; None where nothing is known that could be run.

    Args:
        candidate: what is recommended.
        catalog: what can be done here.
        document: of the last run, where the candidate is an experiment and the history has it.
    """
    if isinstance(candidate.signal, ActionSignal):
        return _from_catalog(candidate, catalog)
    try:
        experiment, unknowns, masked = recorded_experiment(document)
    except NotRecorded as error:
        note = f"The document of the last run cannot be used ({error}): this has its actions without their arguments."
        sketch = _from_catalog(candidate, catalog)
        return sketch and evolve(sketch, note=note)
    note = "The document of the last run as it was recorded."
    if masked:
        places = "one place was" if masked == 1 else f"{masked} places were"
        note = f"{note[:-1]}, but for secrets: {places} masked, and a placeholder stands there."
    return Sketch(experiment, unknowns, note)


def _from_catalog(candidate: Candidate, catalog: Catalog) -> Sketch | None:
    unknowns = Unknowns()
    method = tuple(_unique(_method(candidate, catalog, unknowns)))
    if not method:
        return None
    probe = _best_probe(candidate.functions, catalog)
    experiment = Experiment(
        title=title_of(candidate),
        description=_description(candidate),
        tags=_tags(candidate),
        method=method,
        steady_state_hypothesis=_hypothesis(probe, unknowns) if probe else None,
        rollbacks=tuple(_unique(_rollbacks(candidate, catalog, unknowns))),
        configuration=unknowns.configuration,
        secrets={SECRETS: unknowns.secrets} if unknowns.secrets else {},
    )
    return Sketch(experiment, unknowns.described)


def _method(candidate: Candidate, catalog: Catalog, unknowns: Unknowns) -> Iterator[Activity]:
    if isinstance(candidate.signal, ActionSignal):
        if candidate.undo:  # an action that reverses another needs something to reverse
            yield from (_step(fault, unknowns) for fault in _reversed_by(candidate.functions, catalog))
        targets = [(candidate.signal.kinds[0], candidate.signal.plugin, candidate.signal.function)]
    else:
        targets = list(candidate.signal.actions)
    known = {(each.plugin, name): each for each in candidate.functions for name in (each.name, *each.aliases)}
    for kind, plugin, name in targets:
        if (function := known.get((plugin, name))) is not None:
            yield _step(function, unknowns)
        elif kind in {"python", "process"} and name:
            yield Activity(name=_slug(name), activity_type=ActivityType.ACTION, provider=_unlisted(kind, plugin, name))


def _reversed_by(functions: Iterable[Function], catalog: Catalog) -> Iterator[Function]:
    for undo in functions:
        found = (each for each in catalog.functions() if (each.plugin, each.undo) == (undo.plugin, undo.name))
        yield from list(found)[:1]


def _unlisted(kind: str, plugin: str, name: str) -> Provider:
    if kind == "python":
        return PythonProvider(module=plugin, function=name)
    return ProcessProvider(path=name, timeout_s=30.0)


def _step(function: Function, unknowns: Unknowns, *, prefix: str = "") -> Activity:
    return Activity(
        name=f"{prefix}{_slug(function.name)}",
        activity_type=ActivityType(function.activity_type),
        provider=_provider(function, unknowns),
    )


def _provider(function: Function, unknowns: Unknowns) -> NativeProvider | ScriptProvider:
    make = NativeProvider if function.kind is PluginKind.NATIVE else ScriptProvider
    return make(plugin=function.plugin, function=function.name, arguments=unknowns.arguments(function))


def _hypothesis(probe: Function, unknowns: Unknowns) -> Hypothesis:
    step = _step(probe, unknowns)
    if _tells(probe):
        step = evolve(step, tolerance=ExactTolerance(value=True))
    return Hypothesis(title=f"{probe.plugin} {probe.name} finds what it should", probes=(step,))


def _best_probe(functions: Iterable[Function], catalog: Catalog) -> Function | None:
    """Give the probe of the fault's own plugin that only looks, and whose arguments are closest to the fault's.

    One that tells yes or no comes first; equals are in name order.
    """
    targets = tuple(functions)
    plugins = {(function.plugin, function.kind) for function in targets}
    wanted = {argument.name for function in targets for argument in needed(function)}
    probes = [
        each
        for each in catalog.functions()
        if each.read_only and each.activity_type == "probe" and not each.missing and (each.plugin, each.kind) in plugins
    ]
    return min(
        probes, key=lambda each: (*_distance(each, wanted), not _tells(each), each.plugin, each.name), default=None
    )


def _distance(probe: Function, wanted: set[str]) -> tuple[int, int]:
    needs = {argument.name for argument in needed(probe)}
    return len(needs - wanted), -len(needs & wanted)


def _tells(probe: Function) -> bool:
    """Tell whether the probe gives true or false, as far as its signature says."""
    return getattr(probe.implementation, "__annotations__", {}).get("return") in {bool, "bool"}


def _rollbacks(candidate: Candidate, catalog: Catalog, unknowns: Unknowns) -> Iterator[Activity]:
    functions = list(candidate.functions)
    if candidate.undo:
        functions += _reversed_by(candidate.functions, catalog)
    for fault in reversed(functions):  # what was done last is undone first
        undo = next((each for each in catalog.functions() if _undoes(each, fault)), None)
        if undo is not None:
            yield _step(undo, unknowns, prefix="undo-with-")


def _undoes(function: Function, fault: Function) -> bool:
    return (function.plugin, function.kind, function.name) == (fault.plugin, fault.kind, fault.undo)


def _unique(activities: Iterable[Activity]) -> Iterator[Activity]:
    """Leave out repeated calls and number repeated names: names are unique within a section."""
    taken: dict[str, int] = {}
    seen: list[Provider] = []
    for activity in activities:
        if activity.provider in seen:
            continue
        seen.append(activity.provider)
        count = taken[activity.name] = taken.get(activity.name, 0) + 1
        name = activity.name if count == 1 else f"{activity.name}-{count}"
        yield Activity(name=name, activity_type=activity.activity_type, provider=activity.provider)


def _description(candidate: Candidate) -> str:
    signal = candidate.signal
    if isinstance(signal, ActionSignal):
        about = (f"{each.description.rstrip('.')}." for each in candidate.functions if each.description)
        return " ".join(["A draft to complete before it runs.", *about])
    origin = f" (SHA-256 {signal.experiment_sha256[:12]}…)" if signal.experiment_sha256 else ""
    return (
        "A draft with the actions of the last run. The document of that run is the better start where you have it"
        f"{origin}: only it has the arguments."
    )


def _tags(candidate: Candidate) -> tuple[str, ...]:
    plugins = sorted({function.plugin for function in candidate.functions})
    return tuple(dict.fromkeys(("draft", *plugins)))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "step"
