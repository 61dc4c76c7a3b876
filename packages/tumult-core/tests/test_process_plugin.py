"""``tumult-process`` on real processes, each started for the test and ended by it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tumult_core.builtin import _affinity, _targets, process
from tumult_core.exceptions import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Start = Callable[..., subprocess.Popen[bytes]]

SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def mark() -> str:
    return f"tumult-test-{uuid.uuid4().hex}"


@pytest.fixture
def start(mark: str) -> Iterator[Start]:
    children: list[subprocess.Popen[bytes]] = []

    def run(code: str = SLEEP) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [sys.executable, "-c", f"print('up', flush=True); {code}", mark], stdout=subprocess.PIPE
        )
        children.append(child)
        assert child.stdout
        assert child.stdout.readline() == b"up\n"
        return child

    yield run
    for child in children:
        child.kill()
        child.communicate()


def status(child: subprocess.Popen[bytes]) -> str:
    return str(psutil.Process(child.pid).status())


def wait_for(wanted: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not wanted() and time.monotonic() < deadline:
        time.sleep(0.01)
    return wanted()


def test_kill_ends_a_process_and_says_so(start: Start) -> None:
    child = start()

    done = process.kill(pid=child.pid)

    assert done == {"pids": [child.pid], "signal": "KILL", "gone": [child.pid]}
    assert child.wait(5) == -signal.SIGKILL


def test_another_signal_is_sent_by_name_or_number(start: Start) -> None:
    first, second = start(), start()

    assert process.kill(pid=first.pid, signal="term") == {"pids": [first.pid], "signal": "TERM", "gone": []}
    assert process.kill(pid=second.pid, signal=2)["signal"] == "INT"
    assert first.wait(5) == -signal.SIGTERM
    assert second.wait(5) != 0


@pytest.mark.parametrize("bad", ["NOSUCH", "0", -1, 4711, ""])
def test_what_is_no_signal_is_refused_before_anything_is_done(start: Start, bad: Any) -> None:
    child = start()

    with pytest.raises(PluginError, match="is no signal here"):
        process.kill(pid=child.pid, signal=bad)
    assert child.poll() is None


def test_suspend_stops_and_resume_continues(start: Start, mark: str) -> None:
    child = start()

    assert process.suspend(pattern=mark) == {"pids": [child.pid]}
    assert wait_for(lambda: status(child) == psutil.STATUS_STOPPED)
    assert process.resume(pattern=mark) == {"pids": [child.pid]}
    assert wait_for(lambda: status(child) != psutil.STATUS_STOPPED)
    assert process.resume(pid=child.pid) == {"pids": [child.pid]}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system has no processor affinity")
def test_affinity_is_limited_and_restored(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    child = start()
    before = os.sched_getaffinity(child.pid)
    last = max(before)

    assert process.limit_cpu_affinity(pid=child.pid) == {"pids": [child.pid]}
    assert os.sched_getaffinity(child.pid) == {min(before)}
    process.limit_cpu_affinity(pid=child.pid, cpus=[last])
    assert os.sched_getaffinity(child.pid) == {last}
    process.restore_cpu_affinity(pid=child.pid)
    assert os.sched_getaffinity(child.pid) == before
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system has no processor affinity")
def test_what_was_limited_first_is_what_is_restored(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    child = start()
    one = min(os.sched_getaffinity(child.pid))
    os.sched_setaffinity(child.pid, {one})

    assert _affinity.limit(psutil.Process(child.pid), None) == [one]
    with pytest.raises(PluginError, match="cannot be given"):
        process.limit_cpu_affinity(pid=child.pid, cpus=[100_000])
    assert _affinity.restore(psutil.Process(child.pid)) == [one]
    assert len(_affinity.restore(psutil.Process(child.pid))) >= 1


def test_several_matches_are_an_error_unless_they_are_wanted(start: Start, mark: str) -> None:
    children = [start(), start()]

    with pytest.raises(PluginError, match="2 processes match") as caught:
        process.kill(pattern=mark)
    assert all(str(child.pid) in caught.value.message for child in children)
    assert [child.poll() for child in children] == [None, None]
    assert process.count(pattern=mark) == 2
    assert sorted(process.kill(pattern=mark, multiple=True)["gone"]) == sorted(child.pid for child in children)
    assert process.count(pattern=mark) == 0


def test_no_match_is_an_error_for_an_action_and_an_answer_for_a_probe(mark: str) -> None:
    for action in (
        process.kill,
        process.suspend,
        process.resume,
        process.limit_cpu_affinity,
        process.restore_cpu_affinity,
    ):
        with pytest.raises(PluginError, match=f"no process has the command line like '{mark}'"):
            action(pattern=mark)
    assert process.exists(pattern=mark) is False
    assert process.resources(pattern=mark)["running"] is False
    with pytest.raises(PluginError, match="no process has the name no-such-name"):
        process.kill(name="no-such-name")


def test_something_must_be_named() -> None:
    for function in (process.kill, process.exists, process.count, process.resources):
        with pytest.raises(PluginError, match="no process is named"):
            function()
    with pytest.raises(PluginError, match="is no regular expression"):
        process.kill(pattern="(")


def test_the_first_processes_this_one_and_those_above_it_are_never_a_target() -> None:
    above = [parent.pid for parent in psutil.Process().parents()]
    for pid in [0, 1, os.getpid(), *above]:
        with pytest.raises(PluginError, match="is never a target"):
            process.kill(pid=pid)
    own_command_line = " ".join(psutil.Process().cmdline())
    assert own_command_line
    found = {one.pid for one in _targets.find(None, None, ".")}
    assert found & {0, 1, os.getpid(), *above} == set()


def test_a_name_is_matched_exactly_and_pid_wins_over_name_over_pattern(start: Start, mark: str) -> None:
    child = start()
    name = psutil.Process(child.pid).name()

    assert process.exists(name=name)
    assert not process.exists(name=name[:-1])
    assert process.count(pid=child.pid, name="no-such-name", pattern="no-such-pattern") == 1
    assert process.count(name="no-such-name", pattern=mark) == 0


def test_a_zombie_does_not_run(start: Start, mark: str) -> None:
    child = start()
    os.kill(child.pid, signal.SIGKILL)
    assert wait_for(lambda: status(child) == psutil.STATUS_ZOMBIE)

    assert process.exists(pid=child.pid) is False
    assert process.count(pattern=mark) == 0
    with pytest.raises(PluginError, match=f"no process has the id {child.pid}"):
        process.kill(pid=child.pid)


def test_an_id_that_was_given_to_another_process_is_left_alone(start: Start) -> None:
    child = start()
    target: Any = psutil.Process(child.pid)
    target._create_time = target.create_time() - 1000  # what psutil remembers of the process that had this id before
    target._ident = (target.pid, target._create_time)

    with pytest.raises(PluginError, match="the process ended before"):
        _targets.act([target], lambda one: one.kill())
    assert child.poll() is None


def test_resources_tell_what_a_busy_process_uses(start: Start) -> None:
    child = start("data = bytearray(50_000_000)\nwhile True: pass")

    found = process.resources(pid=child.pid, interval_s=0.5)

    assert found["running"] is True
    assert found["cpu_percent"] > 5
    assert found["memory_bytes"] > 40_000_000
    assert 0 < found["mem_percent"] < 100
    assert found["threads"] == 1


def test_a_listening_port_is_seen_of_anybody_and_of_one_process(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        idle = start()

        assert process.listening_port(port) is True
        assert process.listening_port(port, pid=idle.pid) is False
    assert process.listening_port(port) is False


def test_a_listening_port_of_a_child_is_seen_by_its_pattern(start: Start, mark: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    child = start(f"import socket, time; s = socket.create_server(('127.0.0.1', {port})); time.sleep(60)")

    assert wait_for(lambda: process.listening_port(port))
    assert process.listening_port(port, pattern=mark) is True
    assert process.listening_port(port, pid=child.pid) is True
    assert process.listening_port(port, name="no-such-name") is False
