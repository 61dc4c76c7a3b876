"""The processors that a process may use: limited, and remembered in a file so that they can be restored later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tumult_core.exceptions import PluginError

if TYPE_CHECKING:
    from pathlib import Path

    import psutil


def limit(process: psutil.Process, cpus: list[int] | None) -> list[int]:
    """Limit a process, remember what it had before the first limit, and give what it has now."""
    before = process.cpu_affinity() or []
    wanted = before[:1] if cpus is None else [int(cpu) for cpu in cpus]
    memory = _memory(process)
    memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not memory.exists():
        memory.write_text(json.dumps(before), encoding="utf-8")
    try:
        process.cpu_affinity(wanted)
    except ValueError as error:
        raise PluginError(f"the processors {wanted} cannot be given to {process.pid}: {error}") from error
    return process.cpu_affinity() or []


def restore(process: psutil.Process) -> list[int]:
    """Give a process what was remembered for it, else every processor, and give what it has now."""
    memory = _memory(process)
    try:
        before = json.loads(memory.read_text(encoding="utf-8"))
    except FileNotFoundError:
        before = []  # psutil takes it for every processor there is
    process.cpu_affinity(before)
    memory.unlink(missing_ok=True)
    return process.cpu_affinity() or []


def _memory(process: psutil.Process) -> Path:
    """Give the file for a process; its time of creation tells it from an earlier one of the same id."""
    import platformdirs

    name = f"{process.pid}-{process.create_time():.2f}.json"
    return platformdirs.user_state_path("tumult", appauthor=False) / "cpu-affinity" / name
