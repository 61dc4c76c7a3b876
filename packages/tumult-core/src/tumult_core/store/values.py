"""What a store takes and gives, as values; the same for every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tumult_core.journal import Journal


@frozen
class ActionHistory:
    """All executions of one action, whatever its author called the step.

    Attributes:
        provider_kind, plugin, function: what was executed; ``plugin`` is empty for ``process`` and ``http`` steps.
        runs: executions.
        succeeded: executions with status ``succeeded``.
        last_run_ns: start of the last execution, epoch nanoseconds.
        last_error: error of the last execution that failed, or None.
    """

    provider_kind: str
    plugin: str
    function: str
    runs: int
    succeeded: int
    last_run_ns: int
    last_error: str | None


@frozen
class ExperimentHistory:
    """All runs of the experiment with one title.

    Attributes:
        runs: how many.
        not_completed: runs whose status is not ``completed``.
        recent_runs, recent_not_completed: the same over the last few runs.
        flips: how often the outcome changed between one run and the next (completed or not).
        last_status: status of the last run.
        last_run_ns: start of the last run, epoch nanoseconds.
        last_error: the first error of the last run that did not complete, or None.
        actions: the (provider_kind, plugin, function) that the method of its last run executed, sorted: what was
            broken, and not what put it right again.
    """

    title: str
    experiment_sha256: str
    tags: tuple[str, ...]
    runs: int
    not_completed: int
    recent_runs: int
    recent_not_completed: int
    flips: int
    last_status: str
    last_run_ns: int
    last_error: str | None
    actions: tuple[tuple[str, str, str], ...] = ()


@frozen
class History:
    """What the store knows, aggregated in one read-only pass: both tuples in name order.

    Attributes:
        activity_rows: number of recorded steps.
        first_run_ns, last_run_ns: epoch nanoseconds; None where nothing was recorded.
        notes: what a reader should know, such as a run file that was set aside.
        condition: ``ok``, ``empty`` (nothing was recorded yet) or ``missing`` (there is no history at that place).
    """

    runs: int = 0
    activity_rows: int = 0
    first_run_ns: int | None = None
    last_run_ns: int | None = None
    actions: tuple[ActionHistory, ...] = ()
    experiments: tuple[ExperimentHistory, ...] = ()
    notes: tuple[str, ...] = ()
    condition: str = "ok"


@frozen
class Table:
    """The answer to a query: column names and rows.

    ``truncated`` says that there was more, and ``notes`` what was cut.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False
    notes: tuple[str, ...] = ()


@frozen
class AgentCall:
    """One call of an agent.

    Attributes:
        call_id: unique text; recording the same one twice counts once.
        started_at_ns: epoch nanoseconds.
        duration_s: seconds.
        outcome: ``answered``, or the kind of failure.
        input_tokens, output_tokens, cost_usd: None where the agent does not say.
        written, rejected: proposals that passed and did not pass the gate.
    """

    call_id: str
    adapter: str
    model: str | None
    started_at_ns: int
    duration_s: float
    outcome: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    written: int = 0
    rejected: int = 0
    goal: str = ""


@frozen
class RecommendationRecord:
    """One recommendation that was made.

    Attributes:
        recommendation_id: stable for the same kind and target.
        state: ``shown``, ``drafted`` or ``written``.
        path: the file that holds it, or None.
    """

    recommendation_id: str
    kind: str
    title: str
    plugin: str
    function: str
    recorded_at_ns: int
    state: str = "shown"
    score: float = 0.0
    path: str | None = None


class Store(Protocol):
    """A home for the history. Recording is idempotent by id; reading gives the same answer for the same content."""

    location: str

    def record_run(self, journal: Journal) -> None:
        """Keep one run. Must not open a database that other processes share.

        Raises:
            StoreError: it could not be kept; says where the journal still is.
        """

    def record_agent_call(self, call: AgentCall) -> None:
        """Keep one agent call."""

    def record_recommendations(self, records: Sequence[RecommendationRecord]) -> None:
        """Keep what was recommended."""

    def history(self, *, recent: int = 5) -> History:
        """Aggregate everything that was recorded; ``recent`` is how many last runs count as recent.

        Raises:
            StoreError: missing, locked, damaged or of a newer format; with what to do.
        """

    def documents(self, experiment_sha256s: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Give, by digest, the experiment of the last run with each digest as data, where it is still there.

        Bounded: one that is larger than a document may be counts as not there. Values of secrets are masked in them.

        Raises:
            StoreError: as ``history``.
        """

    def agent_calls(self, *, limit: int = 50) -> tuple[AgentCall, ...]:
        """Give the last calls, newest first."""

    def recommendations(self) -> tuple[RecommendationRecord, ...]:
        """Give the latest record of each recommendation, by id."""

    def query(self, sql: str, *, max_rows: int = 1000, timeout_s: float = 30.0) -> Table:
        """Answer one read-only statement, which is not trusted: bounded in rows, cell size, time and memory."""

    def stats(self) -> Mapping[str, Any]:
        """Give counts, sizes and versions, JSON-like."""
