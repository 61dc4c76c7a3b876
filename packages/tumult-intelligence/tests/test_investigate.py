"""``tumult investigate`` from end to end, with a codex that plays a script."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tumult_core.journal import ActivityResult, ActivityStatus, Journal, Phase, RunStatus
from tumult_core.store import open_store
from tumult_intelligence._prompt_text import EXAMPLE
from tumult_intelligence.agent_loop import Role, unanswered
from tumult_intelligence.transcripts import read_transcript

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN_ID = "0190aaaa-0000-7000-8000-000000000001"
ANSWER = "## Recommendations\n\n1. Pause the worker: it was never tried."

# Plays one reply a call; which one is told by how many replies the prompt holds already.
FAKE_CODEX = f"""#!{sys.executable} -IS
import json, os, re, sys, time
folder = os.path.dirname(os.path.abspath(__file__))
if "--version" in sys.argv:
    sys.exit(print("codex-cli 0.171.0"))
if "login" in sys.argv:
    sys.exit(print("Logged in using ChatGPT", file=sys.stderr))
prompt = sys.stdin.buffer.read().decode()
found = re.search(r"<user-(\\w+)>", prompt)
nonce, step = found[1], len(re.findall(r"^<assistant-\\w+>$", prompt, re.M))
with open(os.path.join(folder, "prompts"), "a") as file:
    file.write(json.dumps({{"step": step, "prompt": prompt}}) + "\\n")
if os.environ.get("HANG_AT") == str(step):
    with open(os.path.join(folder, "hanging.part"), "w") as file:
        file.write(str(os.getpid()))
    os.rename(os.path.join(folder, "hanging.part"), os.path.join(folder, "hanging"))
    time.sleep(600)
with open(os.path.join(folder, "script.json")) as file:
    script = json.load(file)
text = script[min(step, len(script) - 1)].replace("NONCE", nonce)
print(json.dumps({{"type": "thread.started", "thread_id": "t"}}))
print(json.dumps({{"type": "item.completed", "item": {{"type": "agent_message", "text": text}}}}))
print(json.dumps({{"type": "turn.completed", "usage": {{"input_tokens": 100, "output_tokens": 10}}}}))
"""


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> str:
    data = [{"tool": tool, "arguments": arguments} for tool, arguments in calls]
    return f"{text}\n\n```tool-NONCE\n{json.dumps(data)}\n```\n"


def proposing(toon: str, **more: Any) -> str:
    return calling(("propose_experiment", {"toon": toon, **more}))


ALL_RUNS = ("query", {"sql": "SELECT title, status FROM experiments ORDER BY title"})
SIX_STEPS = [
    calling(("signals", {}), text="What is known?"),
    "Now the plugins:\n\n```tool-NONCE\n{'tool': 'catalog'}\n```",
    calling(("catalog", {"plugin": "nowhere"})),
    calling(("catalog", {"plugin": "nowhere"})),
    proposing(EXAMPLE),
    ANSWER,
]
WITH_QUERIES = [
    calling(("signals", {}), ALL_RUNS, ("run", {"experiment_id": RUN_ID}), text="What is known?"),
    SIX_STEPS[1],
    calling(("query", {"sql": "SELECT nonsense FROM experiments"})),
    calling(("query", {"sql": "SELECT nonsense FROM experiments"})),
    *SIX_STEPS[4:],
]


class Desk:
    """A person's desk: a history, a codex, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.transcript, self.out = folder / "t.jsonl", folder / "out"
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        self.codex = bin_folder / "codex"
        self.codex.write_text(FAKE_CODEX)
        self.codex.chmod(self.codex.stat().st_mode | stat.S_IXUSR)
        self.script(SIX_STEPS)
        self.record_run()

    def script(self, replies: list[str]) -> None:
        (self.codex.parent / "script.json").write_text(json.dumps(replies))

    def record_run(self) -> None:
        step = ActivityResult(
            "pause", "action", Phase.METHOD, ActivityStatus.FAILED, "native", "tumult-process", "suspend",
            {"pid": 1}, None, None, "no such process", None, None, 10**18, 5,
        )  # fmt: skip
        journal = Journal(
            RUN_ID, "Worker pause", RunStatus.FAILED, 10**18, 10**18 + 5 * 10**6, 5, {"title": "Worker pause"},
            "a" * 64, "0.1.0", method=(step,),
        )  # fmt: skip
        open_store(str(self.folder / "history")).record_run(journal)

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        folders = {"XDG_DATA_HOME": str(self.folder / "data"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return {**kept, **folders, "CODEX_BIN": str(self.codex), "TUMULT_STORE": str(self.folder / "history")}

    def command(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "tumult_core", "investigate", *map(str, arguments)]

    def run(self, *arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), capture_output=True, text=True, env={**self.environ, **environ}, check=False
        )

    def start(self, *arguments: str | Path, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environ, **environ},
        )

    def wait_for_hang(self) -> int:
        mark, until = self.codex.parent / "hanging", time.monotonic() + 60
        while not mark.exists():
            assert time.monotonic() < until, "the fake never came to the step at which it hangs"
            time.sleep(0.02)
        return int(mark.read_text())

    def prompts(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.codex.parent / "prompts").read_text().splitlines()]

    @property
    def whole(self) -> tuple[str | Path, ...]:
        return ("What next?", "--agent", "codex", "--transcript", self.transcript, "--generate-experiments", self.out)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def is_gone(pid: int) -> bool:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def check_six_steps(desk: Desk) -> None:
    """One experiment that passed the gate, and a transcript that holds all six steps."""
    kept = read_transcript(desk.transcript)
    assert kept.finish == "no-more-tool-calls"
    assert (kept.steps, kept.usage.input_tokens, kept.usage.cost_usd) == (6, 600, None)
    assert not unanswered(kept.messages)
    files = sorted(desk.out.iterdir())
    assert [file.name for file in files] == ["the-worker-survives-a-pause-of-ten-seconds.toon"]
    assert files[0].read_text().rstrip() == EXAMPLE.rstrip()
    assert list(kept.written.values()) == [str(files[0])]


def test_six_steps_end_in_an_answer_an_experiment_and_a_transcript(desk: Desk) -> None:
    desk.script(WITH_QUERIES)
    done = desk.run(*desk.whole)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("## Recommendations\n\n1. Pause the worker")
    assert "1 experiment(s) written, 0 rejected (validation failed)" in done.stdout
    assert "6 steps, 660 tokens, cost unknown" in done.stderr
    check_six_steps(desk)
    messages = read_transcript(desk.transcript).messages
    results = [message for message in messages if message.role is Role.TOOL]
    assert [result.is_error for result in results] == [False, False, False, True, True, False]
    assert 'experiment "Worker pause": 1 runs, 1 not completed' in results[0].text
    assert results[1].text == 'title | status\n["Worker pause", "failed"]'
    assert "no such process" in results[2].text
    assert "nonsense" in results[3].text
    assert "HINT: This very call has now failed 2 times in a row" in results[4].text
    assert results[5].text.startswith("Proposal 1, 'The worker survives a pause of ten seconds', passed.")
    assert any("Line 4, column 2" in message.text for message in messages if message.role is Role.USER)


def test_json_is_pure_and_tells_everything(desk: Desk) -> None:
    done = desk.run(*desk.whole, "--format", "json", "--max-cost", "5")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["goal"] == "What next?"
    assert data["agent"] == {"adapter": "codex", "model": None, "error": None}
    assert data["recommendations"] == ANSWER
    assert data["finish"]["reason"] == "no-more-tool-calls"
    assert data["experiments_written"] == [data["proposals"][0]["path"]]
    assert (data["steps"], data["usage"]["calls"], data["usage"]["cost_usd"]) == (6, 6, None)
    assert "the limit of 5 USD cannot be applied: the model does not name its price" in data["notes"]
    (call,) = open_store(str(desk.folder / "history")).agent_calls()
    assert (call.adapter, call.outcome, call.input_tokens, call.written, call.goal) == (
        "codex", "answered", 600, 1, "What next?",
    )  # fmt: skip


def test_kill_9_in_the_middle_and_resume_finish_the_same_job(desk: Desk) -> None:
    with desk.start(*desk.whole, HANG_AT="4") as process:
        orphan = desk.wait_for_hang()
        process.kill()
        process.communicate()
    os.kill(orphan, signal.SIGKILL)
    before = read_transcript(desk.transcript)
    assert (before.steps, before.finish, len(before.messages)) == (4, None, 9)
    assert not desk.out.exists()
    done = desk.run("--resume", desk.transcript)
    assert done.returncode == 0, done.stderr
    assert "1 experiment(s) written" in done.stdout
    check_six_steps(desk)
    assert read_transcript(desk.transcript).messages[:9] == before.messages
    assert [prompt["step"] for prompt in desk.prompts()] == [0, 1, 2, 3, 4, 4, 5]


def test_a_transcript_that_ends_inside_a_call_goes_on_with_a_result_that_says_so(desk: Desk) -> None:
    desk.run(*desk.whole)
    lines = desk.transcript.read_bytes().split(b"\n")
    last_call = max(index for index, line in enumerate(lines) if b'"tool_calls"' in line)
    desk.transcript.write_bytes(b"\n".join(lines[: last_call + 1]) + b'\n{"record": "mess')
    desk.script([*SIX_STEPS[:5], SIX_STEPS[4], ANSWER])
    done = desk.run("--resume", desk.transcript)
    assert done.returncode == 0, done.stderr
    kept = read_transcript(desk.transcript)
    results = [message.text for message in kept.messages if message.role is Role.TOOL]
    assert results[3] == "ERROR: interrupted; it may have taken effect (the run before this one was interrupted)"
    assert results[4].startswith("Proposal 1, ")
    assert not unanswered(kept.messages)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"])
def test_a_signal_stops_it_once_everything_is_saved(desk: Desk, number: int, code: int) -> None:
    with desk.start(*desk.whole, HANG_AT="5") as process:
        child = desk.wait_for_hang()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert is_gone(child)
    assert f"Go on with: tumult investigate --resume {desk.transcript}" in err
    assert "Traceback" not in err
    kept = read_transcript(desk.transcript)
    assert kept.finish == "cancelled"
    assert not unanswered(kept.messages)
    assert not desk.out.exists()
    done = desk.run("--resume", desk.transcript)
    assert done.returncode == 0, done.stderr
    assert len(list(desk.out.iterdir())) == 1
    assert read_transcript(desk.transcript).finish == "no-more-tool-calls"


def test_limits_hold_over_a_resumption(desk: Desk) -> None:
    done = desk.run(*desk.whole, "--max-steps", "3")
    assert done.returncode == 1
    assert "Ended without an answer: no answer within 3 steps" in done.stderr
    done = desk.run("--resume", desk.transcript)
    assert done.returncode == 1
    assert "all 3 steps are used up" in done.stderr
    assert "--max-steps" in done.stderr
    desk.script([*SIX_STEPS[:4], ANSWER])
    done = desk.run("--resume", desk.transcript, "--max-steps", "7")
    assert done.returncode == 0, done.stderr
    assert read_transcript(desk.transcript).steps == 5


def test_an_answered_transcript_takes_a_new_goal_and_nothing_else(desk: Desk) -> None:
    desk.run(*desk.whole)
    done = desk.run("--resume", desk.transcript)
    assert done.returncode == 1
    assert "has its answer already" in done.stderr
    done = desk.run("And what then?", "--resume", desk.transcript, "--max-steps", "2", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["goal"], json.loads(done.stdout)["steps"]) == ("And what then?", 1)
    assert "And what then?" in desk.prompts()[-1]["prompt"]
    assert "1. Pause the worker" in desk.prompts()[-1]["prompt"]
    assert len(list(desk.out.iterdir())) == 1


def test_a_proposal_that_is_refused_is_told_and_mended(desk: Desk) -> None:
    broken = EXAMPLE.replace("path: kill", "pathh: kill")
    desk.script(
        [
            proposing(broken),
            proposing(EXAMPLE, replaces=1),
            proposing("nonsense"),
            ANSWER,
        ]
    )
    done = desk.run(*desk.whole)
    assert done.returncode == 0, done.stderr
    assert "1 experiment(s) written, 1 rejected (validation failed)" in done.stdout
    assert "pathh" in desk.prompts()[1]["prompt"]
    assert "rejected: untitled:" in done.stdout


def test_an_agent_that_cannot_be_used_is_said_with_what_to_do(desk: Desk) -> None:
    done = desk.run("x", "--agent", "codx")
    assert done.returncode == 1
    assert "did you mean codex?" in done.stderr
    desk.codex.unlink()
    done = desk.run("x", "--agent", "codex", "--transcript", desk.transcript, PATH="/nowhere")
    assert done.returncode == 1
    assert "npm install -g @openai/codex" in done.stderr
    assert done.stdout.strip() == ""
    assert read_transcript(desk.transcript).finish == "provider-failed"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "give a GOAL"),
        ([" "], "give a GOAL"),
        (["x"], "give --agent NAME"),
        (["--resume", "a", "--transcript", "b"], "--transcript is for a new one"),
        (["x", "--agent", "codex", "--max-steps", "0"], "--max-steps"),
        (["x", "--agent", "codex", "--max-cost", "0"], "--max-cost"),
        (["x", "--agent", "codex", "--max-seconds", "nan"], "nan is no number that bounds anything"),
    ],
)
def test_wrong_use_is_exit_code_2(desk: Desk, arguments: list[str], complaint: str) -> None:
    done = desk.run(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_a_transcript_is_never_overwritten(desk: Desk) -> None:
    desk.transcript.write_text("mine")
    done = desk.run(*desk.whole)
    assert done.returncode == 1
    assert "there is a file already" in done.stderr
    assert desk.transcript.read_text() == "mine"
    done = desk.run("--resume", desk.transcript)
    assert done.returncode == 1
    assert "there is no record in it" in done.stderr
    desk.transcript.write_text("mine\n")
    assert f"{desk.transcript}:1: not a record" in desk.run("--resume", desk.transcript).stderr


def test_without_a_name_the_transcript_goes_to_the_users_data(desk: Desk) -> None:
    done = desk.run("x", "--agent", "codex")
    assert done.returncode == 0, done.stderr
    (file,) = (desk.folder / "data" / "tumult" / "investigations").iterdir()
    assert str(file) in done.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "proposed, and passed the gate: The worker survives" in done.stdout


def test_secrets_reach_neither_the_agent_nor_the_transcript(desk: Desk) -> None:
    done = desk.run("Is hunter2hunter2 safe?", *desk.whole[1:], DEPLOY_TOKEN="hunter2hunter2")
    assert done.returncode == 0, done.stderr
    assert "hunter2" not in desk.transcript.read_text()
    assert all("hunter2" not in prompt["prompt"] for prompt in desk.prompts())
    assert "Is *** safe?" in desk.prompts()[0]["prompt"]


def test_a_terminal_sees_what_goes_on(desk: Desk) -> None:
    master, slave = os.openpty()
    with subprocess.Popen(
        desk.command(*desk.whole), stdout=subprocess.PIPE, stderr=slave, text=True, env=desk.environ
    ) as process:
        os.close(slave)
        out, _ = process.communicate(timeout=60)
    talk = _read_all(master)
    os.close(master)
    assert out.startswith("## Recommendations")
    assert "step 1 · " in talk
    assert "signals" in talk
    assert "660 tokens" in talk
    assert "catalog failed" in talk


def _read_all(descriptor: int) -> str:
    read: Callable[[], bytes] = lambda: os.read(descriptor, 65_536)  # noqa: E731
    pieces = []
    try:
        while piece := read():
            pieces.append(piece)
    except OSError:  # Linux says so when the other end is gone
        pass
    return b"".join(pieces).decode("utf-8", "replace")


def test_nohup_stays_in_force(desk: Desk) -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = desk.start(*desk.whole, HANG_AT="5")
    finally:
        signal.signal(signal.SIGHUP, former)
    with process:
        child = desk.wait_for_hang()
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert is_gone(child)
    assert err.startswith(f"Transcript: {desk.transcript}\n")


def test_a_file_whose_record_was_lost_is_not_written_twice_and_another_agent_has_its_own_model(desk: Desk) -> None:
    desk.run(*desk.whole, "--agent-model", "gpt-x")
    lines = desk.transcript.read_bytes().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if b'"record": "written"' in line)
    # Killed after the file was linked, while the answer had not been read yet.
    answer = max(index for index, line in enumerate(lines) if b'"role": "assistant"' in line)
    desk.transcript.write_bytes(b"".join(lines[: min(at, answer)]))
    done = desk.run("--resume", desk.transcript)
    assert done.returncode == 0, done.stderr
    assert len(list(desk.out.iterdir())) == 1
    kept = read_transcript(desk.transcript)
    assert len(kept.written) == 1
    assert kept.start["model"] == "gpt-x"
    desk.run("More?", "--resume", desk.transcript, "--agent", "claude-code", PATH="/nowhere")
    start = read_transcript(desk.transcript).start
    assert (start["agent"], start["model"]) == ("claude-code", None)


def test_what_was_said_in_the_last_step_without_the_form_is_no_recommendation(desk: Desk) -> None:
    desk.script([calling(("catalog", {})), "I would need more time."])
    done = desk.run(*desk.whole, "--max-steps", "2", "--format", "json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert (data["answered"], data["recommendations"], data["finish"]["reason"]) == (False, None, "budget-exceeded")
