"""What is sent, to which version, and what is known of the sign-in; against scripted executables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tumult_adapter_codex import _flags
from tumult_adapter_codex._adapter import CodexAdapter
from tumult_agent_cli import AdapterRegistry, run_prompt
from tumult_agent_cli._doctor import diagnose
from tumult_agent_cli._overview import survey
from tumult_agent_cli.exceptions import AgentCliError, FailureKind
from tumult_agent_cli.testing import FakeCli, Reply
from tumult_agent_cli.values import CliInvocation, CliProbe, PromptRequest
from tumult_agent_cli.vendor_keys import VENDOR_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Install = Callable[..., FakeCli]

FLOORED = {"--ephemeral", "--ignore-user-config", "--ignore-rules"}
NEWEST = CodexAdapter.tested_versions[-1]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a scripted Codex of a version."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("CODEX_API_KEY", "OPENAI_API_KEY", "TUMULT_AGENT_USER_SETTINGS"):
        monkeypatch.delenv(name, raising=False)

    def make(version: str = f"codex-cli {NEWEST}", **rest: object) -> FakeCli:
        fake = FakeCli(tmp_path / "bin", "codex", version=version, auth_args=("login", "status"), **rest)  # type: ignore[arg-type]
        monkeypatch.setenv("CODEX_BIN", str(fake.path))
        return fake

    return make


def build(**request: object) -> CliInvocation:
    adapter = CodexAdapter()
    adapter.detect()
    return adapter.build_invocation(PromptRequest("hello", **request))  # type: ignore[arg-type]


def test_it_is_found_by_its_name() -> None:
    assert isinstance(AdapterRegistry.builtin().get("codex"), CodexAdapter)


def test_the_newest_version_gets_everything(install: Install) -> None:
    install()
    built = build(model="gpt-x", require_isolation=True)
    assert built.argv[1:3] == ("exec", "--json")
    assert built.argv[-1] == "-"
    assert FLOORED | {"--skip-git-repo-check", "--sandbox=read-only", "--model=gpt-x"} <= set(built.argv)
    assert {f"features.{name}=false" for name in ("shell_tool", "apps", "hooks", "multi_agent")} <= set(built.argv)
    assert (built.stdin, built.warnings, built.fallback) == ("hello", (), None)


@pytest.mark.parametrize(
    ("version", "missing"),
    [
        ("0.122.0", set()),
        ("0.121.0", {"--ignore-user-config", "--ignore-rules"}),
        ("0.99.0", {"--ignore-user-config", "--ignore-rules"}),
        ("0.98.0", FLOORED),
        ("0.46.0", FLOORED),
    ],
)
def test_an_older_version_gets_what_it_knows_and_the_rest_is_said(
    install: Install, version: str, missing: set[str]
) -> None:
    install(f"codex-cli {version}")
    built = build()
    assert FLOORED - set(built.argv) == missing
    shell = version == "0.46.0"
    assert len(built.warnings) == len(missing) + shell
    assert all(warning.startswith(f"Codex {version} is older than ") for warning in built.warnings)
    if built.warnings:
        with pytest.raises(AgentCliError, match=r"older than 0\.") as caught:
            build(require_isolation=True)
        assert caught.value.kind is FailureKind.NOT_ISOLATED


def test_warnings_come_with_the_answer(install: Install) -> None:
    install("codex-cli 0.46.0", answer=CodexAdapter.sample_output, auth=Reply(stderr="Logged in using ChatGPT"))
    answer = run_prompt(CodexAdapter(), PromptRequest("hello"))
    assert len(answer.warnings) == 4
    assert answer.cli_version == "0.46.0"


def test_a_version_that_is_too_old_is_said_with_the_command_that_helps(install: Install) -> None:
    install("codex-cli 0.42.0")
    with pytest.raises(AgentCliError, match=r"0\.42\.0 is too old; 0\.44\.0 .* \(npm install") as caught:
        build()
    assert caught.value.kind is FailureKind.INCOMPATIBLE


def test_a_version_that_is_too_old_is_no_agent_to_the_overview_and_the_doctor(install: Install) -> None:
    fake = install("codex-cli 0.20.0")
    said = "Codex 0.20.0 is too old; 0.44.0 is the oldest that works here"
    assert CodexAdapter().detect() == CliProbe(False, version="0.20.0", bin_path=str(fake.path), detail=said)
    registry = AdapterRegistry()
    registry.register(CodexAdapter())
    (row,) = survey(registry, probe=True)
    assert row.detail == f"{said}: {CodexAdapter.install_hint}"
    assert said in {finding.problem for finding in diagnose(registry)}


def test_an_unknown_version_gets_everything_and_one_more_try_without_what_is_optional(install: Install) -> None:
    old = Reply(stderr="error: unexpected argument '--ephemeral' found\n", exit_code=2)
    fake = install("no number", answer=[old, CodexAdapter.sample_output], auth=Reply(stderr="Logged in using ChatGPT"))
    answer = run_prompt(CodexAdapter(), PromptRequest("hello"))
    first, second = fake.runs
    assert set(first.argv) >= FLOORED
    assert FLOORED - set(second.argv) == {"--ephemeral"}
    assert set(first.argv) - set(second.argv) == {"--ephemeral"}
    assert any("keeps a transcript" in warning for warning in answer.warnings)


def test_safety_is_never_dropped_by_another_try(install: Install) -> None:
    old = Reply(stderr="error: unexpected argument '--ignore-user-config' found\n", exit_code=2)
    fake = install("no number", answer=old, auth=Reply(stderr="Logged in using ChatGPT"))
    with pytest.raises(AgentCliError, match=r"does not know --ignore-user-config; Codex 0\.122\.0 has it"):
        run_prompt(CodexAdapter(), PromptRequest("hello"))
    assert all("--ignore-user-config" in run.argv for run in fake.runs)


def test_an_unknown_version_is_not_taken_for_isolated(install: Install) -> None:
    install("no number")
    with pytest.raises(AgentCliError, match="unknown") as caught:
        build(require_isolation=True)
    assert caught.value.kind is FailureKind.NOT_ISOLATED


def test_the_person_can_have_the_settings_loaded(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install()
    monkeypatch.setenv("TUMULT_AGENT_USER_SETTINGS", "1")
    built = build()
    assert not {"--ignore-user-config", "--ignore-rules", _flags.NO_SERVERS} & set(built.argv)
    assert "--ephemeral" in built.argv
    assert len(built.warnings) == 2
    with pytest.raises(AgentCliError):
        build(require_isolation=True)


def test_keys_of_other_vendors_are_passed_on_neither_in_a_run_nor_in_a_probe(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = install(answer=CodexAdapter.sample_output)
    own = {"CODEX_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"}
    foreign = {*VENDOR_KEYS - own, "CLAUDECODE"}
    for name in foreign:
        monkeypatch.setenv(name, "a-key-of-somebody")
    CodexAdapter().detect()  # asks for the sign-in, as there is no key
    for name in own:
        monkeypatch.setenv(name, "a-key-of-its-own")
    run_prompt(CodexAdapter(), PromptRequest("hello"))
    assert [call.kind for call in fake.calls] == ["version", "auth", "run"]
    assert own | {"PATH"} <= set(fake.runs[0].env_names)
    assert not any(foreign & set(call.env_names) for call in fake.calls)


@pytest.mark.parametrize(
    ("auth", "logged_in", "detail"),
    [
        (Reply(stderr="Logged in using ChatGPT\n"), True, "Logged in using ChatGPT"),
        (Reply(stderr="API key configured - sk-dummy***67890\n"), True, "API key configured - ***"),
        (Reply(stderr="Not logged in\n", exit_code=1), False, "Not logged in"),
        (Reply(stderr="error: no such command\n", exit_code=2), None, "error: no such command"),
        (Reply(stdout="something new\n"), None, "something new"),
    ],
)
def test_the_sign_in_is_what_the_cli_says(install: Install, auth: Reply, logged_in: bool | None, detail: str) -> None:
    install(auth=auth)
    probe = CodexAdapter().detect()
    assert (probe.logged_in, probe.detail) == (logged_in, detail)


def test_a_key_of_codex_counts_without_asking(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install(auth=Reply(stderr="Not logged in\n", exit_code=1))
    monkeypatch.setenv("CODEX_API_KEY", "sk-x")
    probe = CodexAdapter().detect()
    assert (probe.logged_in, probe.detail) == (True, "CODEX_API_KEY is set (not verified)")
    assert [call.kind for call in fake.calls] == ["version"]


def test_a_key_of_openai_counts_and_the_whole_truth_is_said(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install(auth=Reply(stderr="Not logged in\n", exit_code=1))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    probe = CodexAdapter().detect()
    assert probe.logged_in is True
    assert "which `codex exec` itself does not read" in probe.detail


def test_an_empty_key_is_none(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install(auth=Reply(stderr="Not logged in\n", exit_code=1))
    for name in ("CODEX_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, " ")
    assert CodexAdapter().detect().logged_in is False
