"""The adapter against the whole contract: no real CLI, network or model is needed."""

from __future__ import annotations

from typing import ClassVar

from tumult_adapter_example import ExampleAdapter

from tumult_agent_cli.testing import AdapterContract, Reply


class TestExample(AdapterContract):
    adapter = ExampleAdapter
    binary = "example-agent"
    version_output = "example-agent 0.1.0\n"
    auth_args = ("auth", "status", "--json")
    signed_in = '{"signed_in": true}'
    signed_out = '{"signed_in": false}'
    errors: ClassVar = {
        "bad request": '{"error": "the prompt is blank"}',
        "wrong use": Reply(stderr="usage: example-agent run --json\n", exit_code=2),
    }
