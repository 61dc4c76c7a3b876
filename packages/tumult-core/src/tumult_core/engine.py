"""The platform's front door: read an experiment, check it, plan it, run it, and read what a run found."""

from __future__ import annotations

from tumult_core._cancellation import Cancellation
from tumult_core._documents import experiment_to_data, parse_experiment
from tumult_core._journal_data import journal_from_data, journal_to_data
from tumult_core._journal_io import read_journal, write_journal
from tumult_core._plan import Plan, PlannedStep, plan_experiment
from tumult_core._run import run_experiment
from tumult_core._supported import UnsupportedFeature, unsupported_features
from tumult_core._validate import validate_experiment

__all__ = [
    "Cancellation",
    "Plan",
    "PlannedStep",
    "UnsupportedFeature",
    "experiment_to_data",
    "journal_from_data",
    "journal_to_data",
    "parse_experiment",
    "plan_experiment",
    "read_journal",
    "run_experiment",
    "unsupported_features",
    "validate_experiment",
    "write_journal",
]
