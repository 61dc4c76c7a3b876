from __future__ import annotations

import inspect
import signal
import subprocess
import sys
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from attrs import evolve

from tumult_core._journal_data import journal_to_data
from tumult_core._run import uuid7
from tumult_core._supported import UnsupportedFeature
from tumult_core.catalog import Argument, Catalog, Function, Plugin, PluginKind
from tumult_core.engine import Cancellation, parse_experiment, run_experiment
from tumult_core.events import EventKind, RunEvent
from tumult_core.exceptions import DocumentError
from tumult_core.experiment import (
    Activity,
    ActivityType,
    Baseline,
    BaselineMethod,
    Control,
    EnvValue,
    Estimate,
    ExactTolerance,
    ExpectedOutcome,
    Experiment,
    Guard,
    Hypothesis,
    Load,
    ProcessProvider,
    RangeTolerance,
    ScriptProvider,
)
from tumult_core.journal import ActivityStatus, Journal, Phase, RollbackStrategy, RunStatus

if TYPE_CHECKING:
    from pathlib import Path


def action(name: str, script: str, *, timeout_s: float | None = 10.0, **more: Any) -> Activity:
    return Activity(name, ActivityType.ACTION, ProcessProvider("sh", ("-c", script), timeout_s=timeout_s), **more)


def probe(name: str, script: str, **more: Any) -> Activity:
    return evolve(action(name, script, **more), activity_type=ActivityType.PROBE)


def holds(script: str) -> Hypothesis:
    return Hypothesis("it is well", (probe("well", script),))


def run(*method: Activity, catalog: Catalog | None = None, **more: Any) -> Journal:
    names = {"variables", "environ", "rollback_strategy", "recovery_timeout_s", "on_event", "interrupt"} & more.keys()
    options = {"recovery_timeout_s": 0.3} | {name: more.pop(name) for name in names}
    return run_experiment(Experiment("a test", method, **more), catalog=catalog or Catalog(), **options)


def statuses(results: Any) -> list[tuple[str, str]]:
    return [(result.name, str(result.status)) for result in results]


# --- status, phases and rollbacks ------------------------------------------------------------------------------------


def test_a_run_that_finds_nothing_wrong_is_completed_and_not_rolled_back() -> None:
    journal = run(
        action("act", "echo done"), steady_state_hypothesis=holds("true"), rollbacks=(action("undo", "echo undone"),)
    )
    assert journal.status is RunStatus.COMPLETED
    assert [result.phase for result in journal.activities] == [
        Phase.HYPOTHESIS_BEFORE,
        Phase.METHOD,
        Phase.HYPOTHESIS_AFTER,
    ]
    assert (journal.recovery_s, journal.interrupted_by, journal.rollbacks) == (None, None, ())
    [result] = journal.method
    assert (result.provider_kind, result.function, result.arguments) == ("process", "sh", ["-c", "echo done"])
    assert (result.exit_code, result.output, result.error) == (0, "done", None)


def test_a_hypothesis_that_does_not_hold_at_first_aborts(tmp_path: Path) -> None:
    hypothesis = Hypothesis("all", (probe("bad", "exit 1"), probe("good", "echo looked")))
    journal = run(
        action("act", f"touch {tmp_path}/acted"), steady_state_hypothesis=hypothesis, rollbacks=(action("undo", ":"),)
    )
    assert journal.status is RunStatus.ABORTED
    assert journal.hypothesis_before
    assert statuses(journal.hypothesis_before.probes) == [("bad", "failed"), ("good", "succeeded")]
    assert not (tmp_path / "acted").exists()
    assert (journal.method, journal.hypothesis_after) == ((), None)
    assert statuses(journal.rollbacks) == [("undo", "succeeded")]


def test_a_failing_step_does_not_stop_later_ones() -> None:
    journal = run(
        action("breaks", "exit 2"),
        action("hangs", "sleep 60", timeout_s=0.2),
        action("missing", "x", timeout_s=5),
        action("works", "echo yes"),
        rollbacks=(action("undo", "exit 1"), action("undo-more", ":")),
    )
    assert journal.status is RunStatus.FAILED
    assert statuses(journal.method)[:2] == [("breaks", "failed"), ("hangs", "timeout")]
    assert journal.method[3].output == "yes"
    assert statuses(journal.rollbacks) == [("undo", "failed"), ("undo-more", "succeeded")]
    assert journal.rollback_failures == 1


def test_a_tolerance_on_a_step_of_the_method_is_evaluated() -> None:
    journal = run(probe("count", "echo 7", tolerance=RangeTolerance(0, 5)), rollbacks=(action("undo", ":"),))
    assert journal.status is RunStatus.DEVIATED
    [result] = journal.method
    assert (result.status, result.tolerance_met) == (ActivityStatus.SUCCEEDED, False)
    assert result.error == "7 is not a number from 0 to 5"
    assert result.tolerance == {"type": "range", "from": 0, "to": 5}
    assert statuses(journal.rollbacks) == [("undo", "succeeded")]


def test_a_step_that_failed_never_meets_its_tolerance() -> None:
    [result] = run(probe("p", "echo ok; exit 1", tolerance=ExactTolerance("ok"))).method
    assert (result.status, result.tolerance_met, result.output) == (ActivityStatus.FAILED, False, "ok")


def test_failed_comes_before_deviated() -> None:
    journal = run(action("breaks", "exit 1"), probe("misses", "echo 1", tolerance=ExactTolerance(2)))
    assert journal.status is RunStatus.FAILED


def test_a_hypothesis_that_never_holds_again_deviates(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.touch()
    started = time.monotonic()
    journal = run(
        action("break", f"rm {state}"),
        steady_state_hypothesis=holds(f"test -e {state}"),
        rollbacks=(action("undo", f"touch {state}"),),
        recovery_timeout_s=1.0,
    )
    assert journal.status is RunStatus.DEVIATED
    assert 1.0 <= time.monotonic() - started < 5
    assert journal.hypothesis_after
    assert not journal.hypothesis_after.met
    assert journal.recovery_s is None
    assert state.exists()


def test_the_time_to_recover_is_recorded(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.touch()
    journal = run(
        action("break", f"rm {state}; (sleep 0.7; touch {state}) >/dev/null 2>&1 &"),
        steady_state_hypothesis=holds(f"test -e {state}"),
        recovery_timeout_s=20,
    )
    assert journal.status is RunStatus.COMPLETED
    assert journal.recovery_s is not None
    assert 0.4 < journal.recovery_s < 5


@pytest.mark.parametrize(
    ("strategy", "script", "rolled_back"),
    [
        (RollbackStrategy.ALWAYS, "true", True),
        (RollbackStrategy.ON_DEVIATION, "true", False),
        (RollbackStrategy.ON_DEVIATION, "false", True),
        (RollbackStrategy.NEVER, "false", False),
    ],
)
def test_the_strategy_decides_about_rollbacks(strategy: RollbackStrategy, script: str, rolled_back: bool) -> None:
    journal = run(action("act", script), rollbacks=(action("undo", ":"),), rollback_strategy=strategy)
    assert bool(journal.rollbacks) is rolled_back


def test_each_rollback_has_its_own_time_limit() -> None:
    journal = run(
        action("act", "false"), rollbacks=(action("hangs", "sleep 60", timeout_s=0.2), action("undo", "echo undone"))
    )
    assert statuses(journal.rollbacks) == [("hangs", "timeout"), ("undo", "succeeded")]


# --- background, pauses, interrupts ----------------------------------------------------------------------------------


def test_background_steps_run_beside_the_others_and_keep_their_place() -> None:
    started = time.monotonic()
    journal = run(
        action("first", "sleep 0.8; echo 1", background=True),
        action("second", "sleep 0.8; echo 2"),
        action("third", "sleep 0.8; echo 3", background=True),
    )
    assert time.monotonic() - started < 2.2
    assert [(result.name, result.output) for result in journal.method] == [("first", 1), ("second", 2), ("third", 3)]


def test_the_number_of_background_steps_at_a_time_is_capped(tmp_path: Path) -> None:
    script = f"mkdir {tmp_path}/busy || echo overlap; sleep 0.1; rmdir {tmp_path}/busy"
    steps = [action(f"s{n}", script, background=True) for n in range(4)]
    journal = run(*steps, max_concurrent_faults=1)
    assert [result.output for result in journal.method] == [None] * 4


def test_pauses_are_kept_and_not_counted() -> None:
    started = time.monotonic()
    journal = run(action("act", ":", pause_before_s=0.4, pause_after_s=0.4))
    assert time.monotonic() - started >= 0.8
    assert journal.method[0].duration_ms < 400


def test_an_interrupt_ends_what_runs_and_rolls_back(tmp_path: Path) -> None:
    interrupt = Cancellation()
    threading.Timer(0.5, interrupt.cancel, ("the test",)).start()
    started = time.monotonic()
    journal = run(
        action("runs", f"sleep 60 & echo $! > {tmp_path}/pid; wait"),
        action("waits", "sleep 60", background=True),
        action("never", f"touch {tmp_path}/never"),
        steady_state_hypothesis=holds("true"),
        rollbacks=(action("undo", "sleep 0.2; echo undone"),),
        interrupt=interrupt,
    )
    assert time.monotonic() - started < 8
    assert (journal.status, journal.interrupted_by) == (RunStatus.INTERRUPTED, "the test")
    assert statuses(journal.method) == [("runs", "cancelled"), ("waits", "cancelled"), ("never", "skipped")]
    assert not (tmp_path / "never").exists()
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text())) or _dead(tmp_path)
    assert journal.hypothesis_after is None
    assert [result.output for result in journal.rollbacks] == ["undone"]


def _dead(tmp_path: Path) -> bool:
    return psutil.Process(int((tmp_path / "pid").read_text())).status() == psutil.STATUS_ZOMBIE


def test_ctrl_c_in_a_program_that_runs_an_experiment_rolls_back_too(tmp_path: Path) -> None:
    script = """
from test_program import *
print(run(action("act", "touch begun; sleep 60"), rollbacks=(action("undo", "echo undone > undone"),)).status)
"""
    source = "\n".join(inspect.getsource(function) for function in (action, run))
    header = (
        "from attrs import evolve\nfrom tumult_core.catalog import Catalog\nfrom tumult_core.engine import *\n"
        "from tumult_core.experiment import *\nfrom tumult_core.journal import Journal\nfrom typing import Any\n"
    )
    (tmp_path / "test_program.py").write_text(header + source)
    process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (0, "interrupted\n")
    assert (tmp_path / "undone").exists()


def test_a_pause_can_be_interrupted() -> None:
    interrupt = Cancellation()
    threading.Timer(0.3, interrupt.cancel, ("the test",)).start()
    started = time.monotonic()
    journal = run(action("act", ":", pause_after_s=60), action("next", ":", pause_before_s=60), interrupt=interrupt)
    assert time.monotonic() - started < 5
    assert statuses(journal.method) == [("act", "succeeded"), ("next", "skipped")]


def test_an_interrupt_before_any_action_needs_no_rollback() -> None:
    interrupt = Cancellation()
    threading.Timer(0.3, interrupt.cancel, ("the test",)).start()
    journal = run(
        action("act", ":"),
        steady_state_hypothesis=holds("sleep 60"),
        rollbacks=(action("undo", ":"),),
        interrupt=interrupt,
    )
    assert (journal.status, journal.method, journal.rollbacks) == (RunStatus.INTERRUPTED, (), ())


def test_an_interrupt_while_waiting_for_recovery_ends_the_wait(tmp_path: Path) -> None:
    interrupt = Cancellation()
    threading.Timer(0.7, interrupt.cancel, ("the test",)).start()
    started = time.monotonic()
    journal = run(
        action("break", f"touch {tmp_path}/broken"),
        steady_state_hypothesis=holds(f"test ! -e {tmp_path}/broken"),
        rollbacks=(action("undo", "echo undone"),),
        recovery_timeout_s=60,
        interrupt=interrupt,
    )
    assert time.monotonic() - started < 8
    assert journal.status is RunStatus.INTERRUPTED
    assert [result.output for result in journal.rollbacks] == ["undone"]


def test_a_listener_that_fails_costs_nothing() -> None:
    def listener(event: RunEvent) -> None:
        raise BrokenPipeError

    journal = run(action("act", "false"), rollbacks=(action("undo", "echo undone"),), on_event=listener)
    assert [result.output for result in journal.rollbacks] == ["undone"]


def test_events_tell_each_step() -> None:
    events: list[RunEvent] = []
    run(action("act", "false"), rollbacks=(action("undo", ":"),), on_event=events.append)
    assert [(event.kind, event.name) for event in events] == [
        (EventKind.STEP_STARTED, "act"),
        (EventKind.STEP_FINISHED, "act"),
        (EventKind.STEP_STARTED, "undo"),
        (EventKind.STEP_FINISHED, "undo"),
    ]


# --- estimate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "heals_after_s", "recovery_s", "met"),
    [
        (ExpectedOutcome.DEVIATED, None, None, True),
        (ExpectedOutcome.RECOVERED, None, None, False),
        (ExpectedOutcome.UNAFFECTED, 0, None, True),
        (ExpectedOutcome.RECOVERED, 0, None, True),
        (ExpectedOutcome.DEVIATED, 0, None, False),
        (ExpectedOutcome.RECOVERED, 0.3, 20, True),
        (ExpectedOutcome.RECOVERED, 0.3, 0.01, False),
        (ExpectedOutcome.UNAFFECTED, 0.3, None, False),
    ],
)
def test_the_estimate_is_held_against_the_outcome(
    tmp_path: Path, expected: ExpectedOutcome, heals_after_s: float | None, recovery_s: float | None, met: bool
) -> None:
    broken = tmp_path / "broken"
    heal = "" if heals_after_s is None else f"(sleep {heals_after_s}; rm {broken}) >/dev/null 2>&1 &"
    script = ":" if heals_after_s == 0 else f"touch {broken}; {heal}"
    journal = run(
        action("break", script),
        steady_state_hypothesis=holds(f"test ! -e {broken}"),
        estimate=Estimate(expected, expected_recovery_s=recovery_s),
        recovery_timeout_s=0.2 if heals_after_s is None else 20,
    )
    assert journal.estimate_met is met


def test_an_estimate_says_nothing_about_a_run_that_shows_nothing() -> None:
    estimate = Estimate(ExpectedOutcome.RECOVERED)
    assert run(action("act", "false"), estimate=estimate).estimate_met is None
    assert run(action("act", "true"), estimate=estimate).estimate_met is None
    assert run(action("act", "true"), steady_state_hypothesis=holds("true")).estimate_met is None


# --- secrets, values, refusal ----------------------------------------------------------------------------------------

SECRET = 'pa55 "word/1'


def test_no_value_of_a_secret_is_in_journal_or_events() -> None:
    events: list[RunEvent] = []
    echo = """printf '%s\\n' "$1" "$TOKEN"; printf '%s' "$TOKEN" | python3 -c "import json,sys,urllib.parse
text = sys.stdin.read()
print(json.dumps({'t': text}), urllib.parse.quote(text), urllib.parse.quote_plus(text))"; echo "$TOKEN" >&2; exit 1"""
    provider = ProcessProvider("sh", ("-c", echo, "x", "${secrets.g.token}"), env={"TOKEN": "${secrets.g.token}"})
    step = Activity("echo ${secrets.g.token}", ActivityType.ACTION, provider)
    compare = probe("compare", "echo x", tolerance=ExactTolerance("${secrets.g.token}"))
    journal = run(
        step,
        compare,
        secrets={"g": {"token": EnvValue("THE_TOKEN")}},
        environ={"THE_TOKEN": SECRET, "PATH": "/usr/bin:/bin"},
        rollbacks=(evolve(step, name="undo"),),
        on_event=events.append,
    )
    told = repr(journal_to_data(journal)) + repr(events)
    assert journal.method[0].status is ActivityStatus.FAILED
    assert str(journal.method[0].output).count("***") == 5
    assert journal.method[0].error == "exit code 1: ***"
    for form in (SECRET, 'pa55 \\"word', "pa55%20", "pa55+", "pa55"):
        assert form not in told


def test_a_secret_is_compared_before_it_is_masked() -> None:
    journal = run(
        probe("compare", "echo $TOKEN", tolerance=ExactTolerance("${secrets.g.token}")),
        secrets={"g": {"token": EnvValue("TOKEN")}},
        environ={"TOKEN": "4711x", "PATH": "/usr/bin:/bin"},
    )
    assert (journal.status, journal.method[0].output) == (RunStatus.COMPLETED, "***")


def test_an_argument_that_the_catalog_declares_secret_is_masked(tmp_path: Path) -> None:
    script = tmp_path / "login.sh"
    script.write_text('echo "using $TUMULT_PASSWORD"')
    declared = (Argument("password", secret=True),)
    function = Function("kit", "login", PluginKind.SCRIPT, "action", arguments=declared, script=script)
    catalog = Catalog((Plugin("kit", PluginKind.SCRIPT, "1", "", (function,), ""),))
    provider = ScriptProvider("kit", "login", {"password": "written-in-the-document"})
    [result] = run(Activity("log in", ActivityType.ACTION, provider), catalog=catalog).method
    assert (result.plugin, result.function) == ("kit", "login")
    assert (result.arguments, result.output) == ({"password": "***"}, "using ***")


def test_a_literal_of_the_document_that_is_a_declared_secret_is_not_in_the_copy(tmp_path: Path) -> None:
    script = tmp_path / "login.sh"
    script.write_text(":")
    declared = (Argument("password", secret=True),)
    function = Function("kit", "login", PluginKind.SCRIPT, "action", arguments=declared, script=script)
    catalog = Catalog((Plugin("kit", PluginKind.SCRIPT, "1", "", (function,), ""),))
    provider = ScriptProvider("kit", "login", {"password": "written-in-the-document"})
    journal = run(Activity("log in", ActivityType.ACTION, provider), catalog=catalog)
    assert "written-in-the-document" not in repr(journal)


def test_values_are_put_in_for_placeholders() -> None:
    journal = run(
        probe("sum", "echo $((${left} + 2))", tolerance=ExactTolerance("${sum}")), variables={"left": 3, "sum": 5}
    )
    assert journal.status is RunStatus.COMPLETED


def test_what_is_missing_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="NO_SUCH_VARIABLE"):
        run(
            action("act", f"touch {tmp_path}/acted"),
            secrets={"g": {"token": EnvValue("NO_SUCH_VARIABLE")}},
            environ={"PATH": "/bin"},
        )
    with pytest.raises(DocumentError, match="host"):
        run(action("act", "touch ${host}"))
    assert not (tmp_path / "acted").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("guards", (Guard("g", probe("p", ":")),)),
        ("controls", (Control("c", ProcessProvider("true")),)),
        ("load", Load("k6", "x.js")),
        ("baseline", Baseline(1, 1, BaselineMethod.MEAN_STDDEV)),
    ],
)
def test_what_cannot_be_executed_is_refused_by_name(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(UnsupportedFeature, match=field) as caught:
        run(action("act", f"touch {tmp_path}/acted"), **{field: value})
    assert (caught.value.features, caught.value.exit_code) == ((field,), 1)
    assert not (tmp_path / "acted").exists()


def test_the_journal_holds_the_document_and_its_digest() -> None:
    text = 'title: A\nmethod[1]:\n  - name: a\n    activity_type: action\n    provider:\n      type: process\n      path: "true"\n'
    journal = run_experiment(parse_experiment(text), catalog=Catalog())
    assert journal.experiment["method"][0]["provider"] == {"type": "process", "path": "true"}
    assert journal.experiment_sha256 == __import__("hashlib").sha256(text.encode()).hexdigest()
    assert journal.started_at_ns <= journal.method[0].started_at_ns <= journal.ended_at_ns
    assert journal.host["system"]


def test_run_ids_are_uuids_of_version_7_in_the_order_of_time() -> None:
    first = uuid.UUID(uuid7())
    time.sleep(0.002)
    second = uuid.UUID(uuid7())
    assert (first.version, first.variant) == (7, uuid.RFC_4122)
    assert first.int >> 80 < second.int >> 80
    assert abs((first.int >> 80) / 1000 - time.time()) < 60


# --- nothing costs the rollbacks -------------------------------------------------------------------------------------

HUGE = "9" * 400


@pytest.mark.parametrize("tolerance", [RangeTolerance(0, 5), ExactTolerance(1.5), ExactTolerance(int(HUGE))])
def test_a_number_that_no_float_can_hold_is_compared(tolerance: Any) -> None:
    journal = run(probe("huge", f"echo {HUGE}", tolerance=tolerance), rollbacks=(action("undo", "echo undone"),))
    met = tolerance == ExactTolerance(int(HUGE))
    assert (journal.status, journal.method[0].tolerance_met) == (
        RunStatus.COMPLETED if met else RunStatus.DEVIATED,
        met,
    )
    assert bool(journal.rollbacks) is not met


@pytest.mark.parametrize("change", [{"pause_before_s": 1e10}, {"pause_after_s": 1e10}, {"timeout_s": 1e10}])
def test_a_wait_of_centuries_is_refused_before_anything_runs(change: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="must be 604800 or less"):
        run(action("first", f"touch {tmp_path}/first"), action("waits", "true", **change))
    assert list(tmp_path.iterdir()) == []


def test_any_wait_can_be_waited_for() -> None:
    cancellation = Cancellation()
    threading.Timer(0.1, cancellation.cancel, ("the test",)).start()
    assert cancellation.wait(1e300)


@pytest.mark.parametrize("broken", ["_perform.evaluate", "_perform.tolerance_data", "_run.run_method", "_run.recover"])
def test_a_bug_in_the_engine_costs_neither_rollbacks_nor_journal(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fails(looked_at: Any, *_: Any, **__: Any) -> None:
        if looked_at is not None:
            raise OverflowError("int too large to convert to float")

    monkeypatch.setattr(f"tumult_core.{broken}", fails)
    journal = run(
        probe("act", "echo 1", tolerance=ExactTolerance(1)),
        steady_state_hypothesis=holds("true"),
        rollbacks=(action("undo", "echo undone"),),
    )
    assert [result.output for result in journal.rollbacks] == ["undone"]
    assert journal.status in {RunStatus.FAILED, RunStatus.DEVIATED}
    told = [*journal.notes, *(result.error for result in journal.activities)]
    assert [text for text in told if text and "int too large" in text]
