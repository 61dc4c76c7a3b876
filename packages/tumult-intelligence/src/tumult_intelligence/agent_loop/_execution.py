"""Carry out one call: whatever happens becomes a result that the model sees."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tumult_intelligence.agent_loop._arguments import problems
from tumult_intelligence.agent_loop._finish import said
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
    """Run the tool that ``call`` names; raises nothing but the end of the run itself: a cancellation, or Ctrl-C."""
    task = asyncio.current_task()
    try:
        result = await _looked_up(call, tools)
    except KeyboardInterrupt:
        raise
    except GeneratorExit as error:
        if _current_task() is not task:  # whoever closes this coroutine does so from outside of its task
            raise
        result = _failed(call, error)
    except asyncio.CancelledError:
        if is_being_cancelled():
            raise
        result = Result(f"{call.name} was cancelled from within", is_error=True)
    except ToolError as error:
        result = Result(said(error) or "the tool gave no reason", is_error=True)
    except BaseException as error:  # noqa: BLE001 -- whatever happens around a call is the model's to see
        result = _failed(call, error)
    return Result(cap(result.text, max_chars), result.is_error)


def _failed(call: ToolCall, error: BaseException) -> Result:
    return Result(f"{call.name} failed: {type(error).__name__}: {said(error)}", is_error=True)


async def _looked_up(call: ToolCall, tools: ToolRegistry) -> Result:
    tool, spec = tools.get(call.name), tools.spec(call.name)
    if tool is None or spec is None:
        return Result(tools.unknown(call.name), is_error=True)
    if not isinstance(call.arguments, dict):
        return Result(f"the arguments must be a JSON object, not {type(call.arguments).__name__}", is_error=True)
    wrong = list(problems(call.arguments, spec.parameters))
    if wrong:
        return Result(f"invalid arguments for {call.name}: " + "; ".join(wrong), is_error=True)
    return await _run(call, tool, spec.timeout_s)


async def _run(call: ToolCall, tool: Tool, timeout_s: float | None) -> Result:
    deadline = asyncio.timeout(timeout_s)
    try:
        async with deadline:
            # A copy, so that a tool that changes its arguments does not change the transcript.
            text: object = await tool.execute(_copied(call.arguments))
    except TimeoutError:
        if not deadline.expired():
            raise
        return Result(f"{call.name} did not end within {timeout_s:g} s", is_error=True)
    if not isinstance(text, str):
        return Result(f"{call.name} gave {type(text).__name__}, not text", is_error=True)
    return Result(text)


def _copied(value: Any) -> Any:
    """Copy JSON data; ``copy.deepcopy`` takes several times as long."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None


def is_being_cancelled() -> bool:
    """Tell whether somebody asked for the end of the task that runs here, rather than of something that it awaits."""
    task = _current_task()
    return task is not None and task.cancelling() > 0


def cap(text: str, limit: int) -> str:
    """Keep head and tail of a text that is longer than ``limit`` characters, naming what was left out between them."""
    if len(text) <= limit:
        return text
    left_out = len(text) - limit
    head = limit * 3 // 4
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[len(text) - (limit - head) :]}"
