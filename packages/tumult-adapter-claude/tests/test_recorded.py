"""The parser on what published versions printed, each against the same scripted model server.

A file of ``data`` is named for the version and for what the server, or the person, did.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tumult_adapter_claude._adapter import ClaudeCodeAdapter
from tumult_agent_cli.exceptions import AgentCliError, FailureKind, RateLimited
from tumult_agent_cli.values import RawOutput

DATA = Path(__file__).parent / "data"
VERSIONS = ("2.0.13", "2.0.77", "2.1.120", "2.1.332")

ANSWERS = {
    "text": "Hello from the mock model.",
    "tool": "Hello from the mock model.",
    "badutf8": "caf\ufffd\ufffd\ufffd end",
}

KINDS = {
    "empty": FailureKind.EMPTY,
    "401": FailureKind.KEY_REJECTED,
    "403": FailureKind.NO_PERMISSION,
    "429": FailureKind.RATE_LIMITED,
    "500": FailureKind.SERVER_ERROR,
    "529": FailureKind.OVERLOADED,
    "nomodel": FailureKind.BAD_MODEL,
    "toolong": FailureKind.PROMPT_TOO_LONG,
    "quota": FailureKind.BILLING,
    "refusal": FailureKind.REFUSED,
    "truncated": FailureKind.CUT_SHORT,
    "refused": FailureKind.NETWORK,
    "reset": FailureKind.NETWORK,
    "html": FailureKind.NETWORK,
    "nologin": FailureKind.NOT_SIGNED_IN,
    "badflag": FailureKind.INCOMPATIBLE,
}
# What a version does not tell apart.
EXCEPTIONS = {"2.0.13-html": FailureKind.CRASHED, "2.0.77-html": FailureKind.EMPTY}


def recorded(name: str) -> RawOutput:
    kept: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return RawOutput(**kept)


@pytest.fixture
def adapter() -> ClaudeCodeAdapter:
    return ClaudeCodeAdapter()


def test_every_recording_is_judged_here() -> None:
    judged = {f"{version}-{case}" for version in VERSIONS for case in (*ANSWERS, *KINDS)}
    assert {path.stem for path in DATA.glob("*.json")} == judged


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ANSWERS)
def test_it_reads_an_answer(adapter: ClaudeCodeAdapter, version: str, case: str) -> None:
    answer = adapter.parse_answer(recorded(f"{version}-{case}"))
    assert answer.text == ANSWERS[case]
    assert answer.model is not None
    assert answer.model.startswith("claude-")
    assert (answer.usage.input_tokens or 0) > 1000
    assert answer.usage.output_tokens is not None
    assert answer.usage.cost_usd is not None
    assert answer.session_id


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_version_does_not_tell_is_unknown(adapter: ClaudeCodeAdapter, version: str) -> None:
    stop = adapter.parse_answer(recorded(f"{version}-text")).stop_reason
    assert stop == (None if version.startswith("2.0.") else "end_turn")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", KINDS)
def test_it_tells_failures_apart(adapter: ClaudeCodeAdapter, version: str, case: str) -> None:
    name = f"{version}-{case}"
    with pytest.raises(AgentCliError) as caught:
        adapter.parse_output(recorded(name))
    error = caught.value
    assert error.kind is EXCEPTIONS.get(name, KINDS[case])
    assert 0 < len(error.detail) <= 540
    assert error.hint
    assert adapter.explain_failure(recorded(name)) == error.detail


def test_a_rate_limit_keeps_the_words_about_its_end(adapter: ClaudeCodeAdapter) -> None:
    envelope = {
        "type": "result",
        "is_error": True,
        "result": "Claude usage limit reached. Your limit resets at 3pm (UTC).",
    }
    with pytest.raises(RateLimited) as caught:
        adapter.parse_output(RawOutput(json.dumps(envelope), "", 1))
    assert (caught.value.reset, caught.value.retryable) == ("resets at 3pm (UTC)", True)


def test_an_unknown_flag_is_named_with_the_version_that_has_it(adapter: ClaudeCodeAdapter) -> None:
    with pytest.raises(AgentCliError, match=r"does not know --tools; Claude Code 2\.0\.31 has it"):
        adapter.parse_output(RawOutput("", "error: unknown option '--tools'\n", 1))


# Shapes that no recording has


def envelope(**changes: Any) -> str:
    return json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "yes", **changes})


@pytest.mark.parametrize(
    "stdout",
    [
        envelope(),
        "[" + json.dumps({"type": "system", "subtype": "init"}) + ", " + envelope() + "]",
        json.dumps({"type": "system"}) + "\n\nnoise\n" + json.dumps({"type": "of tomorrow"}) + "\n" + envelope() + "\n",
    ],
    ids=["an object", "a list of events", "a line each"],
)
def test_it_takes_an_envelope_in_every_form(adapter: ClaudeCodeAdapter, stdout: str) -> None:
    answer = adapter.parse_answer(RawOutput(stdout, "", 0))
    assert answer.text == "yes"
    assert (answer.usage.input_tokens, answer.usage.cost_usd, answer.model) == (None, None, None)


def test_a_good_answer_with_a_bad_exit_code_is_an_answer(adapter: ClaudeCodeAdapter) -> None:
    assert adapter.parse_output(RawOutput(envelope(), "", 1)) == "yes"
    assert adapter.parse_output(RawOutput(envelope(), "", None, signal=15)) == "yes"


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"is_error": True, "result": "what is this"}, FailureKind.CRASHED),
        ({"result": " \n"}, FailureKind.EMPTY),
        ({"result": None}, FailureKind.EMPTY),
        ({"result": 7}, FailureKind.EMPTY),
        ({"stop_reason": "refusal"}, FailureKind.REFUSED),
        ({"stop_reason": "max_tokens"}, FailureKind.CUT_SHORT),
        ({"is_error": True, "subtype": "error_max_turns", "result": None, "errors": ["Reached maximum"]}, FailureKind.CUT_SHORT),
        ({"is_error": True, "result": "x", "terminal_reason": "prompt_too_long"}, FailureKind.PROMPT_TOO_LONG),
        ({"is_error": True, "result": None, "errors": ["API Error: 529 Overloaded"]}, FailureKind.OVERLOADED),
    ],
)  # fmt: skip
def test_success_needs_all_of_it(adapter: ClaudeCodeAdapter, changes: dict[str, Any], kind: FailureKind) -> None:
    with pytest.raises(AgentCliError) as caught:
        adapter.parse_output(RawOutput(envelope(**changes), "", 0))
    assert caught.value.kind is kind


def test_output_that_ends_in_the_middle_is_said_with_its_size(adapter: ClaudeCodeAdapter) -> None:
    with pytest.raises(AgentCliError, match="ends in the middle of a JSON value, after 40 bytes") as caught:
        adapter.parse_output(RawOutput(envelope()[:40], "", 0))
    assert caught.value.kind is FailureKind.UNREADABLE


@pytest.mark.parametrize(
    ("stdout", "words"),
    [
        (envelope() + " and more", "other text follows the JSON value in .* bytes of output: and more"),
        ('{"type": "system"}', 'no result in 18 bytes of output: {"type": "system"}'),
        ("words sk-live-" + "0123456789" * 40, r"no result in 414 bytes of output: words \*\*\*"),
    ],
)
def test_output_that_is_whole_and_no_result_is_quoted(adapter: ClaudeCodeAdapter, stdout: str, words: str) -> None:
    with pytest.raises(AgentCliError, match=words) as caught:
        adapter.parse_output(RawOutput(stdout, "", 0))
    assert caught.value.kind is FailureKind.UNREADABLE


def test_a_price_of_400_digits_is_unknown(adapter: ClaudeCodeAdapter) -> None:
    assert adapter.parse_answer(RawOutput(envelope(total_cost_usd=10**400), "", 0)).usage.cost_usd is None


def test_no_output_is_a_failure_also_with_exit_code_0(adapter: ClaudeCodeAdapter) -> None:
    with pytest.raises(AgentCliError, match="no output") as caught:
        adapter.parse_output(RawOutput("", "", 0))
    assert caught.value.kind is FailureKind.EMPTY


def test_tools_that_were_denied_are_a_warning(adapter: ClaudeCodeAdapter) -> None:
    answer = adapter.parse_answer(RawOutput(envelope(permission_denials=[{"tool_name": "Bash"}, {}, 1]), "", 0))
    assert answer.warnings == ("it wanted to use Bash and was not let",)


def test_a_try_with_a_rejected_key_is_hopeless(adapter: ClaudeCodeAdapter) -> None:
    event = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "error_status": 401}
    progress = adapter.parse_progress(json.dumps(event))
    assert progress is not None
    assert (progress.kind, progress.attempt, progress.max_attempts, progress.hopeless) == ("retrying", 1, 10, True)
    with pytest.raises(AgentCliError) as caught:
        adapter.parse_output(RawOutput(json.dumps(event) + "\n", "", None, signal=15, hopeless=True))
    assert caught.value.kind is FailureKind.KEY_REJECTED
