"""What `tumult --help` costs with twenty adapters installed that take a second each to import, beside peers.

Run: python bench/startup.py [ROUNDS]

Figures are processor time (user and system) of whole processes, so that a busy machine does not matter much, as
multiples of `python -c pass` in the same rounds. Commands take turns, so that each sees the same machine. The twenty
adapters are distributions with metadata of their own on PYTHONPATH; one that is imported sleeps and leaves a mark.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ADAPTERS = 20
GOALS = {"tumult --help": 5.5, "tumult agents --no-probe": 8.0}
MODULE = """
import os, pathlib, time
pathlib.Path(os.environ["BENCH_MARKS"], __name__).touch()
time.sleep(1)
"""
PEERS = [["hatch", "--version"], ["llm", "plugins"], ["chaos", "--help"]]


class Cost(NamedTuple):
    cpu_s: float
    wall_s: float
    exit_code: int


def install_adapters(folder: Path) -> None:
    for number in range(ADAPTERS):
        metadata = folder / f"bench_adapter_{number}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.3\nName: bench-adapter-{number}\nVersion: 1.0\nSummary: sleeps\n"
        )
        (metadata / "entry_points.txt").write_text(
            f"[tumult.agent_adapters]\nbench-{number} = bench_adapter_{number}\n"
        )
        (folder / f"bench_adapter_{number}.py").write_text(MODULE)


def cost(argv: list[str], env: dict[str, str]) -> Cost:
    started = time.perf_counter()
    process = subprocess.Popen(
        argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - started, process.returncode)


def commands() -> dict[str, list[str]]:
    """Give what is there to measure; a peer that is not installed beside this Python is left out."""
    bin_folder = str(Path(sys.executable).parent)
    python = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import click'": [sys.executable, "-c", "import click"],
    }
    tools = [["tumult", "--help"], ["tumult", "agents", "--no-probe"], *PEERS]
    found = {" ".join(argv): shutil.which(argv[0], path=bin_folder) for argv in tools}
    return python | {" ".join(argv): [path, *argv[1:]] for argv in tools if (path := found[" ".join(argv)])}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as place:
        folder, marks = Path(place) / "site", Path(place) / "marks"
        marks.mkdir()
        install_adapters(folder)
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPATH": str(folder), "BENCH_MARKS": str(marks)}
        wanted = commands()
        for argv in wanted.values():
            cost(argv, env)  # writes byte code, fills caches
        costs: dict[str, list[Cost]] = {name: [] for name in wanted}
        for _ in range(rounds):
            for name, argv in wanted.items():
                costs[name].append(cost(argv, env))
        report(costs)
        slept = sorted(mark.name for mark in marks.iterdir())
        print(f"adapters imported: {', '.join(slept) if slept else f'none of {ADAPTERS}'}")
        sys.exit(bool(slept))


def report(costs: dict[str, list[Cost]]) -> None:
    base = statistics.median(one.cpu_s for one in costs["python -c pass"])
    for name, all_costs in costs.items():
        cpu = statistics.median(one.cpu_s for one in all_costs)
        goal = f", the goal is {GOALS[name]}" if name in GOALS else ""
        failed = f", EXIT CODE {code}" if (code := all_costs[0].exit_code) else ""
        wall = statistics.median(one.wall_s for one in all_costs)
        times = f"{cpu * 1000:7.1f} ms CPU  {cpu / base:5.2f} times python"
        print(f"{name:28} {times}{goal}; {wall * 1000:.0f} ms in all{failed}")


if __name__ == "__main__":
    main()
