"""What a well-formed experiment must also be: names, patterns, ranges, placeholders, and a catalog that can do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog
    from tumult_core.experiment import Experiment
    from tumult_core.problems import Problem


def validate_experiment(experiment: Experiment, catalog: Catalog, *, strict: bool = False) -> tuple[Problem, ...]:
    """Give everything that is wrong with an experiment, errors before warnings, each in the order of the document.

    Args:
        experiment: as parsed, or with its placeholders replaced.
        catalog: what can be done here.
        strict: a plugin that is not installed is an error, not a warning.
    """
    return ()
