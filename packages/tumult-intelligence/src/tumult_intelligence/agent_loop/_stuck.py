"""Notice that a run goes round in circles.

Calls are the same when their tool and their arguments are, whatever the order of the keys and without the arguments
that a tool declares volatile; results are the same when their digests are.
"""

from __future__ import annotations

import json
from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_intelligence.agent_loop._finish import Stuck, StuckKind

if TYPE_CHECKING:
    from tumult_intelligence.agent_loop._limits import StuckLimits
    from tumult_intelligence.agent_loop._messages import ToolCall
    from tumult_intelligence.agent_loop._tools import ToolSpec

_PERIODS = (2, 3, 4)
_CANONICAL = json.JSONEncoder(sort_keys=True, default=repr)
_HINTS = {
    StuckKind.SAME_FAILURE: "This very call has now failed {} times in a row. Do not repeat it: change the arguments, "
    "use another tool, or answer with what you have.",
    StuckKind.SAME_RESULT: "This very call has now given the same result {} times in a row. Its result is above: use "
    "it, make another call, or answer.",
    StuckKind.CYCLE: "The same calls have now been made {} times over, in the same order and with the same results. "
    "Break the cycle: do something else, or answer with what you have.",
    StuckKind.MOSTLY_ERRORS: "{} of the last calls failed. Read the errors before you call again: check names and "
    "arguments against the list of tools, or answer with what you have.",
}
_FAILED = "failed"
_UNWRITABLE = "arguments that cannot be written as JSON"


@frozen
class Sign:
    """A sign of being stuck: a ``hint`` for the model, or, where that is empty, the end of the run."""

    stuck: Stuck
    hint: str = ""


@frozen
class _Observation:
    """One call with its result, as it is compared; a failing call is the same whatever its error says."""

    name: str
    arguments: str
    result: str


class StuckDetector:
    """Looks at each result of a run, in order."""

    def __init__(self, limits: StuckLimits) -> None:
        self._limits = limits
        self._recent: deque[tuple[_Observation, bool]] = deque(maxlen=max(_PERIODS))
        self._failures = 0
        self._same_results = 0
        self._matches = dict.fromkeys(_PERIODS, 0)
        self._errors: deque[bool] = deque(maxlen=limits.window)

    def observe(self, call: ToolCall, spec: ToolSpec | None, text: str, *, is_error: bool) -> list[Sign]:
        """Take one result; give every sign that it shows."""
        polled = spec is not None and spec.polled
        seen = _Observation(call.name, _canonical(call, spec), _FAILED if is_error else _digest(text))
        signs = [
            self._same_failure(seen, polled=polled),
            self._same_result(seen, polled=polled),
            *(self._cycle(seen, period, polled=polled) for period in _PERIODS),
            self._mostly_errors(call.name, is_error=is_error),
        ]
        self._recent.append((seen, polled))
        return [sign for sign in signs if sign is not None]

    def _last(self, back: int = 1) -> _Observation | None:
        return self._recent[-back][0] if back <= len(self._recent) else None

    def _same_failure(self, seen: _Observation, *, polled: bool) -> Sign | None:
        if seen.result != _FAILED:
            self._failures = 0
            return None
        self._failures = self._failures + 1 if seen == self._last() else 1
        bound = self._limits.polled if polled else self._limits.same_failure
        return _sign(StuckKind.SAME_FAILURE, seen.name, self._failures, bound)

    def _same_result(self, seen: _Observation, *, polled: bool) -> Sign | None:
        if seen.result == _FAILED:
            self._same_results = 0
            return None
        self._same_results = self._same_results + 1 if seen == self._last() else 1
        bound = self._limits.polled if polled else self._limits.same_result
        return _sign(StuckKind.SAME_RESULT, seen.name, self._same_results, bound)

    def _cycle(self, seen: _Observation, period: int, *, polled: bool) -> Sign | None:
        self._matches[period] = self._matches[period] + 1 if seen == self._last(period) else 0
        repetitions, rest = divmod(self._matches[period], period)
        if rest or not repetitions:
            return None
        calls = [*list(self._recent)[1 - period :], (seen, polled)]
        if len({observation for observation, _ in calls}) == 1:  # the same call over and over is no cycle
            return None
        bound = self._limits.polled if any(is_polled for _, is_polled in calls) else self._limits.cycle_rounds
        return _sign(StuckKind.CYCLE, " → ".join(observation.name for observation, _ in calls), repetitions + 1, bound)

    def _mostly_errors(self, name: str, *, is_error: bool) -> Sign | None:
        before = sum(self._errors)
        self._errors.append(is_error)
        errors, limits = sum(self._errors), self._limits
        is_end = is_error and len(self._errors) == limits.window and errors >= limits.errors
        if not is_end and not errors >= limits.errors_hint > before:
            return None
        hint = "" if is_end else _HINTS[StuckKind.MOSTLY_ERRORS].format(errors)
        return Sign(Stuck(StuckKind.MOSTLY_ERRORS, name, errors), hint)


def _sign(kind: StuckKind, call: str, repeats: int, bound: int) -> Sign | None:
    if repeats < bound - 1:
        return None
    hint = _HINTS[kind].format(repeats) if repeats == bound - 1 else ""
    return Sign(Stuck(kind, call, repeats), hint)


def _canonical(call: ToolCall, spec: ToolSpec | None) -> str:
    arguments = call.arguments
    if spec is not None and spec.volatile_arguments and isinstance(arguments, dict):
        arguments = {name: value for name, value in arguments.items() if name not in spec.volatile_arguments}
    try:
        return _CANONICAL.encode(arguments)
    except Exception:  # noqa: BLE001 -- not JSON, or too deep or large for it: the tool's business and not ours
        return _UNWRITABLE


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
