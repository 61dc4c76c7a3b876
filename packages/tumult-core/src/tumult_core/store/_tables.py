"""The tables of the index: their columns, and the rows that a record file gives.

The first twelve columns of ``experiments``, the first nine of ``activity_results`` and those of ``load_results`` have
the names, the order and the types that existing queries know.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any

from tumult_core._text import one_line
from tumult_core.store._records import CALLS, RECOMMENDATIONS, RUNS, Record, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCHEMA_VERSION = 1
MAX_CELL_CHARACTERS = 100_000
"""Longer texts are cut in the index; the record file has them whole."""

_COLUMNS = {
    "experiments": """
        experiment_id VARCHAR NOT NULL, title VARCHAR NOT NULL, status VARCHAR NOT NULL, started_at_ns BIGINT NOT NULL,
        ended_at_ns BIGINT NOT NULL, duration_ms UBIGINT NOT NULL, method_step_count BIGINT NOT NULL,
        rollback_count BIGINT NOT NULL, hypothesis_before_met BOOLEAN, hypothesis_after_met BOOLEAN,
        estimate_accuracy DOUBLE, resilience_score DOUBLE, experiment_sha256 VARCHAR NOT NULL, tags VARCHAR[] NOT NULL,
        engine_version VARCHAR NOT NULL, recovery_s DOUBLE, rollback_failures BIGINT NOT NULL""",
    "activity_results": """
        experiment_id VARCHAR NOT NULL, name VARCHAR NOT NULL, activity_type VARCHAR NOT NULL, status VARCHAR NOT NULL,
        started_at_ns BIGINT NOT NULL, duration_ms UBIGINT NOT NULL, output VARCHAR, error VARCHAR,
        phase VARCHAR NOT NULL, seq BIGINT NOT NULL, provider_kind VARCHAR NOT NULL, plugin VARCHAR, function VARCHAR,
        exit_code BIGINT, tolerance_met BOOLEAN""",
    "load_results": """
        experiment_id VARCHAR NOT NULL, tool VARCHAR NOT NULL, started_at_ns BIGINT NOT NULL,
        ended_at_ns BIGINT NOT NULL, duration_s DOUBLE NOT NULL, vus INTEGER NOT NULL, throughput_rps DOUBLE NOT NULL,
        latency_p50_ms DOUBLE NOT NULL, latency_p95_ms DOUBLE NOT NULL, latency_p99_ms DOUBLE NOT NULL,
        error_rate DOUBLE NOT NULL, total_requests UBIGINT NOT NULL, thresholds_met BOOLEAN NOT NULL""",
    "samples": """
        experiment_id VARCHAR NOT NULL, name VARCHAR NOT NULL, purpose VARCHAR NOT NULL, sampled_at_ns BIGINT NOT NULL,
        value DOUBLE, output VARCHAR, met BOOLEAN""",
    "agent_calls": """
        call_id VARCHAR NOT NULL, adapter VARCHAR NOT NULL, model VARCHAR, started_at_ns BIGINT NOT NULL,
        duration_s DOUBLE NOT NULL, outcome VARCHAR NOT NULL, input_tokens BIGINT, output_tokens BIGINT,
        cost_usd DOUBLE, written BIGINT NOT NULL, rejected BIGINT NOT NULL, goal VARCHAR NOT NULL""",
    "recommendations": """
        record_id VARCHAR NOT NULL, recommendation_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, title VARCHAR NOT NULL,
        plugin VARCHAR NOT NULL, function VARCHAR NOT NULL, recorded_at_ns BIGINT NOT NULL, state VARCHAR NOT NULL,
        score DOUBLE NOT NULL, path VARCHAR""",
    "schema_meta": "key VARCHAR NOT NULL, value BIGINT NOT NULL",
}
TABLES = {
    table: {name: rest for name, _, rest in (column.strip().partition(" ") for column in columns.split(","))}
    for table, columns in _COLUMNS.items()
}
KEYS = {
    RUNS: ("experiments", "experiment_id"),
    CALLS: ("agent_calls", "call_id"),
    RECOMMENDATIONS: ("recommendations", "record_id"),
}
"""The table and column that tell whether a record is in the index."""

# What Python raises for a value of another type or size than is expected.
ODD = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError)

Rows = dict[str, list[dict[str, Any]]]


def create_statements() -> list[str]:
    """Give the statements that make an empty index."""
    creates = [f"CREATE TABLE {table} ({columns})" for table, columns in _COLUMNS.items()]
    return [*creates, f"INSERT INTO schema_meta VALUES ('version', {SCHEMA_VERSION})"]  # noqa: S608 - a number of ours


def json_structure(table: str) -> str:
    """Give the structure of a table's rows as DuckDB's ``from_json`` wants it."""
    types = {name: rest.removesuffix(" NOT NULL") for name, rest in TABLES[table].items()}
    return json.dumps([{name: ["VARCHAR"] if kind == "VARCHAR[]" else kind for name, kind in types.items()}])


def rows_of(record: Record) -> Rows:
    """Give the rows of a record, each with every column of its table and values of its types.

    Raises:
        Unreadable: something that must be there is not, or is of another type.
    """
    try:
        return {table: [_conform(table, row) for row in rows] for table, rows in _ROWS[record.kind](record).items()}
    except ODD as error:
        raise Unreadable(f"{type(error).__name__}: {one_line(str(error), 200)}") from error


def started_at_ns(record: Record) -> int:
    """Give the time that a record is kept under, epoch nanoseconds."""
    first = record.lines[0]
    return int(first["recorded_at_ns" if record.kind == RECOMMENDATIONS else "started_at_ns"])


def _run_rows(record: Record) -> Rows:
    run, steps = record.lines[0], record.lines[1:]
    rollbacks = [step for step in steps if step.get("phase") == "rollback"]
    met = run.get("estimate_met")
    experiment = {
        **run,
        "experiment_id": record.id,
        "method_step_count": sum(step.get("phase") == "method" for step in steps),
        "rollback_count": len(rollbacks),
        "rollback_failures": sum(step.get("status") != "succeeded" for step in rollbacks),
        "hypothesis_before_met": (run.get("hypothesis_before") or {}).get("met"),
        "hypothesis_after_met": (run.get("hypothesis_after") or {}).get("met"),
        "estimate_accuracy": None if met is None else float(met),
    }
    activities = [{**step, "experiment_id": record.id, "seq": seq} for seq, step in enumerate(steps)]
    return {"experiments": [experiment], "activity_results": activities}


def _call_rows(record: Record) -> Rows:
    return {"agent_calls": [{**line, "call_id": record.id} for line in record.lines[:1]]}


def _recommendation_rows(record: Record) -> Rows:
    return {"recommendations": [{**line, "record_id": record.id} for line in record.lines]}


_ROWS: dict[str, Callable[[Record], Rows]] = {RUNS: _run_rows, CALLS: _call_rows, RECOMMENDATIONS: _recommendation_rows}


def _conform(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Give a row with every column of its table and values of its types; this is where folding spends its time."""
    conformed = {}
    name = ""
    try:
        for name, cast, required in _casts(table):
            value = row.get(name)
            if value is None and required:
                raise Unreadable(f"{table}.{name} is missing")
            conformed[name] = converted = None if value is None else cast(value)
            if converted is None and required:
                raise ValueError(value)
    except ODD as error:
        raise Unreadable(f"{table}.{name} is {row.get(name)!r:.80}") from error
    return conformed


@cache
def _casts(table: str) -> tuple[tuple[str, Callable[[Any], Any], bool], ...]:
    """Give name, cast and necessity of each column."""
    columns = TABLES[table].items()
    return tuple((name, _CASTS[kind.split(maxsplit=1)[0]], kind.endswith("NOT NULL")) for name, kind in columns)


def _text(value: Any) -> str:
    """Give text as it is and anything else as JSON; cut, and without halves of surrogate pairs, which UTF-8 lacks."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    left_out = len(text) - MAX_CELL_CHARACTERS
    if left_out > 0:
        text = f"{text[:MAX_CELL_CHARACTERS]}… ({left_out} more characters)"
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _integer(value: Any, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(value)
    return value


def _double(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


_CASTS: dict[str, Callable[[Any], Any]] = {
    "VARCHAR": _text,
    "VARCHAR[]": lambda value: [_text(item) for item in value],
    "BIGINT": lambda value: _integer(value, -(2**63), 2**63 - 1),
    "UBIGINT": lambda value: _integer(value, 0, 2**64 - 1),
    "INTEGER": lambda value: _integer(value, -(2**31), 2**31 - 1),
    "DOUBLE": _double,
    "BOOLEAN": _boolean,
}
