from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from typing import TYPE_CHECKING

import pytest

from tumult_agent_cli import AgentCliAdapter, AgentCliError, PromptRequest, run_prompt
from tumult_agent_cli._scaffold import LONGEST, create_project
from tumult_agent_cli.testing import CHECKS, FakeCli, Outcome, run_checks

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

EXPECTED = {
    ".github/workflows/ci.yml",
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "src/tumult_adapter_acme/__init__.py",
    "src/tumult_adapter_acme/py.typed",
    "tests/test_adapter.py",
}


def load(project: Path) -> ModuleType:
    (source,) = project.glob("src/*/__init__.py")
    spec = importlib.util.spec_from_file_location(f"scaffolded_{project.name.replace('-', '_')}", source)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def adapter_of(project: Path) -> AgentCliAdapter:
    (adapter,) = load(project).tumult_agent_adapters()
    assert isinstance(adapter, AgentCliAdapter)
    return adapter


def test_it_writes_a_complete_project(tmp_path: Path) -> None:
    written = create_project("acme", tmp_path)
    project = tmp_path / "tumult-adapter-acme"
    assert {str(path.relative_to(project)) for path in written} == EXPECTED
    assert {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()} == EXPECTED


def test_no_word_of_a_template_is_left(tmp_path: Path) -> None:
    for path in create_project("acme-two", tmp_path):
        assert not re.search(r"@[A-Z_]+@", path.read_text(encoding="utf-8")), path


def test_the_metadata_is_that_of_the_name(tmp_path: Path) -> None:
    create_project("acme-two", tmp_path)
    metadata = tomllib.loads((tmp_path / "tumult-adapter-acme-two" / "pyproject.toml").read_text(encoding="utf-8"))
    assert metadata["project"]["name"] == "tumult-adapter-acme-two"
    assert metadata["project"]["entry-points"] == {"tumult.agent_adapters": {"acme-two": "tumult_adapter_acme_two"}}
    assert metadata["project"]["dependencies"] == ["tumult-agent-cli~=0.1.0"]


def test_what_a_vendor_writes_by_hand_is_short(tmp_path: Path) -> None:
    create_project("acme", tmp_path)
    lines = (
        (tmp_path / "tumult-adapter-acme/src/tumult_adapter_acme/__init__.py").read_text(encoding="utf-8").split("\n")
    )
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("name", ["acme", "acme-two", "a", "x9", "a-1-b", "a" * LONGEST])
def test_the_adapter_has_the_name(tmp_path: Path, name: str) -> None:
    create_project(name, tmp_path)
    adapter = adapter_of(tmp_path / f"tumult-adapter-{name}")
    assert adapter.name == name
    assert adapter.binary_env_key == f"{name.replace('-', '_').upper()}_BIN"


def test_the_adapter_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_project("acme", tmp_path)
    fake = FakeCli(tmp_path / "bin", "acme", answer='{"text": "hello"}')
    monkeypatch.setenv("ACME_BIN", str(fake.path))
    answer = run_prompt(adapter_of(tmp_path / "tumult-adapter-acme"), PromptRequest("What next?", model="large"))
    assert (answer.text, answer.cli_version) == ("hello", "1.2.3")
    assert fake.runs[0].argv[1:] == ("run", "--json", "--model=large")


def test_the_adapter_keeps_the_contract(tmp_path: Path) -> None:
    """Those checks that start little; the vendor's own tests run them all."""
    create_project("acme", tmp_path)
    chosen = [check for check in CHECKS if check.group in {"identity", "answer", "failure", "progress", "sign_in"}]
    results = run_checks(adapter_of(tmp_path / "tumult-adapter-acme"), checks=chosen)
    assert [result for result in results if result.outcome is Outcome.FAILED] == []
    assert sum(result.outcome is Outcome.PASSED for result in results) > 150


def test_the_wheel_is_listed(tmp_path: Path) -> None:
    build = pytest.importorskip("hatchling.build", reason="hatchling is not installed")
    create_project("acme", tmp_path)
    before = os.getcwd()  # noqa: PTH109
    os.chdir(tmp_path / "tumult-adapter-acme")
    try:
        wheel = build.build_wheel(str(tmp_path))
    finally:
        os.chdir(before)
    with zipfile.ZipFile(tmp_path / wheel) as archive:
        archive.extractall(tmp_path / "site")
    listed = subprocess.run(
        [sys.executable, "-m", "tumult_agent_cli", "--format", "json"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "TUMULT_ONLY_ADAPTERS": "acme"},
        capture_output=True,
        text=True,
        check=True,
    )
    (row,) = (row for row in json.loads(listed.stdout)["adapters"] if row["name"] == "acme")
    assert (row["distribution"], row["plugin_version"]) == ("tumult-adapter-acme", "0.1.0")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "no name"),
        ("Acme", "no name"),
        ("acme_agent", "no name"),
        ("acme agent", "no name"),
        ("acme--agent", "no name"),
        ("-acme", "no name"),
        ("acme-", "no name"),
        ("4acme", "no name"),
        ("acmé", "no name"),
        ("../acme", "no name"),
        ("acme/agent", "no name"),
        ("acme\n", "no name"),
        ("class", "word of the Python language"),
        ("match", "word of the Python language"),
        ("codex", "Tumult has"),
        ("claude-code", "Tumult has"),
        ("tumult-adapter-acme", "the name of the agent is enough"),
        ("a" * (LONGEST + 1), "characters"),
    ],
)
def test_a_bad_name_is_refused_and_nothing_written(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(AgentCliError, match=why) as caught:
        create_project(name, tmp_path / "new")
    assert caught.value.hint
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("what", ["a folder", "an empty folder", "a file", "a dangling link"])
def test_what_is_there_stays(tmp_path: Path, what: str) -> None:
    project = tmp_path / "tumult-adapter-acme"
    if what == "a file":
        project.write_text("mine")
    elif what == "a dangling link":
        project.symlink_to(tmp_path / "elsewhere")
    else:
        project.mkdir()
    if what == "a folder":
        (project / "pyproject.toml").write_text("mine")
    with pytest.raises(AgentCliError, match="nothing is overwritten"):
        create_project("acme", tmp_path)
    assert not (tmp_path / "elsewhere").exists()
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} <= {"mine"}


def test_the_command_says_where_and_refuses_politely(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tumult_agent_cli", "new", "acme", "--directory", str(tmp_path / "deep" / "er")]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(first.stdout.split()) == len(EXPECTED)
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode != 0
    assert "exists already" in second.stderr
    assert "Traceback" not in second.stderr
