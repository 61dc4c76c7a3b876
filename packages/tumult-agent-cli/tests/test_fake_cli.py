"""FakeCli is driven here as the runner drives a real CLI: by starting it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

import psutil
import pytest

from tumult_agent_cli.testing import FOREVER, HANG, FakeCli, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def run(fake: FakeCli, *args: str, prompt: bytes = b"hello") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(fake.path), *args], input=prompt, capture_output=True, check=False, timeout=30)


def probe(fake: FakeCli, *args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(fake.path), *args], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=30
    )


@contextmanager
def started(fake: FakeCli) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run whose prompt has come to its end, and end it whatever happens."""
    process = subprocess.Popen([str(fake.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    process.stdin.close()
    try:
        yield process
    finally:
        process.kill()
        process.stdin = None
        process.communicate()


def wait_for(condition: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_it_answers_a_run(tmp_path: Path) -> None:
    done = run(FakeCli(tmp_path, answer='{"text": "hi"}'))
    assert (done.stdout, done.stderr, done.returncode) == (b'{"text": "hi"}', b"", 0)


@pytest.mark.parametrize("args", ["--version", "-v", "-V", "version"])
def test_it_tells_its_version_to_each_usual_question(tmp_path: Path, args: str) -> None:
    fake = FakeCli(tmp_path, answer="never", version="acme 2.0.1")
    assert probe(fake, args).stdout == b"acme 2.0.1"
    assert [call.kind for call in fake.calls] == ["version"]


def test_a_vendor_can_say_how_the_version_is_asked_for(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, version="9.9.9", auth="in", version_args=["about", "--short"])
    assert probe(fake, "about", "--short").stdout == b"9.9.9"
    assert probe(fake, "--version").stdout == b"in"


def test_a_call_without_a_prompt_asks_for_the_sign_in(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer="never", auth=Reply(stderr="Not logged in", exit_code=1))
    done = probe(fake, "login", "status")
    assert (done.stderr, done.returncode) == (b"Not logged in", 1)
    assert (fake.runs, [call.kind for call in fake.probes]) == ((), ["auth"])


def test_sign_in_arguments_win_over_a_stdin_that_could_hold_a_prompt(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer="run", auth="yes", auth_args=["auth", "status"])
    assert run(fake, "auth", "status", "--json").stdout == b"yes"
    assert run(fake, "auth").stdout == b"run"


def test_a_closed_stdin_is_a_probe(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer="run", auth=Reply(stdout="probe", read_stdin=False))
    done = subprocess.run(["/bin/sh", "-c", '"$0" <&-', str(fake.path)], capture_output=True, check=False)
    assert done.stdout == b"probe"


def test_an_empty_file_on_stdin_is_a_probe(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer="run", auth="probe")
    (tmp_path / "empty").touch()
    with (tmp_path / "empty").open("rb") as stdin:
        done = subprocess.run([str(fake.path)], stdin=stdin, capture_output=True, check=True)
    assert done.stdout == b"probe"


def test_it_keeps_what_arrived(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path / "bin", "acme", keep_env=["TERM", "ABSENT"])
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("x")
    prompt = b"a\x00b\r\n\xff" + "é".encode()
    subprocess.run(
        [str(fake.path), "-p", "", "--model=m\n"],
        input=prompt,
        cwd=folder,
        env={"TERM": "dumb", "KEY": "s3cret"},
        check=True,
    )
    (call,) = fake.runs
    assert call.argv == (str(fake.path), "-p", "", "--model=m\n")
    assert (call.stdin, call.stdin_sha256) == (prompt, sha256(prompt).hexdigest())
    assert {"KEY", "TERM"} <= set(call.env_names)
    assert call.env == {"TERM": "dumb"}
    assert (call.cwd, call.entries) == (str(folder), ("note.txt",))
    assert "s3cret" not in "".join(path.read_text(errors="replace") for path in tmp_path.rglob("facts"))


def test_it_plays_one_reply_for_each_call_and_repeats_the_last(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer=["one", Reply(stdout="two", exit_code=3), "three"])
    assert [(done.stdout, done.returncode) for done in (run(fake) for _ in range(4))] == [
        (b"one", 0), (b"two", 3), (b"three", 0), (b"three", 0),
    ]  # fmt: skip


def test_versions_and_runs_are_counted_apart(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer=["one", "two"], version=["1.0", "2.0"])
    assert [probe(fake, "-v").stdout, run(fake).stdout, probe(fake, "-v").stdout, run(fake).stdout] == [
        b"1.0", b"one", b"2.0", b"two",
    ]  # fmt: skip


def test_it_can_be_updated(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer="one", version="1.0")
    before = fake.path.stat()
    probe(fake, "-v")
    fake.script(version="2.0")
    assert (probe(fake, "-v").stdout, run(fake).stdout) == (b"2.0", b"one")
    assert len(fake.calls) == 3
    assert fake.path.stat().st_ino != before.st_ino


def test_it_says_what_arrived_in_its_answer(tmp_path: Path) -> None:
    done = run(FakeCli(tmp_path, answer="got %SHA256%"), prompt=b"abc")
    assert done.stdout.decode() == f"got {sha256(b'abc').hexdigest()}"


def test_bytes_that_are_not_text_come_as_they_are(tmp_path: Path) -> None:
    done = run(FakeCli(tmp_path, answer=Reply(stdout=b"\xff\xfe\x00", stderr=b"\x80")))
    assert (done.stdout, done.stderr) == (b"\xff\xfe\x00", b"\x80")


def test_fifty_megabytes_come_whole(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        fake = FakeCli(tmp_path, answer=Reply(stdout="0123456789", stdout_times=5_000_000))
        subprocess.run([str(fake.path)], input=b"x", stdout=out, check=True, timeout=30)
    assert (tmp_path / "out").stat().st_size == 50_000_000


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_signal_ends_it(tmp_path: Path, number: signal.Signals) -> None:
    done = run(FakeCli(tmp_path, answer=Reply(stdout="half", signal=number)))
    assert (done.returncode, done.stdout) == (-number, b"half")


def test_it_hangs_until_it_is_ended(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer=HANG)
    with started(fake) as process:
        wait_for(lambda: fake.runs and fake.runs[0].stdin is not None)
        assert fake.alive() == (process.pid,)
        process.terminate()
        assert process.wait(10) == -signal.SIGTERM
        assert fake.alive() == ()


def test_it_lingers_after_it_has_spoken(tmp_path: Path) -> None:
    with started(FakeCli(tmp_path, answer=Reply(stdout="done\n", linger_s=FOREVER))) as process:
        assert process.stdout
        assert process.stdout.readline() == b"done\n"
        assert process.poll() is None


def test_it_can_ignore_sigterm(tmp_path: Path) -> None:
    with started(FakeCli(tmp_path, answer=Reply(ignore_sigterm=True, linger_s=FOREVER, stdout="ready\n"))) as process:
        assert process.stdout
        process.stdout.readline()
        process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)


def test_it_does_not_read_stdin_when_told_so(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer=Reply(stdout="early", read_stdin=False))
    assert run(fake, prompt=b"x" * 1_000_000).stdout == b"early"
    assert fake.runs[0].stdin is None


@pytest.mark.parametrize("where", ["group", "session", "orphan"])
def test_it_leaves_children_behind(tmp_path: Path, where: str) -> None:
    fake = FakeCli(tmp_path, answer=Reply(children=(where,), stdout="done"))
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([str(fake.path)], input=b"x", stdout=out, stderr=out, check=True, start_new_session=True)
    (call,) = fake.runs
    assert fake.alive() == call.children
    (child,) = call.children
    assert (os.getsid(child) == call.session) is (where == "group")
    assert psutil.Process(child).ppid() != call.pid
    fake.kill()
    wait_for(lambda: not fake.alive())


def test_two_calls_at_once_have_records_of_their_own(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path, answer=Reply(stdout="%SHA256%", delay_s=0.2))
    with ThreadPoolExecutor(4) as pool:
        answers = {done.stdout for done in pool.map(lambda number: run(fake, prompt=b"%d" % number), range(4))}
    assert answers == {sha256(str(number).encode()).hexdigest().encode() for number in range(4)}
    assert sorted(call.stdin or b"" for call in fake.runs) == [b"0", b"1", b"2", b"3"]


def test_it_works_in_a_folder_with_spaces_and_quotes(tmp_path: Path) -> None:
    fake = FakeCli(tmp_path / 'it\'s a "folder" é', "my agent", answer="ok")
    assert run(fake).stdout == b"ok"
    assert fake.runs[0].argv == (str(fake.path),)


def test_it_does_not_overwrite_the_record_of_another(tmp_path: Path) -> None:
    FakeCli(tmp_path, "acme")
    with pytest.raises(FileExistsError):
        FakeCli(tmp_path, "acme")
