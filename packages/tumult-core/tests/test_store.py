"""The embedded store: files are the truth, the index is made from them, and nothing that was recorded is lost."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tumult_core.exceptions import StoreError
from tumult_core.journal import ActivityStatus, HypothesisResult, Phase, RunStatus
from tumult_core.store import _index, _records
from tumult_core.store._embedded import EmbeddedStore
from tumult_core.store.values import AgentCall, RecommendationRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import MakeJournal, MakeStep


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedStore:
    return EmbeddedStore(tmp_path / "history")


def _folder(store: EmbeddedStore) -> Path:
    return Path(store.location)


def rows(store: EmbeddedStore, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(f"{store.location}/index.duckdb", read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_a_place_without_a_history_is_missing_and_stays_so(store: EmbeddedStore, tmp_path: Path) -> None:
    assert store.history().condition == "missing"
    assert store.agent_calls() == ()
    assert store.recommendations() == ()
    assert store.stats()["condition"] == "missing"
    assert list(tmp_path.iterdir()) == []


def test_a_history_without_runs_is_empty(store: EmbeddedStore) -> None:
    store.record_agent_call(AgentCall("c1", "codex", None, 1, 0.5, "answered"))

    assert store.history().condition == "empty"


def test_recording_a_run_opens_no_database(store: EmbeddedStore, make_journal: MakeJournal, tmp_path: Path) -> None:
    store.record_run(make_journal())

    assert [path.name for path in (tmp_path / "history").iterdir()] == ["runs"]
    script = f"""
import sys
from pathlib import Path
from tumult_core.store import open_store
from tumult_core.store.values import AgentCall
open_store({str(tmp_path / "other")!r}).record_agent_call(AgentCall("c", "codex", None, 1, 0.5, "answered"))
sys.exit("duckdb" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_run_becomes_rows_with_the_established_columns(
    store: EmbeddedStore, make_journal: MakeJournal, make_step: MakeStep
) -> None:
    step = make_step(
        "kill", output={"pids": [7]}, error="gone", exit_code=3, tolerance_met=False, status=ActivityStatus.FAILED
    )
    undo = make_step(
        "undo", phase=Phase.ROLLBACK, status=ActivityStatus.FAILED, plugin=None, provider_kind="process", function="sh"
    )
    look = make_step("look", activity_type="probe", phase=Phase.HYPOTHESIS_BEFORE, output="ok")
    store.record_run(
        make_journal(
            status=RunStatus.DEVIATED,
            hypothesis_before=HypothesisResult("It is up", met=True, probes=(look,)),
            hypothesis_after=HypothesisResult("It is up", met=False, probes=()),
            method=(step,),
            rollbacks=(undo,),
            estimate_met=True,
            recovery_s=1.5,
        )
    )
    store.history()

    assert rows(
        store, "SELECT * EXCLUDE (experiment_sha256, started_at_ns, ended_at_ns, experiment_id) FROM experiments"
    ) == [("Orders survive", "deviated", 500, 1, 1, True, False, 1.0, None, ["nightly"], "0.1.0", 1.5, 1)]
    assert rows(
        store,
        "SELECT seq, name, phase, status, output, error, plugin, function, exit_code, tolerance_met FROM activity_results ORDER BY seq",
    ) == [
        (0, "look", "hypothesis_before", "succeeded", "ok", None, "tumult-process", "kill", None, None),
        (1, "kill", "method", "failed", '{"pids": [7]}', "gone", "tumult-process", "kill", 3, False),
        (2, "undo", "rollback", "failed", None, None, None, "sh", None, None),
    ]
    names = [
        name
        for (name,) in rows(
            store, "SELECT column_name FROM duckdb_columns() WHERE table_name = 'experiments' ORDER BY column_index"
        )
    ]
    assert names[:12] == ["experiment_id", "title", "status", "started_at_ns", "ended_at_ns", "duration_ms", "method_step_count", "rollback_count", "hypothesis_before_met", "hypothesis_after_met", "estimate_accuracy", "resilience_score"]  # fmt: skip


def test_the_record_file_holds_the_whole_journal(
    store: EmbeddedStore, make_journal: MakeJournal, make_step: MakeStep
) -> None:
    journal = make_journal(method=(make_step(output="x" * 300_000),), notes=("cut",), host={"os": "linux"})
    store.record_run(journal)
    store.history()

    (file,) = _records.kept(_folder(store))
    run, *steps = _records.read(file).lines
    assert run["experiment"] == journal.experiment
    assert run["host"] == {"os": "linux"}
    assert run["notes"] == ["cut"]
    assert steps[0]["output"] == "x" * 300_000
    assert steps[0]["arguments"] == {"pid": 4711}
    assert rows(store, "SELECT length(output) FROM activity_results")[0][0] < 100_100


def test_recording_the_same_run_again_counts_once(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    store.record_run(make_journal(1))
    store.record_run(make_journal(1))
    store.history()
    store.record_run(make_journal(1))

    assert store.history().runs == 1
    assert rows(store, "SELECT count(*) FROM activity_results") == [(1,)]


def test_texts_that_utf8_or_a_database_would_not_take_are_kept(
    store: EmbeddedStore, make_journal: MakeJournal, make_step: MakeStep
) -> None:
    store.record_run(
        make_journal(title="half \ud800 a pair", method=(make_step(output="nul \0 and \U0001f600", error="\udcff"),))
    )

    (experiment,) = store.history().experiments
    assert experiment.title == "half ? a pair"
    assert rows(store, "SELECT output, error FROM activity_results") == [("nul \0 and \U0001f600", "?")]


def test_a_run_with_a_strange_id_stays_in_its_folder(
    store: EmbeddedStore, make_journal: MakeJournal, tmp_path: Path
) -> None:
    store.record_run(make_journal(experiment_id="../../etc/passwd"))

    assert store.history().runs == 1
    assert [path.name for path in tmp_path.iterdir()] == ["history"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-20], "checksum"),
        (lambda data: b"\xff" * len(data), "UnicodeDecodeError"),
        (lambda data: b"\0" * len(data), "JSONDecodeError"),
        (lambda data: b"", "JSONDecodeError"),
        (lambda data: data.replace(b"Orders", b"0rders"), "checksum"),
        (lambda data: data.replace(b'"version":1', b'"version":7'), "format version is 7"),
        (lambda data: data.replace(b"tumult-run", b"tumult-fun"), "'tumult-fun'"),
    ],
)
def test_a_damaged_run_file_is_set_aside_and_the_rest_is_folded(
    store: EmbeddedStore,
    make_journal: MakeJournal,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[bytes], bytes],
    reason: str,
) -> None:
    for number in range(3):
        store.record_run(make_journal(number))
    _, file, _ = _records.pending(_folder(store))
    file.write_bytes(damage(file.read_bytes()))

    found = store.history()

    assert found.runs == 2
    assert "1 unreadable record file set aside" in found.notes[0]
    assert str(file) in caplog.text
    (aside,) = _records.set_aside_files(_folder(store))
    assert reason in aside.with_suffix(".reason").read_text()
    assert store.history().notes == found.notes


def test_a_run_of_impossible_values_is_set_aside(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    store.record_run(make_journal(1, duration_ms=2**70))
    store.record_run(make_journal(2, title=None))
    store.record_run(make_journal(3))

    found = store.history()

    assert found.runs == 1
    reasons = {path.read_text().strip() for path in (_folder(store) / "set-aside").rglob("*.reason")}
    assert reasons == {"experiments.duration_ms is 1180591620717411303424", "experiments.title is missing"}


def put_record(folder: Path, kind: str, identifier: Any, *lines: dict[str, Any]) -> Path:
    """Write a record file whose checksum is right, whatever it holds."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    header = {"format": _records.FORMATS[kind], "version": 1, "id": identifier, "lines": len(lines)}
    path = (
        folder / kind / f"{len(list((folder / kind).glob('*')))}.ndjson"
        if (folder / kind).exists()
        else folder / kind / "0.ndjson"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps(header | {"sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n" + body)
    return path


ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    10**30,
    10**400,
    float("nan"),
    float("-inf"),
    "yes",
    "",
    "\ud800\0",
    [],
    [1, {}],
    {"a": [2]},
)


def test_no_odd_value_anywhere_in_a_record_keeps_the_others_from_the_history(
    store: EmbeddedStore, make_journal: MakeJournal
) -> None:
    records = (
        _records.run_record(make_journal(1)),
        _records.call_record(AgentCall("c", "codex", "m", 1, 0.5, "answered", 1, 2, 0.1, 1, 1, "goal")),
        _records.recommendations_record([RecommendationRecord("r", "k", "t", "p", "f", 1)]),
    )
    count = 0
    for record in records:
        for number, line in enumerate(record.lines):
            for name in line:
                for value in ODD_VALUES:
                    lines = [json.loads(_records._line(one)) for one in record.lines]
                    lines[number][name] = value
                    count += 1
                    put_record(_folder(store), record.kind, f"{name}-{number}-{count}", *lines)
        for value in ODD_VALUES:
            count += 1
            put_record(_folder(store), record.kind, value, {})
    store.record_run(make_journal(7, title="the good one"))

    found = store.history()

    assert "the good one" in {experiment.title for experiment in found.experiments}
    aside = _records.set_aside_files(_folder(store))
    assert all(path.with_suffix(".reason").read_text().strip() for path in aside)
    assert 100 < len(aside) < count - 100
    assert _records.pending(_folder(store)) == []
    assert store.rebuild() == found.runs


@pytest.mark.parametrize("what", ["pipe", "device", "link", "folder", "huge"])
def test_what_is_no_regular_file_is_set_aside(store: EmbeddedStore, make_journal: MakeJournal, what: str) -> None:
    store.record_run(make_journal())
    path = _folder(store) / "runs" / "odd.ndjson"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "huge":
        path.touch()
        os.truncate(path, 3 << 30)
    else:
        path.symlink_to("/dev/zero" if what == "device" else _folder(store) / "runs")

    assert store.history().runs == 1
    (aside,) = _records.set_aside_files(_folder(store))
    assert aside.name == "odd.ndjson"
    assert aside.with_suffix(".reason").read_text()


def test_a_file_that_was_set_aside_is_not_lost_to_the_next_of_its_name(store: EmbeddedStore) -> None:
    runs = _folder(store) / "runs"
    runs.mkdir(parents=True)
    for content in (b"one", b"two"):
        (runs / "a.ndjson").write_bytes(content)
        store.history()
    (runs / "a.ndjson").mkdir()
    store.history()

    aside = _records.set_aside_files(_folder(store))
    assert {path.read_bytes() for path in aside if path.is_file()} == {b"one", b"two"}
    assert [path.name for path in aside] == ["a-1.ndjson", "a-2.ndjson", "a.ndjson"]


def test_a_mended_file_comes_back_with_a_rebuild(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    store.record_run(make_journal(1))
    (file,) = _records.pending(_folder(store))
    good = file.read_bytes()
    file.write_bytes(good[:-5])
    assert store.history().runs == 0
    (aside,) = _records.set_aside_files(_folder(store))
    aside.write_bytes(good)

    assert store.rebuild() == 1
    assert store.history().notes == ()


def test_the_index_is_made_anew_from_the_files(
    store: EmbeddedStore, make_journal: MakeJournal, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5):
        store.record_run(make_journal(number))
    store.record_agent_call(AgentCall("c1", "codex", "o", 1, 0.5, "answered"))
    before = store.history()
    index = _folder(store) / _index.NAME
    store.record_run(make_journal(5))

    index.unlink()
    assert store.history().runs == 6
    assert "it is missing" in caplog.text
    for content in (b"", b"junk" * 10_000, index.read_bytes()[:20_000]):
        caplog.clear()
        index.write_bytes(content)
        found = store.history()
        assert found.runs == 6
        assert found.actions[0].runs == before.actions[0].runs + 1
        assert "is made anew" in caplog.text
    assert store.agent_calls()[0].call_id == "c1"


def test_an_index_that_is_changed_anywhere_gives_the_right_answer_or_is_made_anew(
    store: EmbeddedStore, make_journal: MakeJournal, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        store.record_run(make_journal(number))
    right = store.history()
    index = _folder(store) / _index.NAME
    good = index.read_bytes()
    rebuilt = 0
    for place in range(40):
        start = place * (len(good) - 200) // 40
        index.write_bytes(good[:start] + bytes(byte ^ 0xFF for byte in good[start : start + 200]) + good[start + 200 :])
        caplog.clear()
        assert store.history() == right
        rebuilt += "is made anew" in caplog.text
    assert 5 < rebuilt < 40


def test_a_damaged_block_that_only_a_query_reads_is_found(
    store: EmbeddedStore, make_journal: MakeJournal, make_step: MakeStep, caplog: pytest.LogCaptureFixture
) -> None:
    noise = random.Random(1).randbytes(400_000).hex()  # noqa: S311 - no secret
    steps = tuple(make_step(output=noise[start : start + 90_000]) for start in range(0, 720_000, 90_000))
    store.record_run(make_journal(method=steps))
    right = store.history()
    index = _folder(store) / _index.NAME
    good = index.read_bytes()
    for block in range(12_288, len(good), 262_144):  # after the three headers
        index.write_bytes(
            good[: block + 5000]
            + bytes(~byte & 0xFF for byte in good[block + 5000 : block + 5100])
            + good[block + 5100 :]
        )
        assert store.query("SELECT sum(length(output)) FROM activity_results").rows == ((720_000,),)
        if "is made anew" in caplog.text:
            break
    assert "Corrupt database file" in caplog.text
    assert store.history() == right


def test_an_index_that_is_a_pipe_is_made_anew(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    store.record_run(make_journal())
    store.history()
    index = _folder(store) / _index.NAME
    index.unlink()
    os.mkfifo(index)

    assert store.history().runs == 1
    assert index.is_file()


def test_a_full_disk_leaves_no_half_made_index(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    store.record_run(make_journal())
    script = f"""
import resource, signal
from tumult_core.exceptions import StoreError
from tumult_core.store import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    open_store({store.location!r}).history()
except StoreError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "cannot be used" in done.stdout
    assert sorted(path.name for path in _folder(store).iterdir()) == ["index.lock", "runs"]
    assert store.history().runs == 1


def test_a_folder_whose_name_looks_like_another_engines_is_a_folder(
    make_journal: MakeJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = EmbeddedStore(Path("sqlite:history"))
    store.record_run(make_journal())

    assert store.history().runs == 1
    assert store.query("SELECT count(*) FROM experiments").rows == ((1,),)


@pytest.mark.parametrize(
    "statement", ["UPDATE schema_meta SET value = 99", "DELETE FROM schema_meta", "DROP TABLE experiments"]
)
def test_an_index_of_another_version_is_made_anew(
    store: EmbeddedStore, make_journal: MakeJournal, caplog: pytest.LogCaptureFixture, statement: str
) -> None:
    store.record_run(make_journal())
    store.history()
    with duckdb.connect(f"{store.location}/index.duckdb") as connection:
        connection.execute(statement)

    assert store.history().runs == 1
    assert "is made anew" in caplog.text


def test_the_index_can_be_read_by_the_oldest_duckdb_that_is_asked_for(
    store: EmbeddedStore, make_journal: MakeJournal
) -> None:
    store.record_run(make_journal())
    store.history()

    ((tags,),) = rows(store, "SELECT tags FROM duckdb_databases() WHERE database_name = 'index'")
    assert str(tags["storage_version"]).startswith("v1.4.0")


def test_a_history_in_use_is_said_after_a_bounded_wait(
    store: EmbeddedStore, make_journal: MakeJournal, tmp_path: Path
) -> None:
    store.record_run(make_journal())
    store.history()
    hasty = EmbeddedStore(tmp_path / "history", lock_timeout_s=0.05)
    descriptor = os.open(tmp_path / "history" / _index.LOCK_NAME, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match=r"in use and was not free within 0\.05 s") as caught:
            hasty.history()
        store.record_run(make_journal(2))
    finally:
        os.close(descriptor)
    assert "try again" in caught.value.hint
    assert hasty.history().runs == 2


def test_an_index_held_by_another_program_is_not_taken_for_a_damaged_one(
    store: EmbeddedStore, make_journal: MakeJournal, caplog: pytest.LogCaptureFixture
) -> None:
    store.record_run(make_journal())
    store.history()
    script = f"import duckdb, sys; c = duckdb.connect({store.location + '/index.duckdb'!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout
        assert shell.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match="held open by another program"):
            store.history()
        shell.communicate("")
    assert store.history().runs == 1
    assert "made anew" not in caplog.text


def test_a_folder_that_cannot_be_written_says_where_the_journal_is(make_journal: MakeJournal, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is not a folder"):
        EmbeddedStore(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot be used: Not a directory"):
        EmbeddedStore(tmp_path / "file" / "history")
    store = EmbeddedStore(tmp_path / "later")
    store.prepare()
    assert list(tmp_path.glob("later/**/.*")) == []
    shutil.rmtree(tmp_path / "later")
    (tmp_path / "later").write_text("")
    with pytest.raises(StoreError, match="cannot be written: Not a directory") as caught:
        store.record_run(make_journal())
    assert "journal is still where it was written" in caught.value.hint
    with pytest.raises(StoreError, match="cannot be written: Not a directory"):
        store.prepare()


def test_an_index_that_cannot_be_replaced_is_an_error_with_advice(
    store: EmbeddedStore, make_journal: MakeJournal
) -> None:
    store.record_run(make_journal())
    (_folder(store) / _index.NAME).mkdir()

    with pytest.raises(StoreError, match=r"the index .*index\.duckdb cannot be used") as caught:
        store.history()
    assert "safe in their own files" in caught.value.hint


def test_half_written_files_of_a_crashed_recorder_are_not_taken(
    store: EmbeddedStore, make_journal: MakeJournal
) -> None:
    store.record_run(make_journal())
    (_folder(store) / "runs" / ".x.ndjson.123-abc").write_text('{"format"')

    found = store.history()

    assert (found.runs, found.notes) == (1, ())


def test_a_crash_between_commit_and_clean_up_counts_once(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    store.record_run(make_journal())
    store.history()
    (file,) = _records.kept(_folder(store))
    file.rename(_folder(store) / "runs" / file.name)  # as if the process had ended before it put the file away

    assert store.history().runs == 1
    assert _records.pending(_folder(store)) == []


def test_a_crash_while_folding_loses_nothing(
    store: EmbeddedStore, make_journal: MakeJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.record_run(make_journal(1))
    store.history()
    for number in range(2, 5):
        store.record_run(make_journal(number))

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_records, "put_away", crash)
        with pytest.raises(KeyboardInterrupt):
            store.history()
    assert store.history().runs == 4
    assert rows(store, "SELECT count(*), count(DISTINCT experiment_id) FROM experiments") == [(4, 4)]


def test_agent_calls_come_newest_first_and_once(store: EmbeddedStore) -> None:
    calls = [
        AgentCall(f"c{number}", "codex", None, number, 0.5, "answered", cost_usd=0.01, goal="g") for number in range(3)
    ]
    for call in [*calls, *calls]:
        store.record_agent_call(call)

    assert store.agent_calls(limit=2) == (calls[2], calls[1])


def test_recommendations_give_the_latest_record_of_each(store: EmbeddedStore) -> None:
    first = RecommendationRecord("r1", "untested", "Kill it", "tumult-process", "kill", 1, score=0.5)
    written = RecommendationRecord("r1", "untested", "Kill it", "tumult-process", "kill", 2, "written", 0.5, "a.toon")
    other = RecommendationRecord("r0", "stale", "Again", "tumult-process", "suspend", 1)
    store.record_recommendations([written])
    store.record_recommendations([first, other])
    store.record_recommendations([])

    assert store.recommendations() == (other, written)


def test_stats_count_what_is_there(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    store.record_run(make_journal())
    facts = store.stats()

    assert facts["condition"] == "ok"
    assert facts["rows"]["experiments"] == 1
    assert facts["rows"]["activity_results"] == 1
    assert facts["record_files"] == 1
    assert facts["index_bytes"] > 0
    assert facts["first_run_ns"] == facts["last_run_ns"] == 1_700_000_000_000_000_000
    json.dumps(facts)


def test_the_word_on_a_rebuild_reaches_stderr(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    store.record_run(make_journal())
    store.history()
    (_folder(store) / _index.NAME).write_bytes(b"junk")
    script = f"from tumult_core.store import open_store; print(open_store({store.location!r}).history().runs)"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "1\n"
    assert "is made anew from its record files" in done.stderr


def test_the_document_of_the_last_run_of_a_digest_is_there(store: EmbeddedStore, make_journal: MakeJournal) -> None:
    assert store.documents(["ab" * 32]) == {}
    for number, title in enumerate(("first", "last", "other")):
        digest = ("cd" if title == "other" else "ab") * 32
        store.record_run(make_journal(number, experiment={"title": title}, experiment_sha256=digest))

    assert store.documents(["ab" * 32]) == {"ab" * 32: {"title": "last"}}
    assert store.documents(["cd" * 32]) == {"cd" * 32: {"title": "other"}}
    assert store.documents(["ef" * 32]) == {}
    assert store.documents([""]) == {}


@pytest.mark.parametrize("damage", [b"", b"{}\n[]\n", b"{}\n{\n", b"{}\n" + b" " * (9 << 20) + b'{"experiment": {}}\n'])
def test_a_document_that_cannot_be_had_is_not_there(
    store: EmbeddedStore, make_journal: MakeJournal, damage: bytes
) -> None:
    store.record_run(make_journal())
    store.history()
    (record,) = _records.kept(_folder(store))
    record.write_bytes(damage)

    assert store.documents(["ab" * 32]) == {}
    record.unlink()
    assert store.documents(["ab" * 32]) == {}
