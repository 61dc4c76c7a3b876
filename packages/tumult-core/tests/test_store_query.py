"""A query comes from somebody nobody vouches for: it looks at the index, within limits, and at nothing else."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from tumult_core.exceptions import StoreError
from tumult_core.store._embedded import EmbeddedStore

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import MakeJournal


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, make_journal: MakeJournal) -> EmbeddedStore:
    store = EmbeddedStore(tmp_path_factory.mktemp("query") / "history")
    for number in range(3):
        store.record_run(make_journal(number, title=f"T{number}"))
    return store


def test_a_query_sees_what_was_recorded(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    table = store.query("SELECT title, duration_ms FROM experiments ORDER BY title")

    assert (table.columns, table.rows) == (("title", "duration_ms"), (("T0", 500), ("T1", 500), ("T2", 500)))
    assert (table.truncated, table.notes) == (False, ())


def test_values_come_as_json_has_them(store: EmbeddedStore) -> None:
    sql = """SELECT NULL, true, 2::HUGEINT, 0.5, 1.25::DECIMAL(5,2), 3::DECIMAL(5,0), 'nan'::DOUBLE, [1, 2], {'a': 'x'},
                    DATE '2026-01-02', TIMESTAMPTZ '2026-01-02 03:04:05+00', '\\xAB'::BLOB, INTERVAL 1 DAY, 'é'"""
    expected = (
        None,
        True,
        2,
        0.5,
        1.25,
        3,
        "nan",
        "[1, 2]",
        '{"a": "x"}',
        "2026-01-02",
        "2026-01-02T03:04:05+00:00",
        "ab",
        "1 day, 0:00:00",
        "é",
    )

    assert store.query(sql).rows == (expected,)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM experiments",
        "CREATE TEMP TABLE t (a INT)",
        "SELECT 1; SELECT 2",
        "",
        "ATTACH ':memory:' AS other",
        "SET memory_limit = '100GB'",
        "COPY experiments TO 'out.csv'",
        "EXPORT DATABASE 'out'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL pragma_version()",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM glob('{secret}')",
        "SELECT getenv('SECRET')",
        "SELECT * FROM no_such_table",
        "SELECT count(*) FROM (EXPLAIN ANALYZE DELETE FROM experiments)",
        "EXPLAIN ANALYZE DELETE FROM experiments",
    ],
)
def test_nothing_but_looking_at_the_index_is_answered(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "hush")

    with pytest.raises(StoreError, match="the query failed: "):
        store.query(sql.format(secret=secret))

    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert store.history().runs == 3


@pytest.mark.parametrize(
    "sql", ["EXPLAIN SELECT 1", "DESCRIBE experiments", "SHOW TABLES", "VALUES (1)", "FROM experiments"]
)
def test_other_ways_of_looking_are_answered(store: EmbeddedStore, sql: str) -> None:
    assert store.query(sql).rows


def test_rows_are_capped_and_that_is_said(store: EmbeddedStore) -> None:
    table = store.query("SELECT * FROM range(1000000)", max_rows=10)

    assert [row[0] for row in table.rows] == list(range(10))
    assert table.truncated
    assert table.notes == ("there are more rows than the 10 that are shown",)
    assert not store.query("SELECT * FROM range(10)", max_rows=10).truncated


def test_cells_are_capped_and_that_is_said(store: EmbeddedStore) -> None:
    table = store.query("SELECT repeat('x', 20000), repeat('y', 10000)")

    assert [len(cell) for cell in table.rows[0]] == [10_001, 10_000]
    assert table.notes == ("1 cell was cut to 10000 characters",)


def test_the_whole_answer_is_capped(store: EmbeddedStore) -> None:
    table = store.query("SELECT repeat('x', 9999) FROM range(100000)", max_rows=100_000)

    assert table.truncated
    assert sum(len(row[0]) for row in table.rows) < 16_100_000


def test_time_is_bounded_and_no_process_stays(store: EmbeddedStore) -> None:
    started = time.monotonic()

    with pytest.raises(StoreError, match="not answered within 2 s"):
        store.query(
            "SELECT count(*) FROM range(10000000000) a, range(1000000) b WHERE hash(a.range) = b.range", timeout_s=2
        )

    assert time.monotonic() - started < 30
    children = psutil.Process(os.getpid()).children(recursive=True)
    assert [child for child in children if "_query_child" in " ".join(child.cmdline())] == []
    assert store.history().runs == 3


def test_memory_is_bounded(store: EmbeddedStore) -> None:
    with pytest.raises(StoreError, match="the query failed: Out of Memory"):
        store.query("SELECT list(range) FROM range(1000000000)", timeout_s=60)


def test_a_file_in_the_working_directory_is_not_imported(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "duckdb.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)

    assert store.query("SELECT 1").rows == ((1,),)


def test_a_query_without_a_history_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no history at"):
        EmbeddedStore(tmp_path / "none").query("SELECT 1")
