"""The experiment as frozen values: exactly what a document says, nothing resolved and nothing run."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


class ActivityType(StrEnum):
    """An action changes the system; a probe looks at it."""

    ACTION = "action"
    PROBE = "probe"


class ExpectedOutcome(StrEnum):
    """What the author expects a run to show."""

    DEVIATED = "deviated"
    RECOVERED = "recovered"
    UNAFFECTED = "unaffected"


class Degradation(StrEnum):
    """How much worse the author expects the service to get."""

    NONE = "none"
    MINOR = "minor"
    MODERATE = "moderate"
    SEVERE = "severe"


class Confidence(StrEnum):
    """How sure the author is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class BaselineMethod(StrEnum):
    """How thresholds are derived from baseline samples."""

    STATIC = "static"
    PERCENTILE = "percentile"
    MEAN_STDDEV = "mean_stddev"
    IQR = "iqr"


# --- configuration and secrets ---------------------------------------------------------------------------------------


@frozen
class EnvValue:
    """A value read from an environment variable when the experiment runs."""

    key: str
    default: Any = None


@frozen
class InlineValue:
    """A value written in the document."""

    value: Any


@frozen
class FileValue:
    """A value read from a file when the experiment runs; one trailing newline is stripped."""

    path: str


# --- providers -------------------------------------------------------------------------------------------------------


@frozen
class ProcessProvider:
    """A program with arguments, looked up on ``PATH``; no shell is involved."""

    path: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict)
    timeout_s: float | None = None


@frozen
class NativeProvider:
    """An action or probe of an installed Python plugin."""

    plugin: str
    function: str
    arguments: Mapping[str, Any] = field(factory=dict)
    timeout_s: float | None = None


@frozen
class ScriptProvider:
    """An action or probe of a script plugin."""

    plugin: str
    function: str
    arguments: Mapping[str, Any] = field(factory=dict)
    timeout_s: float | None = None


@frozen
class HttpProvider:
    """One HTTP request; the output is ``{status, headers, body, elapsed_ms}``."""

    method: str
    url: str
    headers: Mapping[str, str] = field(factory=dict)
    body: Any = None
    timeout_s: float | None = None
    follow_redirects: bool = False
    verify_tls: bool = True


@frozen
class PythonProvider:
    """Any importable Python function."""

    module: str
    function: str
    arguments: Mapping[str, Any] = field(factory=dict)
    timeout_s: float | None = None


Provider = ProcessProvider | NativeProvider | ScriptProvider | HttpProvider | PythonProvider


# --- tolerances ------------------------------------------------------------------------------------------------------


@frozen
class ExactTolerance:
    """The output equals ``value``; numbers compare as numbers and never equal a string."""

    value: Any
    target: str | None = None


@frozen
class RangeTolerance:
    """The output is a number with ``from_ <= output <= to``."""

    from_: float
    to: float
    target: str | None = None


@frozen
class RegexTolerance:
    """The output, as text, contains a match of ``pattern``."""

    pattern: str
    target: str | None = None


@frozen
class JsonPathTolerance:
    """What ``path`` selects from the output is there, equals ``value``, or has ``count`` members."""

    path: str
    value: Any = None
    count: int | None = None
    target: str | None = None


Tolerance = ExactTolerance | RangeTolerance | RegexTolerance | JsonPathTolerance


# --- the experiment --------------------------------------------------------------------------------------------------


@frozen
class Activity:
    """One step: an action or a probe."""

    name: str
    activity_type: ActivityType
    provider: Provider
    tolerance: Tolerance | None = None
    pause_before_s: float = 0.0
    pause_after_s: float = 0.0
    background: bool = False
    label_selector: str | None = None


@frozen
class Hypothesis:
    """What holds while the system is well: every probe within its tolerance."""

    title: str
    probes: tuple[Activity, ...]


@frozen
class Guard:
    """A probe sampled beside the method; ``min_breaches`` misses in a row halt the run."""

    name: str
    probe: Activity
    min_breaches: int = 1


@frozen
class Control:
    """Code that is called before and after each part of a run."""

    name: str
    provider: Provider


@frozen
class Estimate:
    """What the author expects, written down before the run."""

    expected_outcome: ExpectedOutcome
    expected_recovery_s: float | None = None
    expected_degradation: Degradation | None = None
    expected_data_loss: bool | None = None
    confidence: Confidence | None = None
    rationale: str | None = None
    prior_runs: int | None = None


@frozen
class Baseline:
    """How normal behaviour is sampled before the hypothesis."""

    duration_s: float
    interval_s: float
    method: BaselineMethod
    warmup_s: float = 0.0
    sigma: float | None = None
    confidence: float | None = None


@frozen
class Load:
    """Traffic that is generated during the method."""

    tool: str
    script: str
    vus: int | None = None
    duration_s: float | None = None
    thresholds: Mapping[str, Any] = field(factory=dict)


@frozen
class Requirement:
    """One regulatory requirement and the evidence that a run gives for it."""

    id: str
    description: str
    evidence: str


@frozen
class Regulatory:
    """The regulatory frameworks that a run gives evidence for."""

    frameworks: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()


@frozen
class Origin:
    """Where an experiment was read from.

    Attributes:
        source: file name, or ``<text>``.
        sha256: hex digest of the bytes that were read.
        places: path in the document -> (line, column), both counted from 1.
    """

    source: str
    sha256: str
    places: Mapping[str, tuple[int, int]] = field(factory=dict, repr=False)

    def place(self, path: str) -> tuple[int, int] | tuple[None, None]:
        """Give line and column of ``path``, or of the closest enclosing path that is known."""
        while path:
            if path in self.places:
                return self.places[path]
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return (None, None)


@frozen
class Experiment:
    """A declarative chaos experiment."""

    title: str
    method: tuple[Activity, ...]
    version: str = "v1"
    description: str | None = None
    tags: tuple[str, ...] = ()
    configuration: Mapping[str, EnvValue | InlineValue] = field(factory=dict)
    secrets: Mapping[str, Mapping[str, EnvValue | FileValue]] = field(factory=dict)
    controls: tuple[Control, ...] = ()
    steady_state_hypothesis: Hypothesis | None = None
    guards: tuple[Guard, ...] = ()
    blast_radius: str | None = None
    max_concurrent_faults: int | None = None
    rollbacks: tuple[Activity, ...] = ()
    estimate: Estimate | None = None
    baseline: Baseline | None = None
    load: Load | None = None
    regulatory: Regulatory | None = None
    origin: Origin | None = field(default=None, eq=False, repr=False)
