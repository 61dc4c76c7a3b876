"""What a well-formed experiment must also be, gathered from the checks and put in the order of the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from tumult_core._advice import advise
from tumult_core._catalog_checks import check_catalog
from tumult_core._checks import check_experiment
from tumult_core._placeholder_checks import check_placeholders
from tumult_core._provider_checks import check_providers
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog
    from tumult_core.experiment import Experiment


def validate_experiment(experiment: Experiment, catalog: Catalog, *, strict: bool = False) -> tuple[Problem, ...]:
    """Give everything that is wrong with an experiment: errors before warnings, each in the order of the document.

    Args:
        experiment: as parsed, nothing replaced.
        catalog: what can be done here.
        strict: a plugin that is not installed is an error, not a warning.
    """
    found = (
        *check_experiment(experiment),
        *check_providers(experiment),
        *check_placeholders(experiment),
        *check_catalog(experiment, catalog, strict=strict),
        *advise(experiment, catalog),
    )
    return tuple(sorted((_placed(experiment, problem) for problem in found), key=_order))


def check_resolved(experiment: Experiment, catalog: Catalog) -> tuple[Problem, ...]:
    """Give the errors of an experiment whose placeholders were replaced: what could not be checked before."""
    found = (
        *check_experiment(experiment),
        *check_providers(experiment),
        *check_catalog(experiment, catalog, strict=False),
    )
    errors = (problem for problem in found if problem.severity is Severity.ERROR)
    return tuple(sorted((_placed(experiment, problem) for problem in errors), key=_order))


def _placed(experiment: Experiment, problem: Problem) -> Problem:
    line, column = experiment.origin.place(problem.path) if experiment.origin else (None, None)
    return evolve(problem, line=line, column=column)


def _order(problem: Problem) -> tuple[bool, int]:
    return problem.severity is not Severity.ERROR, problem.line or 0
