"""What a run would do, step by step, as a value; nothing runs and no secret is read."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve, frozen

from tumult_core import providers
from tumult_core._activities import steps
from tumult_core._documents import experiment_to_data
from tumult_core._masking import Masker
from tumult_core._perform import tolerance_data
from tumult_core._supported import unsupported
from tumult_core._unset import Unset, find_unset
from tumult_core._variables import mask_secrets, resolve_configuration, substitute_experiment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tumult_core.catalog import Catalog
    from tumult_core.experiment import Experiment, Provider


@frozen
class PlannedStep:
    """One step that a run would perform.

    Attributes:
        section: ``controls``, ``steady_state_hypothesis``, ``guards``, ``method`` or ``rollbacks``.
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
        unset: what has no value yet, and without which it would not run; its placeholders stand in the plan.
        baseline, load: as in the document, None where it has none.
    """

    title: str
    steps: tuple[PlannedStep, ...]
    max_concurrent_faults: int | None
    baseline: Mapping[str, Any] | None
    load: Mapping[str, Any] | None
    unsupported: tuple[str, ...]
    unset: tuple[Unset, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """Give the plan as JSON-like data."""
        return asdict(self)


def plan_experiment(
    experiment: Experiment, *, catalog: Catalog, variables: Mapping[str, Any], environ: Mapping[str, str]
) -> Plan:
    """Give the plan of an experiment; a mask stands for each of its secrets, and a placeholder for what is not set.

    Raises:
        DocumentError: a placeholder names what is not declared, or a value is not of the type of its default.
    """
    unset = find_unset(experiment, environ, variables)
    known = _without(experiment, {each.name for each in unset})
    resolved = substitute_experiment(
        experiment,
        resolve_configuration(known, environ, variables),
        mask_secrets(known),
        unset=[each.name for each in unset],
    )
    data = experiment_to_data(resolved)
    left = {f"${{{each.name}}}" for each in unset}
    secrets = (secret for secret in providers.secret_arguments(resolved, catalog) if str(secret) not in left)
    return Plan(
        title=resolved.title,
        steps=tuple(_steps(resolved, catalog, Masker.of(secrets))),
        max_concurrent_faults=resolved.max_concurrent_faults,
        baseline=data.get("baseline"),
        load=data.get("load"),
        unsupported=unsupported(experiment),
        unset=unset,
    )


def _without(experiment: Experiment, unset: Collection[str]) -> Experiment:
    """Take out the configuration and the secrets that have no value."""
    return evolve(
        experiment,
        configuration={
            name: source for name, source in experiment.configuration.items() if f"config.{name}" not in unset
        },
        secrets={
            group: {key: source for key, source in keys.items() if f"secrets.{group}.{key}" not in unset}
            for group, keys in experiment.secrets.items()
        },
    )


def _steps(experiment: Experiment, catalog: Catalog, masker: Masker) -> Iterator[PlannedStep]:
    for control in experiment.controls:
        yield _planned("controls", control.name, "control", control.provider, catalog, masker)
    for step in steps(experiment):
        activity = step.activity
        yield _planned(
            step.section.partition(".")[0],
            activity.name,
            str(activity.activity_type),
            activity.provider,
            catalog,
            masker,
            tolerance=masker.data(tolerance_data(activity.tolerance)),
            background=activity.background,
            pause_before_s=activity.pause_before_s,
            pause_after_s=activity.pause_after_s,
        )


def _planned(
    section: str, name: str, activity_type: str, provider: Provider, catalog: Catalog, masker: Masker, **more: Any
) -> PlannedStep:
    identity = providers.describe(provider, catalog)
    return PlannedStep(
        section=section,
        name=masker.text(name),
        activity_type=activity_type,
        kind=identity.kind,
        call=masker.text(_call(identity)),
        arguments=masker.data(identity.arguments),
        timeout_s=identity.timeout_s if provider.timeout_s is None else provider.timeout_s,
        **more,
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
