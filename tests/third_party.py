"""Check, in the environment this runs in, that a vendor's installed adapter is found and used, or is gone.

``python tests/third_party.py present|absent``, run by the nox session ``third_party``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "example"


def tumult(*arguments: str, expect: int = 0) -> str:
    """Run the installed command and give its standard output."""
    command = [str(Path(sys.executable).with_name("tumult")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != expect:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def listed() -> bool:
    """Tell whether the listing names the vendor's adapter."""
    rows = json.loads(tumult("agents", "--format", "json", "--no-probe"))["adapters"]
    return NAME in {row["name"] for row in rows}


def check_present(folder: Path) -> None:
    """The adapter is listed, answers, and what it proposes passes the gate and reaches the disk."""
    assert listed(), f"{NAME} is not listed"
    drafts = folder / "proposals"
    answer = json.loads(tumult("recommend", "--agent", NAME, "--generate-experiments", str(drafts), "--format", "json"))
    written = [Path(path) for path in answer["agent"]["experiments_written"]]
    assert written, f"nothing was written: {answer['agent']}"
    tumult("run", "--dry-run", str(written[0]))


def check_absent() -> None:
    """The adapter is not listed, and asking for it is an error that names what is there."""
    assert not listed(), f"{NAME} is still listed"
    tumult("recommend", "--agent", NAME, expect=1)


def main() -> None:
    """Check what the argument says."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TUMULT_STORE"] = str(Path(folder) / "history")
        check_present(Path(folder)) if sys.argv[1:] == ["present"] else check_absent()
    print(f"{NAME}: {sys.argv[1]}, as it should be")


if __name__ == "__main__":
    main()
