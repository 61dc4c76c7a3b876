"""What arrives at the CLI: the prompt, the model, the environment, the folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tumult_agent_cli.exceptions import (
    FailureKind,
)
from tumult_agent_cli.testing import _needs as needs
from tumult_agent_cli.testing._bench import fails
from tumult_agent_cli.testing._case import ANSWER
from tumult_agent_cli.testing._check import check, expect
from tumult_agent_cli.testing._fake import Reply
from tumult_agent_cli.testing._samples import MODELS, PROMPTS

if TYPE_CHECKING:
    from tumult_agent_cli.testing._bench import Bench

_SHORT_S = 1.0
_WORD = "flumbercorp"


@check(each=PROMPTS)
def prompt_arrives_exactly(bench: Bench, prompt: str) -> None:
    """The bytes that the CLI reads are those that were built, up to end-of-file, and none is an argument."""
    fake = bench.fake()
    bench.deliver(prompt)
    built = bench.build(prompt)
    expect(fake.runs, "the CLI was not started with the prompt")
    call = fake.runs[0]
    expect(call.stdin == built.stdin.encode(), f"the CLI read {(call.stdin or b'')[:100]!r}, not {built.stdin[:100]!r}")
    expect(call.argv == built.argv, f"the CLI was started with {call.argv}; built was {built.argv}")


@check()
def a_megabyte_arrives_exactly(bench: Bench) -> None:
    """The longest prompt that the adapter takes, up to four megabytes, arrives whole."""
    fake = bench.fake()
    prompt = bench.longest_prompt()
    bench.deliver(prompt)
    expect(fake.runs, "the CLI was not started with a prompt that it is said to take")
    arrived = bench.prompt_in((fake.runs[0].stdin or b"").decode())
    expect(arrived == prompt, f"of a prompt of {len(prompt)} characters, {len(arrived)} arrive, or others")


@check()
def too_long_a_prompt_is_refused_before_the_start(bench: Bench) -> None:
    """A prompt beyond the adapter's limit is refused as too long, and nothing is started for it."""
    fake = bench.fake()
    error = bench.fails("x" * (bench.adapter.capabilities.max_prompt_bytes + 1))
    expect(error.kind is FailureKind.PROMPT_TOO_LONG, f"reported as {error.kind}; it must be prompt too long")
    expect(not fake.runs, "the CLI was started with a prompt that it cannot take")


@check()
def lone_surrogate_is_refused_before_the_start(bench: Bench) -> None:
    """A prompt that is no valid Unicode text is refused, and nothing is started for it."""
    fake = bench.fake()
    error = bench.fails("half a pair: \ud83d")
    expect(error.kind is FailureKind.BAD_REQUEST, f"reported as {error.kind}; it must be a bad request")
    expect(not fake.runs, "the CLI was started with a text that is no valid Unicode")


@check(each=MODELS)
def model_arrives_as_a_value(bench: Bench, model: str) -> None:
    """The model's name arrives as it was built, and nothing in it is executed."""
    fake = bench.fake()
    bench.deliver(model=model)
    for call in fake.runs:
        expect(call.argv[0] == str(fake.path) and call.stdin, f"the CLI was started with {call.argv}")
    expect(not (bench.folder / "cwd" / "hacked").exists(), "the model's name was given to a shell")


@check()
def environment_flows_through(bench: Bench) -> None:
    """The CLI gets the caller's environment, no colour, what was built, and no mark of a nested run."""
    os.environ.update({"MY_OWN": "1", "CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"})
    fake = bench.fake(keep_env=("NO_COLOR",))
    bench.deliver()
    built = bench.build()
    call = fake.runs[0]
    names = set(call.env_names)
    expect("MY_OWN" in names, "a variable of the caller does not reach the CLI")
    expect(call.env.get("NO_COLOR") == built.env.get("NO_COLOR", "1"), f"NO_COLOR is {call.env.get('NO_COLOR')!r}")
    missing = set(built.env) - names
    expect(not missing, f"variables that were built do not arrive: {sorted(missing)}")
    marks = names & ({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", *built.unset_env} - set(built.env))
    expect(not marks, f"variables that must not arrive do: {sorted(marks)}")


@check(needs.key)
def key_flows_through(bench: Bench) -> None:
    """The CLI's own key reaches it."""
    os.environ.update(dict.fromkeys(bench.case.key_env, "sk-0123456789abcdef"))
    fake = bench.fake()
    bench.deliver()
    missing = set(bench.case.key_env) - set(fake.runs[0].env_names)
    expect(not missing, f"the key does not reach the CLI: {sorted(missing)}")


@check()
def runs_in_an_empty_folder(bench: Bench) -> None:
    """Without a workspace the CLI runs in an empty folder of its own, which is gone afterwards."""
    (bench.folder / "cwd" / "note.txt").write_text("x")
    fake = bench.fake()
    bench.deliver()
    (call,) = fake.runs[:1]
    expect(not call.entries, f"the CLI stands in a folder with {call.entries}")
    expect(not Path(call.cwd).exists(), f"{call.cwd} is left behind")


@check()
def runs_in_the_workspace(bench: Bench) -> None:
    """With a workspace the CLI runs there, and the folder stays as it was."""
    workspace = bench.folder / "my work é"
    workspace.mkdir()
    (workspace / "note.txt").write_text("x")
    fake = bench.fake()
    bench.deliver(workspace=workspace)
    call = fake.runs[0]
    expect(call.cwd == str(workspace), f"the CLI stands in {call.cwd}; the workspace is {workspace}")
    expect(sorted(os.listdir(workspace)) == ["note.txt"], f"the workspace now has {os.listdir(workspace)}")  # noqa: PTH208  names are wanted


@check()
def runs_once(bench: Bench) -> None:
    """One prompt is one run of the CLI."""
    fake = bench.fake()
    bench.deliver()
    expect(len(fake.runs) == 1, f"the CLI was run {len(fake.runs)} times for one prompt")


@check()
def error_of_the_host_is_the_contracts(bench: Bench) -> None:
    """A workspace that is not there is a bad request."""
    fake = bench.fake()
    error = fails(lambda: bench.run(workspace=bench.folder / "nowhere"), "run_prompt()")
    expect(error.kind is FailureKind.BAD_REQUEST, f"reported as {error.kind}; it must be a bad request")
    expect(not fake.runs, "the CLI was started although the workspace is not there")


@check(needs.sample)
def early_exit_is_no_crash(bench: Bench) -> None:
    """A CLI that answers without reading its stdin gives its answer."""
    bench.fake(Reply(bench.stdout(), read_stdin=False))
    answer = bench.run("x" * 100_000)
    expect(answer.text.strip() == ANSWER, f"run_prompt() gave {answer.text!r}")


@check()
def early_failure_is_told(bench: Bench) -> None:
    """A CLI that fails without reading its stdin fails with its own words, not with a broken pipe."""
    bench.fake(Reply(stderr=f"agent: no {_WORD} here\n", exit_code=2, read_stdin=False))
    error = bench.fails("x" * 100_000)
    expect(_WORD in str(error), f"the CLI says why on stderr; the error says {error}")
