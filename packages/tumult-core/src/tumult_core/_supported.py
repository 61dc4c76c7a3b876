"""What this version of the engine does not execute, and therefore refuses to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core._activities import steps
from tumult_core.exceptions import TumultError

if TYPE_CHECKING:
    from tumult_core.experiment import Experiment


class UnsupportedFeature(TumultError):
    """An experiment that asks for what this version of the engine does not execute.

    Attributes:
        features: the fields of the document, as in ``guards``.
    """

    def __init__(self, features: tuple[str, ...]) -> None:
        self.features = features
        super().__init__(
            f"this version of Tumult cannot execute {', '.join(features)}, and does not leave them out silently",
            hint="take them out of the document, or use --dry-run to see the plan",
        )


def unsupported(experiment: Experiment) -> tuple[str, ...]:
    """Name the fields that the engine does not execute."""
    fields = {
        "baseline": experiment.baseline is not None,
        "controls": bool(experiment.controls),
        "guards": bool(experiment.guards),
        "label_selector": any(step.activity.label_selector for step in steps(experiment)),
        "load": experiment.load is not None,
    }
    return tuple(name for name, used in fields.items() if used)


def refuse_unsupported(experiment: Experiment) -> None:
    """Raise where the experiment asks for what is not executed.

    Raises:
        UnsupportedFeature: names each field.
    """
    if features := unsupported(experiment):
        raise UnsupportedFeature(features)
