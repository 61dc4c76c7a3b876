"""What the ranking needs to know of the past, in a few statements whose answers do not depend on the engine's threads.

No ``first`` and no ``arg_max``, which pick any of several equals: the last of something is the maximum of time, id and
place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tumult_core.store.values import ActionHistory, ExperimentHistory, History

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TOTALS = """
    SELECT count(*), min(started_at_ns), max(started_at_ns), (SELECT count(*) FROM activity_results) FROM experiments
"""

# A step that was skipped was not executed.
_ACTIONS = """
    SELECT provider_kind, coalesce(plugin, ''), coalesce(function, ''),
           count(*), count(*) FILTER (status = 'succeeded'), max(started_at_ns),
           max({'at': started_at_ns, 'run': experiment_id, 'seq': seq, 'error': error})
               FILTER (status IN ('failed', 'timeout'))['error']
    FROM activity_results
    WHERE activity_type = 'action' AND status <> 'skipped'
    GROUP BY ALL ORDER BY 1, 2, 3
"""

# ``nth`` counts the runs of a title from the last one back; ``turned`` is whether the run before ended the other way.
_EXPERIMENTS = """
    CREATE TEMP TABLE last_runs AS
    WITH ordered AS (
        SELECT title, started_at_ns, experiment_id, status <> 'completed' AS bad,
               row_number() OVER latest_first AS nth,
               bad <> lead(bad) OVER latest_first AS turned
        FROM experiments
        WINDOW latest_first AS (PARTITION BY title ORDER BY started_at_ns DESC, experiment_id DESC)
    )
    SELECT title, count(*) AS runs, count(*) FILTER (bad) AS bad_runs,
           count(*) FILTER (nth <= $recent) AS recent_runs, count(*) FILTER (bad AND nth <= $recent) AS recent_bad_runs,
           count(*) FILTER (turned) AS flips,
           max({'at': started_at_ns, 'run': experiment_id})['run'] AS last_run,
           max({'at': started_at_ns, 'run': experiment_id}) FILTER (bad)['run'] AS last_bad_run
    FROM ordered GROUP BY title
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
        WHERE experiment_id IN (SELECT last_run FROM last_runs) AND activity_type = 'action' AND status <> 'skipped'
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
    return ExperimentHistory(*(tuple(map(_hashable, item)) if isinstance(item, list) else item for item in row))


def _hashable(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item
