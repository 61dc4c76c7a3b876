from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from tumult_agent_cli import AgentCliAdapter, CliInvocation, CliProbe, PromptRequest, RawOutput
from tumult_agent_cli._detect import Detection, detect_all
from tumult_agent_cli.probing import Question, ask


class Probing(AgentCliAdapter):
    """An adapter that finds what a function gives."""

    name = "probing"
    binary_env_key = "PROBING_BIN"
    install_hint = "install it"
    auth_hint = "sign in"

    def __init__(self, find: Any) -> None:
        self.find = find

    def detect(self) -> CliProbe:
        found: CliProbe = self.find()
        return found

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        return CliInvocation(("/bin/cat",), request.prompt)

    def parse_output(self, raw: RawOutput) -> str:
        return raw.stdout

    def explain_failure(self, raw: RawOutput) -> str:
        return "it failed"


def detect(*finds: Any, limit_s: float = 20.0) -> tuple[Detection, ...]:
    return detect_all([Probing(find) for find in finds], limit_s=limit_s)


def found(version: str) -> CliProbe:
    return CliProbe(True, version=version, logged_in=True, bin_path="/bin/x", detail="fine")


def test_each_finds_its_own_in_the_order_asked() -> None:
    assert detect(lambda: found("1"), lambda: found("2")) == (Detection(found("1")), Detection(found("2")))
    assert detect() == ()


def test_all_are_asked_at_the_same_time() -> None:
    meeting = threading.Barrier(4, timeout=10)

    def meet() -> CliProbe:
        meeting.wait()
        return found("1")

    assert [detection.fault for detection in detect(*[meet] * 4)] == [""] * 4


def test_one_that_hangs_is_told_and_costs_one_limit_whatever_their_number() -> None:
    release = threading.Event()
    started = time.monotonic()
    hung = [release.wait] * 5
    detections = detect(*hung, lambda: found("1"), limit_s=0.5)
    assert time.monotonic() - started < 4
    release.set()
    assert detections == (*[Detection(None, "the probe did not answer in 0.5 s")] * 5, Detection(found("1")))


def test_one_that_hangs_does_not_keep_the_interpreter() -> None:
    code = """
import sys, time
sys.path.insert(0, sys.argv[1])
from test_detect import detect
print(detect(lambda: time.sleep(600), limit_s=0.2)[0].fault)
"""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, os.path.dirname(__file__)],  # noqa: PTH120 - an argument is a str
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "the probe did not answer in 0.2 s\n"
    assert time.monotonic() - started < 30


def raising(error: BaseException) -> Any:
    def find() -> CliProbe:
        raise error

    return find


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("find", "fault"),
    [
        (raising(ValueError("a\nb\x1b[31m token=abcdefgh")), "detect() raised ValueError: a b ***"),
        (raising(SystemExit(3)), "detect() raised SystemExit: 3"),
        (raising(KeyboardInterrupt()), "detect() raised KeyboardInterrupt"),
        (raising(Unspeakable()), "detect() raised Unspeakable"),
        (lambda: None, "detect() gave NoneType, not a CliProbe"),
        (lambda: {"installed": True}, "detect() gave dict, not a CliProbe"),
        (lambda: CliProbe(installed="yes"), "detect() gave a CliProbe with a field of the wrong type"),  # type: ignore[arg-type]
        (lambda: CliProbe(True, version=1.2), "detect() gave a CliProbe with a field of the wrong type"),  # type: ignore[arg-type]
        (lambda: CliProbe(True, detail=None), ""),  # type: ignore[arg-type]
    ],
)
def test_whatever_a_probe_does_is_told(find: Any, fault: str) -> None:
    assert detect(find)[0].fault == fault


def test_a_coroutine_is_no_probe() -> None:
    async def find() -> CliProbe:
        return found("1")

    assert detect(find)[0].fault == "detect() gave coroutine, not a CliProbe"


def test_what_a_cli_says_is_cleaned() -> None:
    said = CliProbe(True, version="1\x1b[31m.0\n", logged_in=3, bin_path="/bin/\u202ex", detail="a\nb")  # type: ignore[arg-type]
    assert detect(lambda: said)[0].probe == CliProbe(
        True, version="1.0", logged_in=None, bin_path="/bin/x", detail="a b"
    )


def test_what_a_probe_prints_reaches_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    def loud() -> CliProbe:
        print("loud")
        subprocess.run(["echo", "child"], check=True)
        return found("1")

    assert detect(loud) == (Detection(found("1")),)
    assert capfd.readouterr() == ("", "")


def test_a_question_that_nobody_waits_for_leaves_nothing(traces: Any) -> None:
    def hangs() -> CliProbe:
        ask(Question(("/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"), limit_s=60))
        return found("1")

    assert detect(hangs, limit_s=0.5)[0].fault == "the probe did not answer in 0.5 s"
    traces.assert_none()
