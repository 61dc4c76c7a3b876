"""Every test that the checklist of the agent CLIs names is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tumult_agent_cli.testing import CHECKS

ROOT = Path(__file__).parents[1]
CHECKLIST = (ROOT / "docs" / "agent-clis-checklist.md").read_text(encoding="utf-8")
FOLDERS = {
    "cli": "packages/tumult-agent-cli/tests",
    "claude": "packages/tumult-adapter-claude/tests",
    "codex": "packages/tumult-adapter-codex/tests",
}
ROWS = [line for line in CHECKLIST.split("\n") if line.startswith("| ") and not line.startswith("| claim")]


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def is_there(name: str) -> bool:
    if name.startswith("contract:"):
        return name.removeprefix("contract:") in {check.id for check in CHECKS}
    file, _, function = name.partition("::")
    short, _, rest = file.partition("/")
    path = ROOT / FOLDERS.get(short, short) / rest
    return path.is_file() and function in functions_of(path)


@pytest.mark.parametrize("row", ROWS, ids=[row.split("|")[1].strip()[:60] for row in ROWS])
def test_a_claim_is_held_by_tests_that_exist(row: str) -> None:
    held_by = row.split("|")[2]
    names = re.findall(r"`([^`]*(?:::|contract:)[^`]*)`", held_by)
    assert names or held_by.strip().startswith("a decision: ")
    assert [name for name in names if not is_there(name)] == []


def test_no_part_is_missing() -> None:
    assert re.findall(r"^## ([A-Z])\. ", CHECKLIST, re.MULTILINE) == list("ABCDEFGH")
    assert len(ROWS) > 40
