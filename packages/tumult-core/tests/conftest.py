"""What tests of this package share: distributions made up for a test, journals, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Protocol

import pytest

from tumult_core.journal import ActivityResult, ActivityStatus, HypothesisResult, Journal, Phase, RunStatus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Install(Protocol):
    def __call__(
        self,
        name: str,
        entry_points: Mapping[str, Mapping[str, str]],
        modules: Mapping[str, str],
        *,
        place: str = "site",
    ) -> Path:
        """Make a distribution and give the folder that must be on the path for it."""


class Tumult(Protocol):
    def __call__(
        self, *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command with the made-up distributions on its path."""


@pytest.fixture
def install(tmp_path: Path) -> Install:
    def make(
        name: str, entry_points: Mapping[str, Mapping[str, str]], modules: Mapping[str, str], *, place: str = "site"
    ) -> Path:
        site = tmp_path / place
        metadata = site / f"{name.replace('-', '_')}-1.0.dist-info"
        metadata.mkdir(parents=True)
        metadata.joinpath("METADATA").write_text(
            f"Metadata-Version: 2.3\nName: {name}\nVersion: 1.0\nSummary: All about {name}\n"
        )
        sections = (
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
            for group, points in entry_points.items()
        )
        metadata.joinpath("entry_points.txt").write_text("\n".join(sections))
        for module, source in modules.items():
            site.joinpath(f"{module}.py").write_text(textwrap.dedent(source))
        return site

    return make


@pytest.fixture
def tumult(tmp_path: Path) -> Tumult:
    def run(
        *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TUMULT_")}
        own = {
            "PYTHONPATH": str(tmp_path / "site"),
            "HOME": str(tmp_path / "home"),
            "XDG_DATA_HOME": str(tmp_path / "data"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "COLUMNS": "120",
        }
        return subprocess.run(
            [sys.executable, "-P", "-m", "tumult_core", *arguments],
            env=kept | own | dict(env or {}),
            cwd=cwd or tmp_path,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    return run


class MakeStep(Protocol):
    def __call__(self, name: str = "step", **changes: object) -> ActivityResult:
        """Give a step that succeeded, with changes."""


class MakeJournal(Protocol):
    def __call__(self, number: int = 0, **changes: object) -> Journal:
        """Give the journal of run ``number``, with changes."""


@pytest.fixture(scope="session")
def make_step() -> MakeStep:
    def make(name: str = "step", **changes: object) -> ActivityResult:
        facts: dict[str, object] = {
            "name": name,
            "activity_type": "action",
            "phase": Phase.METHOD,
            "status": ActivityStatus.SUCCEEDED,
            "provider_kind": "native",
            "plugin": "tumult-process",
            "function": "kill",
            "arguments": {"pid": 4711},
            "exit_code": None,
            "output": None,
            "error": None,
            "tolerance": None,
            "tolerance_met": None,
            "started_at_ns": 1_700_000_000_000_000_000,
            "duration_ms": 5,
        }
        return ActivityResult(**facts | changes)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def make_journal(make_step: MakeStep) -> MakeJournal:
    def make(number: int = 0, **changes: object) -> Journal:
        started = 1_700_000_000_000_000_000 + number * 1_000_000_000
        facts: dict[str, object] = {
            "experiment_id": f"0190aaaa-0000-7000-8000-{number:012d}",
            "title": "Orders survive",
            "status": RunStatus.COMPLETED,
            "started_at_ns": started,
            "ended_at_ns": started + 500_000_000,
            "duration_ms": 500,
            "experiment": {"title": "Orders survive", "method": [{"name": "step"}]},
            "experiment_sha256": "ab" * 32,
            "engine_version": "0.1.0",
            "tags": ("nightly",),
            "hypothesis_before": HypothesisResult("It is up", met=True, probes=()),
            "method": (make_step(started_at_ns=started),),
        }
        return Journal(**facts | changes)  # type: ignore[arg-type]

    return make
