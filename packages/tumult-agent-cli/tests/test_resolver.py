from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tumult_agent_cli.resolver import Resolution, resolve_binary

if TYPE_CHECKING:
    from pathlib import Path


def executable(path: Path, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def find(**environ: str) -> Resolution:
    return resolve_binary("agent", "AGENT_BIN", environ=environ)


def test_the_override_wins_over_the_path(tmp_path: Path) -> None:
    on_path = executable(tmp_path / "bin/agent")
    named = executable(tmp_path / "else where/agent-beta")
    assert find(PATH=str(tmp_path / "bin"), AGENT_BIN=named) == Resolution(named)
    assert find(PATH=str(tmp_path / "bin"), AGENT_BIN="") == Resolution(on_path)


@pytest.mark.parametrize("named", ["missing", "folder", "plain.txt", "fifo", "\0", " ", "~/agent", "x" * 5000])
def test_an_override_that_cannot_be_run_is_a_warning_and_the_path_is_searched(tmp_path: Path, named: str) -> None:
    on_path = executable(tmp_path / "bin/agent")
    (tmp_path / "folder").mkdir()
    executable(tmp_path / "plain.txt", 0o644)
    os.mkfifo(tmp_path / "fifo", 0o755)
    value = named if named in {"\0", " ", "~/agent"} else str(tmp_path / named)
    found = find(PATH=str(tmp_path / "bin"), AGENT_BIN=value)
    assert found.path == on_path
    assert found.warning.startswith("AGENT_BIN names no executable file: ")
    assert len(found.warning) < 300
    assert find(PATH="", AGENT_BIN=value).path is None


def test_a_relative_override_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = executable(tmp_path / "agent")
    monkeypatch.chdir(tmp_path)
    assert find(PATH="", AGENT_BIN="./agent").path == named


def test_the_first_executable_regular_file_on_the_path_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a/agent").mkdir(parents=True)
    executable(tmp_path / "b/agent", 0o644)
    (tmp_path / "c").mkdir()
    (tmp_path / "c/agent").symlink_to(tmp_path / "nowhere")
    fourth = executable(tmp_path / "d/agent")
    executable(tmp_path / "e/agent")
    assert find(PATH=os.pathsep.join(str(tmp_path / name) for name in "abcde")).path == fourth


def test_empty_entries_are_not_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(tmp_path / "agent")
    monkeypatch.chdir(tmp_path)
    assert find(PATH=f"{os.pathsep}{os.pathsep}/nowhere{os.pathsep}") == Resolution(None)
    assert find(PATH="") == Resolution(None)


def test_on_windows_pathext_says_what_is_executable(tmp_path: Path) -> None:
    executable(tmp_path / "a/agent")
    second = executable(tmp_path / "b/agent.CMD")
    path = f"{tmp_path / 'a'};;{tmp_path / 'b'}"
    environ = {"PATH": path, "PATHEXT": ".EXE;.CMD;"}
    assert resolve_binary("agent", "AGENT_BIN", environ=environ, windows=True).path == second
    assert resolve_binary("agent.CMD", "AGENT_BIN", environ=environ, windows=True).path == second
    assert resolve_binary("agent", "AGENT_BIN", environ={"PATH": path, "PATHEXT": ".EXE"}, windows=True).path is None
