"""The tour: start a small service, break it three ways, and ask what to break next.

Everything goes through the ``tumult`` command, as a person would type it. The run's history and the drafts are left in
``demo-out/`` below the current folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
EXPECTED = {"1-worker-dies.toon": 0, "2-worker-hangs.toon": 3, "3-cache-is-lost.toon": 4}


@contextlib.contextmanager
def running_service() -> Iterator[str]:
    """Run the service for as long as the block lasts; give its URL."""
    with tempfile.TemporaryDirectory(prefix="tumult-demo-") as state:
        command = [sys.executable, str(HERE / "service.py"), "--state", state]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
            try:
                assert service.stdout
                yield json.loads(service.stdout.readline())["url"]
            finally:
                service.terminate()


def tumult(*arguments: str, expect: int = 0) -> None:
    """Run one command, shown as it is typed; end the demo where it does not exit as expected."""
    print(f"\n$ tumult {' '.join(arguments)}", flush=True)
    program = Path(sys.executable).with_name("tumult")
    code = subprocess.run([program, *arguments], check=False).returncode
    if code != expect:
        sys.exit(f"demo: expected exit code {expect}, got {code}")
    print(f"[exit code {code}, as expected]", flush=True)


def main() -> None:
    """Run the tour in an output folder of its own."""
    out = Path("demo-out").absolute()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    os.environ["TUMULT_STORE"] = str(out / "history")
    with running_service() as url:
        os.environ["DEMO_URL"] = url
        for name, code in EXPECTED.items():
            tumult("run", str(HERE / name), "--recovery-timeout", "3", expect=code)
        tumult("agents")
        tumult("recommend", "--goal", "the worker process", "--drafts", str(out / "drafts"))
        draft = min((out / "drafts").glob("*.toon"))
        tumult("run", "--dry-run", str(draft))
    print(f"\nThe history is in {out / 'history'}, the drafts are in {out / 'drafts'}.")


if __name__ == "__main__":
    main()
