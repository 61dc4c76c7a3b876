"""Every experiment under examples/ runs, through the command, with the outcome that it promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[1] / "examples"
EXIT_CODES = {
    "1-process": 0,
    "2-http": 0,
    "3-script-plugin": 0,
    "4-native-plugin": 0,
    "5-deviates": 3,
    "6-fails-and-rolls-back": 4,
    "7-variables": 0,
}
TOKEN = "correct-horse-battery"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    state = tmp_path / "service"
    state.mkdir()
    command = [sys.executable, str(EXAMPLES / "demo" / "service.py"), "--state", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return os.environ | {
        "TUMULT_STORE": str(tmp_path / "history"),
        "TUMULT_PLUGIN_PATH": str(EXAMPLES / "plugins"),
        "EXAMPLE_TOKEN": TOKEN,
    }


def tumult(*arguments: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tumult_core", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_every_example_has_an_outcome() -> None:
    assert sorted(path.stem for path in (EXAMPLES / "experiments").glob("*.toon")) == sorted(EXIT_CODES)


@pytest.mark.parametrize("name", sorted(EXIT_CODES))
def test_an_example_ends_as_it_promises(name: str, tmp_path: Path, service: str, environment: dict[str, str]) -> None:
    path = EXAMPLES / "experiments" / f"{name}.toon"
    variables = {"2-http": ["--var", f"url={service}"], "7-variables": ["--var", "jobs=4"]}.get(name, [])
    done = tumult(
        "run", str(path), *variables, "--recovery-timeout", "1", "--format", "json", cwd=tmp_path, env=environment
    )
    assert done.returncode == EXIT_CODES[name], done.stderr
    journal: dict[str, Any] = json.loads(done.stdout)
    assert journal["status"] == {0: "completed", 3: "deviated", 4: "failed"}[done.returncode]
    assert TOKEN not in done.stdout + done.stderr


def test_rollbacks_leave_things_as_they_were(tmp_path: Path, environment: dict[str, str]) -> None:
    for name in ("5-deviates", "6-fails-and-rolls-back"):
        path = EXAMPLES / "experiments" / f"{name}.toon"
        tumult("run", str(path), "--recovery-timeout", "0", cwd=tmp_path, env=environment)
    assert (tmp_path / "tumult-scratch" / "limit").read_text() == "30\n"
    assert (tmp_path / "tumult-scratch" / "data").is_dir()


@pytest.mark.parametrize("path", sorted((EXAMPLES / "demo").glob("*.toon")), ids=lambda path: path.stem)
def test_the_experiments_of_the_demo_are_valid(path: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    done = tumult("validate", "--strict", str(path), cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
