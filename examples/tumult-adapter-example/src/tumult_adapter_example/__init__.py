"""Drive ``example-agent`` from Tumult: the adapter, and the hook by which Tumult finds it."""

from __future__ import annotations

from typing import Any

from tumult_agent_cli import AgentCliAdapter, Answer, BinaryNotFound, Capabilities, FailureKind, OutputParse, hookimpl
from tumult_agent_cli.judging import ended_how, failure, json_value, last_words, said, text_of, whole_number
from tumult_agent_cli.probing import Question, ask, find_cli, locate
from tumult_agent_cli.values import CliInvocation, CliProbe, PromptRequest, RawOutput, Usage

PROGRAM = "example-agent"


class ExampleAdapter(AgentCliAdapter):
    """``example-agent run --json`` reads the prompt on stdin and prints one JSON object."""

    name = "example"
    binary_env_key = "EXAMPLE_AGENT_BIN"
    install_hint = "it comes with tumult-adapter-example: put the folder of its scripts on PATH"
    auth_hint = "unset EXAMPLE_AGENT_SIGNED_OUT"
    capabilities = Capabilities(usage=True)
    tested_versions = ("0.1.0",)
    sample_output = '{"text": "ANSWER", "model": "example-1", "usage": {"input_tokens": 9, "output_tokens": 1}}\n'

    def detect(self) -> CliProbe:
        """Find the CLI, its version and whether it is signed in."""
        found = find_cli(PROGRAM, self.binary_env_key)
        if found.path is None or not found.runnable:
            return CliProbe(installed=False, bin_path=found.path, detail=found.detail)
        raw = ask(Question((found.path, "auth", "status", "--json")))
        state = json_value("" if isinstance(raw, str) else raw.stdout)
        signed_in = state.get("signed_in") if isinstance(state, dict) else None
        logged_in = signed_in if isinstance(signed_in, bool) else None
        return CliProbe(True, version=found.version, logged_in=logged_in, bin_path=found.path, detail=found.detail)

    def build_invocation(self, request: PromptRequest) -> CliInvocation:
        """Say how to run the prompt."""
        found = locate(PROGRAM, self.binary_env_key)
        if found.path is None:
            raise BinaryNotFound(self.name, self.install_hint, found.detail)
        # One argument, not two: a model that is called --help stays a model.
        model = (f"--model={request.model}",) if request.model else ()
        argv = (found.path, "run", "--json", *model)
        return CliInvocation(argv, request.prompt, cwd=request.workspace, timeout_s=request.timeout_s)

    def parse_output(self, raw: RawOutput) -> str:
        """Give the answer alone."""
        return self.parse_answer(raw).text

    def parse_answer(self, raw: RawOutput) -> Answer:
        """Give the answer with its model and its tokens."""
        value: Any = json_value(raw.stdout)
        if not isinstance(value, dict):
            raise OutputParse(self.name, f"no JSON object in: {self.explain_failure(raw)}")
        if error := value.get("error"):
            raise failure(self.name, FailureKind.BAD_REQUEST, str(error))
        text = text_of(value.get("text"))
        if not text.strip():
            raise failure(self.name, FailureKind.EMPTY, "the answer is blank")
        said_usage = value.get("usage")
        counts: dict[str, Any] = said_usage if isinstance(said_usage, dict) else {}
        usage = Usage(whole_number(counts.get("input_tokens")), whole_number(counts.get("output_tokens")))
        return Answer(text, model=text_of(value.get("model")) or None, usage=usage)

    def explain_failure(self, raw: RawOutput) -> str:
        """Give the CLI's own last words, or how it ended."""
        return said(last_words(raw.stderr) or last_words(raw.stdout)) or ended_how(raw)


@hookimpl
def tumult_agent_adapters() -> list[AgentCliAdapter]:
    """Give the adapter to Tumult."""
    return [ExampleAdapter()]
