"""The parts of an experiment with their paths in the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

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
