"""How much each term of the ranking counts, and the file that can say it otherwise."""

from __future__ import annotations

import difflib
import math
import tomllib
from typing import TYPE_CHECKING, Any

from attrs import field, fields_dict, frozen
from attrs.validators import and_, ge, instance_of, lt

from tumult_intelligence.exceptions import WeightsError
from tumult_intelligence.signals import STALE_AFTER_DAYS

if TYPE_CHECKING:
    from pathlib import Path


@frozen
class Weights:
    """The weight of each term; docs/ranking.md derives the terms and says why these are the defaults.

    A negative weight takes points away: the cost of a mistake, and what is missing here for the action to run.
    """

    novelty: float = 1.0
    failure: float = 1.5
    staleness: float = 0.75
    relevance: float = 4.0
    reach: float = 0.5
    cost: float = -0.5
    readiness: float = -1.0


@frozen
class Tuning:
    """Everything about the ranking that an operator can set.

    Attributes:
        stale_after_days: an experiment is stale from this many whole days after its last run.
        half_life_days: after this many days staleness has half its full value.
    """

    weights: Weights = Weights()
    stale_after_days: int = field(default=STALE_AFTER_DAYS, validator=and_(instance_of(int), ge(0), lt(100_000)))
    half_life_days: float = field(default=30.0, converter=float, validator=and_(ge(1e-3), lt(1e6)))


def load_tuning(path: Path) -> Tuning:
    """Read a TOML file with a table ``[weights]``, and ``stale_after_days`` and ``half_life_days`` beside it.

    Raises:
        WeightsError: the file cannot be read, or says something that is not a weight.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WeightsError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # both of bad UTF-8 and of bad TOML
        raise WeightsError(f"{path}: not a TOML file: {error}") from error
    return _tuning(str(path), data)


def _tuning(source: str, data: dict[str, Any]) -> Tuning:
    _check_names(source, "", data, fields_dict(Tuning))
    table = data.get("weights", {})
    if not isinstance(table, dict):
        raise WeightsError(f"{source}: weights must be a table", hint="write [weights] and a line for each weight")
    _check_names(source, "weights.", table, fields_dict(Weights))
    weights = Weights(**{name: _number(source, f"weights.{name}", value) for name, value in table.items()})
    limits = {name: _number(source, name, value) for name, value in data.items() if name != "weights"}
    if float(days := limits.get("stale_after_days", STALE_AFTER_DAYS)).is_integer():
        limits["stale_after_days"] = int(days)
    try:
        return Tuning(weights=weights, **limits)  # type: ignore[arg-type]  # the names were checked above
    except (TypeError, ValueError) as error:
        raise WeightsError(f"{source}: {_reason(error)}") from error


def _check_names(source: str, prefix: str, data: dict[str, Any], known: dict[str, Any]) -> None:
    for name in data:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            guess = f"did you mean {prefix}{close[0]}? " if close else ""
            raise WeightsError(f"{source}: unknown key {prefix}{name}", hint=f"{guess}known: {', '.join(known)}")


def _number(source: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > 1e6:  # noqa: PLR2004 - far above any use
        raise WeightsError(f"{source}: {name} must be a number between -1000000 and 1000000, not {value!r}")
    return value


def _reason(error: Exception) -> str:
    return str(error.args[0]) if error.args else str(error)
