"""The command as people call it, in the process of the test where that is enough and in one of its own where not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pytest

from tumult_agent_cli.testing import HANG, FakeCli, Reply
from tumult_core._cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
title: The worker survives a pause
configuration:
  pid:
    type: env
    key: WORKER_PID
    default: 2147483647
method[1]:
  - name: pause
    activity_type: action
    provider:
      type: native
      plugin: tumult-process
      function: suspend
      arguments:
        pid: "${config.pid}"
rollbacks[1]:
  - name: go-on
    activity_type: action
    provider:
      type: native
      plugin: tumult-process
      function: resume
      arguments:
        pid: "${config.pid}"
"""
BAD = "title: missing method\nmethod[0]:\nrollbacks[0]:\n"
ANSWER = f"## Recommendations\n1. [untested_action:tumult-process/suspend] Pause it.\n\n```toon\n{GOOD}```\n\n```toon\n{BAD}```\n"
NOW = "2026-01-31T12:00:00Z"

needs_codex = pytest.mark.skipif(
    "codex" not in entry_points(group="tumult.agent_adapters").names
    or not any(point.dist and point.dist.files for point in entry_points(group="tumult.agent_adapters", name="codex")),
    reason="the codex adapter is not installed",
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somewhere without a history and without plugins of the machine."""
    monkeypatch.setenv("TUMULT_STORE", str(tmp_path / "history"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("TUMULT_PLUGIN_PATH", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["recommend", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def codex_events(text: str) -> str:
    events = [
        {"type": "thread.started", "thread_id": "0199a213-81c0-7800-8aa1-bbab2a035a53"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 0, "output_tokens": 20}},
    ]
    return "".join(json.dumps(event) + "\n" for event in events)


def test_it_prints_a_table_evidence_and_next_steps(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--limit", "2")

    assert code == 0
    assert out.startswith("=== Recommendations ===\nSource: heuristic-fallback\n")
    assert out.index("recommendation") < out.index("   Why: ") < out.index("Next steps")
    assert err == ""


def test_the_json_is_pure_and_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (run(capsys, "--format", "json", "--now", NOW)[1] for _ in range(2))

    assert one == two
    assert json.loads(one)["source"] == "heuristic-fallback"


def test_explain_shows_every_term(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--explain", "--limit", "1")

    for name in ("novelty", "failure", "staleness", "relevance", "reach", "cost", "readiness", "score"):
        assert f"\n   {name}" in out


def test_the_goal_and_the_weights_move_the_ranking(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "weights.toml").write_text("[weights]\nrelevance = 0\ncost = -10\n")

    def first(*argv: str) -> str:
        data: dict[str, Any] = json.loads(run(capsys, "--format", "json", *argv)[1])
        return str(data["recommendations"][0]["target"]["function"])

    assert first("--goal", "kill the worker") == "kill"
    assert first("--goal", "kill the worker", "--weights", "weights.toml") != "kill"


@pytest.mark.parametrize(
    "argv",
    [
        ["--limit", "0"],
        ["--format", "xml"],
        ["--generate-experiments", "out"],
        ["--weights", "none.toml"],
        ["--now", "yesterday"],
        ["--agent-timeout", "0", "--agent", "codex"],
        ["--repair-rounds", "-1"],
        ["surplus"],
    ],
)
def test_wrong_use_is_exit_code_2(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    code, out, err = run(capsys, *argv)

    assert code == 2
    assert out == ""
    assert err


def test_print_prompt_asks_nobody_and_needs_no_agent(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--print-prompt", "--goal", "## Your task")

    assert code == 0
    assert out.startswith("You advise on chaos engineering.")
    assert 'The operator\'s goal: "♯♯ Your task"' in out


def test_drafts_are_written_and_the_plan_of_each_can_be_shown(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    code, out, _ = run(capsys, "--drafts", "drafts", "--limit", "50")
    drafts = sorted((place / "drafts").iterdir())

    assert code == 0
    assert len(drafts) >= 5
    for draft in drafts:
        assert f"wrote drafts/{draft.name}" in out
        assert main(["run", "--dry-run", str(draft)]) == 0, draft.read_text()


def test_a_folder_that_cannot_be_written_is_told_in_the_summary(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    (place / "file").write_text("")

    code, out, _ = run(capsys, "--drafts", "file/drafts", "--limit", "1")

    assert code == 1
    assert "not written: Exercise" in out
    assert "Not a directory" in out


@pytest.mark.parametrize("option", [("--agent", "codex"), ("--goal", "x"), ("--drafts", "d"), ("--limit", "3")])
def test_history_refuses_what_it_would_ignore(capsys: pytest.CaptureFixture[str], option: tuple[str, str]) -> None:
    code, out, err = run(capsys, "--history", *option)

    assert (code, out) == (2, "")
    assert f"takes no {option[0]}" in err


def test_history_shows_calls(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--drafts", "drafts", "--limit", "1")

    code, out, _ = run(capsys, "--history")
    data = json.loads(run(capsys, "--history", "--format", "json")[1])

    assert code == 0
    assert "Agent calls\n\nNone yet." in out
    assert "drafted" in out
    assert [record["state"] for record in data["recommendations"]] == ["drafted"]


def test_an_unknown_agent_leaves_the_result_and_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--agent", "nobody")

    assert code == 1
    assert out.startswith("=== Recommendations ===")
    assert err.startswith("Error: the agent nobody could not be used: not installed: no such agent adapter")


def test_it_needs_no_terminal_and_writes_no_colour(place: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tumult_core", "recommend"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ},
    )

    assert "\x1b" not in found.stdout
    assert found.stderr == ""


@needs_codex
def test_codex_writes_one_rejects_one_and_the_second_run_says_what_is_equal(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "bin").mkdir()
    fake = FakeCli(place / "bin", "codex", answer=codex_events(ANSWER), version="codex-cli 0.46.0\n")
    monkeypatch.setenv("CODEX_BIN", str(fake.path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")

    code, out, err = run(capsys, "--agent", "codex", "--generate-experiments", "out")

    assert (code, err) == (0, "")
    assert [path.name for path in (place / "out").iterdir()] == ["the-worker-survives-a-pause.toon"]
    assert "Wrote out/the-worker-survives-a-pause.toon" in out
    assert "Rejected experiment: 2" in out
    assert "method: must have at least 1 item" in out
    assert "1 experiment(s) written, 1 rejected (validation failed)" in out

    code, out, _ = run(capsys, "--agent", "codex", "--generate-experiments", "out", "--format", "json")
    agent = json.loads(out)["agent"]

    assert code == 0
    assert agent["experiments_written"] == ["out/the-worker-survives-a-pause-2.toon"]
    assert any("equals out/the-worker-survives-a-pause.toon" in note for note in agent["notes"])
    assert len(list((place / "out").iterdir())) == 2
    assert all(b"sk-test" not in (call.stdin or b"") for call in fake.runs)


@needs_codex
def test_codex_that_fails_is_exit_code_1_after_the_result(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "bin").mkdir()
    fake = FakeCli(place / "bin", "codex", answer=Reply("", "boom\n", 1), version="codex-cli 0.46.0\n")
    monkeypatch.setenv("CODEX_BIN", str(fake.path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")

    code, out, err = run(capsys, "--agent", "codex", "--format", "json")

    assert code == 1
    assert json.loads(out)["agent"]["error"]["kind"]
    assert err.startswith("Error: the agent codex could not be used")


@needs_codex
def test_an_old_codex_answers_with_a_warning_and_not_at_all_where_isolation_is_required(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "bin").mkdir()
    fake = FakeCli(place / "bin", "codex", answer=codex_events(ANSWER), version="codex-cli 0.58.0\n")
    monkeypatch.setenv("CODEX_BIN", str(fake.path))
    monkeypatch.setenv("CODEX_API_KEY", "sk-test-0123456789")

    code, out, err = run(capsys, "--agent", "codex", "--format", "json")
    assert code == 0, err
    assert any("shell" in note for note in json.loads(out)["agent"]["notes"])

    answered = len(fake.runs)
    code, out, err = run(capsys, "--agent", "codex", "--format", "json", "--require-isolated-agent")
    assert code == 1
    assert json.loads(out)["agent"]["error"]["kind"] == "not isolated"
    assert len(fake.runs) == answered


@needs_codex
def test_ctrl_c_is_exit_code_130_and_leaves_nothing_running(place: Path) -> None:
    (place / "bin").mkdir()
    fake = FakeCli(place / "bin", "codex", answer=HANG, version="codex-cli 0.46.0\n")
    env = os.environ | {"CODEX_BIN": str(fake.path), "OPENAI_API_KEY": "sk-test-0123456789"}
    argv = [sys.executable, "-m", "tumult_core", "recommend", "--agent", "codex"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as running:
        while not fake.runs and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)

    assert running.returncode == 130
    assert out.startswith("=== Recommendations ===")
    assert fake.alive() == ()


FAILING = """\
title: The worker survives
secrets:
  db:
    password:
      type: env
      key: DB_PASSWORD
method[1]:
  - name: break
    activity_type: action
    provider:
      type: process
      path: test
      arguments[3]: "password=${secrets.db.password}", "=", hunter22-literal
      timeout_s: 5
rollbacks[1]:
  - name: mend
    activity_type: action
    provider:
      type: native
      plugin: tumult-process
      function: resume-process
      arguments:
        pid: 2147483647
"""


def test_a_failing_experiment_is_drafted_as_it_was_recorded(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "x.toon").write_text(FAILING)
    command = [sys.executable, "-m", "tumult_core", "run", "x.toon"]
    ran = subprocess.run(
        command, env=os.environ | {"DB_PASSWORD": "hunter22-literal"}, capture_output=True, check=False
    )
    assert ran.returncode == 4

    _, out, _ = run(capsys, "--drafts", "drafts", "--limit", "1")
    data = json.loads(run(capsys, "--format", "json", "--limit", "1")[1])["recommendations"][0]
    text = (place / "drafts" / "the-worker-survives.toon").read_text()

    assert data["actions"] == ["test"]
    assert "password=${secrets.db.password}" in text
    assert "${secrets.operator.arguments_2}" in text
    assert "hunter22" not in text + out
    assert "   Set: export DB_PASSWORD=… (as in the recorded run)" in out
    assert "   Set: export TUMULT_ARGUMENTS_2=… (text: what was masked at method[0].provider.arguments[2])" in out
    assert "1 place" in data["draft"]["note"] or "one place" in data["draft"]["note"]

    code = main(["run", "--dry-run", "--format", "json", "drafts/the-worker-survives.toon"])
    plan, warnings = capsys.readouterr()
    assert code == 0
    assert [each["key"] for each in json.loads(plan)["unset"]] == ["DB_PASSWORD", "TUMULT_ARGUMENTS_2"]
    assert "needs the environment variable TUMULT_ARGUMENTS_2, which is not set" in warnings
    assert main(["run", "drafts/the-worker-survives.toon"]) == 1


def test_a_history_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    wanted = f"There is no history yet at {place / 'history'}"

    assert wanted in run(capsys)[1]
    assert any(wanted in note for note in json.loads(run(capsys, "--format", "json")[1])["notes"])


def test_an_undo_says_what_it_undoes(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(run(capsys, "--format", "json")[1])["recommendations"]
    undo = next(each for each in data if each["target"]["function"] == "resume")

    assert "It is the undo of tumult-process/suspend, and no fault by itself." in undo["rationale"]
