"""The platform's front door: read an experiment, check it, run it."""

from __future__ import annotations

from tumult_core._documents import experiment_to_data, parse_experiment
from tumult_core._cancellation import Cancellation
from tumult_core._run import run_experiment
from tumult_core._validate import validate_experiment

__all__ = ["Cancellation", "experiment_to_data", "parse_experiment", "run_experiment", "validate_experiment"]
