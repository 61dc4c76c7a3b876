"""Bad input, through the installed command: one clear line that says what to do, the documented exit code, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

STEP = 'method[1]:\n  - name: step\n    activity_type: action\n    provider:\n      type: process\n      path: "true"\n      {extra}\n'
GOOD = "title: good\n" + STEP.format(extra="timeout_s: 5") + "rollbacks[0]:\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "good.toon").write_text(GOOD)
    (tmp_path / "unknown-key.toon").write_text("titel: x\n" + GOOD)
    (tmp_path / "wrong-type.toon").write_text("title: x\n" + STEP.format(extra="timeout_s: soon"))
    (tmp_path / "not-utf8.toon").write_bytes(b"title: \xff\n")
    (tmp_path / "empty.toon").write_text("")
    (tmp_path / "guards.toon").write_text(
        GOOD
        + "guards[1]:\n  - name: g\n    probe:\n      name: p\n      activity_type: probe\n      provider:\n"
        + '        type: process\n        path: "true"\n      tolerance:\n        type: exact\n        value: ""\n'
    )
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "taken.journal.toon").write_text("someone's work")
    damaged = tmp_path / "damaged"
    (damaged / "runs").mkdir(parents=True)
    (damaged / "index.duckdb").write_bytes(b"this is not a database" * 100)
    site = tmp_path / "site"
    info = site / "broken_vendor-1.2.3.dist-info"
    info.mkdir(parents=True)
    (site / "broken_vendor.py").write_text("import a_module_that_nobody_has\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-vendor\nVersion: 1.2.3\n")
    (info / "entry_points.txt").write_text("[tumult.agent_adapters]\nbroken = broken_vendor\n")
    return tmp_path


def tumult(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"TUMULT_STORE": str(place / "history"), "PYTHONPATH": str(place / "site"), "COLUMNS": "200"}
    command = [sys.executable, "-m", "tumult_core", *arguments]
    return subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["validate", "unknown-key.toon"], 1, ["unknown-key.toon:1:1", "titel", "did you mean `title`"]),
        (["run", "unknown-key.toon"], 1, ["unknown-key.toon:1:1", "titel", "did you mean `title`"]),
        (["run", "wrong-type.toon"], 1, ["wrong-type.toon:8:", "method[0].provider.timeout_s", "number"]),
        (["run", "not-utf8.toon"], 1, ["not-utf8.toon", "UTF-8"]),
        (["run", "empty.toon"], 1, ["empty.toon"]),
        (["run", "missing.toon"], 1, ["missing.toon", "no such file"]),
        (["run", "guards.toon"], 1, ["guards"]),
        (["run", "good.toon", "--journal-path", "file/journal.toon"], 1, ["file/journal.toon"]),
        (["run", "good.toon", "--journal-path", "taken.journal.toon"], 1, ["taken.journal.toon", "--force"]),
        (["run", "good.toon", "--rollback-strategy", "maybe"], 2, ["always", "never", "on-deviation"]),
        (["store", "stats", "--store", "file"], 1, ["file", "not a folder"]),
        (["plugins", "--plugin", "tumult-proces"], 1, ["tumult-proces", "tumult-process"]),
        (["recommend", "--agent", "nobody"], 1, ["nobody", "claude-code", "codex"]),
        (["recommend", "--agent", "broken"], 1, ["broken-vendor", "a_module_that_nobody_has"]),
        (["recommend", "--store", "gopher://x"], 0, ["not read", "gopher"]),
        (["reccomend"], 2, ["reccomend", "recommend"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value and isinstance(value[0], str) else None,
)
def test_bad_input_is_said_clearly(place: Path, arguments: list[str], code: int, said: list[str]) -> None:
    done = tumult(place, *arguments)
    text = done.stdout + done.stderr
    assert done.returncode == code, text
    assert [part for part in said if part.lower() not in text.lower()] == [], text
    assert "Traceback" not in text
    assert (place / "taken.journal.toon").read_text() == "someone's work"


def test_nothing_ran_where_the_journal_cannot_be_written(place: Path) -> None:
    tumult(place, "run", "good.toon", "--journal-path", "file/journal.toon")
    assert not (place / "history" / "runs").exists() or list((place / "history" / "runs").iterdir()) == []


def test_an_absent_store_is_stated_and_the_rest_works(place: Path) -> None:
    done = tumult(place, "recommend")
    assert done.returncode == 0, done.stderr
    assert str(place / "history") in done.stdout + done.stderr
    assert "tumult-process" in done.stdout


def test_a_damaged_index_is_made_anew_and_said(place: Path) -> None:
    done = tumult(place, "recommend", "--store", "damaged")
    assert done.returncode == 0, done.stderr
    assert "index.duckdb" in done.stderr
    assert "tumult-process" in done.stdout


def test_a_broken_adapter_is_a_row_with_its_reason(place: Path) -> None:
    done = tumult(place, "agents")
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("broken"))
    assert done.returncode == 0
    assert "broken-vendor 1.2.3" in row
    assert "a_module_that_nobody_has" in row
