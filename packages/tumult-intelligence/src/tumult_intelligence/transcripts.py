"""The transcript of an investigation: a file of JSON Lines, one record a line, on the disk before the next step begins.

Records: ``start`` (goal, agent, limits; another one for each resumption), ``message`` (one of the conversation),
``usage`` (one model call), ``written`` (one experiment file), ``finish``. Each has ``at``, UTC in ISO 8601. A process
that is killed leaves every line that it wrote; a last line without its end is no record.
"""

from __future__ import annotations

import fcntl
import json
import os
from datetime import UTC, datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

from attrs import define, evolve, field, frozen

from tumult_core._text import mask_known, one_line
from tumult_intelligence.agent_loop import Message, Role, TotalUsage, Usage, UsageUpdated
from tumult_intelligence.exceptions import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tumult_intelligence.agent_loop import Event

FORMAT = 1


@frozen
class Kept:
    """What a transcript holds.

    Attributes:
        start: the facts of the ``start`` records, later ones over earlier ones.
        messages: the conversation.
        unsaid: the last goal, where the process ended before the agent heard it.
        steps, usage: of the model calls since that goal.
        written: number of a proposal -> path of the file that holds it.
        finish: why the last run ended; None where it was cut off.
    """

    start: Mapping[str, Any]
    messages: tuple[Message, ...] = ()
    unsaid: str | None = None
    steps: int = 0
    usage: TotalUsage = field(factory=TotalUsage)
    written: Mapping[int, str] = field(factory=dict)
    finish: str | None = None


def default_path() -> Path:
    """Give a new file in the user's data folder, named for the time."""
    from pathlib import Path

    import platformdirs

    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = platformdirs.user_data_path("tumult", appauthor=False) / "investigations"
    return Path(folder) / f"{stamp}-{token_hex(3)}.jsonl"


def read_transcript(path: Path) -> Kept:
    """Read a transcript, also one whose process was killed.

    Raises:
        TranscriptError: it cannot be read, or a whole line in it is no record; names the line.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror or error}") from error
    kept: Kept | None = None
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            kept = _with_record(kept, json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            hint = "it is no transcript, or it is damaged; a copy of its first lines can be resumed"
            raise TranscriptError(
                f"{path}:{number}: not a record of a transcript: {one_line(str(error))}", hint=hint
            ) from error
    if kept is None:
        raise TranscriptError(f"{path}: there is no record in it", hint="begin anew without --resume")
    return kept


def _with_record(kept: Kept | None, record: dict[str, Any]) -> Kept:
    kind = record["record"]
    if kept is None:
        if kind != "start" or record["format"] != FORMAT:
            raise ValueError(f"it does not begin with a start record of format {FORMAT}")
        _check_start(record)
        return Kept(start=record, unsaid=record["goal"])
    add = _ADD.get(kind)
    return add(kept, record) if add else kept


def _check_start(record: Mapping[str, Any]) -> None:
    for name in ("goal", "agent", "model", "generate", "experiments", "journals"):
        if not isinstance(record.get(name), str | None):
            raise TypeError(f"{name} must be a text or null")
    for name in ("max_steps", "max_seconds", "max_tokens", "max_cost_usd"):
        value = record.get(name)
        kinds = int if name in {"max_steps", "max_tokens"} else int | float
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not value > 0):
            raise TypeError(f"{name} must be a number above 0 or null")


def _add_start(kept: Kept, record: Mapping[str, Any]) -> Kept:
    _check_start(record)
    goal = record["goal"]
    # What a resumed process inherits it writes down again, so that null means none; the goal alone is written once.
    kept = evolve(kept, start={**kept.start, **record, "goal": goal or kept.start.get("goal")}, finish=None)
    return kept if goal is None else evolve(kept, unsaid=goal, steps=0, usage=TotalUsage())


def _add_message(kept: Kept, record: Mapping[str, Any]) -> Kept:
    message = Message.from_json(record)
    is_goal = message.role is Role.USER and message.text == kept.unsaid
    return evolve(kept, messages=(*kept.messages, message), unsaid=None if is_goal else kept.unsaid)


def _add_usage(kept: Kept, record: Mapping[str, Any]) -> Kept:
    usage = Usage(record["input_tokens"], record["output_tokens"], record["cost_usd"])
    seconds = record["seconds"]
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError("seconds must be a number")
    return evolve(kept, steps=kept.steps + 1, usage=kept.usage.plus(usage, seconds))


def _add_written(kept: Kept, record: Mapping[str, Any]) -> Kept:
    proposal, path = record["proposal"], record["path"]
    if isinstance(proposal, bool) or not isinstance(proposal, int) or not isinstance(path, str):
        raise TypeError("proposal must be a whole number and path a text")
    return evolve(kept, written={**kept.written, proposal: path})


def _add_finish(kept: Kept, record: Mapping[str, Any]) -> Kept:
    if not isinstance(record["finish"], str):
        raise TypeError("finish must be a text")
    return evolve(kept, finish=record["finish"])


# Kinds that a later format adds are left out by an earlier one.
_ADD: dict[str, Callable[[Kept, Mapping[str, Any]], Kept]] = {
    "start": _add_start,
    "message": _add_message,
    "usage": _add_usage,
    "written": _add_written,
    "finish": _add_finish,
}


@define
class TranscriptFile:
    """A transcript that is being written; at most one process does so at a time.

    Attributes:
        secrets: values that are masked in it.
        problem: why a record could not be kept; empty while all were. What follows is not kept either, so that the file
            never has a gap.
    """

    path: Path
    _descriptor: int
    secrets: tuple[str, ...] = field(default=(), repr=False)
    problem: str = ""
    _seconds: float = 0.0

    @classmethod
    def create(cls, path: Path, *, secrets: tuple[str, ...] = ()) -> Self:
        """Begin a transcript; only its owner can read the file.

        Raises:
            TranscriptError: there is a file already, or none can be made.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        except FileExistsError as error:
            hint = f"go on with it by --resume {path}, or name another file"
            raise TranscriptError(f"{path}: there is a file already", hint=hint) from error
        except OSError as error:
            raise TranscriptError(f"{path}: {error.strerror or error}") from error
        _lock(descriptor, path)
        return cls(path, descriptor, secrets)

    @classmethod
    def resume(cls, path: Path, *, secrets: tuple[str, ...] = ()) -> tuple[Self, Kept]:
        """Go on with a transcript; a last line that was cut off is taken away.

        Raises:
            TranscriptError: it cannot be read or written, or another process writes it.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        except OSError as error:
            raise TranscriptError(f"{path}: {error.strerror or error}") from error
        _lock(descriptor, path)
        try:
            kept = read_transcript(path)
        except TranscriptError:
            os.close(descriptor)
            raise
        os.ftruncate(descriptor, path.read_bytes().rfind(b"\n") + 1)
        return cls(path, descriptor, secrets), kept

    def start(self, goal: str | None, **facts: Any) -> None:
        """Note that a run begins; ``goal`` is None where it goes on with an earlier one."""
        self._write("start", {"format": FORMAT, "goal": goal, **facts})

    def message(self, message: Message) -> None:
        """Keep one message."""
        self._write("message", message.to_json())

    def event(self, event: Event) -> None:
        """Keep what an event says of a model call; the rest of the events is in the messages."""
        if isinstance(event, UsageUpdated):
            usage, seconds = event.usage, event.total.seconds - self._seconds
            self._seconds = event.total.seconds
            numbers = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
            cost = {"cost_usd": usage.cost_usd, "seconds": round(seconds, 3)}
            self._write("usage", {"step": event.step, **numbers, **cost})

    def written(self, proposal: int, path: Path) -> None:
        """Note that a proposal is in a file."""
        self._write("written", {"proposal": proposal, "path": str(path)})

    def finish(self, reason: str, steps: int) -> None:
        """Note why a run ended."""
        self._write("finish", {"finish": reason, "steps": steps})

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def _write(self, kind: str, facts: Mapping[str, Any]) -> None:
        if self.problem:
            return
        record = {"record": kind, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), **facts}
        try:
            line = json.dumps(_masked(record, self.secrets), ensure_ascii=False, default=str)
            # A lone surrogate is no UTF-8; its escape is JSON.
            rest = line.encode("utf-8", "backslashreplace") + b"\n"
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror or error}"
        except Exception as error:  # noqa: BLE001 -- a gap must be known of, whatever made it
            self.problem = f"{self.path}: a {kind} record could not be written: {type(error).__name__}: {error}"


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise TranscriptError(f"{path}: another process is writing it", hint="wait until it has ended") from error


def _masked(value: Any, secrets: tuple[str, ...]) -> Any:
    """Replace known secret values wherever they stand; proposals must stay what the gate saw, so nothing is guessed."""
    if isinstance(value, str):
        return mask_known(value, secrets)
    if isinstance(value, dict):
        return {_masked(key, secrets): _masked(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, secrets) for inner in value]
    return value
