"""The whole contract of an adapter, against scripted executables."""

from __future__ import annotations

import json

from tumult_adapter_codex._adapter import CodexAdapter
from tumult_agent_cli.testing import AdapterContract, Reply

_START = '{"type":"thread.started","thread_id":"1"}\n{"type":"turn.started"}\n'


def _failed(words: str) -> str:
    return _START + json.dumps({"type": "turn.failed", "error": {"message": words}}) + "\n"


class TestCodex(AdapterContract):
    adapter = CodexAdapter
    binary = "codex"
    version = "0.171.0"
    version_output = "codex-cli 0.171.0\n"
    auth_args = ("login", "status")
    signed_in = Reply("", stderr="Logged in using ChatGPT\n")
    signed_out = Reply("", stderr="Not logged in\n", exit_code=1)
    signed_in_by_exit_code = True
    key_env = ("CODEX_API_KEY", "OPENAI_API_KEY")
    errors = {  # noqa: RUF012  a constant of the contract
        "not signed in": _failed("Missing environment variable: `CODEX_API_KEY`."),
        "key rejected": _failed("unexpected status 401 Unauthorized: Incorrect API key provided, url: http://x"),
        "no permission": _failed("unexpected status 403 Forbidden: no, url: http://x"),
        "rate limited": _failed("exceeded retry limit, last status: 429 Too Many Requests"),
        "billing or quota": _failed("Quota exceeded. Check your plan and billing details."),
        "overloaded": _failed("We're currently experiencing high demand, which may cause temporary errors."),
        "bad model": _failed("The model `x` does not exist or you do not have access to it."),
        "prompt too long": _failed("Codex ran out of room in the model's context window."),
        "network": _failed("Connection failed: error sending request"),
        "cut short": _failed("Incomplete response returned, reason: max_output_tokens"),
        "incompatible version": Reply("", stderr="error: unexpected argument '--json' found\n", exit_code=2),
    }
