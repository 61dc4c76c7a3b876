"""Run an experiment from its hypothesis to its rollbacks, and give the journal."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from attrs import define, field

from tumult_core import __version__, providers
from tumult_core._cancellation import Cancellation
from tumult_core._documents import experiment_to_data
from tumult_core._hypothesis import look, recover
from tumult_core._masking import Masker
from tumult_core._method import run_method
from tumult_core._perform import Setting
from tumult_core._rollbacks import due, run_rollbacks
from tumult_core._signals import run_interruptible
from tumult_core._supported import refuse_unsupported
from tumult_core._variables import resolve_all, substitute_experiment
from tumult_core.events import Emitter
from tumult_core.experiment import ExpectedOutcome, Experiment
from tumult_core.journal import (
    ActivityResult,
    ActivityStatus,
    HypothesisResult,
    Journal,
    Phase,
    RollbackStrategy,
    RunStatus,
)

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping

    from tumult_core.catalog import Catalog
    from tumult_core.events import RunEvent

_BROKEN = {ActivityStatus.FAILED, ActivityStatus.TIMEOUT}


def run_experiment(
    experiment: Experiment,
    *,
    catalog: Catalog,
    variables: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    rollback_strategy: RollbackStrategy = RollbackStrategy.ON_DEVIATION,
    recovery_timeout_s: float = 30.0,
    on_event: Callable[[RunEvent], None] | None = None,
    interrupt: Cancellation | None = None,
) -> Journal:
    """Run ``experiment``: hypothesis, method, recovery, rollbacks.

    An interrupt ends the steps that run, with everything that they started, and then the rollbacks run to their end.
    ``KeyboardInterrupt`` is one; a second changes nothing but is answered, a third gives the rollbacks up.

    Args:
        experiment: as parsed, nothing resolved; ``validate_experiment`` says what is wrong with it.
        catalog: the plugins that steps may call.
        variables: values for ``${name}``.
        environ: the environment for ``env`` values and for child processes; that of this process by default.
        rollback_strategy: when rollbacks run.
        recovery_timeout_s: seconds that the hypothesis may take to hold again.
        on_event: called with each event, one at a time, from other threads.
        interrupt: raise it to end the run before its time.

    Raises:
        TumultError: the experiment cannot be run here; nothing was run.
    """
    run = prepare_run(
        experiment,
        catalog=catalog,
        variables=variables or {},
        environ=os.environ if environ is None else environ,
        rollback_strategy=rollback_strategy,
        recovery_timeout_s=recovery_timeout_s,
        on_event=on_event,
        interrupt=interrupt,
    )
    return run_interruptible(run.execute, run.interrupted_by, own_process=False)


def prepare_run(
    experiment: Experiment,
    *,
    catalog: Catalog,
    variables: Mapping[str, Any],
    environ: Mapping[str, str],
    rollback_strategy: RollbackStrategy,
    recovery_timeout_s: float,
    on_event: Callable[[RunEvent], None] | None,
    interrupt: Cancellation | None = None,
) -> Run:
    """Resolve an experiment and give the run of it, not begun; see ``run_experiment``.

    Raises:
        TumultError: it cannot be run here.
    """
    refuse_unsupported(experiment)
    configuration, secrets = resolve_all(experiment, environ, variables)
    resolved = substitute_experiment(experiment, configuration, secrets, catalog=catalog)
    masker = Masker.of([*secrets.secrets, *providers.secret_arguments(resolved, catalog)])
    return Run(
        document=experiment,
        resolved=resolved,
        setting=Setting(catalog, dict(environ), masker, Emitter(on_event)),
        strategy=rollback_strategy,
        recovery_timeout_s=recovery_timeout_s,
        interrupt=interrupt or Cancellation(),
    )


@define
class Run:
    """One run: what it was given, and what it found so far."""

    document: Experiment
    resolved: Experiment
    setting: Setting
    strategy: RollbackStrategy
    recovery_timeout_s: float
    interrupt: Cancellation
    abandon: Cancellation = field(factory=Cancellation)
    before: HypothesisResult | None = None
    method: tuple[ActivityResult, ...] = ()
    after: HypothesisResult | None = None
    rollbacks: tuple[ActivityResult, ...] = ()
    recovery_s: float | None = None
    notes: list[str] = field(factory=list)
    broken: bool = False
    _signals: int = 0

    def execute(self) -> Journal:
        """Go through all phases."""
        started_at_ns, clock = time.time_ns(), time.monotonic()
        self._try(self._experiment)
        self._try(self._roll_back)
        return self._journal(started_at_ns, round((time.monotonic() - clock) * 1000))

    def _try(self, part: Callable[[], None]) -> None:
        """Do one part of the run; nothing that goes wrong in it may cost the rollbacks or the journal."""
        try:
            part()
        except Exception as error:  # noqa: BLE001 - see above
            self.broken = True
            self._note(
                self.setting.masker.text(f"a bug in Tumult ended a part of the run: {type(error).__name__}: {error}")
            )

    def _experiment(self) -> None:
        self._look()
        if self.status not in {RunStatus.ABORTED, RunStatus.INTERRUPTED}:
            self._break()

    def _roll_back(self) -> None:
        # Where the engine itself broke, nobody knows what was started.
        lost = self.broken and self.strategy is not RollbackStrategy.NEVER
        if lost or due(self.strategy, self.status, self.method):
            self.rollbacks = run_rollbacks(self.resolved.rollbacks, self.setting, self.abandon)

    def interrupted_by(self, number: signal.Signals) -> None:
        """Take a signal: the first ends the run, the second is answered, the third gives up the rollbacks."""
        self._signals += 1
        say = self.setting.emit.note
        if self._signals == 1:
            say(f"{number.name}: ending what runs; rollbacks follow")
            self.interrupt.cancel(number.name)
        elif self._signals == 2:  # noqa: PLR2004 - the second of three
            say(f"{number.name}: rollbacks are still to be finished; once more gives them up")
        else:
            self._note(f"{number.name}: rollbacks were given up, what was changed may stay changed")
            self.abandon.cancel(number.name)

    @property
    def status(self) -> RunStatus:
        """Give the status as far as it is known: the first that applies."""
        if self.interrupt.cancelled:
            return RunStatus.INTERRUPTED
        if self.before and not self.before.met:
            return RunStatus.ABORTED
        if self.broken or any(step.status in _BROKEN for step in self.method):
            return RunStatus.FAILED
        missed = any(step.tolerance_met is False for step in self.method)
        if missed or (self.after and not self.after.met):
            return RunStatus.DEVIATED
        return RunStatus.COMPLETED

    def _look(self) -> None:
        if self.resolved.steady_state_hypothesis:
            self.before = look(
                self.resolved.steady_state_hypothesis, Phase.HYPOTHESIS_BEFORE, self.setting, self.interrupt
            )

    def _break(self) -> None:
        """Perform the method, and wait for the hypothesis to hold again."""
        self.method = run_method(
            self.resolved.method, self.setting, self.interrupt, self.resolved.max_concurrent_faults
        )
        if self.resolved.steady_state_hypothesis and not self.interrupt.cancelled:
            self.after, self.recovery_s = recover(
                self.resolved.steady_state_hypothesis, self.setting, self.interrupt, self.recovery_timeout_s
            )

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self.setting.emit.note(text)

    def _journal(self, started_at_ns: int, duration_ms: int) -> Journal:
        document = self.setting.masker.data(experiment_to_data(self.document))
        return Journal(
            experiment_id=uuid7(),
            title=self.setting.masker.text(self.resolved.title),
            status=self.status,
            started_at_ns=started_at_ns,
            ended_at_ns=started_at_ns + duration_ms * 1_000_000,
            duration_ms=duration_ms,
            experiment=document,
            experiment_sha256=_sha256(self.document, document),
            engine_version=__version__,
            tags=self.document.tags,
            hypothesis_before=self.before,
            method=self.method,
            hypothesis_after=self.after,
            rollbacks=self.rollbacks,
            recovery_s=self.recovery_s,
            estimate_met=estimate_met(self),
            host=_host(),
            notes=tuple(self.notes),
            interrupted_by=self.interrupt.reason or None,
        )


def estimate_met(run: Run) -> bool | None:
    """Tell whether the run showed what its author expected; None without an estimate, or where the run shows nothing.

    ``recovered`` is met by a system that is well again, whether or not anybody saw it unwell.
    """
    estimate = run.document.estimate
    if estimate is None or run.status not in {RunStatus.COMPLETED, RunStatus.DEVIATED}:
        return None
    if run.status is RunStatus.DEVIATED or estimate.expected_outcome is ExpectedOutcome.DEVIATED:
        return (run.status is RunStatus.DEVIATED) == (estimate.expected_outcome is ExpectedOutcome.DEVIATED)
    if run.after is None:
        return None
    if estimate.expected_outcome is ExpectedOutcome.UNAFFECTED:
        return run.recovery_s is None
    return estimate.expected_recovery_s is None or (run.recovery_s or 0.0) <= estimate.expected_recovery_s


def uuid7() -> str:
    """Give a new UUID of version 7 (RFC 9562, 5.7): 48 bits of milliseconds, then random bits."""
    import uuid

    bits = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10))
    bits = bits & ~(0xF000 << 64) | 0x7000 << 64
    bits = bits & ~(0xC000 << 48) | 0x8000 << 48
    return str(uuid.UUID(int=bits))


def _host() -> dict[str, Any]:
    import platform

    return {
        "name": platform.node(),
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cpus": os.cpu_count() or 0,
    }


def _sha256(document: Experiment, data: Any) -> str:
    """Give the digest of the text that was read, or of the data where the experiment came from no text."""
    import hashlib
    import json

    if document.origin:
        return document.origin.sha256
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
