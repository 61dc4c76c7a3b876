"""The parser on what published versions printed, each against the same scripted model server.

A file of ``data`` is named for the version and for what the server, or the person, did.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tumult_adapter_codex._adapter import CodexAdapter
from tumult_agent_cli.exceptions import AgentCliError, FailureKind, RateLimited
from tumult_agent_cli.values import RawOutput

DATA = Path(__file__).parent / "data"
VERSIONS = ("0.47.0", "0.58.0", "0.114.0", "0.171.0")

ANSWERS = {"text": "Hello from the mock model.", "tool": "Hello from the mock model."}

KINDS = {
    "empty": FailureKind.EMPTY,
    "401": FailureKind.KEY_REJECTED,
    "403": FailureKind.NO_PERMISSION,
    "429": FailureKind.RATE_LIMITED,
    "500": FailureKind.OVERLOADED,  # Codex says "high demand" of both
    "529": FailureKind.OVERLOADED,
    "nomodel": FailureKind.BAD_MODEL,
    "toolong": FailureKind.PROMPT_TOO_LONG,
    "quota": FailureKind.BILLING,
    "refusal": FailureKind.EMPTY,  # and does not tell these apart
    "truncated": FailureKind.CUT_SHORT,
    "refused": FailureKind.NETWORK,
    "reset": FailureKind.NETWORK,
    "html": FailureKind.NETWORK,
    "badutf8": FailureKind.NETWORK,
    "nologin": FailureKind.NOT_SIGNED_IN,
    "badflag": FailureKind.INCOMPATIBLE,
}
# What a version does not tell apart.
EXCEPTIONS = {
    "0.47.0-truncated": FailureKind.NETWORK,
    "0.58.0-truncated": FailureKind.NETWORK,
    "0.47.0-quota": FailureKind.RATE_LIMITED,
    "0.114.0-quota": FailureKind.RATE_LIMITED,
}
HOPELESS = {"0.114.0-401", "0.114.0-403", "0.171.0-401", "0.171.0-403"}


def recorded(name: str) -> RawOutput:
    kept: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return RawOutput(**kept)


@pytest.fixture
def adapter() -> CodexAdapter:
    return CodexAdapter()


def test_every_recording_is_judged_here() -> None:
    judged = {f"{version}-{case}" for version in VERSIONS for case in (*ANSWERS, *KINDS)}
    assert {path.stem for path in DATA.glob("*.json")} == judged


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ANSWERS)
def test_it_reads_an_answer(adapter: CodexAdapter, version: str, case: str) -> None:
    answer = adapter.parse_answer(recorded(f"{version}-{case}"))
    assert answer.text == ANSWERS[case]
    assert (answer.usage.input_tokens or 0) > 1000
    assert answer.usage.output_tokens is not None
    assert (answer.model, answer.usage.cost_usd) == (None, None)
    assert answer.session_id


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", KINDS)
def test_it_tells_failures_apart(adapter: CodexAdapter, version: str, case: str) -> None:
    name = f"{version}-{case}"
    raw = recorded(name)
    with pytest.raises(AgentCliError) as caught:
        adapter.parse_output(raw)
    error = caught.value
    assert error.kind is EXCEPTIONS.get(name, KINDS[case])
    assert 0 < len(error.detail) <= 540
    assert error.hint
    assert adapter.explain_failure(raw) == error.detail
    assert raw.hopeless == (name in HOPELESS)


def test_the_message_of_an_error_body_is_taken_out_of_it(adapter: CodexAdapter) -> None:
    body = json.dumps({"error": {"message": "model x does not exist", "code": 7}})
    with pytest.raises(AgentCliError) as caught:
        adapter.parse_output(RawOutput(json.dumps({"type": "turn.failed", "error": {"message": body}}), "", 1))
    assert (caught.value.detail, caught.value.kind) == ("model x does not exist", FailureKind.BAD_MODEL)


def test_a_plan_that_is_used_up_says_until_when(adapter: CodexAdapter) -> None:
    words = "You've hit your usage limit. Upgrade to Pro, or try again at 5:15 PM."
    with pytest.raises(RateLimited) as caught:
        adapter.parse_output(RawOutput(json.dumps({"type": "turn.failed", "error": {"message": words}}), "", 1))
    assert caught.value.reset == "try again at 5:15 PM"


# Shapes that no recording has


def events(*given: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in given)


def message(text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": text}}


DONE = {"type": "turn.completed"}


def test_the_last_message_is_the_answer(adapter: CodexAdapter) -> None:
    stdout = events({"type": "of tomorrow"}, message("I will look."), {"type": "item.updated"}, message("Done."), DONE)
    answer = adapter.parse_answer(RawOutput("noise\n" + stdout, "", 0))
    assert (answer.text, answer.usage.input_tokens) == ("Done.", None)


def test_a_message_without_the_end_of_its_turn_is_no_answer(adapter: CodexAdapter) -> None:
    with pytest.raises(AgentCliError):
        adapter.parse_output(RawOutput(events(message("half")), "", 0))


def test_an_error_on_the_way_is_no_failure(adapter: CodexAdapter) -> None:
    stdout = events({"type": "error", "message": "Reconnecting... 1/5 (x)"}, message("yes"), DONE)
    assert adapter.parse_output(RawOutput(stdout, "", 0)) == "yes"


def test_an_item_that_is_an_error_is_a_warning(adapter: CodexAdapter) -> None:
    def item(words: str) -> dict[str, Any]:
        return {"type": "item.completed", "item": {"type": "error", "message": words}}

    ours = item("Codex is ignoring 1 unrecognized configuration setting. `features.x` is ignored.")
    answer = adapter.parse_answer(RawOutput(events(ours, item("look\nhere"), message("yes"), DONE), "", 0))
    assert answer.warnings == ("look here",)


def test_a_failed_turn_is_a_failure_also_with_exit_code_0(adapter: CodexAdapter) -> None:
    stdout = events(message("partial"), {"type": "turn.failed", "error": {"message": "no"}})
    with pytest.raises(AgentCliError):
        adapter.parse_output(RawOutput(stdout, "", 0))


def test_a_good_answer_with_a_bad_exit_code_is_an_answer(adapter: CodexAdapter) -> None:
    assert adapter.parse_output(RawOutput(events(message("yes"), DONE), "", 1)) == "yes"


def test_output_that_ends_in_the_middle_is_said_with_its_size(adapter: CodexAdapter) -> None:
    with pytest.raises(AgentCliError, match="ends in the middle of a JSON value, after 30 bytes") as caught:
        adapter.parse_output(RawOutput(events(message("yes"))[:30], "", 0))
    assert caught.value.kind is FailureKind.UNREADABLE


def test_a_prompt_that_is_not_utf_8_is_told_from_a_broken_stream(adapter: CodexAdapter) -> None:
    def kind(stderr: str) -> FailureKind:
        with pytest.raises(AgentCliError) as caught:
            adapter.parse_output(RawOutput("", stderr, 1))
        return caught.value.kind

    assert kind("input is not valid UTF-8 (invalid byte at offset 3)") is FailureKind.BAD_REQUEST
    assert kind("stream did not contain valid UTF-8") is FailureKind.NETWORK


def test_a_retry_counted_with_thousands_of_digits_is_no_fault(adapter: CodexAdapter) -> None:
    line = json.dumps({"type": "error", "message": f"Reconnecting... {'9' * 5000}/5"})
    progress = adapter.parse_progress(line)
    assert progress is not None
    assert progress.attempt is None


def test_no_output_is_a_failure_also_with_exit_code_0(adapter: CodexAdapter) -> None:
    with pytest.raises(AgentCliError, match="no output") as caught:
        adapter.parse_output(RawOutput("", "Reading prompt from stdin...\n", 0))
    assert caught.value.kind is FailureKind.EMPTY


def test_a_home_that_cannot_be_written_is_explained(adapter: CodexAdapter) -> None:
    with pytest.raises(AgentCliError) as caught:
        adapter.parse_output(RawOutput("", "Error: Permission denied (os error 13)\n", 1))
    assert "HOME" in caught.value.hint


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Reconnecting... 2/5 (unexpected status 500)", ("retrying", 2, 5, False, False)),
        ("Reconnecting... 1/5 (unexpected status 401 Unauthorized: no)", ("retrying", 1, 5, True, False)),
        ("Re-connecting... 3/5", ("retrying", 3, 5, False, False)),
        ("Reconnecting... waiting for network", ("retrying", None, None, False, True)),
    ],
)
def test_retries_are_progress(adapter: CodexAdapter, words: str, expected: tuple[object, ...]) -> None:
    progress = adapter.parse_progress(json.dumps({"type": "error", "message": words}))
    assert progress is not None
    found = (progress.kind, progress.attempt, progress.max_attempts, progress.hopeless, progress.stuck)
    assert found == expected


def test_tools_are_progress(adapter: CodexAdapter) -> None:
    progress = adapter.parse_progress(
        json.dumps({"type": "item.started", "item": {"type": "command_execution", "command": "ls\n-l"}})
    )
    assert progress is not None
    assert (progress.kind, progress.message) == ("tool", "ls -l")
