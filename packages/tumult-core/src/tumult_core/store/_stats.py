"""How much is recorded, and what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tumult_core.store import _records
from tumult_core.store._tables import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection


def facts_of_index(connection: DuckDBPyConnection) -> dict[str, Any]:
    """Give condition, versions, the time covered and the number of rows of each table."""
    rows = {
        table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]  # noqa: S608 - our own names
        for table in TABLES
        if table != "schema_meta"
    }
    first, last = connection.execute("SELECT min(started_at_ns), max(started_at_ns) FROM experiments").fetchall()[0]
    (engine,) = connection.execute("SELECT version()").fetchall()[0]
    return {
        "condition": "ok" if rows["experiments"] else "empty",
        "schema_version": SCHEMA_VERSION,
        "engine": f"DuckDB {engine}",
        "first_run_ns": first,
        "last_run_ns": last,
        "rows": rows,
    }


def facts_of_folder(folder: Path) -> dict[str, Any]:
    """Give the bytes of the record files and of the index, and the number of files that were set aside."""
    from tumult_core.store._index import NAME

    index = folder / NAME
    files = [*_records.kept(folder), *_records.pending(folder)]
    return {
        "record_files": len(files),
        "record_bytes": sum(file.stat().st_size for file in files),
        "index_bytes": index.stat().st_size if index.exists() else 0,
        "set_aside": len(_records.set_aside_files(folder)),
    }
