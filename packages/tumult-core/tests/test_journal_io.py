from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tumult_core import toon
from tumult_core._journal_data import journal_from_data, journal_to_data
from tumult_core._journal_io import LIMITS, Reservation, read_journal, write_journal
from tumult_core._output import parse_output
from tumult_core.exceptions import DocumentError, JournalError
from tumult_core.journal import ActivityResult, ActivityStatus, HypothesisResult, Journal, Phase, RunStatus

STEP = ActivityResult(
    name="kill",
    activity_type="action",
    phase=Phase.METHOD,
    status=ActivityStatus.SUCCEEDED,
    provider_kind="native",
    plugin="tumult-process",
    function="kill",
    arguments={"pid": 7},
    exit_code=None,
    output={"killed": [7]},
    error=None,
    tolerance={"type": "exact", "value": 1},
    tolerance_met=True,
    started_at_ns=1_783_409_862_958_752_241,
    duration_ms=12,
)
PROBE = evolve(STEP, name="look", activity_type="probe", phase=Phase.HYPOTHESIS_BEFORE)
JOURNAL = Journal(
    experiment_id="01a22df3-1306-7c27-ad54-8898e2a163a3",
    title="A test — of journals",
    status=RunStatus.INTERRUPTED,
    started_at_ns=1_783_409_862_958_752_241,
    ended_at_ns=1_783_409_865_419_989_613,
    duration_ms=2461,
    experiment={"title": "A test — of journals", "estimate": {"expected_outcome": "recovered"}},
    experiment_sha256="ab" * 32,
    engine_version="0.1.0",
    tags=("one", "two"),
    hypothesis_before=HypothesisResult("well", True, (PROBE,)),
    method=(STEP, evolve(STEP, status=ActivityStatus.FAILED, error="broke\n\ttwice", output=None)),
    hypothesis_after=HypothesisResult("well", False, (evolve(PROBE, phase=Phase.HYPOTHESIS_AFTER),)),
    rollbacks=(evolve(STEP, phase=Phase.ROLLBACK, status=ActivityStatus.TIMEOUT),),
    recovery_s=1.5,
    estimate_met=False,
    host={"system": "Linux", "cpus": 2},
    notes=("a note",),
    interrupted_by="SIGINT",
)

# Written by another implementation of the format: keys of its own, no providers, its own ids.
ESTABLISHED = """experiment_title: "Recovery of a database"
experiment_id: "1542e454-bfb5-473c-ae3a-7d3b5d8b7674"
status: completed
started_at_ns: 1783409862958752241
ended_at_ns: 1783409865419989613
duration_ms: 2461
steady_state_before:
  title: "it accepts connections"
  met: true
  probe_results[1]{name,activity_type,status,started_at_ns,duration_ms,output,trace_id,span_id}:
    "ready",probe,succeeded,1783409862958768481,39,"accepting connections","",""
steady_state_after: null
method_results[2]{name,activity_type,status,started_at_ns,duration_ms,output,trace_id,span_id}:
  "kill",action,succeeded,1783409862998819971,44,"t\\n(1 row)","",""
  "check",probe,failed,1783409865043658186,38,"no","",""
rollback_results[0]:
rollback_failures: 0
estimate: null
during_result:
  fault_active_s: 2.121850906
analysis: null
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal.toon"


def test_a_journal_survives_the_file(path: Path) -> None:
    write_journal(JOURNAL, path)
    assert read_journal(path) == JOURNAL
    data = toon.loads_document(path.read_bytes(), source="test")
    assert (data["journal_version"], data["rollback_failures"]) == (1, 1)
    assert (data["estimate"], data["regulatory"]) == ({"expected_outcome": "recovered"}, None)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_nobody_else_reads_a_journal(path: Path) -> None:
    write_journal(JOURNAL, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_established_journal_is_read(path: Path) -> None:
    path.write_text(ESTABLISHED)
    journal = read_journal(path)
    assert (journal.title, journal.status, journal.duration_ms) == (
        "Recovery of a database",
        RunStatus.COMPLETED,
        2461,
    )
    assert journal.hypothesis_before
    assert journal.hypothesis_before.met
    assert [(step.name, step.status, step.phase) for step in journal.activities] == [
        ("ready", ActivityStatus.SUCCEEDED, Phase.HYPOTHESIS_BEFORE),
        ("kill", ActivityStatus.SUCCEEDED, Phase.METHOD),
        ("check", ActivityStatus.FAILED, Phase.METHOD),
    ]
    assert journal.method[0].output == "t\n(1 row)"
    assert journal_from_data(journal_to_data(journal)) == journal


@given(st.text() | st.dictionaries(st.text(), st.lists(st.text() | st.integers(-(2**53), 2**53))))
def test_any_output_survives(output: Any) -> None:
    journal = evolve(JOURNAL, method=(evolve(STEP, output=output),))
    data = toon.loads_document(toon.dumps_document(journal_to_data(journal)), source="test", limits=LIMITS)
    assert journal_from_data(data) == journal


@pytest.mark.parametrize(
    "text", ["x" * 8_000_000, "\x01\n" * 100_000, "[" * 32 + "]" * 32, '{"a":' * 32 + "1" + "}" * 32]
)
def test_the_largest_and_the_deepest_output_can_be_read_back(path: Path, text: str) -> None:
    journal = evolve(JOURNAL, method=(evolve(STEP, output=parse_output(text)),))
    write_journal(journal, path)
    assert read_journal(path) == journal


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\n", "'experiment_id' is missing"),
        (ESTABLISHED.replace("completed", "finished"), "'finished' is not a valid RunStatus"),
        (ESTABLISHED.replace("status: completed", "status: completed\njournal_version: 2"), "its journal_version is 2"),
        (ESTABLISHED.replace("duration_ms: 2461", "duration_ms: long"), "invalid literal"),
    ],
)
def test_what_is_no_journal_is_refused_with_the_reason(path: Path, text: str, reason: str) -> None:
    path.write_text(text)
    with pytest.raises(JournalError, match=str(path)) as caught:
        read_journal(path)
    assert reason in str(caught.value)


def test_a_file_that_is_missing_or_cut_short_is_refused(path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        read_journal(path)
    path.write_text(ESTABLISHED.partition('  "check"')[0])
    with pytest.raises(DocumentError):
        read_journal(path)


# --- reservation -----------------------------------------------------------------------------------------------------


def test_an_existing_journal_is_kept_unless_force_is_given(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(JournalError, match="exists already"):
        Reservation.make(path)
    reservation = Reservation.make(path, force=True)
    assert path.read_text() == "precious"
    reservation.write(JOURNAL)
    assert read_journal(path) == JOURNAL


def test_a_reserved_path_cannot_be_taken_and_can_be_given_up(path: Path) -> None:
    reservation = Reservation.make(path)
    with pytest.raises(JournalError, match="exists already"):
        Reservation.make(path)
    reservation.release()
    assert list(path.parent.iterdir()) == []


def test_giving_up_leaves_what_was_there_before(path: Path) -> None:
    path.write_text("precious")
    Reservation.make(path, force=True).release()
    assert [(file, file.read_text()) for file in path.parent.iterdir()] == [(path, "precious")]


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "none" / "x.toon", tmp_path / "file" / "x.toon", tmp_path / ("x" * 300)):
        with pytest.raises(JournalError, match="cannot be written"):
            Reservation.make(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(JournalError, match="Permission denied"):
        Reservation.make(tmp_path / "x.toon")


def test_only_a_regular_file_is_overwritten(tmp_path: Path) -> None:
    folder, link, pipe = tmp_path / "folder", tmp_path / "link", tmp_path / "pipe"
    folder.mkdir()
    link.symlink_to(tmp_path / "nowhere")
    os.mkfifo(pipe)
    for path in (folder, link, pipe):
        with pytest.raises(JournalError, match="no regular file"):
            Reservation.make(path, force=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "link", "pipe"]


def test_a_journal_that_cannot_be_encoded_leaves_nothing_behind(path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be written"):
        write_journal(evolve(JOURNAL, title="half a pair \ud800"), path)
    assert list(path.parent.iterdir()) == []


def test_a_journal_for_a_working_folder_that_is_gone_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(JournalError, match="No such file or directory"):
        Reservation.make(Path("journal.toon"))


def test_a_journal_that_would_never_end_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(JournalError, match="not a regular file"):
            read_journal(path)
