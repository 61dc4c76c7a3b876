"""The house stands as it was drawn: who may import whom, what each distribution brings, and nothing that leaks."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGES = {path.parent.name: path.parent for path in ROOT.glob("packages/*/pyproject.toml")}
ALLOWED = {
    "tumult-core": set(),
    "tumult-agent-cli": set(),
    "tumult-adapter-claude": {"tumult_agent_cli"},
    "tumult-adapter-codex": {"tumult_agent_cli"},
    "tumult-intelligence": {"tumult_core", "tumult_agent_cli"},
}


def project(name: str) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((PACKAGES[name] / "pyproject.toml").read_text())["project"]
    return table


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


def test_every_distribution_is_known() -> None:
    assert PACKAGES.keys() == ALLOWED.keys()


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_distribution_imports_only_those_below_it(name: str) -> None:
    allowed = ALLOWED[name] | {name.replace("-", "_")}
    wrong = {
        f"{path.relative_to(ROOT)}: {module}"
        for path in sorted((PACKAGES[name] / "src").rglob("*.py"))
        for module in imports(path)
        if module.split(".")[0].startswith("tumult") and module.split(".")[0] not in allowed
    }
    assert wrong == set()


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_distribution_requires_what_it_imports(name: str) -> None:
    required = {re.split(r"[^A-Za-z0-9-]", line)[0].replace("-", "_") for line in project(name)["dependencies"]}
    own = name.replace("-", "_")
    modules = {module.split(".")[0] for path in (PACKAGES[name] / "src").rglob("*.py") for module in imports(path)}
    optional = {"pytest"}  # tumult_agent_cli.testing is a pytest base class; its extra brings pytest
    third_party = {module for module in modules if module and module not in sys.stdlib_module_names} - {own} - optional
    brings = packages_distributions()
    names = {each: {name.lower().replace("-", "_") for name in brings.get(each, [each])} for each in third_party}
    assert {module for module, distributions in names.items() if not distributions & required} == set()


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_distribution_is_complete(name: str) -> None:
    folder = PACKAGES[name]
    expected = ["README.md", "CHANGELOG.md", "LICENSE", f"src/{name.replace('-', '_')}/py.typed"]
    assert [part for part in expected if not (folder / part).is_file()] == []
    assert project(name)["license"] == "Apache-2.0"
    assert project(name)["requires-python"] == ">=3.11"
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert sorted((folder / "tests").glob("test_*.py"))


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_the_readme_says_why_each_dependency_is_there(name: str) -> None:
    readme = (PACKAGES[name] / "README.md").read_text()
    names = [re.split(r"[^A-Za-z0-9-]", line)[0] for line in project(name)["dependencies"]]
    assert [dependency for dependency in names if f"`{dependency}`" not in readme] == []


@pytest.mark.parametrize("name", ["_text.py", "_plugin_host.py", "_plugin_listing.py", "_plugin_metadata.py"])
def test_shared_modules_are_the_same_in_both_distributions(name: str) -> None:
    core, agent_cli = (
        PACKAGES[f"tumult-{part}"] / "src" / f"tumult_{part.replace('-', '_')}" / name for part in ("core", "agent-cli")
    )
    assert core.read_bytes() == agent_cli.read_bytes()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = (line for line in (ROOT / "README.md").read_text().splitlines() if line.endswith("-m nox -s tests"))
    assert command.strip() in (ROOT / ".ci/run").read_text()


def test_the_demo_command_of_the_readme_stands_beside_it() -> None:
    readme = (ROOT / "README.md").read_text()
    tests, demo = (
        next(line for line in readme.splitlines() if line.endswith(f"-m nox -s {name}")) for name in ("tests", "demo")
    )
    assert demo.removesuffix("demo") == tests.removesuffix("tests")
    assert "demo" in (ROOT / ".ci/run").read_text()


def tracked_text() -> Iterator[tuple[str, str]]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listing.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file():
            yield name, path.read_bytes().decode(errors="replace")


def test_no_text_offers_to_install_the_name_of_another_project() -> None:
    pattern = re.compile(r"pip install (-\S+ )*tumult(?![-\w])")
    assert [name for name, text in tracked_text() if pattern.search(text) and name != "tests/test_house.py"] == []


def test_no_text_names_a_registry_host_or_a_home_folder() -> None:
    hosts = re.compile(r"https?://(?:[\w.-]*\.)?(?:pypi|pythonhosted|npmjs)\.org|/(?:root|home/\w+)/")
    assert [name for name, text in tracked_text() if hosts.search(text) and name != "tests/test_house.py"] == []
