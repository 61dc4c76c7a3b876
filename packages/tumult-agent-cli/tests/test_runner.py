"""The runner, with real processes: what a command gets, how it is ended, and that nothing of it stays."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tumult_agent_cli import _runner
from tumult_agent_cli._runner import run_invocation
from tumult_agent_cli.exceptions import AgentCliError, BinaryNotFound, FailureKind
from tumult_agent_cli.values import CliInvocation, Progress, ProgressKind, RawOutput

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Shell = Callable[..., CliInvocation]

pytestmark = pytest.mark.usefixtures("traces")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runner, "GRACE_S", 0.5)
    monkeypatch.setattr(_runner, "LINGER_S", 0.3)


# What the command gets


def test_it_gives_output_and_exit_code(shell: Shell) -> None:
    raw = run_invocation(shell("echo out; echo err >&2; exit 3"))
    assert (raw.stdout, raw.stderr, raw.exit_code, raw.signal) == ("out\n", "err\n", 3, None)
    assert not any((raw.timed_out, raw.truncated, raw.lingered, raw.stalled, raw.hopeless))


def test_a_signal_is_no_exit_code(shell: Shell) -> None:
    raw = run_invocation(shell("kill -SEGV $$"))
    assert (raw.exit_code, raw.signal) == (None, signal.SIGSEGV)


def test_the_prompt_arrives_exactly_and_then_ends(shell: Shell) -> None:
    prompt = "-x @/etc/hostname\r\n/clear\x00\x1b[31m\u2028é🔥 " * 20_000
    raw = run_invocation(shell("cat", stdin=prompt))
    assert raw.stdout == prompt


def test_a_command_that_never_reads_does_not_block(shell: Shell) -> None:
    raw = run_invocation(shell("echo done", stdin="x" * 5_000_000))
    assert (raw.stdout, raw.exit_code) == ("done\n", 0)


def test_a_lone_surrogate_is_refused_before_anything_is_started(tmp_path: Path, shell: Shell) -> None:
    with pytest.raises(AgentCliError, match=r"lone surrogate, '\\ud800', at character 2") as caught:
        run_invocation(shell(f"touch {tmp_path}/started", stdin="ab\ud800"), name="acme")
    assert (caught.value.kind, caught.value.name) == (FailureKind.BAD_REQUEST, "acme")
    assert not (tmp_path / "started").exists()


def test_stdin_stdout_and_stderr_are_regular_files(shell: Shell) -> None:
    script = "for n in 0 1 2; do stat -L -c %F /proc/$$/fd/$n >>kinds; done; cat kinds"
    assert run_invocation(shell(script, stdin="x")).stdout.split("\n")[0] == "regular file"
    assert "fifo" not in run_invocation(shell(script, stdin="x")).stdout


def test_the_files_are_private_and_the_folder_is_empty(shell: Shell) -> None:
    raw = run_invocation(shell('ls -A; cd ..; stat -c "%a" .'))
    assert raw.stdout == "700\n"


def test_it_stands_in_the_workspace_that_was_asked_for(tmp_path: Path, shell: Shell) -> None:
    assert run_invocation(shell("pwd", cwd=tmp_path)).stdout == f"{tmp_path}\n"


def test_a_workspace_that_is_none_is_said(tmp_path: Path, shell: Shell) -> None:
    with pytest.raises(AgentCliError, match="not a folder") as caught:
        run_invocation(shell("pwd", cwd=tmp_path / "gone"))
    assert caught.value.kind is FailureKind.BAD_REQUEST


def test_the_environment_is_inherited_without_what_marks_a_nested_run(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "DROPPED", "KEPT"):
        monkeypatch.setenv(name, "yes")
    monkeypatch.setenv("CI", "true")
    raw = run_invocation(shell("env", env={"ADDED": "1"}, unset_env=("DROPPED",)))
    lines = set(raw.stdout.split("\n"))
    assert {"KEPT=yes", "ADDED=1", "NO_COLOR=1", "TERM=dumb", "CI=true"} <= lines
    assert not any(line.startswith(("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "DROPPED")) for line in lines)


def test_temporary_files_of_the_command_are_removed_with_it(shell: Shell) -> None:
    raw = run_invocation(shell("mktemp -d; touch $TMPDIR/left"))
    assert not os.path.exists(raw.stdout.strip())  # noqa: PTH110  the path is a text
    assert "/tumult-agent-" in raw.stdout


def test_an_adapter_can_override_no_color(shell: Shell) -> None:
    assert "NO_COLOR=0\n" in run_invocation(shell("env", env={"NO_COLOR": "0"})).stdout


def test_it_has_a_session_of_its_own_and_no_terminal(shell: Shell) -> None:
    raw = run_invocation(shell('ps -o sid= -p $$; echo $$; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo "no terminal"'))
    session, pid, terminal = raw.stdout.strip().split("\n")
    assert (session.strip(), terminal) == (pid, "no terminal")


@pytest.mark.parametrize(
    "content", ["#!/no/such/interpreter\n", "\x7fELF nonsense", ""], ids=["no interpreter", "no program", "empty"]
)
def test_what_cannot_be_started_is_not_runnable(tmp_path: Path, content: str) -> None:
    path = tmp_path / "agent"
    path.write_text(content)
    path.chmod(0o755)
    with pytest.raises(BinaryNotFound, match="cannot be started") as caught:
        run_invocation(CliInvocation((str(path),), "x"))
    assert caught.value.kind is FailureKind.NOT_RUNNABLE


@pytest.mark.parametrize("folder", ["gone", "full"])
def test_no_place_for_temporary_files_is_an_error_that_names_it(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    if folder == "gone":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    else:
        # A disk of a test's own that is full cannot be had without privileges.
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(AgentCliError, match=r"TMPDIR.*\(make room there, or set TMPDIR") as caught:
        run_invocation(shell("true"), name="acme")
    assert (caught.value.kind, caught.value.name) == (FailureKind.NOT_RUNNABLE, "acme")


# What it prints


def test_five_megabytes_on_both_streams_are_no_deadlock(shell: Shell) -> None:
    raw = run_invocation(shell("head -c 5000000 /dev/zero | tr '\\0' e >&2; head -c 5000000 /dev/zero | tr '\\0' o"))
    assert (len(raw.stdout), raw.stderr[-3:], raw.truncated) == (5_000_000, "eee", False)


def test_a_runaway_is_ended_at_the_byte_limit(shell: Shell) -> None:
    raw = run_invocation(shell("yes | head -c 3000000; sleep 60"), max_output_bytes=1_000_000)
    assert (raw.truncated, raw.exit_code, raw.signal) == (True, None, signal.SIGTERM)
    assert 0 < len(raw.stdout) <= 1024 * 1024


def test_a_runaway_on_stderr_is_ended_too(shell: Shell) -> None:
    raw = run_invocation(shell("yes >&2"), max_output_bytes=1_000_000)
    assert raw.truncated
    assert len(raw.stderr) <= 64 * 1024


def test_a_runaway_that_ignores_sigterm_gets_no_grace(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runner, "GRACE_S", 20.0)
    raw = run_invocation(shell("trap '' TERM; while :; do echo line; sleep 0.01; done"), max_output_bytes=100)
    assert (raw.truncated, raw.signal) == (True, signal.SIGKILL)
    assert raw.duration_s < 10


def test_memory_stays_small_while_a_child_prints_a_gigabyte(shell: Shell, tmp_path: Path) -> None:
    """Measured in a fresh interpreter, by the kernel's mark of its own memory: ``ru_maxrss`` outlives fork and exec."""
    del shell
    report = tmp_path / "report"
    program = f"""
import pathlib, re
from tumult_agent_cli._runner import run_invocation
from tumult_agent_cli.values import CliInvocation
command = CliInvocation(("/bin/sh", "-c", "tr '\\\\0' x </dev/zero | head -c 1000000000"), "")
raw = run_invocation(command, parse_progress=lambda line: None)
assert raw.truncated
(peak,) = re.findall(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())
pathlib.Path({str(report)!r}).write_text(peak)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert int(report.read_text()) < 150_000


def test_bytes_that_are_no_text_are_replaced(shell: Shell) -> None:
    assert run_invocation(shell("printf 'caf\\351 ok'")).stdout == "caf\ufffd ok"


# Progress


def parse(line: str) -> Progress | None:
    """Read lines such as ``retrying``, ``text final`` and ``retrying hopeless``."""
    kind, *words = line.split()
    marks = {word: True for word in words if word in {"final", "hopeless", "stuck"}}
    return Progress(ProgressKind(kind), line, **marks) if kind in set(ProgressKind) else None


def told(invocation: CliInvocation, **rest: Any) -> tuple[RawOutput, list[Progress]]:
    events: list[Progress] = []
    raw = run_invocation(invocation, parse_progress=parse, on_progress=events.append, **rest)
    return raw, events


def test_it_tells_that_it_started_and_what_the_cli_says(shell: Shell) -> None:
    _, events = told(shell("echo text one; echo noise; echo retrying; printf 'text the end'"))
    assert [event.kind for event in events] == ["started", "text", "retrying", "text"]
    assert events[1].message == "text one"


def test_events_arrive_while_it_works(shell: Shell) -> None:
    _, events = told(shell("echo text; sleep 0.6; echo text"))
    first, second = (event.elapsed_s for event in events if event.kind == "text")
    assert second - first > 0.4


def test_it_tells_each_second_that_it_waits(shell: Shell) -> None:
    _, events = told(shell("sleep 2.3"))
    assert [event.kind for event in events] == ["started", "waiting", "waiting"]
    assert events[1].elapsed_s == pytest.approx(1.0, abs=0.3)


def test_messages_are_clean_lines(shell: Shell) -> None:
    _, events = told(shell(r"printf 'text \033[31mred\033[0m\007\n'"))
    assert events[1].message == "text red"


def test_a_parser_that_raises_costs_nothing(shell: Shell) -> None:
    def broken(line: str) -> Progress:
        raise RuntimeError(line)

    assert run_invocation(shell("echo one"), parse_progress=broken).stdout == "one\n"


def test_an_exception_in_the_callback_ends_the_run_and_comes_out(shell: Shell) -> None:
    def broken(progress: Progress) -> None:
        if progress.kind == "text":
            raise RuntimeError("no more")

    started = time.monotonic()
    with pytest.raises(RuntimeError, match="no more"):
        run_invocation(shell("echo text; sleep 60"), parse_progress=parse, on_progress=broken)
    assert time.monotonic() - started < 5


def test_a_process_that_lingers_after_its_answer_is_ended(shell: Shell) -> None:
    raw, _ = told(shell("echo text final; sleep 60"))
    assert (raw.lingered, raw.timed_out, raw.stdout) == (True, False, "text final\n")
    assert raw.duration_s < 5


def test_what_is_printed_after_the_answer_is_kept(shell: Shell) -> None:
    raw, _ = told(shell("echo text final; sleep 0.1; echo more"))
    assert (raw.stdout, raw.lingered, raw.exit_code) == ("text final\nmore\n", False, 0)


def test_a_hopeless_event_ends_the_run(shell: Shell) -> None:
    raw, _ = told(shell("echo retrying hopeless; sleep 60"))
    assert (raw.hopeless, raw.timed_out) == (True, False)
    assert raw.duration_s < 5


def test_being_stuck_twice_in_a_row_is_hopeless(shell: Shell) -> None:
    raw, _ = told(shell("echo retrying stuck; sleep 0.2; echo retrying stuck; sleep 60"))
    assert raw.hopeless


def test_being_stuck_now_and_then_is_not(shell: Shell) -> None:
    raw, _ = told(shell("for n in 1 2 3; do echo retrying stuck; echo text; done"))
    assert (raw.hopeless, raw.exit_code) == (False, 0)


# Deadlines


def test_the_total_deadline_ends_it_and_keeps_what_was_printed(shell: Shell) -> None:
    raw = run_invocation(shell("echo partial; sleep 60", timeout_s=0.5))
    assert (raw.timed_out, raw.stalled, raw.stdout, raw.signal) == (True, False, "partial\n", signal.SIGTERM)
    assert raw.duration_s < 3


def test_the_idle_deadline_ends_a_silence(shell: Shell) -> None:
    raw = run_invocation(shell("echo a; sleep 0.2; echo b; sleep 60", idle_timeout_s=0.6))
    assert (raw.timed_out, raw.stalled, raw.stdout) == (True, True, "a\nb\n")


def test_each_byte_puts_the_idle_deadline_off(shell: Shell) -> None:
    raw = run_invocation(shell("for n in 1 2 3 4 5 6; do printf x; sleep 0.2; done", idle_timeout_s=0.7))
    assert (raw.timed_out, raw.stdout) == (False, "xxxxxx")


def test_retries_without_end_count_as_silence(shell: Shell) -> None:
    raw, _ = told(shell("while :; do echo retrying; sleep 0.05; done", idle_timeout_s=0.8, timeout_s=20))
    assert raw.stalled
    assert raw.duration_s < 10


def test_what_ignores_sigterm_is_killed_after_the_grace_time(shell: Shell) -> None:
    raw = run_invocation(shell("trap '' TERM; sleep 60 & while :; do sleep 0.1; done", timeout_s=0.3))
    assert (raw.timed_out, raw.signal) == (True, signal.SIGKILL)


def test_the_first_signal_is_sigterm_never_sigint(tmp_path: Path, shell: Shell) -> None:
    script = (
        f"trap 'echo INT >>{tmp_path}/got; exit' INT; trap 'echo TERM >>{tmp_path}/got; exit' TERM; sleep 60 & wait"
    )
    run_invocation(shell(script, timeout_s=0.3))
    assert (tmp_path / "got").read_text() == "TERM\n"


# Nothing stays

LEFT = {
    "in the group": "sleep 600 &",
    "in a session of its own": "setsid sleep 600 &",
    "an orphan": "(setsid sleep 600 &)",
    "ignoring SIGTERM": "(setsid bash -c 'trap \"\" TERM; while :; do sleep 1; done' &)",
    "without an environment": "env -i setsid sleep 600 & sleep 0.05;",
    "many": "for n in $(seq 20); do setsid sleep 600 & done;",
}


def sleepers() -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline", "status"]) if (p.info["cmdline"] or [])[:2] == ["sleep", "600"]]


def assert_no_sleeper() -> None:
    left = [p for p in sleepers() if p.status() != psutil.STATUS_ZOMBIE]
    for process in left:
        process.kill()
    assert not left


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
@pytest.mark.parametrize("ending", ["by itself", "at its deadline"])
def test_what_it_started_does_not_survive_it(shell: Shell, left: str, ending: str) -> None:
    end = "sleep 0.3" if ending == "by itself" else "sleep 60"
    run_invocation(shell(f"{left} {end}", timeout_s=1.0))
    assert_no_sleeper()


def test_a_grandchild_that_holds_the_output_open_does_not_hold_up_the_end(shell: Shell) -> None:
    raw = run_invocation(shell("sleep 600 & echo done"))
    assert (raw.stdout, raw.exit_code) == ("done\n", 0)
    assert raw.duration_s < 3
    assert_no_sleeper()


def test_another_thread_can_cancel_it(shell: Shell) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(AgentCliError) as caught:
        run_invocation(shell("setsid sleep 600 & sleep 600"), cancel=cancel)
    assert caught.value.kind is FailureKind.CANCELLED
    assert_no_sleeper()


def test_many_runs_at_once_do_not_touch_each_other(shell: Shell) -> None:
    results: dict[int, RawOutput] = {}

    def run(number: int) -> None:
        results[number] = run_invocation(shell("cat; sleep 0.2", stdin=str(number)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: raw.stdout for number, raw in results.items()} == {number: str(number) for number in range(12)}
    assert all(raw.exit_code == 0 for raw in results.values())


def test_a_folder_that_cannot_be_emptied_by_its_owner_is_removed(shell: Shell) -> None:
    assert run_invocation(shell("mkdir -p a/b; touch a/b/c; chmod 500 a/b a")).exit_code == 0


def test_the_file_limits_of_the_program_are_left_alone(shell: Shell) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(5):
        run_invocation(shell("true"))
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
