"""The parts of an experiment with their paths in the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tumult_core.experiment import Activity, Experiment, Provider


@frozen
class Step:
    """One activity and where it stands.

    Attributes:
        section: path of the list that it is in, as in ``steady_state_hypothesis.probes``.
        path: its own path, as in ``method[1]``.
    """

    section: str
    path: str
    activity: Activity


def steps(experiment: Experiment) -> Iterator[Step]:
    """Give every activity, in the order of the format."""
    hypothesis = experiment.steady_state_hypothesis
    yield from _numbered("steady_state_hypothesis.probes", hypothesis.probes if hypothesis else ())
    for index, guard in enumerate(experiment.guards):
        yield Step("guards", f"guards[{index}].probe", guard.probe)
    yield from _numbered("method", experiment.method)
    yield from _numbered("rollbacks", experiment.rollbacks)


def _numbered(section: str, activities: tuple[Activity, ...]) -> Iterator[Step]:
    for index, activity in enumerate(activities):
        yield Step(section, f"{section}[{index}]", activity)


def providers(experiment: Experiment) -> Iterator[tuple[str, Provider]]:
    """Give every provider with its path, those of controls included."""
    for index, control in enumerate(experiment.controls):
        yield f"controls[{index}].provider", control.provider
    for step in steps(experiment):
        yield f"{step.path}.provider", step.activity.provider


def replace_providers(experiment: Experiment, change: Callable[[str, Provider], Provider]) -> Experiment:
    """Give the experiment with what ``change`` makes of each provider and its path."""

    def activities(section: str, found: tuple[Activity, ...]) -> tuple[Activity, ...]:
        return tuple(
            evolve(each, provider=change(f"{section}[{index}].provider", each.provider))
            for index, each in enumerate(found)
        )

    hypothesis = experiment.steady_state_hypothesis
    return evolve(
        experiment,
        controls=tuple(
            evolve(each, provider=change(f"controls[{index}].provider", each.provider))
            for index, each in enumerate(experiment.controls)
        ),
        steady_state_hypothesis=hypothesis
        and evolve(hypothesis, probes=activities("steady_state_hypothesis.probes", hypothesis.probes)),
        guards=tuple(
            evolve(
                each,
                probe=evolve(each.probe, provider=change(f"guards[{index}].probe.provider", each.probe.provider)),
            )
            for index, each in enumerate(experiment.guards)
        ),
        method=activities("method", experiment.method),
        rollbacks=activities("rollbacks", experiment.rollbacks),
    )
