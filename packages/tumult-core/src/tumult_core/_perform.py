"""Perform one step: pause, execute, compare, mask, tell."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from tumult_core import providers
from tumult_core._schema import RECORDS
from tumult_core._tolerance import Verdict, evaluate
from tumult_core.events import Emitter, EventKind, RunEvent
from tumult_core.experiment import ExactTolerance, HttpProvider, JsonPathTolerance, RangeTolerance, RegexTolerance
from tumult_core.journal import ActivityResult, ActivityStatus, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tumult_core._cancellation import Cancellation
    from tumult_core._masking import Masker
    from tumult_core.catalog import Catalog
    from tumult_core.experiment import Activity, Tolerance
    from tumult_core.providers import Identity, Outcome

_SAID_CHARS = 4000
_TOLERANCE_TYPES = {
    ExactTolerance: "exact",
    RangeTolerance: "range",
    RegexTolerance: "regex",
    JsonPathTolerance: "jsonpath",
}


@frozen
class Setting:
    """What all steps of one run share.

    Attributes:
        environ: the environment of child processes.
        masker: knows the secrets of the experiment and of its steps' arguments.
    """

    catalog: Catalog
    environ: Mapping[str, str]
    masker: Masker
    emit: Emitter


def perform(
    activity: Activity,
    phase: Phase,
    setting: Setting,
    cancellation: Cancellation,
    *,
    default_timeout_s: float | None = None,
) -> ActivityResult:
    """Perform ``activity`` and give what it did, secrets masked.

    A cancellation before it starts makes it ``skipped``, one while it runs ``cancelled``. Whatever is wrong in
    the engine itself fails this step and no other: a bug in one must not cost the rollbacks of the others.
    """
    started_at_ns = time.time_ns()
    try:
        return _perform(activity, phase, setting, cancellation, default_timeout_s)
    except Exception as error:  # noqa: BLE001 - see above
        return _broken(activity, phase, setting, error, started_at_ns)


def _perform(
    activity: Activity, phase: Phase, setting: Setting, cancellation: Cancellation, default_timeout_s: float | None
) -> ActivityResult:
    identity = providers.describe(activity.provider, setting.catalog)
    if cancellation.wait(activity.pause_before_s):
        return _finish(activity, phase, identity, _SKIPPED, None, setting, time.time_ns(), 0)
    setting.emit(RunEvent(EventKind.STEP_STARTED, phase, setting.masker.text(activity.name)))
    limits = (activity.provider.timeout_s, identity.timeout_s, default_timeout_s)
    timeout_s = next((limit for limit in limits if limit is not None), None)
    started_at_ns, clock = time.time_ns(), time.monotonic()
    judged = activity.tolerance is not None
    outcome = _execute(activity, providers.Call(setting.catalog, setting.environ, timeout_s, cancellation, judged))
    duration_ms = round((time.monotonic() - clock) * 1000)
    verdict = _verdict(activity, outcome, cancellation)
    result = _finish(activity, phase, identity, outcome, verdict, setting, started_at_ns, duration_ms)
    cancellation.wait(activity.pause_after_s)
    return result


def _broken(activity: Activity, phase: Phase, setting: Setting, error: Exception, started_at_ns: int) -> ActivityResult:
    """Give the least that can be said of a step."""
    result = ActivityResult(
        name=setting.masker.text(activity.name),
        activity_type=str(activity.activity_type),
        phase=phase,
        status=ActivityStatus.FAILED,
        provider_kind=RECORDS[type(activity.provider)].tag or "",
        plugin=None,
        function=None,
        arguments=None,
        exit_code=None,
        output=None,
        error=setting.masker.text(_bug(error)),
        tolerance=None,
        tolerance_met=None if activity.tolerance is None else False,
        started_at_ns=started_at_ns,
        duration_ms=(time.time_ns() - started_at_ns) // 1_000_000,
    )
    setting.emit(RunEvent(EventKind.STEP_FINISHED, phase, result.name, result))
    return result


def _bug(error: Exception) -> str:
    return f"{type(error).__name__}: {error}; this is a bug in Tumult, please report it"


def ok(result: ActivityResult) -> bool:
    """Tell whether a step did its work and was within its tolerance."""
    return result.status is ActivityStatus.SUCCEEDED and result.tolerance_met is not False


_SKIPPED = providers.Outcome(ActivityStatus.SKIPPED, error="the run was ended before this step started")


def _execute(activity: Activity, call: providers.Call) -> Outcome:
    try:
        return providers.execute(activity.provider, call)
    except Exception as error:  # noqa: BLE001 - a bug in one step must not cost the rollbacks of the others
        return providers.Outcome.failed(_bug(error))


def _finish(
    activity: Activity,
    phase: Phase,
    identity: Identity,
    outcome: Outcome,
    verdict: Verdict | None,
    setting: Setting,
    started_at_ns: int,
    duration_ms: int,
) -> ActivityResult:
    masker = setting.masker
    reason = outcome.error or (verdict.reason if verdict and not verdict.met else None)
    error = None if reason is None else _error(reason, outcome.said, masker)
    result = ActivityResult(
        name=masker.text(activity.name),
        activity_type=str(activity.activity_type),
        phase=phase,
        status=outcome.status,
        provider_kind=identity.kind,
        plugin=masker.data(identity.plugin),
        function=masker.data(identity.function),
        arguments=masker.data(identity.arguments),
        exit_code=outcome.exit_code,
        output=masker.data(outcome.output if outcome.kept is None else outcome.kept),
        error=error,
        tolerance=masker.data(tolerance_data(activity.tolerance)),
        tolerance_met=verdict.met if verdict else None,
        started_at_ns=started_at_ns,
        duration_ms=duration_ms,
    )
    setting.emit(RunEvent(EventKind.STEP_FINISHED, phase, result.name, result))
    return result


def _error(reason: str, said: str, masker: Masker) -> str:
    """Give the reason and the end of what was said; masked before it is cut, so that no half of a secret is left."""
    said = masker.text(said[-_SAID_CHARS * 16 :].strip())
    said = f"…{said[-_SAID_CHARS:]}" if len(said) > _SAID_CHARS else said
    reason = masker.text(reason)
    return f"{reason}: {said}" if said else reason


def _verdict(activity: Activity, outcome: Outcome, cancellation: Cancellation) -> Verdict | None:
    if activity.tolerance is None:
        return None
    if outcome.status is not ActivityStatus.SUCCEEDED:
        return Verdict(False, "the step did not succeed")
    target = "status" if isinstance(activity.provider, HttpProvider) else None
    try:
        return evaluate(
            activity.tolerance, outcome.output, outcome.text, default_target=target, cancellation=cancellation
        )
    except Exception as error:  # noqa: BLE001 - what the step did is known, and must be kept
        return Verdict(False, f"the tolerance could not be applied: {_bug(error)}")


def tolerance_data(tolerance: Tolerance | None) -> dict[str, Any] | None:
    """Give a tolerance as a document writes it."""
    if tolerance is None:
        return None
    fields = {name.rstrip("_"): value for name, value in asdict(tolerance).items() if value is not None}
    return {"type": _TOLERANCE_TYPES[type(tolerance)], **fields}
