"""The process that answers one statement which nobody vouches for: ``python -P -m tumult_core.store._query_child``.

Reads a request from stdin, JSON: ``index``, ``sql``, ``max_rows``, ``timeout_s``. Writes the answer to stdout, JSON:
``columns``, ``rows``, ``notes`` and ``truncated``, or ``error`` and ``damaged``. The caller holds the index's lock, and
ends this process when the time is over: an interrupt does not stop every function of the engine.
"""

from __future__ import annotations

import json
import math
import resource
import sys
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

THREADS = 2
ADDRESS_SPACE_BYTES = 4 << 30
MAX_CELL_CHARACTERS = 10_000
MAX_ANSWER_CHARACTERS = 16_000_000
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "512MB",
    "threads": THREADS,
    "temp_directory": "",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
}
_ALLOWED = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
_DAMAGE = {duckdb.Error, duckdb.IOException, duckdb.SerializationException}  # the bare one is a block's wrong checksum
_CHUNK_ROWS = 100


class Refused(Exception):
    """A statement that is not answered."""


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    _limit(request["timeout_s"])
    try:
        with closing(duckdb.connect(request["index"], read_only=True, config=_CONFIG)) as connection:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            answer = _answer(connection, request["sql"], request["max_rows"])
    except (Refused, duckdb.Error) as error:
        answer = {"error": str(error), "damaged": type(error) in _DAMAGE}
    except MemoryError:
        answer = {"error": "it needs more memory than a query may have"}
    json.dump(answer, sys.stdout)


def _limit(timeout_s: float) -> None:
    """Bound what the engine's own limits may miss; no file can be written."""
    cpu_s = math.ceil(timeout_s) * THREADS + 1
    for limit, value in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))


def _answer(connection: DuckDBPyConnection, sql: str, max_rows: int) -> dict[str, Any]:
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise Refused(f"one statement is answered at a time, not {len(statements)}")
    if statements[0].type not in _ALLOWED:
        raise Refused(f"{statements[0].type.name} is not answered: only SELECT and EXPLAIN look and change nothing")
    connection.execute(statements[0])
    columns = [column[0] for column in connection.description or ()]
    rows: list[list[Any]] = []
    notes: list[str] = []
    size = cut = 0
    for row in _fetch(connection):
        if len(rows) == max_rows or size > MAX_ANSWER_CHARACTERS:
            notes.append(f"there are more rows than the {len(rows)} that are shown")
            break
        cells = [_plain(cell) for cell in row]
        short = [_cut(cell) for cell in cells]
        cut += sum(cell is not kept for cell, kept in zip(cells, short, strict=True))
        size += sum(len(cell) if isinstance(cell, str) else 8 for cell in short)
        rows.append(short)
    if cut:
        notes.append(f"{cut} cell{'s were' if cut > 1 else ' was'} cut to {MAX_CELL_CHARACTERS} characters")
    return {"columns": columns, "rows": rows, "notes": notes, "truncated": bool(notes)}


def _fetch(connection: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while chunk := connection.fetchmany(_CHUNK_ROWS):
        yield from chunk


def _plain(value: Any) -> Any:
    """Give a value as JSON has it: a number, a truth value, null or text."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, default=str, ensure_ascii=False)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


def _cut(cell: Any) -> Any:
    return f"{cell[:MAX_CELL_CHARACTERS]}…" if isinstance(cell, str) and len(cell) > MAX_CELL_CHARACTERS else cell


if __name__ == "__main__":
    main()
