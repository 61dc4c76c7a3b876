"""What this version of the engine does not execute, and therefore refuses to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core._activities import steps
from tumult_core.exceptions import TumultError
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_core.experiment import Experiment

_LABELS = "label_selector"


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


def unsupported_features(experiment: Experiment) -> tuple[Problem, ...]:
    """Give an error for each place of the experiment that the engine does not execute: a run would be refused."""
    return tuple(_problem(experiment, path) for path in _places(experiment))


def unsupported(experiment: Experiment) -> tuple[str, ...]:
    """Name the fields that the engine does not execute."""
    return tuple(sorted({path.rpartition(".")[2] for path in _places(experiment)}))


def refuse_unsupported(experiment: Experiment) -> None:
    """Raise where the experiment asks for what is not executed.

    Raises:
        UnsupportedFeature: names each field.
    """
    if features := unsupported(experiment):
        raise UnsupportedFeature(features)


def _places(experiment: Experiment) -> Iterator[str]:
    for name in ("controls", "guards", "baseline", "load"):
        if getattr(experiment, name):
            yield name
    yield from (f"{step.path}.{_LABELS}" for step in steps(experiment) if step.activity.label_selector)


def _problem(experiment: Experiment, path: str) -> Problem:
    name = path.rpartition(".")[2]
    line, column = experiment.origin.place(path) if experiment.origin else (None, None)
    message = f"this version of Tumult cannot execute {name}: a run would be refused"
    return Problem(Severity.ERROR, path, message, "take it out of the document", "unsupported", line, column)
