"""Compare a step's output with its tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from tumult_core._json_path import JsonPathError, select_path
from tumult_core._output import as_text
from tumult_core.experiment import ExactTolerance, JsonPathTolerance, RangeTolerance, RegexTolerance

if TYPE_CHECKING:
    from tumult_core._cancellation import Cancellation
    from tumult_core.experiment import Tolerance

_MISSING = object()
_SHORT = 200
PATTERN_TIMEOUT_S = 10.0


@frozen
class Verdict:
    """Whether an output is within its tolerance, and why not."""

    met: bool
    reason: str = ""


def evaluate(
    tolerance: Tolerance,
    output: Any,
    text: str | None = None,
    *,
    default_target: str | None = None,
    cancellation: Cancellation | None = None,
) -> Verdict:
    """Compare ``output`` with ``tolerance``.

    Args:
        tolerance: what is accepted.
        output: JSON-like; no output meets no tolerance.
        text: the output before it was parsed, for patterns.
        default_target: the part to look at where the tolerance names none; a JSON path always starts at the whole.
        cancellation: ends the search of a JSON path, which may take as long as ``_json_path.TIMEOUT_S``.
    """
    bare = default_target if not isinstance(tolerance, JsonPathTolerance) else None
    target = tolerance.target or bare
    seen = output if target is None else select(output, target)
    if seen is _MISSING:
        return Verdict(False, f"the output has no {target}")
    if seen is None:
        return Verdict(False, "there was no output")
    match tolerance:
        case ExactTolerance(value):
            return _verdict(same(seen, value), seen, f"is not {as_text(value)}")
        case RangeTolerance(low, high):
            return _verdict(_within(seen, low, high), seen, f"is not a number from {low:g} to {high:g}")
        case RegexTolerance(pattern):
            haystack = text if text is not None and target is None else as_text(seen)
            return _pattern(pattern, haystack, seen)
        case JsonPathTolerance():
            return _json_path(tolerance, seen, cancellation)


def select(output: Any, target: str) -> Any:
    """Give the part of a structured output that ``target`` names, as in ``body.items``; header names in any case."""
    if not isinstance(output, dict):
        return _MISSING
    name, _, rest = target.partition(".")
    if name == "headers" and rest and isinstance(output.get(name), dict):
        lower = {str(key).lower(): value for key, value in output[name].items()}
        return lower.get(rest.lower(), _MISSING)
    if target in output:
        return output[target]
    return select(output.get(name), rest) if rest else _MISSING


def same(left: Any, right: Any) -> bool:
    """Tell whether two JSON-like values are equal: 200 is 200.0, and neither is ``"200"`` or true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def _within(value: Any, low: float, high: float) -> bool:
    # Comparisons say no to NaN; ``math.isfinite`` raises for a whole number that no float can hold.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high


def _verdict(met: bool, seen: Any, reason: str) -> Verdict:
    return Verdict(True) if met else Verdict(False, f"{_short(seen)} {reason}")


def _short(value: Any) -> str:
    """Name a value in a reason: a long one only by its length, for a cut could leave half of a secret."""
    text = as_text(value)
    return text if len(text) <= _SHORT else f"the output of {len(text):,} characters"


def _pattern(pattern: str, text: str, seen: Any) -> Verdict:
    """Search with a time limit: some patterns take for ever, and the standard library stops for no signal then."""
    import regex

    try:
        met = regex.search(pattern, text, timeout=PATTERN_TIMEOUT_S, concurrent=True) is not None
    except regex.error as error:
        return Verdict(False, f"the pattern {pattern} is not valid: {error}")
    except TimeoutError:
        return Verdict(False, f"the pattern {pattern} took longer than {PATTERN_TIMEOUT_S:g} s on the output")
    return _verdict(met, seen, f"does not match {pattern}")


def _json_path(tolerance: JsonPathTolerance, output: Any, cancellation: Cancellation | None) -> Verdict:
    """Look at what a JSON path selects: one value for itself, several as a list."""
    try:
        found = select_path(tolerance.path, output, cancellation)
    except JsonPathError as error:
        return Verdict(False, f"the JSON path {tolerance.path} cannot be applied: {error}")
    if not found:
        zero = tolerance.count == 0
        return Verdict(zero, "" if zero else f"{tolerance.path} selects nothing")
    only = found[0] if len(found) == 1 else found
    if tolerance.count is not None:
        count = len(only) if isinstance(only, list) else 1
        return _verdict(count == tolerance.count, only, f"has {count} members, not {tolerance.count}")
    if tolerance.value is not None:
        met = same(only, tolerance.value) or all(same(value, tolerance.value) for value in found)
        return _verdict(met, only, f"is not {as_text(tolerance.value)}")
    return Verdict(True)
