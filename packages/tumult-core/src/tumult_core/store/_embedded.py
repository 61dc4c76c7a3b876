"""The store that needs nothing: record files in a folder and an index over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tumult_core.exceptions import StoreError
from tumult_core.store import _records
from tumult_core.store._place import why_no_folder
from tumult_core.store.values import AgentCall, History, RecommendationRecord, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import TypeVar

    from duckdb import DuckDBPyConnection

    from tumult_core.journal import Journal

    T = TypeVar("T")


class EmbeddedStore:
    """A history folder.

    Args:
        folder: where it is, or will be with the first record.
        lock_timeout_s: how long a reader waits for another one that folds.
        threads: of the engine; None for its own choice. The answers are the same with any number.
    """

    def __init__(self, folder: Path, *, lock_timeout_s: float = 30.0, threads: int | None = None) -> None:
        if reason := why_no_folder(folder):
            raise StoreError(f"the history {folder} {reason}", hint="name a folder with --store or TUMULT_STORE")
        self.location = str(folder)
        self._folder = folder
        self._lock_timeout_s = lock_timeout_s
        self._threads = threads

    def prepare(self) -> None:
        """Make the folder, and see that it can be written: what would be lost after a run is better refused before."""
        _records.prepare(self._folder)

    def record_run(self, journal: Journal) -> None:
        """Keep one run in a file of its own; the index is not touched."""
        _records.write(self._folder, _records.run_record(journal))

    def record_agent_call(self, call: AgentCall) -> None:
        """Keep one agent call in a file of its own."""
        _records.write(self._folder, _records.call_record(call))

    def record_recommendations(self, records: Sequence[RecommendationRecord]) -> None:
        """Keep what was recommended in a file of its own."""
        if records:
            _records.write(self._folder, _records.recommendations_record(records))

    def history(self, *, recent: int = 5) -> History:
        """Aggregate everything that was recorded; a folder that does not exist gives the condition ``missing``."""
        from attrs import evolve

        from tumult_core.store._history import history

        found = self._read(lambda connection: history(connection, recent), History(condition="missing"))
        return evolve(found, notes=self._notes())

    def documents(self, experiment_sha256s: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Give the experiments of the last runs with those digests out of the runs' own files."""
        sql = """
            SELECT experiment_sha256, experiment_id, started_at_ns FROM experiments
            WHERE experiment_sha256 <> '' AND list_contains(?, experiment_sha256)
            QUALIFY row_number() OVER (
                PARTITION BY experiment_sha256 ORDER BY started_at_ns DESC, experiment_id DESC
            ) = 1
        """

        def look(connection: DuckDBPyConnection) -> dict[str, Mapping[str, Any]]:
            runs = connection.execute(sql, [list(experiment_sha256s)]).fetchall()
            found = {digest: _records.read_document(self._folder, *run) for digest, *run in runs}
            return {digest: document for digest, document in found.items() if document is not None}

        return self._read(look, {}) if experiment_sha256s else {}

    def agent_calls(self, *, limit: int = 50) -> tuple[AgentCall, ...]:
        """Give the last calls, newest first."""
        sql = "SELECT * FROM agent_calls ORDER BY started_at_ns DESC, call_id DESC LIMIT ?"
        none: list[tuple[Any, ...]] = []
        rows = self._read(lambda connection: connection.execute(sql, [limit]).fetchall(), none)
        return tuple(AgentCall(*row) for row in rows)

    def recommendations(self) -> tuple[RecommendationRecord, ...]:
        """Give the latest record of each recommendation, by id."""
        sql = """
            SELECT * EXCLUDE (record_id) FROM recommendations
            WINDOW latest_first AS (
                PARTITION BY recommendation_id ORDER BY recorded_at_ns DESC, state DESC, record_id DESC
            )
            QUALIFY row_number() OVER latest_first = 1
            ORDER BY recommendation_id
        """
        none: list[tuple[Any, ...]] = []
        rows = self._read(lambda connection: connection.execute(sql).fetchall(), none)
        return tuple(RecommendationRecord(*row) for row in rows)

    def query(self, sql: str, *, max_rows: int = 1000, timeout_s: float = 30.0) -> Table:
        """Answer one read-only statement in a process of its own, with limits on rows, cells, memory and time."""
        from tumult_core.store import _index
        from tumult_core.store._query import query

        self._must_exist()
        index = self._folder.absolute() / _index.NAME
        return self._read(lambda _: query(index, sql, max_rows=max_rows, timeout_s=timeout_s), Table((), ()))

    def stats(self) -> Mapping[str, Any]:
        """Give location, condition, versions, the number of rows of each table, bytes on the disk and notes."""
        from tumult_core.store._stats import facts_of_folder, facts_of_index

        found = self._read(facts_of_index, {"condition": "missing"})
        return {"location": self.location, **found, **facts_of_folder(self._folder), "notes": list(self._notes())}

    def rebuild(self) -> int:
        """Make the index anew from the record files, those set aside included, and give the number of runs in it."""
        from tumult_core.store import _index

        self._must_exist()
        return _index.rebuild(self._folder, lock_timeout_s=self._lock_timeout_s)

    def _read(self, look: Callable[[DuckDBPyConnection], T], missing: T) -> T:
        from tumult_core.store import _index

        if not self._folder.exists():
            return missing
        return _index.read(self._folder, look, lock_timeout_s=self._lock_timeout_s, threads=self._threads)

    def _must_exist(self) -> None:
        if not self._folder.exists():
            raise StoreError(
                f"there is no history at {self.location} yet",
                hint="run an experiment, or name another one with --store",
            )

    def _notes(self) -> tuple[str, ...]:
        count = len(_records.set_aside_files(self._folder))
        if not count:
            return ()
        place = self._folder / _records.SET_ASIDE
        files = "record file" if count == 1 else "record files"
        return (f"{count} unreadable {files} set aside in {place}, each with its reason",)
