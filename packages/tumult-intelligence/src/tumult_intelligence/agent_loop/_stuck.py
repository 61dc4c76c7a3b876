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
        self._step = 0
        self._hinted: dict[tuple[StuckKind, int], int] = {}  # the step in which the hint of a streak was given

    def observe(self, call: ToolCall, spec: ToolSpec | None, text: str, *, is_error: bool, step: int) -> list[Sign]:
        """Take one result of a step; give every sign that it shows.

        A sign ends the run only when its hint was given in an earlier step: within one the model has not read it yet.
        """
        self._step = step
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
        is_failure = seen.result == _FAILED
        self._failures = (self._failures + 1 if seen == self._last() else 1) if is_failure else 0
        bound = self._limits.polled if polled else self._limits.same_failure
        return self._sign(Stuck(StuckKind.SAME_FAILURE, seen.name, self._failures), bound - 1, bound)

    def _same_result(self, seen: _Observation, *, polled: bool) -> Sign | None:
        is_failure = seen.result == _FAILED
        self._same_results = 0 if is_failure else self._same_results + 1 if seen == self._last() else 1
        bound = self._limits.polled if polled else self._limits.same_result
        return self._sign(Stuck(StuckKind.SAME_RESULT, seen.name, self._same_results), bound - 1, bound)

    def _cycle(self, seen: _Observation, period: int, *, polled: bool) -> Sign | None:
        self._matches[period] = self._matches[period] + 1 if seen == self._last(period) else 0
        repetitions, rest = divmod(self._matches[period], period)
        if not self._matches[period]:
            self._hinted.pop((StuckKind.CYCLE, period), None)
        if rest or not repetitions:
            return None
        calls = [*list(self._recent)[1 - period :], (seen, polled)]
        if len({observation for observation, _ in calls}) == 1:  # the same call over and over is no cycle
            return None
        bound = self._limits.polled if any(is_polled for _, is_polled in calls) else self._limits.cycle_rounds
        stuck = Stuck(StuckKind.CYCLE, " → ".join(observation.name for observation, _ in calls), repetitions + 1)
        return self._sign(stuck, bound - 1, bound, period)

    def _mostly_errors(self, name: str, *, is_error: bool) -> Sign | None:
        self._errors.append(is_error)
        errors, limits = sum(self._errors), self._limits
        may_end = is_error and len(self._errors) == limits.window
        end_at = limits.errors if may_end else limits.window + 1
        return self._sign(Stuck(StuckKind.MOSTLY_ERRORS, name, errors), min(limits.errors_hint, limits.errors), end_at)

    def _sign(self, stuck: Stuck, hint_at: int, end_at: int, period: int = 0) -> Sign | None:
        key = (stuck.kind, period)
        if stuck.repeats < hint_at:
            self._hinted.pop(key, None)
            return None
        if key not in self._hinted:
            self._hinted[key] = self._step
            return Sign(stuck, _HINTS[stuck.kind].format(stuck.repeats))
        return Sign(stuck) if self._hinted[key] < self._step and stuck.repeats >= end_at else None


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
