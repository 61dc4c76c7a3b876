"""The guide for vendors shows code that works, and the file that the scaffold writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tumult_agent_cli._scaffold import create_project
from tumult_agent_cli.testing import CHECKS, FakeCli, Outcome, run_checks

GUIDE = Path(__file__).parents[3] / "docs" / "write-an-adapter.md"
BLOCK = re.compile(r"^```python (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not part of the distribution")


def block(name: str) -> str:
    return str(dict(BLOCK.findall(GUIDE.read_text(encoding="utf-8")))[name])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Scaffold the guide's adapter where it can be imported."""
    create_project("acme", tmp_path)
    source = tmp_path / "tumult-adapter-acme" / "src"
    monkeypatch.syspath_prepend(str(source))
    monkeypatch.delitem(sys.modules, "tumult_adapter_acme", raising=False)
    return source.parent


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(code, str(GUIDE), "exec"), names)  # noqa: S102 - our own document
    return names


def test_it_shows_the_file_that_the_scaffold_writes(project: Path) -> None:
    (source,) = project.glob("src/*/__init__.py")
    assert block("adapter") == source.read_text(encoding="utf-8")


def test_its_contract_class_passes(project: Path) -> None:
    case = run(block("contract"))["TestAcme"]().case()
    assert set(case.errors) == {"server error", "a crash"}
    results = run_checks(case, checks=[check for check in CHECKS if check.group in {"failure", "outcome"}])
    assert [result for result in results if result.outcome is Outcome.FAILED] == []


@pytest.mark.parametrize(
    ("said", "expected"), [('{"signed_in": false}', False), ("{", None), ('{"signed_in": true}', True)]
)
def test_its_sign_in_probe_works(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, expected: bool | None
) -> None:
    fake = FakeCli(tmp_path / "bin", "acme", auth=said, auth_args=["auth", "status", "--json"])
    monkeypatch.setenv("ACME_BIN", str(fake.path))
    assert run(block("sign-in"))["SigningIn"]().detect().logged_in is expected


def test_its_own_test_passes(project: Path, tmp_path: Path) -> None:
    (project / "tests" / "test_guide.py").write_text(block("fake"), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_guide.py"]
    done = subprocess.run(
        command,
        cwd=project,
        env={"PYTHONPATH": "src", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
