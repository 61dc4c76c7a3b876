"""``tumult store``: where the history is, what it holds, and its index made anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tumult_core.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import MakeJournal, Tumult


def test_the_path_is_the_users_folder_or_what_is_given(tumult: Tumult, tmp_path: Path) -> None:
    assert tumult("store", "path").stdout == f"{tmp_path / 'data' / 'tumult' / 'history'}\n"
    assert tumult("store", "path", env={"TUMULT_STORE": "/there"}).stdout == "/there\n"
    assert tumult("store", "path", "--store", "/here", env={"TUMULT_STORE": "/there"}).stdout == "/here\n"


def test_stats_of_a_history_that_is_missing(tumult: Tumult) -> None:
    done = tumult("store", "stats")

    assert done.returncode == 0
    assert ["condition", "missing"] in [line.split() for line in done.stdout.splitlines()]


def test_stats_as_text_and_as_json(tumult: Tumult, make_journal: MakeJournal, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "history"))
    for number in range(3):
        store.record_run(make_journal(number))
    (tmp_path / "history" / "runs" / "bad.ndjson").write_text("junk")

    text = tumult("store", "stats", "--store", store.location)
    data = json.loads(tumult("store", "stats", "--store", store.location, "--format", "json").stdout)

    lines = [line.split(maxsplit=1) for line in text.stdout.splitlines()]
    assert ["experiments", "3"] in lines
    assert ["condition", "ok"] in lines
    assert ["first", "run", "2023-11-14", "22:13:20", "UTC"] in [line.split() for line in text.stdout.splitlines()]
    assert any(line[0] == "note" and "set-aside" in line[1] for line in lines)
    assert "is set aside" in text.stderr
    assert data["rows"] == {
        "experiments": 3,
        "activity_results": 3,
        "load_results": 0,
        "samples": 0,
        "agent_calls": 0,
        "recommendations": 0,
    }
    assert (data["set_aside"], len(data["notes"])) == (1, 1)


def test_rebuild_makes_the_index_anew(tumult: Tumult, make_journal: MakeJournal, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "history"))
    store.record_run(make_journal())

    done = tumult("store", "rebuild", "--store", store.location)

    assert done.stdout == f"Runs in the index of {store.location}: 1\n"
    assert tumult("store", "rebuild", "--store", str(tmp_path / "none")).returncode == 1


def test_a_scheme_that_nobody_serves_is_an_error(tumult: Tumult) -> None:
    done = tumult("store", "stats", "--store", "nosuch://host")

    assert done.returncode == 1
    assert done.stderr.startswith("Error: no installed store serves nosuch://; known: a folder\nHint: ")
