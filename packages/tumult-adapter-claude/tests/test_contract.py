"""The whole contract of an adapter, against scripted executables."""

from __future__ import annotations

from tumult_adapter_claude._adapter import ClaudeCodeAdapter
from tumult_adapter_claude._flags import FIRST_LINE
from tumult_agent_cli.testing import AdapterContract, Reply


def _error(words: str, status: int | str = "null") -> str:
    return (
        f'{{"type":"result","subtype":"success","is_error":true,"api_error_status":{status},'
        f'"num_turns":1,"result":"{words}","session_id":"1","total_cost_usd":0}}'
    )


class TestClaudeCode(AdapterContract):
    adapter = ClaudeCodeAdapter
    binary = "claude"
    version = "2.1.332"
    version_output = "2.1.332 (Claude Code)\n"
    auth_args = ("auth", "status", "--json")
    signed_in = '{"loggedIn": true, "authMethod": "claude.ai"}'
    signed_out = Reply('{"loggedIn": false, "authMethod": "none"}', exit_code=1)
    key_env = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    success = (
        '{"type":"result","subtype":"success","is_error":false,"result":"ANSWER","stop_reason":"end_turn",'
        '"session_id":"1","total_cost_usd":0.01,"usage":{"input_tokens":2,"output_tokens":3},'
        '"modelUsage":{"claude-opus-5-5":{"outputTokens":3}},"permission_denials":[]}\n'
    )
    errors = {  # noqa: RUF012  a constant of the contract
        "not signed in": _error("Not logged in · Please run /login"),
        "key rejected": _error("Invalid API key · Fix external API key", 401),
        "no permission": _error("Failed to authenticate. API Error: 403 forbidden", 403),
        "rate limited": _error("API Error: Request rejected (429) · slow down", 429),
        "billing or quota": _error("Credit balance is too low", 400),
        "overloaded": _error("Repeated 529 Overloaded errors", 529),
        "server error": _error("API Error: 500 Internal server error", 500),
        "bad model": _error("There's an issue with the selected model (x). It may not exist", 404),
        "prompt too long": _error("Prompt is too long", 400),
        "network": _error("API Error: Connection refused (ECONNREFUSED)"),
        "cut short": _error("Claude's response exceeded the 128000 output token maximum"),
        "incompatible version": Reply("", stderr="error: unknown option '--tools'\n", exit_code=1),
    }

    def prompt_in(self, stdin: str) -> str:
        assert stdin.startswith(FIRST_LINE)
        return stdin[len(FIRST_LINE) :]
