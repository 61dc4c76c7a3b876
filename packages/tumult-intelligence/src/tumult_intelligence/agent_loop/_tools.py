"""What a model may call."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field, frozen

from tumult_intelligence.agent_loop._arguments import check_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
"""The schema of a tool that takes nothing."""


class ConfigurationError(ValueError):
    """The loop is used in a way that cannot work; the only kind of error that it raises."""


class ToolError(Exception):
    """What a tool raises to tell the model why a call did not succeed and what to do instead."""


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


def _checked_schema(_spec: ToolSpec, _attribute: Any, schema: dict[str, Any]) -> None:
    try:
        check_schema(schema)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(str(error)) from error


@frozen
class ToolSpec:
    """What a model is told of a tool, and what the loop needs to know of it.

    Attributes:
        parameters: JSON schema of the arguments, an object; see ``_arguments`` for the keywords.
        read_only: changes nothing, so that it may run beside other read-only calls.
        timeout_s: seconds for one call; None means no limit of its own.
        volatile_arguments: names of arguments that differ in each call without meaning, such as a timestamp; they do
            not count when calls are compared.
        polled: called again and again on purpose, so that the higher bound of ``StuckLimits.polled`` holds.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(factory=lambda: dict(NO_ARGUMENTS), validator=_checked_schema)
    read_only: bool = False
    timeout_s: float | None = None
    volatile_arguments: frozenset[str] = field(default=frozenset(), converter=_names)
    polled: bool = False


class Tool(Protocol):
    """Something that a model can have done."""

    @property
    def spec(self) -> ToolSpec:
        """Say what it is; the same each time."""

    async def execute(self, arguments: dict[str, Any]) -> str:
        """Do it and say what came of it.

        Called with arguments that fit the schema, never twice at the same time unless ``read_only``. A ``ToolError``
        becomes an error result with its text, any other exception one with its type and text; neither ends the run.
        """


@frozen
class FunctionTool:
    """A function as a tool. One that is not async runs in a thread, so that it cannot keep a run from its limits; where
    a limit comes first, the thread is left to itself, and what it gives is dropped.

    Attributes:
        function: takes the arguments by keyword and gives text.
    """

    spec: ToolSpec
    function: Callable[..., Any]

    async def execute(self, arguments: dict[str, Any]) -> str:
        """Call the function."""
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(**arguments)
        else:
            result = await _in_thread(partial(self.function, **arguments))
        if inspect.isawaitable(result):
            result = await result
        return result  # type: ignore[no-any-return]  # the loop reports what is not text


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Run ``function`` in a thread of its own: those of the loop's pool hold up the end of ``asyncio.run``."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function)
        except BaseException as problem:  # noqa: BLE001 -- it belongs to whoever awaits
            # A future does not take a StopIteration.
            error = RuntimeError(repr(problem)) if isinstance(problem, StopIteration) else problem
        with suppress(RuntimeError):  # the loop is closed: nobody awaits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, daemon=True, name="tool").start()
    return await done


class ToolRegistry:
    """The tools of an agent, by name, in the order in which they were given."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.spec.name in self._tools:
                raise ConfigurationError(f"two tools are named {tool.spec.name!r}")
            self._tools[tool.spec.name] = tool
        self._specs = {name: tool.spec for name, tool in self._tools.items()}
        self.specs: tuple[ToolSpec, ...] = tuple(self._specs.values())

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool | None:
        """Give the tool of that name."""
        return self._tools.get(name)

    def spec(self, name: str) -> ToolSpec | None:
        """Give the spec of the tool of that name."""
        return self._specs.get(name)

    def unknown(self, name: str) -> str:
        """Say that there is no such tool, which is the closest, and which there are."""
        import difflib

        close = difflib.get_close_matches(name, self._tools, n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        return f"there is no tool {name!r}; {guess}The tools are: {', '.join(self._tools) or 'none'}"
