"""Run the set-up that the documents show: each ``sh`` block, in a copy of the checkout, with a plain environment.

The two commands that run nox are left out: they are what runs this.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".nox", ".*_cache", "__pycache__", "demo-out")


def blocks() -> list[tuple[Path, str]]:
    """Find the blocks that are not the nox commands."""
    documents = [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md")), *sorted(ROOT.glob("docs/*.md"))]
    found = [(path, block) for path in documents for block in BLOCK.findall(path.read_text())]
    return [(path, block) for path, block in found if "-m nox -s" not in block]


def main() -> None:
    """Run them all, each in a folder of its own; stop at the first that fails."""
    for path, block in blocks():
        print(f"{path.relative_to(ROOT)}:\n{block}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(ROOT, Path(folder) / "checkout", ignore=NOT_COPIED)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=copy, check=False)
        if done.returncode:
            sys.exit(f"{path.relative_to(ROOT)}: exit code {done.returncode}")


if __name__ == "__main__":
    main()
