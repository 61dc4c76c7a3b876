"""The newest Claude Code and Codex, installed from npm into a private folder, in front of a model server on the loopback.

No credentials, a cleaned environment, no address but 127.0.0.1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from attrs import frozen

from tumult_agent_cli import AdapterRegistry, run_prompt
from tumult_agent_cli.values import PromptRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from model_server import ModelServer

    from tumult_agent_cli import Answer
    from tumult_agent_cli.adapter import AgentCliAdapter

PACKAGES = {"claude-code": "@anthropic-ai/claude-code", "codex": "@openai/codex"}
BINARIES = {"claude-code": "claude", "codex": "codex"}
OLD = {"claude-code": "2.0.13", "codex": "0.47.0"}
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-dummy-0123456789", "CODEX_API_KEY": "sk-dummy-0123456789"}

# The adapter's own command line, with a model provider put before it: its name is the only way to lead Codex elsewhere.
SHIM = """#!/bin/sh
if [ "$1" = exec ]; then
  shift
  set -- exec -c 'model_providers.local.name="local"' -c 'model_providers.local.base_url="{url}/v1"' \\
    -c 'model_providers.local.env_key="CODEX_API_KEY"' -c 'model_providers.local.wire_api="responses"' \\
    -c model_providers.local.request_max_retries=1 -c model_providers.local.stream_max_retries=1 \\
    -c 'model_provider="local"' "$@"
fi
exec {binary} "$@"
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run these only when they are asked for: they install 800 MB."""
    here = Path(__file__).parent
    asked = "TUMULT_REAL_CLIS_DIR" in os.environ or any("real_clis" in arg for arg in config.invocation_params.args)
    reason = "" if asked else "installs 800 MB: ask for it with `nox -s real_clis` or `pytest tests/real_clis`"
    if not reason and shutil.which("npm") is None:
        reason = "npm is not installed, and the CLIs come from there"
    for item in items:
        if reason and here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))
        elif here in item.path.parents:
            item.add_marker(pytest.mark.timeout(600))


def install(folder: Path, package: str) -> Path:
    """Install an npm package into a folder of its own and give the folder of its executables."""
    command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", package]
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def home_of_clis(pytestconfig: pytest.Config) -> Path:
    given = os.environ.get("TUMULT_REAL_CLIS_DIR")
    return Path(given).absolute() if given else pytestconfig.rootpath / ".nox" / "real_clis-packages"


@pytest.fixture(scope="session")
def newest(home_of_clis: Path) -> dict[str, Path]:
    """The executables, by the adapter's name."""
    return {
        name: install(home_of_clis / name, f"{package}@latest") / BINARIES[name] for name, package in PACKAGES.items()
    }


@pytest.fixture(params=OLD)
def old(request: pytest.FixtureRequest, home_of_clis: Path) -> tuple[str, str, Path]:
    """Name, version and executable of an old version that people still have."""
    name: str = request.param
    folder = home_of_clis / f"{name}-{OLD[name]}"
    return name, OLD[name], install(folder, f"{PACKAGES[name]}@{OLD[name]}") / BINARIES[name]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    sys.path.insert(0, str(Path(__file__).parent))
    from model_server import ModelServer

    with ModelServer() as running:
        yield running
    sys.path.remove(str(Path(__file__).parent))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A person's environment without that person; afterwards no process of it may be left."""
    folder = tmp_path / "home"
    folder.mkdir()
    path = os.environ["PATH"]
    for name in list(os.environ):
        monkeypatch.delenv(name)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    variables = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": str(temporary), **KEYS}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    monkeypatch.setattr("tempfile.tempdir", None)
    assert left_by(folder) == []
    assert list(temporary.iterdir()) == []


def left_by(home: Path) -> list[str]:
    """Give the processes that still run with this home, after a moment for those that are ending."""
    end = time.monotonic() + 3.0
    while (left := [line for line in map(_command, psutil.process_iter()) if str(home) in line]) and (
        time.monotonic() < end
    ):
        time.sleep(0.1)
    return left


def _command(process: psutil.Process) -> str:
    try:
        ended = process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid()
        return "" if ended else f"{process.environ().get('HOME')}: {process.cmdline()}"
    except psutil.Error:
        return ""


@frozen
class Cli:
    """One real CLI, pointed to the model server."""

    name: str
    adapter: AgentCliAdapter
    server: ModelServer
    home: Path

    def ask(self, prompt: str = "hello", *, word: str = "text", timeout_s: float = 60.0, **request: object) -> Answer:
        self.server.word = word
        return run_prompt(self.adapter, PromptRequest(prompt, timeout_s=timeout_s, **request))  # type: ignore[arg-type]


@pytest.fixture
def point(home: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Cli]:
    """Point an executable to a base URL, by default the server's."""

    def make(name: str, binary: Path, url: str | None = None) -> Cli:
        url = url or server.url
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("CLAUDE_CODE_BIN", str(binary))
        shim = home.parent / "codex"
        shim.write_text(SHIM.format(url=url, binary=binary))
        shim.chmod(0o755)
        monkeypatch.setenv("CODEX_BIN", str(shim))
        return Cli(name, AdapterRegistry.builtin().get(name), server, home)

    return make


@pytest.fixture(params=PACKAGES)
def cli(request: pytest.FixtureRequest, newest: dict[str, Path], point: Callable[..., Cli]) -> Cli:
    """Each of the newest CLIs in turn."""
    return point(request.param, newest[request.param])
