"""The example's own CLI, started for real, alone and through the adapter."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tumult_adapter_example import ExampleAdapter

from tumult_agent_cli import AgentCliError, NotAuthenticated, PromptRequest, run_prompt

if TYPE_CHECKING:
    from pathlib import Path

AGENT = (sys.executable, "-m", "tumult_adapter_example.agent")
ASKS_FOR_EXPERIMENTS = "Answer with fenced blocks tagged `toon`."


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the CLI where the adapter finds it, whatever PATH is."""
    script = tmp_path / "example-agent"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tumult_adapter_example.agent "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("EXAMPLE_AGENT_BIN", str(script))


def test_it_is_found() -> None:
    probe = ExampleAdapter().detect()
    assert (probe.installed, probe.version, probe.logged_in) == (True, "0.1.0", True)


def test_it_proposes_an_experiment_where_one_is_asked_for() -> None:
    answer = run_prompt(ExampleAdapter(), PromptRequest(ASKS_FOR_EXPERIMENTS, model="small"))
    assert answer.text.startswith("## Recommendations\n")
    assert answer.text.count("```toon\n") == 1
    assert (answer.model, answer.usage.input_tokens) == ("small", 6)


def test_it_only_talks_where_none_is_asked_for() -> None:
    answer = run_prompt(ExampleAdapter(), PromptRequest("What next?"))
    assert "```" not in answer.text
    assert answer.model == "example-1"


def test_the_same_prompt_gives_the_same_answer() -> None:
    texts = {run_prompt(ExampleAdapter(), PromptRequest(ASKS_FOR_EXPERIMENTS)).text for _ in range(2)}
    assert len(texts) == 1


def test_signed_out_it_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_AGENT_SIGNED_OUT", "1")
    with pytest.raises(NotAuthenticated):
        run_prompt(ExampleAdapter(), PromptRequest("What next?"))


def test_a_blank_prompt_is_refused() -> None:
    with pytest.raises(AgentCliError):
        run_prompt(ExampleAdapter(), PromptRequest(" "))
    done = subprocess.run([*AGENT, "run", "--json"], input=b"\n", capture_output=True, check=False)
    assert (done.returncode, json.loads(done.stdout)) == (1, {"error": "the prompt is blank"})


def test_wrong_use_is_told() -> None:
    done = subprocess.run([*AGENT, "run", "--prompt", "x"], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"usage: ")
