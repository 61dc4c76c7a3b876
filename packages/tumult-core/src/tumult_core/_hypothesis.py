"""Look at the steady-state hypothesis, once or until it holds again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from attrs import evolve

from tumult_core._perform import Setting, ok, perform
from tumult_core.events import Emitter, EventKind, RunEvent
from tumult_core.journal import HypothesisResult, Phase

if TYPE_CHECKING:
    from tumult_core._cancellation import Cancellation
    from tumult_core.experiment import Hypothesis

INTERVAL_S = 0.5


def look(hypothesis: Hypothesis, phase: Phase, setting: Setting, cancellation: Cancellation) -> HypothesisResult:
    """Perform every probe, also after one that misses."""
    probes = tuple(perform(probe, phase, setting, cancellation) for probe in hypothesis.probes)
    return HypothesisResult(setting.masker.text(hypothesis.title), all(map(ok, probes)), probes)


def recover(
    hypothesis: Hypothesis, setting: Setting, cancellation: Cancellation, timeout_s: float
) -> tuple[HypothesisResult, float | None]:
    """Look until the hypothesis holds or ``timeout_s`` seconds are over.

    Returns:
        The last look, and the seconds until it held; None where it held at once or never did.
    """
    started = time.monotonic()
    result = look(hypothesis, Phase.HYPOTHESIS_AFTER, setting, cancellation)
    if result.met or cancellation.cancelled:
        return result, None
    setting.emit.note(f"the hypothesis does not hold; waiting up to {timeout_s:g} s for it")
    quiet = evolve(setting, emit=Emitter(None))
    deadline = started + timeout_s
    while (left := deadline - time.monotonic()) > 0 and not cancellation.wait(min(INTERVAL_S, left)):
        result = look(hypothesis, Phase.HYPOTHESIS_AFTER, quiet, cancellation)
        if result.met:
            break
    recovery_s = time.monotonic() - started
    for probe in result.probes:
        setting.emit(RunEvent(EventKind.STEP_FINISHED, Phase.HYPOTHESIS_AFTER, probe.name, probe))
    return result, round(recovery_s, 3) if result.met else None
