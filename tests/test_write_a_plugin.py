"""The plugins of ``docs/write-a-plugin.md`` work as they stand there.

A block whose info string names a file is that file; the commands of the blocks tagged ``console here`` run beside them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[1] / "docs" / "write-a-plugin.md"
FILE = re.compile(r"^```\w+ (\S+\.\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
HERE = re.compile(r"^```console here\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write every file of the document, and the metadata that installing the package would write."""
    for name, text in FILE.findall(DOCUMENT.read_text()):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    facts = tomllib.loads((tmp_path / "acme-clock" / "pyproject.toml").read_text())["project"]
    metadata = tmp_path / "acme-clock" / "acme_clock-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.3\nName: {facts['name']}\nVersion: {facts['version']}\n")
    points = "\n".join(f"{name} = {value}" for name, value in facts["entry-points"]["tumult.plugins"].items())
    (metadata / "entry_points.txt").write_text(f"[tumult.plugins]\n{points}\n")
    return tmp_path


def tumult(project: Path, command: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(project / "acme-clock"),
        "HOME": str(project / "home"),
        "XDG_DATA_HOME": str(project / "data"),
        "TUMULT_STORE": str(project / "history"),
    }
    return subprocess.run(shlex.split(command), cwd=project, env=env, capture_output=True, text=True, check=False)


def test_the_document_has_both_kinds() -> None:
    names = [name for name, _ in FILE.findall(DOCUMENT.read_text())]
    assert {"plugins/acme-disk/plugin.toon", "acme-clock/acme_clock.py"} <= set(names)


def test_every_command_of_the_document_works(project: Path) -> None:
    commands = [
        line[2:] for block in HERE.findall(DOCUMENT.read_text()) for line in block.splitlines() if line[:2] == "$ "
    ]
    assert len(commands) == 6
    for command in commands:
        done = tumult(project, command)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    assert (project / "clock.txt").read_text() == "12\n"
    assert not (project / "acme-disk.fill").exists()


def test_what_the_document_says_of_errors_is_so(project: Path) -> None:
    clock = project / "turn-the-clock.toon"
    clock.write_text(clock.read_text().replace("hours: 3", "hours: 0", 1))

    assert "ValueError: the clock would not move" in "".join(tumult(project, "tumult run turn-the-clock.toon").stderr)
    clock.write_text(clock.read_text().replace("hours: 0", "hour: 3", 1))
    wrong = tumult(project, "tumult validate turn-the-clock.toon")
    assert wrong.returncode == 1
    assert "turn has no argument hour" in wrong.stdout + wrong.stderr
