"""How to drive Codex: ``codex exec --json --ephemeral … -`` with the prompt on stdin."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tumult_adapter_codex import _flags
from tumult_adapter_codex._events import answer_of, explain, progress_of
from tumult_agent_cli.adapter import AgentCliAdapter
from tumult_agent_cli.exceptions import AgentCliError, BinaryNotFound, FailureKind
from tumult_agent_cli.judging import last_words, said
from tumult_agent_cli.probing import Found, Question, ask, at_least, find_cli, locate
from tumult_agent_cli.values import Capabilities, CliInvocation, CliProbe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_agent_cli.values import Answer, Progress, PromptRequest, RawOutput


class CodexAdapter(AgentCliAdapter):
    """OpenAI's Codex."""

    name = "codex"
    binary_env_key = "CODEX_BIN"
    install_hint = "npm install -g @openai/codex, or set CODEX_BIN to the executable"
    auth_hint = "run `codex login`, or set CODEX_API_KEY"
    capabilities = Capabilities(streaming=True, usage=True, max_prompt_bytes=4 * 1_048_576, max_prompt_chars=1_048_576)
    tested_versions: ClassVar[tuple[str, ...]] = ("0.47.0", "0.58.0", "0.114.0", "0.171.0")
    sample_output = (
        '{"type":"thread.started","thread_id":"1"}\n{"type":"turn.started"}\n'
        '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"ANSWER"}}\n'
        '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}\n'
    )

    def detect(self) -> CliProbe:
        """Find ``codex``, its version and whether it is signed in."""
        found = find_cli("codex", self.binary_env_key, unset_env=_flags.OTHER_KEYS)
        if not found.runnable:
            return CliProbe(installed=False, bin_path=found.path, detail=found.detail)
        if found.version is not None and not at_least(found.version, _flags.OLDEST):
            return CliProbe(
                installed=False, version=found.version, bin_path=found.path, detail=_flags.too_old(found.version)
            )
        logged_in, detail = _sign_in(found)
        words = "; ".join(filter(None, (detail, found.detail)))
        return CliProbe(True, version=found.version, logged_in=logged_in, bin_path=found.path, detail=words)

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        """Say how to run the prompt, without a shell, tools and settings as far as the version allows."""
        found = locate("codex", self.binary_env_key)
        if found.path is None:
            raise BinaryNotFound(self.name, self.install_hint, found.detail)
        if found.version is not None and not at_least(found.version, _flags.OLDEST):
            raise AgentCliError(
                self.name, FailureKind.INCOMPATIBLE, _flags.too_old(found.version), hint=self.install_hint
            )
        gaps = _flags.gaps_of(found.version)
        if gaps and request.require_isolation:
            raise AgentCliError(self.name, FailureKind.NOT_ISOLATED, "; ".join(gaps), hint="update Codex")
        build = partial(
            CliInvocation,
            stdin=request.prompt,
            cwd=request.workspace,
            unset_env=_flags.OTHER_KEYS,
            timeout_s=request.timeout_s,
            idle_timeout_s=request.idle_timeout_s,
        )
        flags = _flags.known_to(found.version)
        argv = partial(_arguments, found.path, model=request.model)
        if found.version is not None:
            return build(argv(flags), warnings=gaps)
        lost = tuple(f"its version is unknown: {flag.gap}" for flag in flags if flag.optional)
        needed = [flag for flag in flags if not flag.optional]
        return build(argv(flags), warnings=gaps, fallback=build(argv(needed), warnings=(*gaps, *lost)))

    def parse_output(self, raw: RawOutput) -> str:
        """Give the last message of the turn."""
        return self.parse_answer(raw).text

    def parse_answer(self, raw: RawOutput) -> Answer:
        """Give the last message of the turn, with usage and thread."""
        return answer_of(raw, self.name, self.auth_hint)

    def explain_failure(self, raw: RawOutput) -> str:
        """Explain a failed run in the CLI's own words."""
        return explain(raw)

    def parse_progress(self, line: str) -> Progress | None:
        """Read an event."""
        return progress_of(line)


def _arguments(path: str, flags: Iterable[_flags.Flag], model: str | None) -> tuple[str, ...]:
    asked = (word for flag in flags for word in flag.argv)
    settings = (word for setting in _flags.settings() for word in ("-c", setting))
    chosen = (f"--model={model}",) if model else ()
    return (path, "exec", "--json", *asked, "--skip-git-repo-check", "--sandbox=read-only", *settings, *chosen, "-")


def _sign_in(found: Found) -> tuple[bool | None, str]:
    """Tell whether it is signed in, and why that is believed; None where it cannot be known without a call."""
    if os.environ.get("CODEX_API_KEY", "").strip():
        return True, "CODEX_API_KEY is set (not verified)"
    raw = ask(Question((found.path or "codex", "login", "status"), unset_env=_flags.OTHER_KEYS))
    if isinstance(raw, str) or raw.timed_out:
        return _by_key(None, "it did not tell whether it is signed in")
    words = said(last_words(raw.stderr) or last_words(raw.stdout), 200)
    if raw.exit_code == 0 and re.search("logged in|api key|access token", words, re.IGNORECASE):
        return True, words
    return _by_key(False if re.search("not logged in", words, re.IGNORECASE) else None, words)


def _by_key(logged_in: bool | None, words: str) -> tuple[bool | None, str]:
    if os.environ.get("OPENAI_API_KEY", "").strip():
        return True, f"OPENAI_API_KEY is set, which `codex exec` itself does not read: {words}"
    return logged_in, words
