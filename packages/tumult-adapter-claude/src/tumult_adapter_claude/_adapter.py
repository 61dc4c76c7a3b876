"""How to drive Claude Code: ``claude -p --output-format json`` with the prompt on stdin."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tumult_adapter_claude import _flags
from tumult_adapter_claude._envelope import answer_of, explain, progress_of
from tumult_agent_cli.adapter import AgentCliAdapter
from tumult_agent_cli.exceptions import AgentCliError, BinaryNotFound, FailureKind
from tumult_agent_cli.judging import json_objects, said
from tumult_agent_cli.probing import Found, Question, ask, at_least, find_cli, locate, wants_user_settings
from tumult_agent_cli.values import Capabilities, CliInvocation, CliProbe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_agent_cli.values import Answer, Progress, PromptRequest, RawOutput

_PROBE_ENV = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
_SIGNED_IN_BY = (  # in the order in which they win
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
)


class ClaudeCodeAdapter(AgentCliAdapter):
    """Anthropic's Claude Code."""

    name = "claude-code"
    binary_env_key = "CLAUDE_CODE_BIN"
    install_hint = "npm install -g @anthropic-ai/claude-code, or set CLAUDE_CODE_BIN to the executable"
    auth_hint = "run `claude auth login`, or set ANTHROPIC_API_KEY"
    capabilities = Capabilities(usage=True, cost=True, max_prompt_bytes=10_000_000)
    tested_versions: ClassVar[tuple[str, ...]] = ("2.0.13", "2.0.77", "2.1.120", "2.1.332")
    sample_output = (
        '{"type":"result","subtype":"success","is_error":false,"result":"ANSWER","total_cost_usd":0.01,'
        '"usage":{"input_tokens":2,"output_tokens":3}}'
    )

    def detect(self) -> CliProbe:
        """Find ``claude``, its version and whether it is signed in."""
        found = find_cli("claude", self.binary_env_key, env=_PROBE_ENV, unset_env=_flags.OTHER_KEYS)
        if not found.runnable:
            return CliProbe(installed=False, bin_path=found.path, detail=found.detail)
        logged_in, detail = _sign_in(found)
        words = "; ".join(filter(None, (detail, found.detail)))
        return CliProbe(True, version=found.version, logged_in=logged_in, bin_path=found.path, detail=words)

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        """Say how to run the prompt, without tools, settings, hooks and MCP servers as far as the version allows."""
        found = locate("claude", self.binary_env_key)
        if found.path is None:
            raise BinaryNotFound(self.name, self.install_hint, found.detail)
        gaps = _flags.gaps_of(found.version)
        if gaps and request.require_isolation:
            raise AgentCliError(self.name, FailureKind.NOT_ISOLATED, "; ".join(gaps), hint="update Claude Code")
        build = partial(
            CliInvocation,
            stdin=_flags.FIRST_LINE + request.prompt,
            cwd=request.workspace,
            env=dict(_flags.ENV),
            unset_env=_flags.OTHER_KEYS,
            timeout_s=request.timeout_s,
        )
        flags = _flags.known_to(found.version)
        argv = partial(_arguments, found.path, model=request.model)
        if found.version is not None:
            return build(argv(flags), warnings=gaps)
        lost = tuple(f"its version is unknown: {flag.gap}" for flag in flags if flag.optional and flag.gap)
        needed = [flag for flag in flags if not flag.optional]
        return build(argv(flags), warnings=gaps, fallback=build(argv(needed), warnings=(*gaps, *lost)))

    def parse_output(self, raw: RawOutput) -> str:
        """Give the ``result`` of the envelope."""
        return self.parse_answer(raw).text

    def parse_answer(self, raw: RawOutput) -> Answer:
        """Give the ``result`` of the envelope, with usage, cost, model and session."""
        return answer_of(raw, self.name, self.auth_hint)

    def explain_failure(self, raw: RawOutput) -> str:
        """Explain a failed run in the CLI's own words."""
        return explain(raw)

    def parse_progress(self, line: str) -> Progress | None:
        """Notice the envelope: after it the process may be ended."""
        return progress_of(line)


def _arguments(path: str, flags: Iterable[_flags.Flag], model: str | None) -> tuple[str, ...]:
    chosen = (f"--model={model}",) if model else ()
    return (path, "-p", "--output-format", "json", *(word for flag in flags for word in flag.argv), *chosen)


def _sign_in(found: Found) -> tuple[bool | None, str]:
    """Tell whether it is signed in, and why that is believed; None where it cannot be known without a call."""
    source = next((name for name in _SIGNED_IN_BY if os.environ.get(name, "").strip()), None)
    if source is not None:
        return True, f"{source} is set (not verified)"
    if found.path is None or not at_least(found.version, _flags.AUTH_STATUS_FLOOR):
        return None, "this version cannot tell whether it is signed in"
    raw = ask(Question((found.path, "auth", "status", "--json"), _PROBE_ENV, unset_env=_flags.OTHER_KEYS))
    status = next(json_objects("" if isinstance(raw, str) else raw.stdout), {})
    logged_in, method = status.get("loggedIn"), said(str(status.get("authMethod", "")), 80)
    if not isinstance(logged_in, bool):
        return None, "it did not tell whether it is signed in"
    if method == "api_key_helper" and not wants_user_settings():
        return False, "signed in by apiKeyHelper of the settings, which are not loaded here"
    return logged_in, f"signed in by {method}" if logged_in else "not signed in"
