"""What the ranking needs to know of the past, in a few statements whose answers do not depend on the engine's threads.

Nothing that picks any of several equals: the last step is the one with the greatest time, id and place in its run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tumult_core.store.values import ActionHistory, ExperimentHistory, History

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TOTALS = """
    SELECT count(*), min(started_at_ns), max(started_at_ns), (SELECT count(*) FROM activity_results) FROM experiments
"""

# A step that was skipped was not executed. The error of the last failure is looked up afterwards: carrying ids and
# texts through the aggregate takes twice the time.
_ACTIONS = """
    WITH counts AS (
        SELECT provider_kind AS kind, coalesce(plugin, '') AS plugin, coalesce(function, '') AS function,
               count(*) AS runs, count(*) FILTER (status = 'succeeded') AS succeeded, max(started_at_ns) AS last_run,
               max(started_at_ns) FILTER (status IN ('failed', 'timeout')) AS last_failure
        FROM activity_results
        WHERE activity_type = 'action' AND status <> 'skipped'
        GROUP BY ALL
    ), failures AS (
        SELECT kind, counts.plugin, counts.function,
               max({'run': experiment_id, 'seq': seq, 'error': error})['error'] AS error
        FROM counts JOIN activity_results AS step
        ON started_at_ns = last_failure AND provider_kind = kind
           AND coalesce(step.plugin, '') = counts.plugin AND coalesce(step.function, '') = counts.function
        WHERE activity_type = 'action' AND status IN ('failed', 'timeout')
        GROUP BY ALL
    )
    SELECT kind, plugin, function, runs, succeeded, last_run, error
    FROM counts LEFT JOIN failures USING (kind, plugin, function) ORDER BY kind, plugin, function
"""

# ``nth`` counts the runs of a title from the last one back; ``turned`` is whether the run before ended the other way.
# Only numbers are sorted, which takes half the time that titles and ids would: a title has a number, a run its row, and
# the hash of a run's id decides between runs of one title that started in the same nanosecond.
_EXPERIMENTS = """
    CREATE TEMP TABLE last_runs AS
    WITH titles AS (
        SELECT title, row_number() OVER (ORDER BY title)::INTEGER AS number
        FROM (SELECT DISTINCT title FROM experiments)
    ), turns AS (
        SELECT number, experiments.rowid AS place, status <> 'completed' AS bad, row_number() OVER latest_first AS nth,
               bad <> lead(bad) OVER latest_first AS turned
        FROM experiments JOIN titles USING (title)
        WINDOW latest_first AS (PARTITION BY number ORDER BY started_at_ns DESC, hash(experiment_id) DESC)
    ), counts AS (
        SELECT number, count(*) AS runs, count(*) FILTER (bad) AS bad_runs,
               count(*) FILTER (nth <= $recent) AS recent_runs,
               count(*) FILTER (bad AND nth <= $recent) AS recent_bad_runs, count(*) FILTER (turned) AS flips,
               max(place) FILTER (nth = 1) AS last_place, arg_min(place, nth) FILTER (bad) AS last_bad_place
        FROM turns GROUP BY number
    )
    SELECT titles.title, counts.*, last.experiment_id AS last_run, last_bad.experiment_id AS last_bad_run
    FROM titles JOIN counts USING (number) JOIN experiments AS last ON last.rowid = last_place
    LEFT JOIN experiments AS last_bad ON last_bad.rowid = last_bad_place
"""

_LAST = """
    SELECT last.title, run.experiment_sha256, run.tags, runs, bad_runs, recent_runs, recent_bad_runs, flips, run.status,
           run.started_at_ns, failure.error, coalesce(executed.actions, [])
    FROM last_runs AS last
    JOIN experiments AS run ON run.experiment_id = last.last_run
    LEFT JOIN (
        SELECT experiment_id, min({'seq': seq, 'error': error})['error'] AS error FROM activity_results
        WHERE experiment_id IN (SELECT last_bad_run FROM last_runs) AND error IS NOT NULL GROUP BY 1
    ) AS failure ON failure.experiment_id = last.last_bad_run
    LEFT JOIN (
        SELECT experiment_id,
               list_sort(list_distinct(list([provider_kind, coalesce(plugin, ''), coalesce(function, '')]))) AS actions
        FROM activity_results
        WHERE experiment_id IN (SELECT last_run FROM last_runs) AND phase = 'method'
              AND activity_type = 'action' AND status <> 'skipped'
        GROUP BY 1
    ) AS executed ON executed.experiment_id = last.last_run
    ORDER BY last.title
"""


def history(connection: DuckDBPyConnection, recent: int) -> History:
    """Aggregate all runs; both tuples come in the order of their names."""
    runs, first, last, steps = connection.execute(_TOTALS).fetchall()[0]
    connection.execute(_EXPERIMENTS, {"recent": recent})
    return History(
        runs=runs,
        activity_rows=steps,
        first_run_ns=first,
        last_run_ns=last,
        actions=tuple(ActionHistory(*row) for row in connection.execute(_ACTIONS).fetchall()),
        experiments=tuple(_experiment(row) for row in connection.execute(_LAST).fetchall()),
        condition="ok" if runs else "empty",
    )


def _experiment(row: tuple[Any, ...]) -> ExperimentHistory:
    """Give a row of ``_LAST`` as the value; its lists come as Python lists."""
    fields: list[Any] = [tuple(map(_hashable, item)) if isinstance(item, list) else item for item in row]
    return ExperimentHistory(*fields)


def _hashable(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item
