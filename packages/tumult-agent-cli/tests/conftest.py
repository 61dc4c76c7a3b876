"""What the runner's tests share: a shell script as an agent CLI, and eyes for what it leaves."""

from __future__ import annotations

import os
import tempfile
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from tumult_agent_cli._process import MARKER
from tumult_agent_cli.values import CliInvocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def shell() -> Callable[..., CliInvocation]:
    """Make an invocation of a piece of shell."""

    def make(script: str, **rest: object) -> CliInvocation:
        return CliInvocation(("/bin/bash", "-c", script), **{"stdin": "", **rest})  # type: ignore[arg-type]

    return make


class Traces:
    """What is left of runs: temporary files in a folder of the test's own, and processes that carry a run's mark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self) -> list[str]:
        return sorted(os.listdir(self.folder))  # noqa: PTH208  names are enough

    def processes(self) -> list[str]:
        return [str(process) for process in psutil.process_iter() if self._is_marked(process)]

    def assert_none(self) -> None:
        end = time.monotonic() + 2.0
        while self.processes() and time.monotonic() < end:
            time.sleep(0.02)
        assert (self.files(), self.processes()) == ([], [])

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            environment = process.environ()
        except psutil.Error:
            return False
        mine = environment.get("TMPDIR", "").startswith(str(self.folder)) and any(
            name.startswith(MARKER) for name in environment
        )
        return mine and process.status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traces]:
    """Let temporary files go to a folder of their own, and see afterwards that nothing is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    found = Traces(folder)
    yield found
    found.assert_none()
    monkeypatch.setattr(tempfile, "tempdir", None)
