"""The journal: what one run did and found, as frozen values."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


class RunStatus(StrEnum):
    """How a run ended: the first that applies, in this order."""

    INTERRUPTED = "interrupted"
    ABORTED = "aborted"
    HALTED = "halted"
    FAILED = "failed"
    DEVIATED = "deviated"
    COMPLETED = "completed"


class ActivityStatus(StrEnum):
    """How one step ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class Phase(StrEnum):
    """The part of a run that a step belongs to."""

    HYPOTHESIS_BEFORE = "hypothesis_before"
    METHOD = "method"
    HYPOTHESIS_AFTER = "hypothesis_after"
    ROLLBACK = "rollback"


class RollbackStrategy(StrEnum):
    """When rollbacks run."""

    ALWAYS = "always"
    NEVER = "never"
    ON_DEVIATION = "on-deviation"


@frozen
class ActivityResult:
    """What one step did.

    Attributes:
        name: the author's name for the step.
        activity_type: ``action`` or ``probe``.
        phase: the part of the run.
        status: how it ended.
        provider_kind: ``process``, ``native``, ``script``, ``http`` or ``python``.
        plugin: the plugin, the module of a ``python`` step, or None.
        function: the function, the program of a ``process`` step, or the method of an ``http`` step.
        arguments: what it was called with, secrets masked; JSON-like.
        exit_code: of the process, where there was one that exited.
        output: JSON where the output was JSON, else text; None where there was none. Secrets masked, bounded.
        error: why it did not succeed, or was outside its tolerance; None where neither.
        tolerance: the tolerance as in the document, or None.
        tolerance_met: its verdict; None without a tolerance.
        started_at_ns: epoch nanoseconds.
        duration_ms: how long it took.
    """

    name: str
    activity_type: str
    phase: Phase
    status: ActivityStatus
    provider_kind: str
    plugin: str | None
    function: str | None
    arguments: Any
    exit_code: int | None
    output: Any
    error: str | None
    tolerance: Mapping[str, Any] | None
    tolerance_met: bool | None
    started_at_ns: int
    duration_ms: int


@frozen
class HypothesisResult:
    """What one look at the hypothesis found."""

    title: str
    met: bool
    probes: tuple[ActivityResult, ...]


@frozen
class Journal:
    """The record of one run. Values of secrets never appear in it.

    Attributes:
        experiment_id: UUIDv7 of the run, text.
        status: how the run ended.
        started_at_ns, ended_at_ns: epoch nanoseconds.
        duration_ms: how long the run took.
        experiment: the document as data.
        experiment_sha256: hex digest of the document's bytes.
        recovery_s: seconds until the hypothesis held again; None where it never did, or was never lost or looked at.
        host: facts of the machine, JSON-like.
        notes: what a reader should know, such as output that was cut.
        interrupted_by: the name of the signal or the reason that ended the run before its time; None where nothing did.
    """

    experiment_id: str
    title: str
    status: RunStatus
    started_at_ns: int
    ended_at_ns: int
    duration_ms: int
    experiment: Mapping[str, Any]
    experiment_sha256: str
    engine_version: str
    tags: tuple[str, ...] = ()
    hypothesis_before: HypothesisResult | None = None
    method: tuple[ActivityResult, ...] = ()
    hypothesis_after: HypothesisResult | None = None
    rollbacks: tuple[ActivityResult, ...] = ()
    recovery_s: float | None = None
    estimate_met: bool | None = None
    host: Mapping[str, Any] = field(factory=dict)
    notes: tuple[str, ...] = ()
    interrupted_by: str | None = None

    @property
    def rollback_failures(self) -> int:
        """Count the rollbacks that did not succeed."""
        return sum(result.status is not ActivityStatus.SUCCEEDED for result in self.rollbacks)

    @property
    def activities(self) -> tuple[ActivityResult, ...]:
        """Give every result, in the order of the phases."""
        before = self.hypothesis_before.probes if self.hypothesis_before else ()
        after = self.hypothesis_after.probes if self.hypothesis_after else ()
        return (*before, *self.method, *after, *self.rollbacks)
