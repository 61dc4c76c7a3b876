"""How long the advice of `tumult recommend` takes over a large history, and a hundred proposals through the gate.

Run: python bench/recommend.py [STEPS…]        (default: 1000000 10000000)

Each measurement of the advice is a fresh process that imports, opens, aggregates, ranks and drafts; beside it stands
how much of that the store's `history()` takes. The proposals go through parser, gate and writer; beside them stands
what the same documents cost as JSON and as plain writes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from history import GOAL_MB, GOALS_S, build

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog

PROPOSALS = 100
GATE_GOAL_S = 1.0


def catalog() -> Catalog:
    """Give 400 functions, half of which the history knows."""
    from tumult_core.catalog import Argument, Catalog, Function, Plugin, PluginKind

    def plugin(name: str) -> Plugin:
        arguments = (Argument("target", "string", required=True, description="what to break"),)
        functions = tuple(
            Function(name, f"function-{n}", PluginKind.NATIVE, "action", f"Break thing number {n}.", arguments)
            for n in range(10)
        )
        return Plugin(name, PluginKind.NATIVE, "1", "", functions, "bench")

    return Catalog(tuple(plugin(f"plugin-{n:02d}" if n >= 20 else f"plugin-{n}") for n in range(40)))


def look(folder: str) -> None:
    """Run in a child: give advice once and print what was measured."""
    everything = catalog()
    started = time.perf_counter()
    from tumult_core.store import open_store
    from tumult_intelligence.advice import advise, read_past

    imported = time.perf_counter()
    past = read_past(open_store(folder))
    read, read_cpu = time.perf_counter(), time.process_time()
    advice = advise(past, everything, now_ns=1_800_000_000_000_000_000, goal="break thing number 7 of plugin 3")
    ended, ended_cpu = time.perf_counter(), time.process_time()
    assert past.problem is None
    print(
        json.dumps(
            {
                "import_s": imported - started,
                "history_s": read - imported,
                "advice_s": ended - read,
                "advice_cpu_s": ended_cpu - read_cpu,
                "all_s": ended - started,
                "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
                "rows": advice.signals.activity_rows,
                "candidates": len(advice.targets),
            }
        )
    )


def bench_advice(place: Path, steps: int) -> None:
    folder = place / "history"
    build(folder, steps)
    argv = [sys.executable, __file__, "--look", str(folder)]
    found = [json.loads(subprocess.run(argv, check=True, capture_output=True).stdout) for _ in range(3)]
    best = min(found, key=lambda result: float(result["all_s"]))
    assert best["rows"] == steps
    parts = f"{best['import_s']:.2f} s imports, {best['history_s']:.2f} s history, {best['advice_s']:.2f} s advice"
    print(
        f"{steps:>9} steps: {best['all_s']:.2f} s ({parts}, of which {best['advice_cpu_s']:.2f} s processor, for"
        f" {best['candidates']} candidates), {best['memory_mb']:.0f} MB; the goal is {GOALS_S.get(steps)} s and"
        f" {GOAL_MB} MB",
        flush=True,
    )


def proposal(number: int) -> str:
    return f"""\
title: Proposal number {number}
description: Break one thing and look at another
tags[2]: bench, plugin
configuration:
  target:
    type: env
    key: BENCH_TARGET
    default: nobody
steady_state_hypothesis:
  title: The service answers
  probes[1]:
    - name: answers
      activity_type: probe
      provider:
        type: process
        path: sh
        arguments[2]: "-c", "curl -fsS http://127.0.0.1:8080/health | grep -q ok && echo {number}"
        timeout_s: 5
      tolerance:
        type: regex
        pattern: "^{number}$"
method[1]:
  - name: break
    activity_type: action
    provider:
      type: native
      plugin: plugin-{number % 20}
      function: function-{number % 10}
      arguments:
        target: "${{config.target}}"
    pause_after_s: {number}
rollbacks[1]:
  - name: mend
    activity_type: action
    provider:
      type: process
      path: systemctl
      arguments[2]: start, worker
      timeout_s: 30
"""


def bench_gate(place: Path) -> None:
    from tumult_core.engine import experiment_to_data
    from tumult_intelligence.answer import parse_answer
    from tumult_intelligence.gate import Passed, check_blocks
    from tumult_intelligence.writer import Document, Written, write_documents

    answer = "## Recommendations\n" + "".join(f"\n```toon\n{proposal(n)}```\n" for n in range(PROPOSALS))
    everything = catalog()
    check_blocks(parse_answer(answer).blocks[:1], everything)  # imports are not what is measured

    def once(folder: Path) -> tuple[float, float, list[Passed]]:
        started = time.perf_counter()
        verdicts = check_blocks(parse_answer(answer).blocks, everything)
        passed = [verdict for verdict in verdicts if isinstance(verdict, Passed)]
        judged = time.perf_counter()
        written = write_documents(folder, [Document(each.title, each.text) for each in passed])
        assert len(passed) == sum(isinstance(each, Written) for each in written) == PROPOSALS
        return judged - started, time.perf_counter() - judged, passed

    gate_s, write_s, passed = min((once(place / str(n)) for n in range(3)), key=lambda each: each[0] + each[1])
    texts = [json.dumps(experiment_to_data(each.experiment)) for each in passed]
    started = time.perf_counter()
    for text in texts:
        json.loads(text)
    json_s = time.perf_counter() - started
    (place / "plain").mkdir()
    started = time.perf_counter()
    for each in passed:
        (place / "plain" / f"{each.index}.toon").write_text(each.text)
    plain_s = time.perf_counter() - started
    print(
        f"{PROPOSALS} proposals: {gate_s + write_s:.2f} s ({gate_s:.2f} s parser and gate, {write_s:.2f} s writer);"
        f" the goal is {GATE_GOAL_S:g} s; as JSON they parse in {json_s * 1000:.1f} ms, plain writes that nothing makes"
        f" last take {plain_s * 1000:.1f} ms",
        flush=True,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        bench_gate(Path(place))
    for steps in [int(size) for size in sys.argv[1:]] or GOALS_S:
        with tempfile.TemporaryDirectory() as place:
            bench_advice(Path(place), steps)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--look"]:
        look(sys.argv[2])
    else:
        main()
