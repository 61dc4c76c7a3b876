"""The errors of tumult-intelligence."""

from __future__ import annotations

from tumult_core.exceptions import TumultError


class WeightsError(TumultError):
    """A file of weights that cannot be used."""

    exit_code = 2


class TranscriptError(TumultError):
    """A transcript that cannot be read, written or gone on with."""


class InvestigationError(TumultError):
    """An investigation that cannot begin."""
