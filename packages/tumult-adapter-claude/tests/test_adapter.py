"""What is sent, to which version, and what is known of the sign-in; against scripted executables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tumult_adapter_claude import _flags
from tumult_adapter_claude._adapter import ClaudeCodeAdapter
from tumult_agent_cli import AdapterRegistry, run_prompt
from tumult_agent_cli.exceptions import AgentCliError, FailureKind
from tumult_agent_cli.testing import FakeCli, Reply
from tumult_agent_cli.values import CliInvocation, PromptRequest
from tumult_agent_cli.vendor_keys import VENDOR_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Install = Callable[..., FakeCli]

FLOORED = {flag.argv[0] for flag in _flags.FLAGS}
NEWEST = ClaudeCodeAdapter.tested_versions[-1]
SIGNED_IN = '{"loggedIn": true, "authMethod": "claude.ai"}'


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a scripted Claude Code of a version."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "TUMULT_AGENT_USER_SETTINGS"):
        monkeypatch.delenv(name, raising=False)

    def make(version: str = f"{NEWEST} (Claude Code)", auth: str | Reply = SIGNED_IN, **rest: object) -> FakeCli:
        args = ("auth", "status", "--json")
        fake = FakeCli(tmp_path / "bin", "claude", version=version, auth=auth, auth_args=args, **rest)  # type: ignore[arg-type]
        monkeypatch.setenv("CLAUDE_CODE_BIN", str(fake.path))
        return fake

    return make


def build(**request: object) -> CliInvocation:
    adapter = ClaudeCodeAdapter()
    adapter.detect()
    return adapter.build_invocation(PromptRequest("hello", **request))  # type: ignore[arg-type]


def test_it_is_found_by_its_name() -> None:
    assert isinstance(AdapterRegistry.builtin().get("claude-code"), ClaudeCodeAdapter)


def test_the_newest_version_gets_everything(install: Install) -> None:
    install()
    built = build(model="opus", require_isolation=True)
    assert built.argv[1:4] == ("-p", "--output-format", "json")
    assert FLOORED | {"--model=opus"} <= set(built.argv)
    assert built.argv[built.argv.index("--tools") + 1] == ""
    assert built.argv[built.argv.index("--setting-sources") + 1] == ""
    assert (built.warnings, built.fallback) == ((), None)


def test_nothing_of_the_prompt_can_be_a_command_or_a_file(install: Install) -> None:
    install()
    built = build()
    first, blank, prompt = built.stdin.split("\n")
    assert not first.startswith(("/", "!", "#", "@"))
    assert (blank, prompt) == ("", "hello")
    assert built.env["CLAUDE_CODE_DISABLE_ATTACHMENTS"] == "1"


def test_the_retries_of_the_cli_are_bounded(install: Install) -> None:
    install()
    assert build().env["CLAUDE_CODE_MAX_RETRIES"] == "2"


@pytest.mark.parametrize(
    ("version", "missing", "gaps"),
    [
        ("2.1.248", set(), 0),
        ("2.1.247", {"--restricted"}, 0),
        ("2.0.77", {"--restricted"}, 0),
        ("2.0.60", {"--restricted", "--no-session-persistence"}, 1),
        ("2.0.31", {"--restricted", "--no-session-persistence", "--disable-slash-commands"}, 1),
        ("2.0.13", {"--restricted", "--no-session-persistence", "--disable-slash-commands", "--tools"}, 2),
        ("1.0.99", FLOORED, 4),
    ],
)
def test_an_older_version_gets_what_it_knows_and_the_rest_is_said(
    install: Install, version: str, missing: set[str], gaps: int
) -> None:
    install(f"{version} (Claude Code)")
    built = build()
    assert FLOORED - set(built.argv) == missing
    assert len(built.warnings) == gaps
    assert all(warning.startswith(f"Claude Code {version} is older than ") for warning in built.warnings)
    if gaps:
        with pytest.raises(AgentCliError, match=r"older than 2\.") as caught:
            build(require_isolation=True)
        assert caught.value.kind is FailureKind.NOT_ISOLATED


def test_warnings_come_with_the_answer(install: Install) -> None:
    install("2.0.13 (Claude Code)", answer=ClaudeCodeAdapter.sample_output)
    answer = run_prompt(ClaudeCodeAdapter(), PromptRequest("hello"))
    assert len(answer.warnings) == 2
    assert answer.cli_version == "2.0.13"


def test_an_unknown_version_gets_everything_and_one_more_try_without_what_is_optional(install: Install) -> None:
    old = Reply(stderr="error: unknown option '--restricted'\n", exit_code=1)
    fake = install("no number", answer=[old, ClaudeCodeAdapter.sample_output])
    answer = run_prompt(ClaudeCodeAdapter(), PromptRequest("hello"))
    first, second = fake.runs
    assert set(first.argv) >= FLOORED
    assert FLOORED - set(second.argv) == {"--restricted", "--no-session-persistence", "--disable-slash-commands"}
    assert any("keeps a transcript" in warning for warning in answer.warnings)


def test_safety_is_never_dropped_by_another_try(install: Install) -> None:
    old = Reply(stderr="error: unknown option '--tools'\n", exit_code=1)
    fake = install("no number", answer=old)
    with pytest.raises(AgentCliError, match=r"does not know --tools; Claude Code 2\.0\.31 has it"):
        run_prompt(ClaudeCodeAdapter(), PromptRequest("hello"))
    assert len(fake.runs) == 2
    assert all({"--tools", "--setting-sources", "--strict-mcp-config"} <= set(run.argv) for run in fake.runs)


def test_the_person_can_have_the_settings_loaded(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install()
    monkeypatch.setenv("TUMULT_AGENT_USER_SETTINGS", "1")
    built = build()
    assert FLOORED - set(built.argv) == {"--setting-sources", "--strict-mcp-config", "--restricted"}
    assert len(built.warnings) == 2
    with pytest.raises(AgentCliError):
        build(require_isolation=True)


def test_keys_of_other_vendors_are_passed_on_neither_in_a_run_nor_in_a_probe(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = install(answer=ClaudeCodeAdapter.sample_output)
    own = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_FOUNDRY_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}
    foreign = {*VENDOR_KEYS - own, "CLAUDECODE"}
    for name in foreign:
        monkeypatch.setenv(name, "a-key-of-somebody")
    ClaudeCodeAdapter().detect()  # asks for the sign-in, as there is no key
    for name in own:
        monkeypatch.setenv(name, "a-key-of-its-own")
    run_prompt(ClaudeCodeAdapter(), PromptRequest("hello"))
    assert [call.kind for call in fake.calls] == ["version", "auth", "run"]
    assert own | {"PATH"} <= set(fake.runs[0].env_names)
    assert not any(foreign & set(call.env_names) for call in fake.calls)


@pytest.mark.parametrize(
    ("auth", "logged_in", "detail"),
    [
        (SIGNED_IN, True, "signed in by claude.ai"),
        (Reply('{"loggedIn": false, "authMethod": "none"}', exit_code=1), False, "not signed in"),
        ('{"loggedIn": true, "authMethod": "api_key_helper"}', False, "apiKeyHelper"),
        ("something new", None, "did not tell"),
        ('{"loggedIn": "yes"}', None, "did not tell"),
    ],
)
def test_the_sign_in_is_what_the_cli_says(
    install: Install, auth: str | Reply, logged_in: bool | None, detail: str
) -> None:
    install(auth=auth)
    probe = ClaudeCodeAdapter().detect()
    assert probe.logged_in is logged_in
    assert detail in probe.detail


def test_the_helper_of_the_settings_counts_where_they_are_loaded(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(auth='{"loggedIn": true, "authMethod": "api_key_helper"}')
    monkeypatch.setenv("TUMULT_AGENT_USER_SETTINGS", "1")
    assert ClaudeCodeAdapter().detect().logged_in is True


@pytest.mark.parametrize("version", ["2.1.39 (Claude Code)", "2.0.13 (Claude Code)", "no number"])
def test_a_version_that_would_take_the_question_for_a_prompt_is_not_asked(install: Install, version: str) -> None:
    fake = install(version)
    assert ClaudeCodeAdapter().detect().logged_in is None
    assert [call.kind for call in fake.calls] == ["version"]


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])
def test_a_key_counts_without_asking(install: Install, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    fake = install(auth=Reply('{"loggedIn": false}', exit_code=1))
    monkeypatch.setenv(name, "sk-x")
    probe = ClaudeCodeAdapter().detect()
    assert (probe.logged_in, probe.detail) == (True, f"{name} is set (not verified)")
    assert [call.kind for call in fake.calls] == ["version"]


def test_an_empty_key_is_none(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install(auth=Reply('{"loggedIn": false, "authMethod": "none"}', exit_code=1))
    monkeypatch.setenv("ANTHROPIC_API_KEY", " ")
    assert ClaudeCodeAdapter().detect().logged_in is False
