"""Carry out one call: whatever happens becomes a result that the model sees."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tumult_intelligence.agent_loop._arguments import problems
from tumult_intelligence.agent_loop._tools import ToolError

if TYPE_CHECKING:
    from tumult_intelligence.agent_loop._messages import ToolCall
    from tumult_intelligence.agent_loop._tools import Tool, ToolRegistry


@frozen
class Result:
    """What came of a call."""

    text: str
    is_error: bool = False


async def execute(call: ToolCall, tools: ToolRegistry, max_chars: int) -> Result:
    """Run the tool that ``call`` names; raises nothing but the cancellation of the run itself."""
    tool = tools.get(call.name)
    result = await _checked(call, tool) if tool else Result(tools.unknown(call.name), is_error=True)
    return Result(cap(result.text, max_chars), result.is_error)


async def _checked(call: ToolCall, tool: Tool) -> Result:
    if not isinstance(call.arguments, dict):
        return Result(f"the arguments must be a JSON object, not {type(call.arguments).__name__}", is_error=True)
    wrong = list(problems(call.arguments, tool.spec.parameters))
    if wrong:
        return Result(f"invalid arguments for {call.name}: " + "; ".join(wrong), is_error=True)
    return await _run(call, tool)


async def _run(call: ToolCall, tool: Tool) -> Result:
    deadline = asyncio.timeout(tool.spec.timeout_s)
    try:
        async with deadline:
            # A copy, so that a tool that changes its arguments does not change the transcript.
            text: object = await tool.execute(_copied(call.arguments))
    except ToolError as error:
        return Result(str(error) or "the tool gave no reason", is_error=True)
    except asyncio.CancelledError:
        if is_being_cancelled():
            raise
        return Result(f"{call.name} was cancelled from within", is_error=True)
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a tool's crash is the model's to see
        if deadline.expired():
            return Result(f"{call.name} did not end within {tool.spec.timeout_s:g} s", is_error=True)
        return Result(f"{call.name} failed: {type(error).__name__}: {error}", is_error=True)
    if not isinstance(text, str):
        return Result(f"{call.name} gave {type(text).__name__}, not text", is_error=True)
    return Result(text)


def _copied(value: Any) -> Any:
    """Copy JSON data; ``copy.deepcopy`` takes several times as long."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def is_being_cancelled() -> bool:
    """Tell whether somebody asked for the end of the task that runs here, rather than of something that it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def cap(text: str, limit: int) -> str:
    """Keep head and tail of a text that is longer than ``limit`` characters, naming what was left out between them."""
    if len(text) <= limit:
        return text
    left_out = len(text) - limit
    head = limit * 3 // 4
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[len(text) - (limit - head) :]}"
