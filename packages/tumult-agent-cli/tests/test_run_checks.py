"""Running the checks without pytest: what comes back, and that the world is as it was afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tumult_agent_cli import (
    AgentCliAdapter,
    BinaryNotFound,
    CliInvocation,
    CliProbe,
    OutputParse,
    PromptRequest,
    RawOutput,
    _runner,
    probing,
)
from tumult_agent_cli.judging import ended_how, last_words, said
from tumult_agent_cli.testing import CHECKS, Case, CheckResult, Outcome, run_checks
from tumult_agent_cli.testing._case import case_of, from_template

BY_ID = {check.id: check for check in CHECKS}


class Plain(AgentCliAdapter):
    """A CLI whose stdout is the answer."""

    name = "plain"
    binary_env_key = "PLAIN_BIN"
    install_hint = "install plain"
    auth_hint = "sign in to plain"
    sample_output = "ANSWER\n"

    def detect(self) -> CliProbe:
        found = probing.find_cli("plain", self.binary_env_key)
        return CliProbe(found.runnable, version=found.version, bin_path=found.path, detail=found.detail)

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        path = probing.locate("plain", self.binary_env_key).path
        if path is None:
            raise BinaryNotFound(self.name, self.install_hint)
        argv = (path, *([f"--model={request.model}"] if request.model else []))
        return CliInvocation(argv, request.prompt, cwd=request.workspace, timeout_s=request.timeout_s)

    def parse_output(self, raw: RawOutput) -> str:
        if raw.exit_code != 0 or not raw.stdout.strip():
            raise OutputParse(self.name, self.explain_failure(raw))
        return raw.stdout

    def explain_failure(self, raw: RawOutput) -> str:
        return said(last_words(raw.stderr)) or ended_how(raw)


class Silent(Plain):
    """Says nothing of what its CLI prints."""

    sample_output = ""


class Crashing(Plain):
    def detect(self) -> CliProbe:
        os.environ["LEFT_BEHIND"] = "1"
        os.chdir("/")
        raise ZeroDivisionError("boom\x1b[31m\nbang")

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        raise ZeroDivisionError


def run_one(adapter: AgentCliAdapter | Case, check_id: str) -> CheckResult:
    (result,) = run_checks(adapter, checks=[BY_ID[check_id]])
    return result


def world() -> tuple[object, ...]:
    limits = (_runner.GRACE_S, _runner.LINGER_S, probing.VERSION_LIMIT_S, probing.AUTH_LIMIT_S)
    return dict(os.environ), Path.cwd(), tempfile.gettempdir(), limits


def test_every_check_has_a_name_of_its_own_and_a_claim() -> None:
    assert len(BY_ID) == len(CHECKS) >= 150
    for check in CHECKS:
        assert check.id.startswith(f"{check.group}/")
        assert check.claim.rstrip(")").strip(), check.id


def test_an_adapter_whose_stdout_is_the_answer_passes() -> None:
    groups = {"identity", "answer", "failure", "progress"}
    ends = {
        "outcome/gives-the-answer",
        "outcome/exit-code-with-words-is-a-failure[1]",
        "ending/hang-is-a-timeout[silent]",
    }
    results = run_checks(Plain(), checks=[check for check in CHECKS if check.group in groups or check.id in ends])
    assert [result for result in results if result.outcome is Outcome.FAILED] == []
    assert Counter(result.outcome for result in results)[Outcome.PASSED] > 150


def test_without_a_sample_what_needs_one_is_left_out() -> None:
    result = run_one(Silent(), "answer/answer-comes-whole[one word]")
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert "no output of a successful run" in result.message
    assert run_one(Silent(), "delivery/prompt-arrives-exactly[a command]").outcome is Outcome.PASSED


def test_a_failure_is_one_line_that_says_what_the_adapter_did() -> None:
    result = run_one(Crashing(), "detection/finds-the-override")
    assert result.outcome is Outcome.FAILED
    assert result.message == "detect() raised ZeroDivisionError: boom bang; it must never raise"


def test_what_an_adapter_raises_is_a_failure_and_no_crash() -> None:
    result = run_one(Crashing(), "invocation/is-an-invocation")
    assert (result.outcome, result.message) == (Outcome.FAILED, "ZeroDivisionError:")


def test_afterwards_the_world_is_as_it_was() -> None:
    before = world()
    chosen = ["detection/finds-the-override", "ending/hang-is-a-timeout[silent]", "outcome/gives-the-answer"]
    run_checks(Crashing(), checks=[BY_ID[name] for name in chosen])
    assert world() == before
    assert "LEFT_BEHIND" not in os.environ


def test_a_check_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run_checks(Plain(), checks=[BY_ID["outcome/gives-the-answer"], BY_ID["ending/runaway-is-ended"]])
    assert list(tmp_path.iterdir()) == []


def test_each_result_is_told_as_it_comes() -> None:
    told: list[CheckResult] = []
    chosen = [check for check in CHECKS if check.group == "identity"]
    assert run_checks(Plain(), checks=chosen, on_result=told.append) == told
    assert [result.id for result in told] == [check.id for check in chosen]
    assert all(result.duration_s >= 0 for result in told)


def test_the_persons_own_cli_and_keys_are_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tmp_path / "plain"
    real.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    real.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PLAIN_BIN", str(real))
    monkeypatch.setenv("PLAIN_API_KEY", "s3cret")
    chosen = [check for check in CHECKS if check.group in {"detection", "sign_in"} and "hang" not in check.id]
    run_checks(Plain(), checks=chosen)
    assert not (tmp_path / "started").exists()


def test_an_adapter_that_wants_arguments_is_used_as_it_is() -> None:
    class Configured(Plain):
        def __init__(self, flavour: str) -> None:
            self.flavour = flavour

    adapter = Configured("mild")
    assert case_of(adapter).adapter() is adapter
    assert run_one(adapter, "invocation/is-an-invocation").outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("template", "answer", "expected"),
    [
        ("ANSWER\n", 'say "hi"\n', 'say "hi"\n\n'),
        ('{"text": "ANSWER"}', 'say "hi"\n', '{"text": "say \\"hi\\"\\n"}'),
        ('{"a": 1}\n{"text": "ANSWER"}\n', "\u2028é", '{"a": 1}\n{"text": "\u2028é"}\n'),
        ('{\n  "text": "ANSWER"\n}', "\t", '{\n  "text": "\\t"\n}'),
        ('banner\n{"text": "ANSWER"}', "\\", 'banner\n{"text": "\\\\"}'),
    ],
)
def test_a_template_is_filled_as_its_format_wants(template: str, answer: str, expected: str) -> None:
    assert from_template(template)(answer) == expected


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_it_does_without_pytest() -> None:
    done = python("import sys; import tumult_agent_cli.testing; print('pytest' in sys.modules)")
    assert done.stdout == "False\n"


def test_without_pytest_the_class_says_what_to_install() -> None:
    done = python("import sys; sys.modules['pytest'] = None; from tumult_agent_cli.testing import AdapterContract")
    assert "pip install 'tumult-agent-cli[testing]'" in done.stderr
    assert "run_checks() does without it" in done.stderr


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    testing: Any = sys.modules["tumult_agent_cli.testing"]
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        testing.Nothing  # noqa: B018


class Framed(Plain):
    """Puts a line before the prompt, as some CLIs need it."""

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        return evolve(super().build_invocation(request), stdin=f"Request:\n{request.prompt}\nEnd.")


class Enveloped(Plain):
    """Sends the prompt as a JSON document."""

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        message = {"type": "user", "content": [{"type": "text", "text": request.prompt}]}
        return evolve(super().build_invocation(request), stdin=json.dumps(message) + "\n")


class FramedAndStripped(Framed):
    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        return super().build_invocation(evolve(request, prompt=request.prompt.strip()))


@pytest.mark.parametrize("adapter", [Framed(), Enveloped()], ids=["framed", "enveloped"])
def test_how_the_prompt_is_wrapped_is_found_out(adapter: AgentCliAdapter) -> None:
    chosen = [check for check in CHECKS if check.group == "invocation"]
    results = run_checks(adapter, checks=[*chosen, BY_ID["delivery/a-megabyte-arrives-exactly"]])
    assert [result for result in results if result.outcome is Outcome.FAILED] == []


def test_what_is_wrapped_must_still_be_whole() -> None:
    result = run_one(FramedAndStripped(), "invocation/prompt-is-sent-exactly[blank edges]")
    assert result.outcome is Outcome.FAILED


def test_a_wrapped_prompt_is_a_failure_where_a_vendor_says_that_it_is_not() -> None:
    result = run_one(Case(adapter=Framed), "invocation/prompt-is-sent-exactly[a sentence]")
    assert result.outcome is Outcome.FAILED


class Stuck(Plain):
    def detect(self) -> CliProbe:
        time.sleep(600)
        return super().detect()


def test_a_detect_that_never_ends_is_the_single_finding() -> None:
    before, started = world(), time.monotonic()
    told: list[CheckResult] = []
    results = run_checks(evolve(case_of(Stuck()), probe_limit_s=0.5), on_result=told.append)
    assert [(result.id, result.outcome) for result in results] == [("detection/ends", Outcome.FAILED)]
    assert "did not end within 0.5 s" in results[0].message
    assert told == results
    assert time.monotonic() - started < 10
    assert world() == before
