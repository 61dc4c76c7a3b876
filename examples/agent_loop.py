"""The agent loop with a model that plays a script: it adds two numbers and prints what happens.

Run it with: python examples/agent_loop.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from attrs import asdict

from tumult_intelligence.agent_loop import (
    Agent,
    Completion,
    Event,
    Finished,
    FunctionTool,
    ScriptedProvider,
    ToolCall,
    ToolSpec,
)


async def add(a: float, b: float) -> str:
    return str(a + b)


ADD = FunctionTool(
    ToolSpec(
        name="add",
        description="Add two numbers.",
        parameters={
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        read_only=True,
    ),
    add,
)
SCRIPT = [
    Completion.calling(ToolCall("", "add", {"a": 2, "b": 3}), text="I add them."),
    Completion.answer("2 + 3 = 5"),
]


def show(event: Event) -> None:
    if isinstance(event, Finished):
        outcome = event.outcome
        print(f"Finished: {outcome.finish}, {outcome.steps} steps, {len(outcome.transcript)} messages")
        return
    facts: dict[str, Any] = asdict(event, filter=lambda field, _: field.name not in {"seconds", "usage", "total"})
    print(f"{type(event).__name__}: {facts}")


async def main() -> None:
    agent = Agent(llm=ScriptedProvider(SCRIPT), tools=[ADD], system_prompt="You can add.", on_event=show)
    outcome = await agent.run("What is 2 + 3?")
    print(outcome.final_text)


if __name__ == "__main__":
    asyncio.run(main())
