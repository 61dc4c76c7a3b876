"""Read the events that ``codex exec --json`` prints, one object a line.

The answer is the last ``agent_message`` of a turn that was completed; a turn that uses tools has earlier ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tumult_adapter_codex._failures import failed_turn, no_turn
from tumult_adapter_codex._flags import IGNORED_SETTING
from tumult_agent_cli.exceptions import AgentCliError, FailureKind
from tumult_agent_cli.judging import failure, json_objects, json_value, said, text_of, whole_number
from tumult_agent_cli.values import Answer, Progress, ProgressKind, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tumult_agent_cli.values import RawOutput

_TOOLS = {"command_execution", "mcp_tool_call", "web_search", "file_change"}
_TRY = re.compile(r"re-?connecting\.*\s*(\d{1,9})/(\d{1,9})|retrying (\d{1,9})/(\d{1,9})", re.IGNORECASE)
_HEALS_NOT = re.compile(r"\bstatus:? 40[13]\b|\b401 Unauthorized|\b403 Forbidden")
_NO_NETWORK = re.compile(r"waiting for network", re.IGNORECASE)


@dataclass
class Turn:
    """What the events of a run say."""

    thread_id: str = ""
    message: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    is_completed: bool = False
    failed: str | None = None
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def from_events(cls, events: Iterable[dict[str, Any]]) -> Turn:
        """Fold events; of kinds that are not known here nothing is taken."""
        turn = cls()
        for event in events:
            turn._take(event)
        return turn

    def _take(self, event: dict[str, Any]) -> None:
        match event:
            case {"type": "thread.started", "thread_id": str(thread_id)}:
                self.thread_id = thread_id
            case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
                self.message = text
            case {"type": "item.completed", "item": {"type": "error", "message": str(message)}}:
                self.warnings.append(message)
            case {"type": "turn.completed"}:
                self.is_completed, self.failed = True, None
                self.usage = event["usage"] if isinstance(event.get("usage"), dict) else {}
            case {"type": "turn.failed"}:
                error = event.get("error")
                self.failed = text_of(error.get("message")) if isinstance(error, dict) else ""
            case {"type": "error", "message": str(message)}:
                self.errors.append(message)


def answer_of(raw: RawOutput, name: str, auth_hint: str) -> Answer:
    """Give the answer with what the events say about it.

    Raises:
        AgentCliError: the turn failed, or there was none.
    """
    turn = Turn.from_events(json_objects(raw.stdout))
    if turn.failed is not None:
        raise failed_turn(turn.failed or " ".join(turn.errors[-1:]), name, auth_hint)
    if not turn.is_completed:
        raise no_turn(raw, turn.errors, name, auth_hint)
    if not (turn.message or "").strip():
        raise failure(name, FailureKind.EMPTY, "the turn ended without a message: the model was silent, or refused")
    return Answer(
        text=turn.message or "",
        usage=Usage(
            input_tokens=whole_number(turn.usage.get("input_tokens")),
            output_tokens=whole_number(turn.usage.get("output_tokens")),
            cached_input_tokens=whole_number(turn.usage.get("cached_input_tokens")),
        ),
        session_id=turn.thread_id or None,
        warnings=tuple(said(one, 300) for one in turn.warnings if not re.search(IGNORED_SETTING, one)),
    )


def explain(raw: RawOutput) -> str:
    """Explain a failed run in one line; never raises."""
    try:
        answer_of(raw, "codex", "")
    except AgentCliError as error:
        return error.detail or str(error.kind)
    return "it answered"


def progress_of(line: str) -> Progress | None:
    """Read an event as it arrives."""
    event = json_value(line) if line.startswith("{") else None
    match event:
        case {"type": "turn.completed"}:
            return Progress(ProgressKind.ANSWERED, final=True)
        case {"type": "turn.failed"}:
            return Progress(ProgressKind.TEXT, "the turn failed", final=True)
        case {"type": "item.started", "item": {"type": str(kind)} as item} if kind in _TOOLS:
            return Progress(ProgressKind.TOOL, said(text_of(item.get("command")) or kind.replace("_", " "), 200))
        case {"type": "item.completed", "item": {"type": "agent_message"}}:
            return Progress(ProgressKind.TEXT)
        case {"type": "error", "message": str(message)}:
            return _retry(message)
    return None


def _retry(message: str) -> Progress:
    found = _TRY.search(message)
    numbers = [int(number) for number in found.groups() if number] if found else [None, None]
    return Progress(
        ProgressKind.RETRYING,
        said(message, 200),
        attempt=numbers[0],
        max_attempts=numbers[1],
        hopeless=bool(_HEALS_NOT.search(message)),
        stuck=bool(_NO_NETWORK.search(message)),
    )
