"""Real processes that record and read one history at the same time: none of their runs is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tumult_core.store._embedded import EmbeddedStore

if TYPE_CHECKING:
    from pathlib import Path

RECORDERS, RUNS, READERS = 16, 20, 3

RECORDER = """
import sys
from tumult_core.journal import Journal, RunStatus
from tumult_core.store import open_store
store = open_store(sys.argv[1])
for number in range(int(sys.argv[3])):
    store.record_run(Journal(f"run-{sys.argv[2]}-{number}", "T", RunStatus.COMPLETED, 1 + number, 2 + number, 0, {}, "ab", "0.1.0"))
"""
READER = """
import json, sys
from tumult_core.store import open_store
store = open_store(sys.argv[1])
seen = []
while not seen or seen[-1] < int(sys.argv[2]):
    seen.append(store.history().runs)
print(json.dumps(seen))
"""


@pytest.mark.timeout(300)
def test_processes_that_record_while_others_fold_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir()
    wanted = RECORDERS * RUNS
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(folder), str(wanted)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(READERS)
    ]
    recorders = [
        subprocess.Popen([sys.executable, "-c", RECORDER, str(folder), str(number), str(RUNS)])
        for number in range(RECORDERS)
    ]

    assert [process.wait(200) for process in recorders] == [0] * RECORDERS
    for reader in readers:
        said, complaint = reader.communicate(timeout=200)
        seen = json.loads(said)
        assert (reader.returncode, complaint) == (0, "")
        assert seen == sorted(seen)
        assert seen[-1] == wanted
    store = EmbeddedStore(folder)
    found = store.history()
    assert (found.runs, found.notes) == (wanted, ())
    assert store.rebuild() == wanted
