"""What a run would do, step by step, as a value; nothing runs and no secret is read."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from tumult_core import providers
from tumult_core._documents import experiment_to_data
from tumult_core._masking import Masker
from tumult_core._perform import tolerance_data
from tumult_core._supported import unsupported
from tumult_core._variables import mask_secrets, resolve_configuration, substitute_experiment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tumult_core.catalog import Catalog
    from tumult_core.experiment import Activity, Experiment, Provider


@frozen
class PlannedStep:
    """One step that a run would perform.

    Attributes:
        section: ``controls``, ``hypothesis``, ``guards``, ``method`` or ``rollbacks``.
        kind: the provider's type.
        call: the command line, the request, or the function, as one line; secrets masked.
        arguments: JSON-like; secrets masked.
        timeout_s: seconds; None for no limit.
    """

    section: str
    name: str
    activity_type: str
    kind: str
    call: str
    arguments: Any
    timeout_s: float | None
    tolerance: Mapping[str, Any] | None = None
    background: bool = False
    pause_before_s: float = 0.0
    pause_after_s: float = 0.0


@frozen
class Plan:
    """What a run would do.

    Attributes:
        unsupported: fields of the experiment that this engine cannot execute, and therefore would not run.
        baseline, load: as in the document, None where it has none.
    """

    title: str
    steps: tuple[PlannedStep, ...]
    max_concurrent_faults: int | None
    baseline: Mapping[str, Any] | None
    load: Mapping[str, Any] | None
    unsupported: tuple[str, ...]

    def to_data(self) -> dict[str, Any]:
        """Give the plan as JSON-like data."""
        return asdict(self)


def plan_experiment(
    experiment: Experiment, *, catalog: Catalog, variables: Mapping[str, Any], environ: Mapping[str, str]
) -> Plan:
    """Give the plan of an experiment; a mask stands for each of its secrets.

    Raises:
        DocumentError: a placeholder has no value, or a part of the configuration is missing.
    """
    configuration = resolve_configuration(experiment, environ, variables)
    resolved = substitute_experiment(experiment, configuration, mask_secrets(experiment))
    data = experiment_to_data(resolved)
    return Plan(
        title=resolved.title,
        steps=tuple(_steps(resolved, catalog)),
        max_concurrent_faults=resolved.max_concurrent_faults,
        baseline=data.get("baseline"),
        load=data.get("load"),
        unsupported=unsupported(experiment),
    )


def _steps(experiment: Experiment, catalog: Catalog) -> Iterator[PlannedStep]:
    hypothesis = experiment.steady_state_hypothesis
    for control in experiment.controls:
        yield _planned("controls", control.name, "control", control.provider, catalog)
    for probe in hypothesis.probes if hypothesis else ():
        yield _step("hypothesis", probe, catalog)
    for guard in experiment.guards:
        yield _step("guards", guard.probe, catalog)
    for activity in experiment.method:
        yield _step("method", activity, catalog)
    for activity in experiment.rollbacks:
        yield _step("rollbacks", activity, catalog)


def _step(section: str, activity: Activity, catalog: Catalog) -> PlannedStep:
    return _planned(
        section,
        activity.name,
        str(activity.activity_type),
        activity.provider,
        catalog,
        tolerance=tolerance_data(activity.tolerance),
        background=activity.background,
        pause_before_s=activity.pause_before_s,
        pause_after_s=activity.pause_after_s,
    )


def _planned(
    section: str, name: str, activity_type: str, provider: Provider, catalog: Catalog, **more: Any
) -> PlannedStep:
    identity = providers.describe(provider, catalog)
    masker = Masker.of(identity.secrets)
    limit = identity.timeout_s if provider.timeout_s is None else provider.timeout_s
    arguments = masker.data(identity.arguments)
    return PlannedStep(
        section, name, activity_type, identity.kind, masker.text(_call(identity)), arguments, limit, **more
    )


def _call(identity: providers.Identity) -> str:
    """Give what would be executed as one line."""
    match identity.kind:
        case "process":
            return shlex.join((identity.function or "", *identity.arguments))
        case "http":
            return f"{identity.function} {identity.arguments['url']}"
        case _:
            return f"{identity.plugin} {identity.function}"
