"""The platform's front door: read an experiment, check it, run it."""

from __future__ import annotations

from tumult_core._documents import experiment_to_data, parse_experiment
from tumult_core._validate import validate_experiment

__all__ = ["experiment_to_data", "parse_experiment", "validate_experiment"]
