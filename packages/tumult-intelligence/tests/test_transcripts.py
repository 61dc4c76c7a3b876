"""A transcript outlives its process, and is read as far as it was written."""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tumult_intelligence.agent_loop import Message, ToolCall, TotalUsage, Usage, UsageUpdated
from tumult_intelligence.exceptions import TranscriptError
from tumult_intelligence.transcripts import TranscriptFile, default_path, read_transcript

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = [
    Message.user("What next? 下一步"),
    Message.assistant("I look.", [ToolCall("c1", "query", {"sql": "select 1", "n": [1, None, {"a": "b"}]})]),
    Message.result("c1", "no", is_error=True),
    Message.assistant("Nothing.\u2028\udc80"),
]


def usage(cost: float | None, seconds: float, total: TotalUsage) -> tuple[UsageUpdated, TotalUsage]:
    one = Usage(10, 2, cost)
    total = total.plus(one, seconds)
    return UsageUpdated(total.calls, one, total), total


def write(path: Path, **options: Any) -> TranscriptFile:
    file = TranscriptFile.create(path, **options)
    file.start("What next?", agent="codex", model=None, max_steps=9)
    total = TotalUsage()
    for message in MESSAGES:
        file.message(message)
    for cost in (0.5, None):
        event, total = usage(cost, 1.5, total)
        file.event(event)
    file.written(2, path / "x.toon")
    file.finish("stuck", 2)
    return file


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.jsonl"
    write(path).close()
    kept = read_transcript(path)
    assert kept.messages == tuple(MESSAGES)
    assert (kept.start["goal"], kept.start["agent"], kept.start["max_steps"]) == ("What next?", "codex", 9)
    assert (kept.steps, kept.usage.known_tokens, kept.usage.known_cost_usd, kept.usage.cost_usd) == (2, 24, 0.5, None)
    assert kept.usage.seconds == pytest.approx(3.0)
    assert (kept.written, kept.finish) == ({2: str(path / "x.toon")}, "stuck")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_record_is_a_line_of_json_with_its_time(tmp_path: Path) -> None:
    write(tmp_path / "t").close()
    lines = (tmp_path / "t").read_bytes().split(b"\n")
    records = [json.loads(line) for line in lines[:-1]]
    assert lines[-1] == b""
    assert [record["record"] for record in records] == ["start", *["message"] * 4, *["usage"] * 2, "written", "finish"]
    assert all(record["at"].endswith("+00:00") for record in records)


def test_each_record_is_on_the_disk_before_the_next(tmp_path: Path) -> None:
    file = TranscriptFile.create(tmp_path / "t")
    file.start("x", agent="codex")
    assert read_transcript(tmp_path / "t").messages == ()
    file.message(MESSAGES[0])
    assert read_transcript(tmp_path / "t").messages == (MESSAGES[0],)
    file.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 3000))
def test_cut_anywhere_it_is_what_was_written_before(tmp_path: Path, length: int) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    if not whole.exists():
        write(whole).close()
    part.write_bytes(whole.read_bytes()[:length])
    if b"\n" not in part.read_bytes():
        with pytest.raises(TranscriptError, match="no record"):
            read_transcript(part)
        return
    kept = read_transcript(part)
    assert kept.messages == tuple(MESSAGES)[: len(kept.messages)]
    file, again = TranscriptFile.resume(part)
    file.message(Message.user("more"))
    file.close()
    assert again == kept
    assert read_transcript(part).messages == (*kept.messages, Message.user("more"))


def test_going_on_keeps_what_was_spent_and_a_new_goal_does_not(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path).close()
    file, _ = TranscriptFile.resume(path)
    file.start(None, agent="claude-code", model=None, max_steps=20)
    kept = read_transcript(path)
    assert (kept.steps, kept.finish, kept.start["goal"]) == (2, None, "What next?")
    assert (kept.start["agent"], kept.start["max_steps"]) == ("claude-code", 20)
    file.start("And then?", agent="codex")
    kept = read_transcript(path)
    assert (kept.steps, kept.usage, kept.start["goal"]) == (0, TotalUsage(), "And then?")
    assert (kept.messages, kept.written) == (tuple(MESSAGES), {2: str(path / "x.toon")})
    file.close()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no record"),
        (b"text\n", ":1: not a record"),
        (b"[]\n", ":1: not a record"),
        (b"\xff\xfe\n", ":1: not a record"),
        (b'{"record": "message"}\n', ":1: not a record"),
        (b'{"record": "start", "format": 99, "goal": "x"}\n', ":1: not a record"),
        (b'{"record": "start", "format": 1, "goal": "x"}\n{"record": "message", "role": "boss"}\n', ":2: not a record"),
        (b'{"record": "start", "format": 1, "goal": "x"}\n\n', ":2: not a record"),
    ],
)
def test_a_file_that_is_no_transcript_is_said_with_its_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(TranscriptError, match=complaint):
        TranscriptFile.resume(tmp_path / "t")
    assert (tmp_path / "t").read_bytes() == content


def test_records_of_a_later_format_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('{"record": "start", "format": 1, "goal": "x"}\n{"record": "weather", "sun": true}\n')
    assert read_transcript(tmp_path / "t").messages == ()


def test_only_one_process_writes(tmp_path: Path) -> None:
    file = write(tmp_path / "t")
    with pytest.raises(TranscriptError, match="another process is writing it"):
        TranscriptFile.resume(tmp_path / "t")
    file.close()
    TranscriptFile.resume(tmp_path / "t")[0].close()


def test_no_file_is_overwritten_and_no_link_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for name in ("mine", "link"):
        with pytest.raises(TranscriptError, match="there is a file already"):
            TranscriptFile.create(tmp_path / name)
    with pytest.raises(TranscriptError, match=r"Too many levels|Not a directory|No such file"):
        TranscriptFile.resume(tmp_path / "link")
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "target").exists()


def test_secret_values_are_masked_everywhere(tmp_path: Path) -> None:
    file = TranscriptFile.create(tmp_path / "t", secrets=("hunter2hunter2",))
    file.start("is hunter2hunter2 safe?", agent="codex")
    file.message(Message.assistant("", [ToolCall("1", "query", {"a": ["hunter2hunter2"]})]))
    file.close()
    assert "hunter2" not in (tmp_path / "t").read_text()
    assert read_transcript(tmp_path / "t").messages[0].tool_calls[0].arguments == {"a": ["***"]}


def test_a_full_disk_is_said_and_leaves_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = TranscriptFile.create(tmp_path / "t")
    file.start("x", agent="codex")
    real, calls = os.write, []

    def half_then_full(descriptor: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[:5])

    monkeypatch.setattr(os, "write", half_then_full)
    file.message(MESSAGES[0])
    assert "No space left" in file.problem
    monkeypatch.setattr(os, "write", real)
    file.message(MESSAGES[1])
    file.close()
    assert read_transcript(tmp_path / "t").messages == ()


def test_the_default_place_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = default_path()
    assert path.parent == tmp_path / "tumult" / "investigations"
    assert path.suffix == ".jsonl"
    assert not path.exists()
    assert default_path() != path


# --- what breaks while writing, and what was damaged -----------------------------------------------------------------


def test_a_goal_that_the_agent_never_heard_is_kept_as_unsaid(tmp_path: Path) -> None:
    file = write(tmp_path / "t")
    assert read_transcript(tmp_path / "t").unsaid == "What next?"
    file.message(Message.user("What next?"))
    assert read_transcript(tmp_path / "t").unsaid is None
    file.start("And then?", agent="codex")
    file.message(Message.user("tools are on again"))
    kept = read_transcript(tmp_path / "t")
    assert (kept.unsaid, kept.start["goal"], kept.steps) == ("And then?", "And then?", 0)
    file.message(Message.user("And then?"))
    assert read_transcript(tmp_path / "t").unsaid is None
    file.start(None, agent="codex")
    file.close()
    kept = read_transcript(tmp_path / "t")
    assert (kept.unsaid, kept.start["goal"]) == (None, "And then?")


def test_a_message_that_cannot_be_written_is_a_problem_and_not_a_gap(tmp_path: Path) -> None:
    arguments: list[Any] = []
    for _level in range(100_000):
        arguments = [arguments]
    file = write(tmp_path / "t")
    file.message(Message.assistant("", [ToolCall("c", "query", {"a": arguments})]))
    assert "a message record could not be written: RecursionError" in file.problem
    file.message(Message.user("more"))
    file.close()
    assert len(read_transcript(tmp_path / "t").messages) == len(MESSAGES)


def test_the_longer_of_two_secrets_is_masked_whole_also_in_keys(tmp_path: Path) -> None:
    file = TranscriptFile.create(tmp_path / "t", secrets=("hunter2", "hunter2-and-more"))
    file.start("x", agent="codex")
    file.message(Message.assistant("", [ToolCall("c", "query", {"hunter2-and-more": "is hunter2-and-more"})]))
    file.close()
    assert b"hunter2" not in (tmp_path / "t").read_bytes()
    assert b"more" not in (tmp_path / "t").read_bytes()
    assert read_transcript(tmp_path / "t").messages[0].tool_calls[0].arguments == {"***": "is ***"}


@pytest.mark.parametrize(
    "line",
    [
        '{"record": "start", "format": 1, "goal": 5}',
        '{"record": "start", "format": 1, "goal": null, "generate": 5}',
        '{"record": "start", "format": 1, "goal": null, "max_steps": "9"}',
        '{"record": "start", "format": 1, "goal": null, "max_steps": 1.5}',
        '{"record": "message", "role": "user", "text": 5}',
        '{"record": "message", "role": "tool", "text": "", "call_id": 5}',
        '{"record": "message", "role": "tool", "text": "", "call_id": "c", "is_error": "no"}',
        '{"record": "message", "role": "assistant", "text": "", "tool_calls": [{"id": 1, "name": "x", "arguments": {}}]}',
        '{"record": "message", "role": "assistant", "text": "", "tool_calls": 5}',
        '{"record": "usage", "input_tokens": "1", "output_tokens": 1, "cost_usd": 1, "seconds": 1}',
        '{"record": "usage", "input_tokens": 1, "output_tokens": 1, "cost_usd": 1, "seconds": "1"}',
        '{"record": "written", "proposal": [], "path": "x"}',
        '{"record": "written", "proposal": 1, "path": 5}',
        '{"record": "finish", "finish": 5}',
        '{"record": []}',
        "[" * 100_000,
    ],
)
def test_a_damaged_record_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "t").write_text(f'{{"record": "start", "format": 1, "goal": "x", "agent": "codex"}}\n{line}\n')
    with pytest.raises(TranscriptError, match="t:2: not a record of a transcript"):
        read_transcript(tmp_path / "t")
