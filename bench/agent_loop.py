"""What a step of the agent loop costs, beside three peers that play the same script, and how a long run grows.

Run: python bench/agent_loop.py [--install] [--steps N] [--rounds N]

The script: N calls of a tool that adds two numbers, then an answer; the model is a list. So what is measured is the
loop alone: asking, checking arguments, calling, recording. Every measurement is a process of its own, all with the
same interpreter; processor time counts, the contestants take turns, and the median of the rounds counts.
``--install`` puts the peers into an environment of their own under build/, which later runs use; without it only the
loop itself is measured.

Goal: at most a fifth of the lightest peer.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / "build" / "agent-loop-peers"
PEERS = ("smolagents", "pydantic-ai-slim", "mini-swe-agent")
SOURCES = [str(ROOT / "packages" / name / "src") for name in ("tumult-intelligence", "tumult-core", "tumult-agent-cli")]
GOAL = 0.2
LONG = 200


# --- the contestants: each gives a function that runs the whole script once ------------------------------------------


def tumult(steps: int) -> Callable[[], Any]:
    from tumult_intelligence.agent_loop import (
        Agent,
        Completion,
        FunctionTool,
        Limits,
        ScriptedProvider,
        ToolCall,
        ToolSpec,
    )

    async def add(a: int, b: int) -> str:
        return str(a + b)

    numbers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    schema = {"type": "object", "properties": numbers, "required": ["a", "b"], "additionalProperties": False}
    script = [Completion.calling(ToolCall("", "add", {"a": n, "b": 1})) for n in range(steps)]
    tool = FunctionTool(ToolSpec("add", "Add two numbers.", schema), add)

    def run() -> Any:
        llm = ScriptedProvider([*script, Completion.answer("done")])
        agent = Agent(llm=llm, tools=[tool], limits=Limits(max_steps=steps + 2), on_event=_ignore)
        outcome = agent.run_sync("go")
        assert outcome.steps == steps + 1
        assert outcome.final_text == "done"
        return outcome

    return run


def smolagents(steps: int) -> Callable[[], Any]:
    from smolagents import LogLevel, Model, Tool, ToolCallingAgent
    from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

    class Add(Tool):  # type: ignore[misc]  # the peers are not installed where this is checked
        name = "add"
        description = "Add two numbers."
        inputs = {  # noqa: RUF012 - as that library wants it
            "a": {"type": "integer", "description": "one"},
            "b": {"type": "integer", "description": "two"},
        }
        output_type = "string"

        def forward(self, a: int, b: int) -> str:
            return str(a + b)

    class Scripted(Model):  # type: ignore[misc]  # as above
        def __init__(self) -> None:
            super().__init__(model_id="scripted")
            self.calls = 0

        def generate(self, *_: Any, **__: Any) -> Any:
            n, self.calls = self.calls, self.calls + 1
            name, arguments = ("add", {"a": n, "b": 1}) if n < steps else ("final_answer", {"answer": "done"})
            function = ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = ChatMessageToolCall(function=function, id=f"call-{n}", type="function")
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    def run() -> Any:
        agent = ToolCallingAgent(tools=[Add()], model=Scripted(), max_steps=steps + 2, verbosity_level=LogLevel.OFF)
        answer = agent.run("go")
        assert answer == "done"
        return answer

    return run


def pydantic_ai(steps: int) -> Callable[[], Any]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits

    def run() -> Any:
        asked = 0

        def answer(_messages: Any, _info: Any) -> Any:
            nonlocal asked
            n, asked = asked, asked + 1
            if n < steps:
                return ModelResponse(parts=[ToolCallPart("add", {"a": n, "b": 1}, tool_call_id=f"call-{n}")])
            return ModelResponse(parts=[TextPart("done")])

        async def add(a: int, b: int) -> str:
            return str(a + b)

        agent = Agent(FunctionModel(answer), tools=[add])
        result = asyncio.run(agent.run("go", usage_limits=UsageLimits(request_limit=steps + 2)))
        assert result.output == "done"
        return result

    return run


def mini_swe_agent(steps: int) -> Callable[[], Any]:
    os.environ["MSWEA_SILENT_STARTUP"] = "1"
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.exceptions import Submitted
    from minisweagent.models.utils.actions_toolcall import format_toolcall_observation_messages

    template = "<returncode>{{output.returncode}}</returncode>\n<output>\n{{output.output}}</output>"

    class Scripted:
        def __init__(self) -> None:
            self.calls = 0

        def query(self, _messages: Any) -> dict[str, Any]:
            n, self.calls = self.calls, self.calls + 1
            action = {"command": f"add {n} 1" if n < steps else "done", "tool_call_id": f"call-{n}"}
            return {"role": "assistant", "content": "", "extra": {"actions": [action], "cost": 0.0}}

        def format_message(self, **message: Any) -> dict[str, Any]:
            return message

        def format_observation_messages(self, message: Any, outputs: Any, template_vars: Any) -> Any:
            return format_toolcall_observation_messages(
                actions=message["extra"]["actions"],
                outputs=outputs,
                observation_template=template,
                template_vars=template_vars,
                multimodal_regex="",
            )

        def get_template_vars(self) -> dict[str, Any]:
            return {}

        serialize = get_template_vars

    class Calculator:
        def execute(self, action: dict[str, str]) -> dict[str, Any]:
            match action["command"].split():
                case ["add", a, b]:
                    return {"output": str(int(a) + int(b)), "returncode": 0}
            raise Submitted({"role": "exit", "content": "done", "extra": {"exit_status": "done"}})

        def get_template_vars(self) -> dict[str, Any]:
            return {}

        serialize = get_template_vars

    def run() -> Any:
        agent = DefaultAgent(Scripted(), Calculator(), system_template="You can add.", instance_template="{{task}}")
        result = agent.run("go")
        assert result["exit_status"] == "done"
        return result

    return run


CONTESTANTS = {
    "tumult": tumult,
    "smolagents": smolagents,
    "pydantic-ai": pydantic_ai,
    "mini-swe-agent": mini_swe_agent,
}


def _ignore(_event: object) -> None:
    """Observe as a caller would."""


# --- measuring -------------------------------------------------------------------------------------------------------


def measure(name: str, steps: int) -> None:
    """Run in a child: warm up, run the script three times, print the best in microseconds a step."""
    run = CONTESTANTS[name](steps)
    run()
    times = []
    for _ in range(3):
        gc.collect()
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    print(json.dumps({"us_per_step": min(times) / (steps + 1) * 1e6}))


def child(python: Path, name: str, steps: int) -> float:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(SOURCES), "MSWEA_SILENT_STARTUP": "1"}
    argv = [str(python), __file__, "--contestant", name, "--steps", str(steps)]
    done = subprocess.run(argv, capture_output=True, text=True, env=environ, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    return float(json.loads(done.stdout.strip().split("\n")[-1])["us_per_step"])


def install() -> None:
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    subprocess.run([python_of(ENVIRONMENT), "-m", "pip", "install", "-q", "attrs", *PEERS], check=True)


def python_of(environment: Path) -> Path:
    return environment / "bin" / "python"


def compare(steps: int, rounds: int) -> bool:
    python = python_of(ENVIRONMENT)
    has_peers = python.exists()
    names = list(CONTESTANTS) if has_peers else ["tumult"]
    if not has_peers:
        python = Path(sys.executable)
        print("The peers are not installed; --install does it.")
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            taken[name].append(child(python, name, steps))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    print(f"{'':16}{'µs a step':>12}{'ratio':>8}   ({steps} steps, median of {rounds})")
    for name, median in sorted(medians.items(), key=lambda item: item[1]):
        print(f"{name:16}{median:12.0f}{median / medians['tumult']:8.1f}")
    lightest = min((median for name, median in medians.items() if name != "tumult"), default=None)
    if lightest is None:
        return True
    share = medians["tumult"] / lightest
    print(f"share of the lightest peer: {share:.3f} (goal: {GOAL})")
    return bool(share <= GOAL)


def growth(rounds: int) -> bool:
    """Compare a step of a long run with one of a short one, and weigh the transcript."""
    python = Path(sys.executable)
    pairs = [[child(python, "tumult", steps) for steps in (LONG // 4, LONG)] for _ in range(rounds)]
    short, long = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = long / short
    sys.path[:0] = SOURCES
    outcome = tumult(LONG)()
    size = sum(len(json.dumps(message.to_json())) + 1 for message in outcome.transcript)
    print(f"{LONG} steps: {len(outcome.transcript)} messages, {size / 1024:.0f} KiB as JSON Lines;")
    print(f"a step costs {ratio:.2f} times one of {LONG // 4} steps (1 is no growth)")
    return bool(ratio < 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install the peers first")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--contestant", choices=list(CONTESTANTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        measure(options.contestant, options.steps)
        return 0
    if options.install:
        install()
    return int(not all([compare(options.steps, options.rounds), growth(options.rounds)]))


if __name__ == "__main__":
    sys.exit(main())
