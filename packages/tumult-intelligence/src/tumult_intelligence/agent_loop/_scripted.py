"""A model that plays a script: for tests and examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tumult_intelligence.agent_loop._messages import Message
    from tumult_intelligence.agent_loop._model import Completion
    from tumult_intelligence.agent_loop._tools import ToolSpec


class ScriptExhausted(Exception):
    """The model was asked more often than its script has replies."""


@frozen
class Asked:
    """What a model was asked in one call."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]


class ScriptedProvider:
    """Plays ``script``, a reply or an error a call, and keeps what it was asked in ``asked``."""

    def __init__(self, script: Iterable[Completion | Exception]) -> None:
        self._script = iter(script)
        self.asked: list[Asked] = []

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Give the next reply, or raise the next error."""
        self.asked.append(Asked(tuple(messages), tuple(tools)))
        reply = next(self._script, None)
        if reply is None:
            raise ScriptExhausted(f"the script has no reply to call {len(self.asked)}")
        if isinstance(reply, Exception):
            raise reply
        return reply
