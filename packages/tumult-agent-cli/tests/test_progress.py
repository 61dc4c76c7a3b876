from __future__ import annotations

import contextlib
import os
import pty
from io import StringIO

import pytest

from tumult_agent_cli.progress import LiveLine, describe
from tumult_agent_cli.values import Progress, ProgressKind


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True

    def screen(self) -> str:
        """Give what a terminal shows of it: a carriage return goes back to the start of the line."""
        line: list[str] = []
        at = 0
        for char in self.getvalue():
            if char == "\r":
                at = 0
                continue
            line[at : at + 1] = char
            at += 1
        return "".join(line).rstrip()


WAITING = Progress(ProgressKind.WAITING, elapsed_s=12.7)


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (WAITING, "waiting, 12 s"),
        (
            Progress(ProgressKind.RETRYING, "overloaded", 2, 5, elapsed_s=61.0),
            "retrying (2 of 5): overloaded, 1 min 1 s",
        ),
        (Progress(ProgressKind.RETRYING, attempt=2), "retrying (2), 0 s"),
        (Progress(ProgressKind.TOOL, "ls\x1b[31m\n-l"), "tool: ls -l, 0 s"),
    ],
)
def test_it_says_what_happens_and_for_how_long(progress: Progress, words: str) -> None:
    assert describe(progress) == words


def test_the_line_is_written_over_and_gone_at_the_end() -> None:
    terminal = Terminal()
    with LiveLine(terminal) as line:
        line("codex", Progress(ProgressKind.RETRYING, "overloaded", elapsed_s=1.0))
        assert terminal.screen() == "codex: retrying: overloaded, 1 s"
        line("codex", WAITING)
        assert terminal.screen() == "codex: waiting, 12 s"
    assert terminal.screen() == ""
    assert "\n" not in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


def test_several_agents_share_the_line() -> None:
    terminal = Terminal()
    with LiveLine(terminal) as line:
        line("codex", WAITING)
        line("claude-code", WAITING)
        assert terminal.screen() == "codex: waiting, 12 s | claude-code: waiting, 12 s"


def test_it_is_never_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()
    with LiveLine(terminal) as line:
        line("codex", Progress(ProgressKind.TOOL, "x" * 100))
        assert len(terminal.screen()) == 19


def test_it_is_gone_after_an_error_too() -> None:
    terminal = Terminal()
    with contextlib.suppress(RuntimeError), LiveLine(terminal) as line:
        line("codex", WAITING)
        raise RuntimeError
    assert terminal.screen() == ""


def test_nothing_is_written_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine() as line:
        line("codex", WAITING)
    assert capsys.readouterr() == ("", "")


def test_a_real_terminal_is_one() -> None:
    leader, follower = pty.openpty()
    try:
        with os.fdopen(follower, "w") as stream, LiveLine(stream) as line:
            line("codex", WAITING)
            assert os.read(leader, 100) == b"\rcodex: waiting, 12 s"
    finally:
        os.close(leader)
