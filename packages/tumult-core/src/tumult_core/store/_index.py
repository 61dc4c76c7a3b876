"""The index over the record files: a DuckDB file that only its lock's holder opens, and that can be made anew.

Measured reasons for the lock and the read-back: where processes open, insert and close with retries, DuckDB 2.0.0 and
2.0.1 lose acknowledged commits; under the lock none is lost. Any other opening of the file in the same process, and a
fork with a connection, drop DuckDB's own lock: so nothing here does either.
"""

from __future__ import annotations

import json
import logging
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from tumult_core._text import one_line
from tumult_core.exceptions import StoreError
from tumult_core.store import _records
from tumult_core.store._lock import Lock
from tumult_core.store._tables import (
    KEYS,
    SCHEMA_VERSION,
    TABLES,
    create_statements,
    json_structure,
    rows_of,
    started_at_ns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from tumult_core.store._records import Record
    from tumult_core.store._tables import Rows

    _Item = tuple[Path, Record, Rows]  # a record file, its content, and the rows that it gives
    _Taken = tuple[Path, str, str, int]  # a record file, the record's kind and id, and the time that it is kept under

T = TypeVar("T")
NAME, LOCK_NAME, DRAFT_NAME = "index.duckdb", "index.lock", "index.new.duckdb"
STORAGE_VERSION = "v1.4.0"  # the oldest DuckDB that this distribution asks for can read the file
BATCH_BYTES = 4_000_000
# Not a sign of damage. Whatever else DuckDB raises over statements of ours is: a file that is cut off, changed in a
# block (its bare Error), of a newer storage format, or that holds other tables than ours.
_TROUBLE = (duckdb.OutOfMemoryException, duckdb.InterruptException)
_log = logging.getLogger("tumult_core.store")


class _Stale(Exception):
    """The index is of another version of the schema."""


def read(
    folder: Path, look: Callable[[DuckDBPyConnection], T], *, lock_timeout_s: float = 30.0, threads: int | None = None
) -> T:
    """Fold what is pending and give what ``look`` sees in the index, read-only and under the shared lock.

    An index that is missing, damaged or of another version is made anew first; that is said in the log.

    Raises:
        StoreError: the lock was not free in time, or the index cannot be read even when made anew.
    """
    with _locked(folder, lock_timeout_s) as lock:
        lock.shared()
        if not (folder / NAME).exists() or _records.pending(folder):
            lock.exclusive()
            _fold(folder)
            lock.shared()
        try:
            return _look(folder, look, threads)
        except (_Stale, duckdb.Error) as error:
            _refuse_unless_damaged(folder, error)
            lock.exclusive()
            _rebuild(folder, _reason(error))
            lock.shared()
        return _look(folder, look, threads)


def rebuild(folder: Path, *, lock_timeout_s: float = 30.0) -> int:
    """Make the index anew from all record files, those set aside included, and give the number of runs in it.

    Raises as ``read``.
    """
    with _locked(folder, lock_timeout_s) as lock:
        lock.exclusive()
        _records.put_back(folder)
        _rebuild(folder, "")
        return _look(folder, lambda connection: int(_scalar(connection, "SELECT count(*) FROM experiments")), None)


@contextmanager
def _locked(folder: Path, timeout_s: float) -> Iterator[Lock]:
    """Give the lock; what the engine or the system raises meanwhile becomes an error with advice."""
    try:
        with Lock(folder / LOCK_NAME, timeout_s=timeout_s) as lock:
            yield lock
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            f"the index {folder / NAME} cannot be used: {_reason(error)}",
            hint="is the disk full, or the folder not writable? The runs are safe in their own files;"
            " `tumult store rebuild` makes the index anew",
        ) from error


def connect(path: Path, *, read_only: bool, threads: int | None = None) -> DuckDBPyConnection:
    """Open an index. The caller holds the lock."""
    if path.exists() and not path.is_file():  # the engine would wait for a pipe
        raise duckdb.Error("it is not a regular file")
    config: dict[str, Any] = {
        "memory_limit": "400MB",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if threads is not None:
        config["threads"] = threads
    if not read_only:
        config["storage_compatibility_version"] = STORAGE_VERSION
    # Absolute: a name such as `sqlite:x` would be taken for another engine's.
    return duckdb.connect(str(path.absolute()), read_only=read_only, config=config)


def _look(folder: Path, look: Callable[[DuckDBPyConnection], T], threads: int | None) -> T:
    with closing(connect(folder / NAME, read_only=True, threads=threads)) as connection:
        if _scalar(connection, "SELECT max(value) FROM schema_meta WHERE key = 'version'") != SCHEMA_VERSION:
            raise _Stale
        return look(connection)


def _scalar(connection: DuckDBPyConnection, sql: str) -> Any:
    row = connection.execute(sql).fetchone()
    return row and row[0]


def _fold(folder: Path) -> None:
    """Take the pending record files into the index; the caller holds the exclusive lock."""
    index = folder / NAME
    if not index.exists():
        return _rebuild(folder, "it is missing" if any(_records.kept(folder)) else "")
    try:
        _take(folder, index, _records.pending(folder))
    except duckdb.Error as error:
        _refuse_unless_damaged(folder, error)
        _rebuild(folder, _reason(error))
    return None


def _rebuild(folder: Path, reason: str) -> None:
    """Make the index anew beside the old one and put it in its place; the caller holds the exclusive lock."""
    if reason:
        _log.warning("the index of the history %s is made anew from its record files: %s", folder, reason)
    draft = folder / DRAFT_NAME
    _remove(draft)
    try:
        with closing(connect(draft, read_only=False)) as connection:
            for statement in create_statements():
                connection.execute(statement)
        _take(folder, draft, [*_records.kept(folder), *_records.pending(folder)], put_away=False)
        _remove(folder / NAME)
        draft.rename(folder / NAME)
    finally:  # on a full disk it must not stay
        _remove(draft)
    _take(folder, folder / NAME, _records.pending(folder))


def _remove(index: Path) -> None:
    index.unlink(missing_ok=True)
    index.with_name(f"{index.name}.wal").unlink(missing_ok=True)


def _take(folder: Path, index: Path, paths: Iterable[Path], *, put_away: bool = True) -> None:
    """Insert the records that the index lacks in one transaction; put their files away once they were read back."""
    taken: list[_Taken] = []
    with closing(connect(index, read_only=False)) as connection:
        connection.begin()
        for batch in _batches(folder, paths):
            _insert(connection, batch)
            taken += [(path, record.kind, record.id, started_at_ns(record)) for path, record, _ in batch]
        connection.commit()
        connection.execute("CHECKPOINT")  # closing does it, too, but says nothing where the disk is full
    if not put_away or not taken:
        return
    with closing(connect(index, read_only=True)) as connection:
        held = _held(connection, ((kind, identifier) for _, kind, identifier, _ in taken))
    for path, kind, identifier, moment in taken:
        if (kind, identifier) in held:
            _records.put_away(path, moment)


def _batches(folder: Path, paths: Iterable[Path]) -> Iterator[list[_Item]]:
    """Read record files, a bounded amount at a time; one that is damaged is set aside, and the rest goes on."""
    batch: list[_Item] = []
    size = 0
    for path in paths:
        try:
            record = _records.read(path)
            rows = rows_of(record)
        except _records.Unreadable as error:
            _log.warning("the record file %s is set aside: %s", path, error)
            _records.set_aside(folder, path, str(error))
            continue
        batch.append((path, record, rows))
        size += path.stat().st_size
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _insert(connection: DuckDBPyConnection, batch: Sequence[_Item]) -> None:
    held = _held(connection, ((record.kind, record.id) for _, record, _ in batch))
    rows: Rows = {}
    for _, record, tables in batch:
        if (record.kind, record.id) in held:
            continue
        held.add((record.kind, record.id))  # the same id twice in a batch counts once
        for table, more in tables.items():
            rows.setdefault(table, []).extend(more)
    for table, new in rows.items():
        columns = ", ".join(TABLES[table])
        connection.execute(
            f"INSERT INTO {table} SELECT {columns} FROM (SELECT unnest(from_json(?, ?), recursive := true))",  # noqa: S608 - our own names
            [json.dumps(new), json_structure(table)],
        )


def _held(connection: DuckDBPyConnection, records: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Tell which records are in the index, each by kind and id."""
    identifiers: dict[str, list[str]] = {}
    for kind, identifier in records:
        identifiers.setdefault(kind, []).append(identifier)
    held: set[tuple[str, str]] = set()
    for kind, wanted in identifiers.items():
        table, key = KEYS[kind]
        sql = f"SELECT {key} FROM {table} WHERE {key} IN (SELECT unnest(?::VARCHAR[]))"  # noqa: S608 - our own names
        held.update((kind, row[0]) for row in connection.execute(sql, [wanted]).fetchall())
    return held


def _refuse_unless_damaged(folder: Path, error: Exception) -> None:
    """Tell trouble, and a program that holds the file without our lock such as a DuckDB shell, from a damaged file."""
    if isinstance(error, _TROUBLE):
        raise error
    if "Could not set lock" in str(error):  # DuckDB has no type of its own for it
        raise StoreError(
            f"the index {folder / NAME} is held open by another program: {_reason(error)}",
            hint="close it, for example a DuckDB shell, and try again",
        ) from error


def _reason(error: Exception) -> str:
    return one_line(str(error), 300) or "it is of another version"
