"""How long `history()` takes over a large index, how much memory, and whether threads change a byte of it.

Run: python bench/history.py [STEPS…]        (default: 1000000 10000000)

Each measurement is a fresh process that imports, opens, aggregates and ends. As a peer, SQLite from the standard
library counts the same steps by action, which is the least that any store would have to do.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GOALS_S = {1_000_000: 0.5, 10_000_000: 2.0}
GOAL_MB = 500
STEPS_A_RUN = 10

RUNS_SQL = """
INSERT INTO experiments SELECT
    format('{{:08x}}-0000-7000-8000-{{:012d}}', i, i), 'experiment ' || hash(i) % 200,
    ['completed', 'completed', 'completed', 'deviated', 'failed'][1 + (hash(i * 7) % 5)::INTEGER],
    1700000000000000000 + i * 60000000000, 1700000000000000000 + i * 60000000000 + 5000000000, 5000, 8, 2,
    true, false, NULL, NULL, repeat('a', 64), ['nightly', 'team-' || hash(i) % 200 % 7], '0.1.0', 1.5, 0
FROM range({runs}) AS t(i)
"""
STEPS_SQL = """
INSERT INTO activity_results SELECT
    format('{{:08x}}-0000-7000-8000-{{:012d}}', i, i), 'step ' || j, if(j % 2 = 0, 'action', 'probe'),
    if(hash(i * 31 + j) % 10 < 9, 'succeeded', 'failed'), 1700000000000000000 + i * 60000000000 + j * 100000000, 100,
    'output ' || i, if(hash(i * 31 + j) % 10 < 9, NULL, 'exit code 1: boom ' || i), 'method', j, 'native',
    'plugin-' || hash(i + j * 5) % 20, 'function-' || hash(i * 3 + j) % 10, 0, NULL
FROM range({runs}) AS t(i), range({steps}) AS u(j)
"""


def build(folder: Path, steps: int) -> None:
    from tumult_core.store import _index
    from tumult_core.store._tables import create_statements

    folder.mkdir()
    runs = steps // STEPS_A_RUN
    connection = _index.connect(folder / _index.NAME, read_only=False)
    for statement in create_statements():
        connection.execute(statement)
    connection.execute(RUNS_SQL.format(runs=runs))
    connection.execute(STEPS_SQL.format(runs=runs, steps=STEPS_A_RUN))
    connection.close()


def look(folder: str, threads: str) -> None:
    """Run in a child: aggregate once and print what was measured."""
    started = time.perf_counter()
    from tumult_core.store._embedded import EmbeddedStore

    imported = time.perf_counter()
    found = EmbeddedStore(Path(folder), threads=int(threads)).history()
    ended = time.perf_counter()
    print(
        json.dumps(
            {
                "history_s": ended - imported,
                "with_import_s": ended - started,
                "cpu_s": time.process_time(),
                "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
                "sha256": hashlib.sha256(repr(found).encode()).hexdigest(),
                "rows": found.activity_rows,
                "actions": len(found.actions),
                "experiments": len(found.experiments),
            }
        )
    )


def peer(folder: Path, steps: int) -> float:
    """Give the seconds that SQLite takes to count the same steps by action."""
    with sqlite3.connect(folder / "peer.sqlite") as connection:
        connection.execute("CREATE TABLE a (plugin TEXT, function TEXT, status TEXT, at INTEGER)")
        rows = (
            (f"plugin-{i % 20}", f"function-{i % 7}", "failed" if i % 10 else "succeeded", 1700000000000000000 + i)
            for i in range(steps)
        )
        connection.executemany("INSERT INTO a VALUES (?, ?, ?, ?)", rows)
        connection.commit()
        started = time.perf_counter()
        connection.execute("SELECT plugin, function, count(*), max(at) FROM a GROUP BY 1, 2 ORDER BY 1, 2").fetchall()
        return time.perf_counter() - started


def measure(folder: Path, threads: int) -> list[dict[str, Any]]:
    argv = [sys.executable, __file__, "--look", str(folder), str(threads)]
    return [json.loads(subprocess.run(argv, check=True, capture_output=True).stdout) for _ in range(3)]


def bench(place: Path, steps: int) -> bool:
    """Measure one size and tell whether every answer was the same."""
    folder = place / "history"
    build(folder, steps)
    seen = set()
    for threads in (1, 2, 8):
        results = measure(folder, threads)
        best = min(results, key=lambda result: float(result["with_import_s"]))
        seen |= {result["sha256"] for result in results}
        assert best["rows"] == steps
        times = f"{best['history_s']:.2f} s, {best['with_import_s']:.2f} s with imports, {best['cpu_s']:.2f} s of CPU"
        sizes = f"{best['actions']} actions, {best['experiments']} experiments"
        print(f"{steps:>9} steps, {threads} threads: {times}, {best['memory_mb']:.0f} MB; {sizes}", flush=True)
    same = "one answer" if len(seen) == 1 else f"{len(seen)} DIFFERENT ANSWERS"
    print(f"{steps:>9} steps: {same}; the goal is {GOALS_S.get(steps)} s and {GOAL_MB} MB")
    return len(seen) == 1


def main() -> None:
    same = True
    for steps in [int(size) for size in sys.argv[1:]] or GOALS_S:
        with tempfile.TemporaryDirectory() as place:
            same &= bench(Path(place), steps)
            if steps <= 1_000_000:
                print(f"{steps:>9} steps, SQLite, one count by action: {peer(Path(place), steps):.2f} s")
    sys.exit(not same)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--look"]:
        look(*sys.argv[2:])
    else:
        main()
