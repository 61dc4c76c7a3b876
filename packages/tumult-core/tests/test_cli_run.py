from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tumult_core._journal_io import read_journal
from tumult_core.journal import RunStatus
from tumult_core.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TUMULT = (sys.executable, "-m", "tumult_core")


def step(name: str, script: str, *, kind: str = "action", timeout_s: float = 20, more: str = "") -> str:
    return f"""  - name: {name}
    activity_type: {kind}
    provider:
      type: process
      path: sh
      arguments[2]: "-c", {json.dumps(script)}
      timeout_s: {timeout_s}
{more}"""


def document(*method: str, rollbacks: tuple[str, ...] = (), before: str = "", head: str = "") -> str:
    hypothesis = ""
    if before:
        probe = step("well", before, kind="probe").replace("\n", "\n  ").rstrip()
        hypothesis = f"steady_state_hypothesis:\n  title: It is well\n  probes[1]:\n  {probe}\n"
    undo = f"rollbacks[{len(rollbacks)}]:\n{''.join(rollbacks)}"
    return f"title: A test\n{head}{hypothesis}method[{len(method)}]:\n{''.join(method)}{undo}"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUMULT_STORE", str(tmp_path / "history"))
    return tmp_path


def tumult(place: Path, text: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    (place / "x.toon").write_text(text)
    argv = (*TUMULT, "run", "x.toon", "--recovery-timeout", "0.3", *arguments)
    return subprocess.run(argv, cwd=place, env=os.environ | env, capture_output=True, text=True, check=False)


UNDO = (step("undo", "echo undone > undone"),)
CASES = {
    "completed": (document(step("act", "true"), before="true", rollbacks=UNDO), 0),
    "deviated": (document(step("act", "touch broken"), before="test ! -e broken", rollbacks=UNDO), 3),
    "failed": (document(step("act", "exit 9"), before="true", rollbacks=UNDO), 4),
    "aborted": (document(step("act", "touch acted"), before="false", rollbacks=UNDO), 5),
}


@pytest.mark.parametrize("status", CASES)
def test_the_exit_code_tells_the_status(place: Path, status: str) -> None:
    text, code = CASES[status]
    done = tumult(place, text, "--journal-path", "out.toon")
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(f"{status}: A test (")
    assert ("after (before the rollbacks)" in done.stdout) is (status in {"deviated", "failed"})
    assert (place / "undone").exists() is (code != 0)
    journal = read_journal(place / "out.toon")
    assert journal.status == status
    history = open_store(str(place / "history")).history()
    assert [found.last_status for found in history.experiments] == [status]


def test_a_failed_rollback_is_seen_in_code_and_status_line(place: Path) -> None:
    text = document(step("act", "true"), rollbacks=(step("undo", "echo no >&2; exit 1"),))
    done = tumult(place, text, "--rollback-strategy", "always")
    assert done.returncode == 7
    assert "completed, 1 of its rollbacks failed: A test" in done.stdout
    assert "failed: rollback undo: exit code 1: no" in done.stdout
    assert "rollbacks: 0 of 1 succeeded" in done.stdout


def test_json_is_the_journal_and_nothing_else(place: Path) -> None:
    done = tumult(place, CASES["deviated"][0], "--format", "json")
    journal: dict[str, Any] = json.loads(done.stdout)
    assert (journal["status"], journal["journal_version"]) == ("deviated", 1)
    assert [result["name"] for result in journal["method_results"]] == ["act"]
    assert "act" in done.stderr


def test_progress_is_a_line_a_step_without_colour_where_there_is_no_terminal(place: Path) -> None:
    done = tumult(place, CASES["failed"][0])
    lines = [line.split() for line in done.stderr.splitlines() if not line.startswith("Warning")]
    assert [line[:3] for line in lines] == [
        ["before", "well", "succeeded"],
        ["method", "act", "failed"],
        ["after", "well", "succeeded"],
        ["rollback", "undo", "succeeded"],
    ]
    assert "\x1b" not in done.stdout + done.stderr


def test_text_of_a_step_cannot_reach_the_terminal_raw(place: Path) -> None:
    text = document(step("act", "printf '\\033]0;title\\007\\033[31mred' >&2; exit 1"))
    done = tumult(place, text)
    assert "exit code 1: red" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "arguments", "code", "said"),
    [
        (None, (), 1, "x.toon: error: cannot be read: No such file or directory"),
        ("nonsense", (), 1, "x.toon: "),
        (document(step("act", "touch acted").replace("sh\n", "sh\n      shell: true\n")), (), 1, "is not a known key"),
        (document(step("act", "touch acted ${where}")), (), 1, "--var where"),
        (document(step("act", "touch acted")), ("--journal-path", "none/out.toon"), 1, "cannot be written"),
        (document(step("act", "touch acted")), ("--journal-path", "x.toon"), 1, "x.toon exists already"),
        (document(step("act", "touch acted")), ("--store", "nosuch://x"), 1, "nosuch"),
        (document(step("act", "touch acted")), ("--var", "nonsense"), 2, "NAME=VALUE"),
        (document(step("act", "touch acted")), ("--rollback-strategy", "sometimes"), 2, "sometimes"),
        (document(step("act", "touch acted")), ("--recovery-timeout", "-1"), 2, "-1"),
        (document(step("act", "touch acted"), head="load:\n  tool: k6\n  script: x\n"), (), 1, "cannot execute load"),
    ],
)
def test_what_is_refused_runs_nothing_and_leaves_nothing(
    place: Path, text: str | None, arguments: tuple[str, ...], code: int, said: str
) -> None:
    if text is not None:
        (place / "x.toon").write_text(text)
    argv = (*TUMULT, "run", "x.toon", *arguments)
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert {file.name for file in place.iterdir()} <= {"x.toon"}


def test_a_refused_run_keeps_no_reserved_journal(place: Path) -> None:
    done = tumult(place, "nonsense", "--journal-path", "out.toon")
    assert done.returncode == 1
    assert [file.name for file in place.iterdir()] == ["x.toon"]


def test_an_existing_journal_is_overwritten_only_by_force(place: Path) -> None:
    (place / "out.toon").write_text("precious")
    assert tumult(place, CASES["completed"][0], "--journal-path", "out.toon").returncode == 1
    assert (place / "out.toon").read_text() == "precious"
    assert tumult(place, CASES["completed"][0], "--journal-path", "out.toon", "--force").returncode == 0
    assert read_journal(place / "out.toon").status is RunStatus.COMPLETED


def test_an_empty_journal_says_where_it_may_come_from(place: Path) -> None:
    (place / "out.toon").touch()
    done = tumult(place, CASES["completed"][0], "--journal-path", "out.toon")
    assert done.returncode == 1
    assert "exists already and is empty: a run writes it now, or was killed" in done.stderr


@pytest.mark.parametrize("wrong", ["document", "journal", "store", "variable"])
def test_json_is_nothing_where_a_run_cannot_start(place: Path, wrong: str) -> None:
    (place / "taken").write_text("x")
    more = {"journal": ("--journal-path", "taken"), "store": ("--store", "taken")}.get(wrong, ())
    text = document(step("act", "touch acted ${x}" if wrong == "variable" else "touch acted"))
    done = tumult(place, "nonsense" if wrong == "document" else text, "--format", "json", *more)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Error: " in done.stderr
    assert not (place / "acted").exists()


@pytest.mark.parametrize("where", ["link", "file/sub", "/proc/self/history"])
def test_a_history_that_cannot_be_written_refuses_the_run(place: Path, where: str) -> None:
    (place / "link").symlink_to("/nowhere/at/all")
    (place / "file").touch()
    text = document(step("act", "touch acted"))
    done = tumult(place, text, "--store", where, "--journal-path", "out.toon")
    assert done.returncode == 1, done.stdout
    assert f"the history {where} cannot be" in done.stderr
    assert sorted(file.name for file in place.iterdir()) == ["file", "link", "x.toon"]
    assert tumult(place, text, "--store", where, "--no-store").returncode == 0


def test_a_secret_of_one_letter_leaves_messages_readable(place: Path) -> None:
    head = "secrets:\n  g:\n    e:\n      type: env\n      key: LETTER\n"
    http = document(step("act", "true"), head=head)
    http = http.replace("type: process", "type: http").replace("path: sh", 'method: "${secrets.g.e}"')
    http = http.replace('arguments[2]: "-c", "true"', 'url: "http://localhost"')
    done = tumult(place, http, LETTER="e")
    assert done.returncode == 1
    assert "method[0].provider.method: must be " in done.stderr


def test_variables_are_typed(place: Path) -> None:
    more = '    tolerance:\n      type: exact\n      value: "${jobs}"\n'
    text = document(step("count", "echo $((${jobs} + 0))", kind="probe", more=more))
    assert tumult(place, text, "--var", "jobs=4").returncode == 0
    assert tumult(place, text, "--var", 'jobs="4"').returncode == 3


def test_a_dry_run_runs_nothing_needs_no_secret_and_records_nothing(place: Path) -> None:
    head = "secrets:\n  g:\n    token:\n      type: env\n      key: NO_SUCH_SECRET\nload:\n  tool: k6\n  script: l.js\n"
    text = document(step("act", "touch acted ${secrets.g.token}"), head=head)
    done = tumult(place, text, "--dry-run")
    assert done.returncode == 0
    assert "sh -c 'touch acted ${secrets.g.token}'" in done.stdout
    assert "Warning: secrets.g.token needs the environment variable NO_SUCH_SECRET, which is not set" in done.stderr
    assert "sh -c 'touch acted ***'" in tumult(place, text, "--dry-run", NO_SUCH_SECRET="hunter22").stdout
    assert "this version of Tumult cannot execute load: a run would be refused" in done.stdout
    plan: dict[str, Any] = json.loads(tumult(place, text, "--dry-run", "--format", "json").stdout)
    assert [found["name"] for found in plan["steps"]] == ["act"]
    assert plan["unset"] == [{"name": "secrets.g.token", "kind": "environment", "key": "NO_SUCH_SECRET"}]
    assert [file.name for file in place.iterdir()] == ["x.toon"]


def test_a_real_run_is_refused_with_everything_that_is_not_set(place: Path) -> None:
    head = "secrets:\n  g:\n    token:\n      type: env\n      key: NO_SUCH_SECRET\n"
    head += "configuration:\n  pid:\n    type: env\n    key: NO_SUCH_PID\n"
    text = document(step("act", "touch acted ${secrets.g.token} ${config.pid} ${where}"), head=head)
    done = tumult(place, text)
    assert done.returncode == 1
    assert [word for word in ("NO_SUCH_SECRET", "NO_SUCH_PID", "--var where") if word not in done.stderr] == []
    assert [file.name for file in place.iterdir()] == ["x.toon"]


def test_warnings_begin_with_a_place_that_can_be_followed(place: Path) -> None:
    done = tumult(place, document(step("act", "true")), "--dry-run")
    assert "Warning: x.toon: warning: " in done.stderr or "Warning: x.toon:2:" in done.stderr
    assert "x.toon:warning" not in done.stderr


def test_no_secret_is_anywhere(place: Path) -> None:
    secret = 'hunter2 "quoted"'
    head = "secrets:\n  g:\n    token:\n      type: env\n      key: TOKEN\n"
    text = document(
        step("act", """echo "$TOKEN" '${secrets.g.token}'; echo "$TOKEN" >&2; exit 1"""), head=head, rollbacks=UNDO
    )
    done = tumult(place, text, "--journal-path", "out.toon", TOKEN=secret)
    assert done.returncode == 4
    kept = [file.read_bytes() for file in place.rglob("*") if file.is_file()]
    assert len(kept) >= 4
    for told in (done.stdout.encode(), done.stderr.encode(), *kept):
        assert b"hunter2" not in told


def test_a_store_that_fails_after_the_run_loses_nothing(place: Path) -> None:
    text = document(step("act", "rm -rf history; touch history"))
    done = tumult(place, text, "--journal-path", "out.toon")
    assert (done.returncode, read_journal(place / "out.toon").status) == (0, RunStatus.COMPLETED)
    assert "Warning: the run is over, and the history" in done.stderr
    assert f"its journal is in {place}" in done.stderr
    (place / "history").unlink()
    done = tumult(place, text, TMPDIR=str(place))
    assert done.returncode == 0
    [spare] = place.glob("tumult-*.journal.toon")
    assert read_journal(spare).status is RunStatus.COMPLETED
    assert str(spare) in done.stderr


def test_a_journal_that_cannot_be_written_after_the_run_is_in_the_history(place: Path) -> None:
    (place / "logs").mkdir()
    done = tumult(place, document(step("act", "rm -rf logs")), "--journal-path", "logs/out.toon")
    assert done.returncode == 0
    assert "cannot be written" in done.stderr
    assert open_store(str(place / "history")).history().runs == 1


def test_a_run_without_any_record_says_so(place: Path) -> None:
    done = tumult(place, CASES["completed"][0], "--no-store")
    assert "journal: kept nowhere" in done.stdout
    assert not (place / "history").exists()


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("redirect", [">&-", ">/dev/full", "2>&-", "2>/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full"])
def test_a_result_that_nobody_can_read_changes_no_exit_code(place: Path, redirect: str, form: str) -> None:
    (place / "x.toon").write_text(CASES["deviated"][0])
    command = f'exec "$0" -m tumult_core run x.toon --recovery-timeout 0.1 --format {form} {redirect}'
    done = subprocess.run(["sh", "-c", command, sys.executable], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert (place / "undone").exists()
    assert "Traceback" not in done.stderr + done.stdout
    assert "2>" in redirect or ("cannot be written to standard output" in done.stderr) is ("full" in redirect)
    assert open_store(str(place / "history")).history().runs == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_the_output_cannot_encode_is_escaped(place: Path, encoding: str, form: str) -> None:
    title = "Grün → 日本"
    (place / "x.toon").write_text(CASES["deviated"][0].replace("A test", title))
    argv = (*TUMULT, "run", "x.toon", "--recovery-timeout", "0.1", "--format", form)
    env = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(argv, cwd=place, env=env, capture_output=True, check=False)
    assert done.returncode == 3
    said = done.stdout.decode(encoding)
    if form == "json":
        assert json.loads(said)["experiment_title"] == title
    else:
        known = {"ascii": "Gr\\u00fcn \\u2192 \\u65e5\\u672c", "latin-1": "Grün \\u2192 \\u65e5\\u672c"}
        assert known.get(encoding, title) in said


# --- signals ---------------------------------------------------------------------------------------------------------

LONG = document(
    step("act", "echo $$ > pid; sleep 60 & echo $! > child; wait", timeout_s=100),
    step("never", "touch never"),
    before="true",
    rollbacks=(step("slow", "touch slow; sleep 1.5; touch slow-done"), step("undo", "touch undone")),
)


class Running:
    """A run in the background of a test."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "x.toon").write_text(LONG)
        self.process = subprocess.Popen(
            (*TUMULT, "run", "x.toon", "--journal-path", "out.toon"),
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, name: str) -> None:
        deadline = time.monotonic() + 20
        while not (self.place / name).exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (self.place / name).exists()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def finish(self) -> tuple[int, str]:
        _, stderr = self.process.communicate(timeout=30)
        return self.process.returncode, stderr


@pytest.fixture
def running(place: Path) -> Iterator[Running]:
    run = Running(place)
    try:
        run.wait_for("child")
        yield run
    finally:
        run.process.kill()
        run.process.communicate()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)],
    ids=str,
)
def test_a_signal_ends_the_steps_rolls_back_and_writes_the_journal(
    running: Running, number: signal.Signals, code: int
) -> None:
    running.send(number)
    returncode, stderr = running.finish()
    assert returncode == code
    assert f"{number.name}: ending what runs; rollbacks follow" in stderr
    place = running.place
    for name in ("pid", "child"):
        pid = int((place / name).read_text())
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert not (place / "never").exists()
    assert (place / "slow-done").exists()
    assert (place / "undone").exists()
    journal = read_journal(place / "out.toon")
    assert (journal.status, journal.interrupted_by) == (RunStatus.INTERRUPTED, number.name)
    assert [str(result.status) for result in journal.method] == ["cancelled", "skipped"]


@pytest.mark.parametrize("delay_s", [0.05, 0.15, 0.3, 0.45, 0.6, 0.9])
def test_a_signal_at_any_time_leaves_a_journal_or_nothing(place: Path, delay_s: float) -> None:
    run = Running(place)
    time.sleep(delay_s)
    run.send(signal.SIGTERM)
    code, stderr = run.finish()
    assert code in {143, -signal.SIGTERM}, stderr
    assert not list(place.glob(".tumult-*"))
    journal = place / "out.toon"
    assert not journal.exists() or read_journal(journal).status is RunStatus.INTERRUPTED


def test_an_interrupt_while_the_command_loads_is_quiet(place: Path) -> None:
    (place / "click.py").write_text("raise KeyboardInterrupt")
    done = tumult(place, CASES["completed"][0], PYTHONPATH=str(place))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_second_signal_does_not_cost_the_rollbacks(running: Running) -> None:
    running.send(signal.SIGINT)
    running.wait_for("slow")
    running.send(signal.SIGINT)
    code, stderr = running.finish()
    assert code == 130
    assert "SIGINT: rollbacks are still to be finished; once more gives them up" in stderr
    assert (running.place / "slow-done").exists()
    assert (running.place / "undone").exists()


def test_a_third_signal_gives_the_rollbacks_up_and_says_so(running: Running) -> None:
    running.send(signal.SIGINT)
    running.wait_for("slow")
    running.send(signal.SIGINT)
    time.sleep(0.3)
    running.send(signal.SIGTERM)
    code, stderr = running.finish()
    assert code == 130
    assert "rollbacks were given up, what was changed may stay changed" in stderr
    assert not (running.place / "slow-done").exists()
    journal = read_journal(running.place / "out.toon")
    assert [str(result.status) for result in journal.rollbacks] == ["cancelled", "skipped"]
    assert journal.notes == ("SIGTERM: rollbacks were given up, what was changed may stay changed",)


def test_a_target_that_a_probe_started_outlives_the_probe_and_the_run(place: Path) -> None:
    start = "[ -f pid ] || { sleep 60 & echo $! > pid; }; kill -0 $(cat pid) && echo running"
    done = tumult(place, document(step("look", "kill -0 $(cat pid)"), before=start))
    process = psutil.Process(int((place / "pid").read_text()))
    try:
        assert done.returncode == 0, done.stdout
        assert process.status() != psutil.STATUS_ZOMBIE
    finally:
        process.kill()


def test_a_killed_background_process_is_gone_for_the_next_step(place: Path) -> None:
    gone = step("look", "kill -0 $(cat pid) 2>/dev/null && echo there || echo gone", kind="probe")
    gone += "    tolerance:\n      type: exact\n      value: gone\n"
    text = document(step("start", "sleep 60 & echo $! > pid"), step("kill", "kill $(cat pid); sleep 0.05"), gone)
    done = tumult(place, text)
    assert done.returncode == 0, done.stdout


def test_a_hundred_megabytes_of_output_are_bounded(place: Path) -> None:
    noise = "echo first; head -c 100000000 /dev/zero; echo; echo last"
    (place / "x.toon").write_text(document(step("noise", noise), rollbacks=UNDO))
    # The kernel's mark of the command's own memory: ``ru_maxrss`` would outlive fork and exec.
    program = (
        "import pathlib, re, sys; from tumult_core._cli.main import main; "
        "code = main(['run', 'x.toon', '--journal-path', 'out.toon']); "
        "pathlib.Path('peak').write_text(re.findall(r'VmHWM:\\s+(\\d+)', pathlib.Path('/proc/self/status').read_text())[0]); "
        "sys.exit(code)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=place, check=True, capture_output=True)
    assert int((place / "peak").read_text()) < 400_000
    [result] = read_journal(place / "out.toon").method
    assert result.output.startswith("first\n\ufffd\ufffd")
    assert result.output.endswith("\ufffd\nlast")
    assert "bytes left out" in result.output


def test_a_native_plugin_acts_on_a_real_process(place: Path) -> None:
    (place / "x.toon").write_text("""title: Native
method[3]:
  - name: start
    activity_type: action
    provider:
      type: process
      path: sh
      arguments[2]: "-c", "sleep 61.25 >/dev/null 2>&1 & echo $!"
  - name: kill
    activity_type: action
    provider:
      type: native
      plugin: tumult-process
      function: kill
      arguments:
        pattern: sleep 61.25
      timeout_s: 20
  - name: count
    activity_type: probe
    provider:
      type: native
      plugin: tumult-process
      function: count
      arguments:
        pattern: sleep 61.25
      timeout_s: 20
    tolerance:
      type: exact
      value: 0
""")
    argv = (*TUMULT, "run", "x.toon", "--format", "json")
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    results = json.loads(done.stdout)["method_results"]
    assert not psutil.pid_exists(results[0]["output"])
    assert [result["provider_kind"] for result in results] == ["process", "native", "native"]


def test_a_terminal_that_goes_away_costs_no_rollback(place: Path) -> None:
    (place / "x.toon").write_text(
        LONG.replace("true", "mkdir -p looks-like-a-change")
        .replace("sleep 60", "sleep 0.5")
        .replace("; wait", "; wait; exit 1")
    )
    process = subprocess.Popen((*TUMULT, "run", "x.toon"), cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=60) == 4
    assert (place / "undone").exists()
    assert open_store(str(place / "history")).history().runs == 1
