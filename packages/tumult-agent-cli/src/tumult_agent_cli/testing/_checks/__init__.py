"""The checks of the contract, a module for each part of it."""

from __future__ import annotations

from tumult_agent_cli.testing._check import Check, collect
from tumult_agent_cli.testing._checks import (
    answer,
    delivery,
    detection,
    ending,
    failure,
    identity,
    invocation,
    outcome,
    progress,
    sign_in,
)

_PARTS = (identity, invocation, answer, failure, progress, detection, sign_in, delivery, outcome, ending)

CHECKS: tuple[Check, ...] = tuple(check for module in _PARTS for check in collect(module))
"""All of them: those that start nothing first."""
