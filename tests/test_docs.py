"""Every command that the documents show works as shown.

A block tagged ``console`` holds lines that start with ``$ ``. The commands of one document run in order, in one folder that
holds a copy of ``examples/``. A command succeeds, unless a comment at its end says ``# exit code N``. Blocks tagged ``sh``
are set-up, which the nox session ``docs`` runs.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    [
        ROOT / "README.md",
        *ROOT.glob("packages/*/README.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("examples/**/README.md"),
    ]
)
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT_CODE = re.compile(r"# exit code (\d+)\s*$")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def commands(document: Path) -> list[str]:
    lines = (line for block in BLOCK.findall(document.read_text()) for line in block.splitlines())
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("document", [path for path in DOCUMENTS if commands(path)], ids=relative)
def test_the_commands_of_a_document_work(document: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    env = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TUMULT_STORE": str(tmp_path / "history"),
        "TUMULT_PLUGIN_PATH": str(tmp_path / "examples" / "plugins"),
    }
    for command in commands(document):
        expected = int(found[1]) if (found := EXIT_CODE.search(command)) else 0
        argv = shlex.split(command, comments=True)
        done = subprocess.run(
            argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        assert done.returncode == expected, f"$ {command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_the_links_of_a_document_lead_somewhere(document: Path) -> None:
    local = [link.split("#")[0] for link in LINK.findall(document.read_text()) if not urlsplit(link).scheme]
    assert [link for link in local if link and not (document.parent / link).exists()] == []
