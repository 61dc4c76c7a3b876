"""Ask the index something that nobody vouches for, in a process that is bounded and can be ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tumult_core._text import one_line
from tumult_core.exceptions import StoreError
from tumult_core.store.values import Table

if TYPE_CHECKING:
    from pathlib import Path

# What Python needs to start and to find its modules; nothing else of the environment is there to be read.
_INHERITED = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL")


def query(index: Path, sql: str, *, max_rows: int, timeout_s: float) -> Table:
    """Answer one statement; the caller holds the index's lock.

    Raises:
        duckdb.Error: the index is damaged.
        StoreError: the statement is refused, wrong, or takes too long or too much.
    """
    request = {"index": str(index), "sql": sql, "max_rows": max_rows, "timeout_s": timeout_s}
    answer = _ask(json.dumps(request), timeout_s)
    if answer.get("damaged"):
        import duckdb

        raise duckdb.Error(answer["error"])
    if "error" in answer:
        raise StoreError(f"the query failed: {one_line(str(answer['error']), 1000)}")
    rows = tuple(tuple(row) for row in answer["rows"])
    return Table(tuple(answer["columns"]), rows, truncated=answer["truncated"], notes=tuple(answer["notes"]))


def _ask(request: str, timeout_s: float) -> dict[str, Any]:
    # -P: a file in the working directory must not pass for a module.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tumult_core.store._query_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        env={name: os.environ[name] for name in _INHERITED if name in os.environ} | {"TZ": "UTC"},
    )
    try:
        said, complaint = process.communicate(request, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise StoreError(
            f"the query was not answered within {timeout_s:g} s", hint="ask for less, or give it more time"
        ) from None
    finally:
        _end(process)
    try:
        answer: dict[str, Any] = json.loads(said)
    except ValueError:
        ended = f"its process ended with {process.returncode}"
        raise StoreError(
            f"the query failed: {one_line(complaint[-500:]) or ended}", hint="it may need more memory than it may have"
        ) from None
    return answer


def _end(process: subprocess.Popen[str]) -> None:
    """End the process and whatever it may have started, and close its pipes."""
    with suppress(ProcessLookupError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
    with process:
        process.wait()
