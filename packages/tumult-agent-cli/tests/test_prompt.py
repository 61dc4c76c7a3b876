"""The pipeline: detect, auth gate, build, run, parse; with an adapter for a CLI that is a piece of shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from tumult_agent_cli import _detect, _runner, probing
from tumult_agent_cli._prompt import run_prompt, run_prompt_async
from tumult_agent_cli.adapter import AgentCliAdapter
from tumult_agent_cli.exceptions import (
    AgentCliError,
    BinaryNotFound,
    FailureKind,
    InvocationFailed,
    NotAuthenticated,
    OutputParse,
    Timeout,
)
from tumult_agent_cli.values import (
    Answer,
    Capabilities,
    CliInvocation,
    CliProbe,
    Progress,
    ProgressKind,
    PromptRequest,
    RawOutput,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("traces")

READY = CliProbe(installed=True, version="1.2.3", logged_in=True, bin_path="/bin/bash")


class Acme(AgentCliAdapter):
    """Its answer is what follows ``answer:`` on a line; ``flag?`` on stderr means a flag that it does not know."""

    name = "acme"
    binary_env_key = "ACME_BIN"
    install_hint = "install acme"
    auth_hint = "acme login"
    capabilities = Capabilities(max_prompt_bytes=1000, max_prompt_chars=600)

    def __init__(self, script: str, probe: CliProbe = READY, **rest: object) -> None:
        self.script, self.probe, self.rest = script, probe, rest
        self.builds = 0

    def detect(self) -> CliProbe:
        return self.probe

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        self.builds += 1
        made = CliInvocation(
            ("/bin/bash", "-c", self.script), request.prompt, timeout_s=request.timeout_s, idle_timeout_s=request.idle_timeout_s
        )  # fmt: skip
        return evolve(made, **self.rest)  # type: ignore[arg-type]

    def parse_output(self, raw: RawOutput) -> str:
        if "flag?" in raw.stderr:
            raise AgentCliError(self.name, FailureKind.INCOMPATIBLE, "an unknown flag")
        for line in raw.stdout.split("\n"):
            if line.startswith("answer:"):
                return line.removeprefix("answer:")
        if "boom" in raw.stdout:
            raise KeyError("boom")
        raise OutputParse(self.name, "no answer in it")

    def explain_failure(self, raw: RawOutput) -> str:
        return raw.stderr

    def parse_progress(self, line: str) -> Progress | None:
        if line.startswith("retry:"):
            return Progress(ProgressKind.RETRYING, line.removeprefix("retry:"))
        return Progress(ProgressKind.ANSWERED, final=True) if line.startswith("answer:") else None


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runner, "GRACE_S", 0.5)
    monkeypatch.setattr(_runner, "LINGER_S", 0.3)


def ask(script: str, prompt: str = "hello", *, probe: CliProbe = READY, **request: object) -> Answer:
    return run_prompt(Acme(script, probe), PromptRequest(prompt, **request))  # type: ignore[arg-type]


def test_it_gives_the_answer_and_what_it_took() -> None:
    answer = ask("read line; echo answer:$line; exit 0", "the prompt\n")
    assert (answer.text, answer.cli_version, answer.warnings) == ("the prompt", "1.2.3", ())
    assert answer.duration_s > 0


@pytest.mark.parametrize(
    ("probe", "kind"),
    [
        (CliProbe(installed=False, detail="not there"), FailureKind.NOT_INSTALLED),
        (CliProbe(installed=False, bin_path="/x", detail="does not run"), FailureKind.NOT_RUNNABLE),
    ],
)
def test_without_a_cli_nothing_is_built(probe: CliProbe, kind: FailureKind) -> None:
    adapter = Acme("echo answer:x", probe)
    with pytest.raises(BinaryNotFound, match="install acme") as caught:
        run_prompt(adapter, PromptRequest("hello"))
    assert (caught.value.kind, caught.value.detail, adapter.builds) == (kind, probe.detail, 0)


def test_who_is_not_signed_in_is_told_how(tmp_path: object) -> None:
    adapter = Acme("echo answer:x", evolve(READY, logged_in=False, detail="nobody"))
    with pytest.raises(NotAuthenticated, match=r"not signed in: nobody \(acme login\)"):
        run_prompt(adapter, PromptRequest("hello"))
    assert adapter.builds == 0


def test_an_unknown_sign_in_is_tried() -> None:
    assert ask("echo answer:x", probe=evolve(READY, logged_in=None)).text == "x"


@pytest.mark.parametrize(
    ("prompt", "kind", "words"),
    [
        ("", FailureKind.BAD_REQUEST, "blank"),
        (" \n\t", FailureKind.BAD_REQUEST, "blank"),
        ("é" * 501, FailureKind.PROMPT_TOO_LONG, "1,002 bytes; this CLI takes 1,000"),
        ("x" * 601, FailureKind.PROMPT_TOO_LONG, "601 characters; this CLI takes 600"),
        ("a\udc80", FailureKind.BAD_REQUEST, "lone surrogate"),
    ],
)
def test_a_prompt_that_cannot_be_sent_starts_nothing(prompt: str, kind: FailureKind, words: str) -> None:
    with pytest.raises(AgentCliError, match=words) as caught:
        ask("echo answer:x >&2; exit 1", prompt)
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    ("script", "warning"),
    [
        ("echo answer:x; exit 3", "the CLI answered, then ended with exit code 3"),
        ("echo answer:x; kill -KILL $$", "the CLI answered, then ended by SIGKILL"),
        ("echo answer:x; sleep 60", "the CLI did not end after its answer and was ended"),
    ],
)
def test_a_good_answer_with_a_bad_end_is_an_answer_with_a_warning(script: str, warning: str) -> None:
    answer = ask(script)
    assert (answer.text, answer.warnings) == ("x", (warning,))


def test_an_answer_that_was_there_at_the_deadline_counts() -> None:
    adapter = Acme("echo answer:x; sleep 60")
    adapter.parse_progress = lambda line: None  # type: ignore[method-assign]
    answer = run_prompt(adapter, PromptRequest("hello", timeout_s=0.5))
    assert answer.warnings == ("the CLI answered, then ran into the deadline and was ended",)


def test_warnings_of_the_invocation_come_first() -> None:
    answer = run_prompt(Acme("echo answer:x; exit 1", warnings=("it keeps a hand",)), PromptRequest("hello"))
    assert answer.warnings == ("it keeps a hand", "the CLI answered, then ended with exit code 1")


def test_a_deadline_keeps_what_was_printed_and_said() -> None:
    with pytest.raises(Timeout, match=r"no answer within 0\.5 s; it said: overloaded") as caught:
        ask("echo half; echo retry:overloaded; sleep 60", timeout_s=0.5)
    assert (caught.value.partial, caught.value.said) == ("half\nretry:overloaded\n", "overloaded")
    assert (caught.value.kind, caught.value.retryable) == (FailureKind.TIMEOUT, True)


def test_a_deadline_keeps_the_last_words_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "very-secret-value")
    with pytest.raises(Timeout, match=r"it said: cannot reach \*\*\*") as caught:
        ask("echo cannot reach very-secret-value >&2; sleep 60", timeout_s=0.5)
    assert caught.value.said == "cannot reach ***"


def test_a_wrong_override_is_told_with_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_BIN", "/opt/typo")
    assert ask("echo answer:x").warnings == ("ACME_BIN names no executable file: /opt/typo; /bin/bash ran instead",)
    monkeypatch.setenv("ACME_BIN", "/bin/bash")
    assert ask("echo answer:x").warnings == ()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"timeout_s": float("nan")}, "the time limit is nan s"),
        ({"timeout_s": 0.0}, "the time limit is 0 s"),
        ({"idle_timeout_s": -1.0}, "the idle limit is -1 s"),
        ({"model": "a\0b"}, "has '.x00'"),
        ({"model": "a\ud800"}, "has '.ud800'"),
        ({"model": "x" * 200_000}, "has 200,000 characters"),
    ],
)
def test_a_request_that_makes_no_sense_starts_nothing(request_: dict[str, object], words: str, tmp_path: Path) -> None:
    with pytest.raises(AgentCliError, match=words) as caught:
        ask(f"touch {tmp_path}/started; echo answer:x", **request_)  # type: ignore[arg-type]
    assert caught.value.kind is FailureKind.BAD_REQUEST
    assert not (tmp_path / "started").exists()


def test_an_idle_deadline_is_a_stall() -> None:
    with pytest.raises(Timeout, match=r"nothing new within 0\.4 s") as caught:
        ask("echo half; sleep 60", idle_timeout_s=0.4)
    assert caught.value.kind is FailureKind.STALLED


def test_a_runaway_is_said_with_its_limit() -> None:
    with pytest.raises(OutputParse, match="more than 100,000 bytes"):
        ask("yes", max_output_bytes=100_000)


def test_a_crash_is_explained_by_the_adapter_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "very-secret-value")
    with pytest.raises(InvocationFailed) as caught:
        ask("printf '\\033[31mbad\\033[0m very-secret-value\\nsecond' >&2; exit 2")
    assert (caught.value.kind, caught.value.detail) == (FailureKind.CRASHED, "bad *** second")


def test_a_crash_without_words_says_how_it_ended() -> None:
    with pytest.raises(InvocationFailed, match="ended by SIGSEGV"):
        ask("kill -SEGV $$")


def test_an_adapter_that_raises_is_an_error_of_the_contract() -> None:
    with pytest.raises(OutputParse, match=r"cannot read the output: KeyError\('boom'\)"):
        ask("echo boom")


def test_a_blank_answer_is_none() -> None:
    with pytest.raises(OutputParse) as caught:
        ask("echo 'answer:  '")
    assert caught.value.kind is FailureKind.EMPTY


def test_a_lone_surrogate_in_an_answer_is_replaced() -> None:
    adapter = Acme("echo answer:x")
    adapter.parse_output = lambda raw: "a\ud800b"  # type: ignore[method-assign]
    assert run_prompt(adapter, PromptRequest("hello")).text == "a\ufffdb"


def test_an_error_says_version_model_and_time() -> None:
    with pytest.raises(AgentCliError, match=r"\[version 1\.2\.3, model big-1, after \d+\.\d s\]$"):
        ask("exit 1", model="big-1")


# One more try


def fallback(script: str) -> CliInvocation:
    return CliInvocation(("/bin/bash", "-c", script), "hello", warnings=("without a flag",))


def test_an_unknown_flag_is_tried_once_without() -> None:
    adapter = Acme("echo flag? >&2; exit 1", fallback=fallback("echo answer:$(cat)"))
    answer = run_prompt(adapter, PromptRequest("hello"))
    assert (answer.text, answer.warnings) == ("hello", ("without a flag",))


def test_it_is_not_tried_twice() -> None:
    adapter = Acme("echo flag? >&2; exit 1", fallback=fallback("echo flag? >&2; exit 1"))
    with pytest.raises(AgentCliError) as caught:
        run_prompt(adapter, PromptRequest("hello"))
    assert caught.value.kind is FailureKind.INCOMPATIBLE


def test_other_failures_are_not_tried_again() -> None:
    adapter = Acme("exit 1", fallback=fallback("echo answer:wrong"))
    with pytest.raises(InvocationFailed):
        run_prompt(adapter, PromptRequest("hello"))


# Progress


def kinds_of(script: str) -> list[str]:
    events: list[Progress] = []
    with contextlib.suppress(AgentCliError):
        run_prompt(Acme(script), PromptRequest("hello"), on_progress=events.append)
    return [event.kind for event in events]


def test_it_tells_of_start_retry_and_answer() -> None:
    assert kinds_of("echo retry:x; echo answer:y") == ["started", "retrying", "answered"]


def test_it_tells_of_an_answer_that_the_stream_did_not_tell() -> None:
    assert kinds_of("printf answer:y") == ["started", "answered"]


def test_a_failure_is_no_answer() -> None:
    assert kinds_of("exit 1") == ["started"]


# In an event loop


def test_the_loop_goes_on_while_it_waits() -> None:
    async def main() -> tuple[str, int]:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0.05)

        beating = asyncio.create_task(beat())
        answer = await run_prompt_async(Acme("sleep 0.5; echo answer:x"), PromptRequest("hello"))
        beating.cancel()
        return answer.text, beats

    text, beats = asyncio.run(main())
    assert text == "x"
    assert beats > 4


def test_errors_come_out_of_it() -> None:
    with pytest.raises(InvocationFailed):
        asyncio.run(run_prompt_async(Acme("exit 1"), PromptRequest("hello")))


def test_progress_is_told_in_the_loop() -> None:
    threads: set[int] = set()
    asyncio.run(
        run_prompt_async(
            Acme("echo answer:x"), PromptRequest("hello"), on_progress=lambda _: threads.add(threading.get_ident())
        )
    )
    assert threads == {threading.get_ident()}


def test_an_exception_in_the_callback_comes_out() -> None:
    def broken(progress: Progress) -> None:
        raise RuntimeError(progress.kind)

    with pytest.raises(RuntimeError, match="started"):
        asyncio.run(run_prompt_async(Acme("sleep 60"), PromptRequest("hello"), on_progress=broken))


@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.5])
def test_cancelling_ends_the_run_before_it_goes_on(delay_s: float, traces: object) -> None:
    async def main() -> None:
        task = asyncio.create_task(
            run_prompt_async(Acme("setsid sleep 600 & sleep 600"), PromptRequest("hello"), on_progress=lambda _: None)
        )
        await asyncio.sleep(delay_s)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        traces.assert_none()  # type: ignore[attr-defined]

    started = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - started < 10


def test_a_timeout_of_the_loop_ends_the_run() -> None:
    async def main() -> None:
        async with asyncio.timeout(0.4):
            await run_prompt_async(Acme("sleep 600"), PromptRequest("hello"))

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_several_at_once() -> None:
    async def main() -> list[str]:
        adapters = [Acme(f"sleep 0.2; echo answer:{number}") for number in range(4)]
        answers = await asyncio.gather(*(run_prompt_async(adapter, PromptRequest("hello")) for adapter in adapters))
        return [answer.text for answer in answers]

    assert asyncio.run(main()) == ["0", "1", "2", "3"]


# While it is detected


class Hanging(Acme):
    """Its detect never ends; ``asks`` a CLI that does not, or sleeps by itself."""

    def __init__(self, *, asks: bool) -> None:
        super().__init__("echo answer:x")
        self.asks = asks

    def detect(self) -> CliProbe:
        if self.asks:
            probing.ask(probing.Question(("/bin/sleep", "600"), limit_s=600))
        time.sleep(60)
        return READY


@pytest.mark.parametrize("asks", [True, False])
def test_a_detect_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch, asks: bool) -> None:
    monkeypatch.setattr(_detect, "PROBE_LIMIT_S", 0.5)
    with pytest.raises(AgentCliError, match=r"did not answer in 0\.5 s \(tumult agents check acme\)") as caught:
        run_prompt(Hanging(asks=asks), PromptRequest("hello"))
    assert caught.value.kind is FailureKind.NOT_RUNNABLE


@pytest.mark.parametrize("asks", [True, False])
def test_a_run_can_be_cancelled_while_it_is_detected(asks: bool, traces: object) -> None:
    cancel = threading.Event()
    threading.Timer(0.4, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(AgentCliError) as caught:
        run_prompt(Hanging(asks=asks), PromptRequest("hello"), cancel=cancel)
    assert caught.value.kind is FailureKind.CANCELLED
    assert time.monotonic() - started < 8
    traces.assert_none()  # type: ignore[attr-defined]


def test_a_loop_can_cancel_while_it_is_detected(traces: object) -> None:
    async def main() -> None:
        async with asyncio.timeout(0.4):
            await run_prompt_async(Hanging(asks=True), PromptRequest("hello"))

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    traces.assert_none()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("number", "error"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_ends_the_program_while_it_is_detected(
    number: int, error: type[BaseException], traces: object
) -> None:
    timer = threading.Timer(0.4, os.kill, (os.getpid(), number))
    timer.start()
    started = time.monotonic()
    with pytest.raises(error):
        run_prompt(Hanging(asks=True), PromptRequest("hello"))
    timer.join()
    assert time.monotonic() - started < 8
    traces.assert_none()  # type: ignore[attr-defined]


def test_a_detect_that_raises_is_an_error_of_the_contract() -> None:
    adapter = Acme("echo answer:x")
    adapter.detect = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(AgentCliError, match="detect\\(\\) raised ZeroDivisionError"):
        run_prompt(adapter, PromptRequest("hello"))
