from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tumult_agent_cli.testing._site import SiteDir, adapter_source

README = (Path(__file__).parents[1] / "README.md").read_text()
(USE,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_use_as_a_library_works_as_shown(tmp_path: Path) -> None:
    site = SiteDir(tmp_path / "site")
    echo = "def build_invocation(self, request): return CliInvocation(('/bin/cat',), request.prompt)"
    site.add("shown-cli", adapter_source("shown", members=echo), name="shown")
    site.add("broken-cli", "raise SystemExit", name="broken")
    done = subprocess.run(
        [sys.executable, "-c", USE.replace('"codex"', '"shown"')],
        env=os.environ | {"PYTHONPATH": str(site.path)},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "'broken'" in done.stdout
    assert "Which of my services should I break next? None None" in done.stdout
    failed = subprocess.run(
        [sys.executable, "-c", USE.replace('"codex"', '"broken"')],
        env=os.environ | {"PYTHONPATH": str(site.path)},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "not runnable False python -m pip install --force-reinstall broken-cli" in failed.stdout


def test_the_entry_point_that_is_shown_is_the_group_that_is_read() -> None:
    from tumult_agent_cli.registry import GROUP

    assert f'[project.entry-points."{GROUP}"]' in README
