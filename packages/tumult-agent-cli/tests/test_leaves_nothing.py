"""Two hundred runs that end in every way there is, at random moments: no process and no temporary file is left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tumult_agent_cli import _runner
from tumult_agent_cli._process import MARKER
from tumult_agent_cli._runner import run_invocation
from tumult_agent_cli.exceptions import AgentCliError
from tumult_agent_cli.values import CliInvocation, Progress

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("traces")

# In the group, in a session of its own, an orphan that ignores SIGTERM, and output while it lasts.
BUSY = """
sleep 600 &
setsid sleep 600 &
(setsid bash -c 'trap "" TERM; while :; do sleep 0.2; done' &)
for n in 1 2 3 4 5 6 7 8; do echo line; sleep 0.05; done
"""
RUNS = 200


class Gone(Exception):
    """What a caller's callback may raise."""


def kill_soon(marker: str, delay_s: float) -> None:
    """SIGKILL the command itself, found by a word on its command line."""
    time.sleep(delay_s)
    for process in psutil.process_iter():
        try:
            if marker in process.cmdline():
                process.kill()
        except psutil.Error:
            continue


def one_run(number: int, dice: random.Random) -> str:
    """Run once and end it in a way and at a moment that the dice say."""
    ending = dice.choice(["by itself", "cancelled", "at a deadline", "killed", "by the callback"])
    moment = dice.uniform(0.0, 0.5)
    cancel, marker = threading.Event(), f"run-{number}"
    rest: dict[str, Any] = {"timeout_s": moment} if ending == "at a deadline" else {}

    def tell(progress: Progress) -> None:
        if ending == "by the callback" and (progress.elapsed_s >= moment or progress.kind == "waiting"):
            raise Gone

    helper = None
    if ending == "cancelled":
        helper = threading.Timer(moment, cancel.set)
    elif ending == "killed":
        helper = threading.Timer(0, kill_soon, (marker, moment))
    if helper:
        helper.start()
    try:
        invocation = CliInvocation(("/bin/bash", "-c", BUSY, marker), "prompt", **rest)
        run_invocation(invocation, on_progress=tell, parse_progress=lambda _: Progress("text"), cancel=cancel)  # type: ignore[arg-type]
    except (Gone, AgentCliError):
        pass
    if helper:
        helper.join()
    return ending


@pytest.mark.timeout(400)
def test_two_hundred_runs_with_random_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runner, "GRACE_S", 0.2)
    monkeypatch.setattr(_runner, "REST_GRACE_S", 0.05)
    seed = random.randrange(1_000_000)  # noqa: S311  dice, not a secret
    print(f"seed {seed}")
    dices = [random.Random(seed + number) for number in range(RUNS)]  # noqa: S311
    with ThreadPoolExecutor(8) as pool:
        endings = list(pool.map(one_run, range(RUNS), dices))
    assert set(endings) == {"by itself", "cancelled", "at a deadline", "killed", "by the callback"}


PROGRAM = f"""
import asyncio, sys
from tumult_agent_cli import _runner
from tumult_agent_cli._runner import run_invocation
from tumult_agent_cli.values import CliInvocation
_runner.GRACE_S = 0.3
invocation = CliInvocation(("/bin/bash", "-c", {BUSY!r} + "; sleep 60"), "prompt")
def tell(progress):
    print("started", flush=True)
def run():
    run_invocation(invocation, on_progress=tell)
"""

WAYS = {
    "in the main thread": "run()",
    "in an event loop": """
from tumult_agent_cli import _prompt
class Adapter:
    name = "acme"
_prompt.run_prompt = lambda adapter, request, on_progress, cancel: run_invocation(
    invocation, on_progress=on_progress, cancel=cancel)
async def main():
    await asyncio.gather(*(_prompt.run_prompt_async(Adapter(), None, on_progress=tell) for _ in range(2)))
asyncio.run(main())
""",
}


def started(way: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM + way], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -signal.SIGINT)],
    ids=["SIGTERM", "SIGHUP", "Ctrl-C"],
)
def test_a_signal_to_the_program_ends_its_runs_first(way: str, number: int, code: int) -> None:
    process = started(way)
    time.sleep(random.uniform(0.0, 0.5))  # noqa: S311
    process.send_signal(number)
    assert process.wait(20) == code
    process.stdout.close()  # type: ignore[union-attr]


def test_a_second_signal_does_not_wait_for_the_grace_time() -> None:
    stubborn = PROGRAM.replace("GRACE_S = 0.3", "GRACE_S = 60").replace("sleep 600 &", "trap '' TERM", 1)
    process = subprocess.Popen([sys.executable, "-c", stubborn + "run()"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(0.3)
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
    assert process.wait(10) == 143
    process.stdout.close()


def test_the_end_of_the_interpreter_ends_a_run_in_a_daemon_thread() -> None:
    way = """
import threading, time
threading.Thread(target=run, daemon=True).start()
time.sleep(0.5)
"""
    process = started(way)
    assert process.wait(20) == 0
    process.stdout.close()  # type: ignore[union-attr]


def test_handlers_of_the_program_are_left_alone(shell: Any) -> None:
    got: list[int] = []
    former = signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
    try:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        raw = run_invocation(shell("sleep 0.5; echo done"))
        timer.join()
    finally:
        signal.signal(signal.SIGTERM, former)
    assert (raw.stdout, got) == ("done\n", [signal.SIGTERM])


def test_default_handlers_are_back_afterwards(shell: Any) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    run_invocation(shell("true"))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_ctrl_c_is_a_keyboard_interrupt(shell: Any) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_invocation(shell("setsid sleep 600 & sleep 600"))
    timer.join()


def test_the_marker_is_different_in_each_run(shell: Any) -> None:
    seen = {
        line for _ in range(3) for line in run_invocation(shell("env")).stdout.split("\n") if line.startswith(MARKER)
    }
    assert len(seen) == 3


def test_it_is_fine_in_a_thread_of_an_event_loop(shell: Any) -> None:
    async def main() -> str:
        return (await asyncio.to_thread(run_invocation, shell("echo hi"))).stdout

    assert asyncio.run(main()) == "hi\n"


def test_a_run_inside_a_run_is_ended_with_it(tmp_path: Path, shell: Any) -> None:
    """What an agent starts may be this very runner: the marker of the outer run is inherited too."""
    inner = tmp_path / "inner.py"
    inner.write_text(
        "from tumult_agent_cli._runner import run_invocation\n"
        "from tumult_agent_cli.values import CliInvocation\n"
        "run_invocation(CliInvocation(('/bin/sh', '-c', 'sleep 600'), ''))\n"
    )
    started_s = time.monotonic()
    raw = run_invocation(shell(f"setsid {sys.executable} {inner} & sleep 600", timeout_s=1.5))
    assert raw.timed_out
    assert time.monotonic() - started_s < 10
