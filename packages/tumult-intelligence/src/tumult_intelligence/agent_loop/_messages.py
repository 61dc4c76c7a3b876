"""What is said in a run: messages and tool calls, and their form as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from attrs.validators import instance_of, optional

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ERROR_PREFIX = "ERROR: "
"""How the text of an error result begins; whether it is one is ``Message.is_error``, never this text."""


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@frozen
class ToolCall:
    """A model's wish to have a tool run.

    Attributes:
        id: unique within a transcript; the loop replaces one that is empty or taken.
        name: the tool, as the model wrote it.
        arguments: a JSON object, as the model wrote it; anything else becomes an error that the model sees.
    """

    id: str = field(validator=instance_of(str))
    name: str = field(validator=instance_of(str))
    arguments: Any = field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give the call as JSON data."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolCall:
        """Read what ``to_json`` gave; raises KeyError or TypeError for anything else."""
        return cls(data["id"], data["name"], data["arguments"])


@frozen
class Message:
    """One entry of a transcript.

    Attributes:
        tool_calls: what an assistant message asks for.
        call_id: the call that a tool message answers; None in other roles.
        is_error: a tool message whose call did not succeed.
    """

    role: Role
    text: str = field(default="", validator=instance_of(str))
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str | None = field(default=None, validator=optional(instance_of(str)))
    is_error: bool = field(default=False, validator=instance_of(bool))

    @classmethod
    def system(cls, text: str) -> Message:
        """Give the instructions that stand before a conversation."""
        return cls(Role.SYSTEM, text)

    @classmethod
    def user(cls, text: str) -> Message:
        """Give what a person, or the loop in their place, says to the model."""
        return cls(Role.USER, text)

    @classmethod
    def assistant(cls, text: str, tool_calls: Iterable[ToolCall] = ()) -> Message:
        """Give what the model said."""
        return cls(Role.ASSISTANT, text, tuple(tool_calls))

    @classmethod
    def result(cls, call_id: str, text: str, *, is_error: bool = False) -> Message:
        """Give what became of a call; an error's text gets its prefix here."""
        return cls(Role.TOOL, ERROR_PREFIX + text if is_error else text, call_id=call_id, is_error=is_error)

    def to_json(self) -> dict[str, Any]:
        """Give the message as JSON data, without what is empty."""
        data: dict[str, Any] = {"role": self.role.value, "text": self.text}
        if self.tool_calls:
            data["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.call_id is not None:
            data |= {"call_id": self.call_id, "is_error": self.is_error}
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Message:
        """Read what ``to_json`` gave; raises KeyError, TypeError or ValueError for anything else."""
        calls = tuple(ToolCall.from_json(call) for call in data.get("tool_calls", ()))
        call_id = data.get("call_id")
        return cls(
            Role(data["role"]),
            data["text"],
            calls,
            call_id,
            data.get("is_error", False),
        )


def unanswered(transcript: Iterable[Message]) -> tuple[ToolCall, ...]:
    """Give the calls of ``transcript`` that have no result, in the order in which they were made."""
    open_calls: dict[str, ToolCall] = {}
    for message in transcript:
        open_calls.update((call.id, call) for call in message.tool_calls)
        open_calls.pop(message.call_id or "", None)
    return tuple(open_calls.values())
