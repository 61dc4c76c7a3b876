"""What the tests of this package share: a catalog to propose from and a history to learn from."""

from __future__ import annotations

import pytest

from tumult_core.catalog import Argument, Catalog, Function, Plugin, PluginKind, Risk
from tumult_core.store.values import ActionHistory, ExperimentHistory, History

DAY_NS = 86_400 * 10**9


def _native(name: str, activity_type: str = "action", **facts: object) -> Function:
    pid = Argument("pid", "integer", required=True, description="the process")
    facts = {"arguments": (pid,), **facts}
    return Function("tumult-process", name, PluginKind.NATIVE, activity_type, **facts)  # type: ignore[arg-type]


def _script(name: str, activity_type: str = "action", **facts: object) -> Function:
    return Function("tumult-db-redis", name, PluginKind.SCRIPT, activity_type, **facts)  # type: ignore[arg-type]


@pytest.fixture
def catalog() -> Catalog:
    """Two plugins: a Python plugin with declared arguments, a script plugin without."""
    pid = Argument("pid", "integer", required=True, description="the process")
    signal = Argument("signal", "string", default="TERM", description="which signal")
    process = Plugin(
        "tumult-process",
        PluginKind.NATIVE,
        "1.0",
        "Local processes.",
        (
            _native("kill", description="End a process.", arguments=(pid, signal), risk=Risk.HIGH),
            _native("suspend", description="Stop a process for a while.", undo="resume"),
            _native("resume", description="Let a process go on.", risk=Risk.LOW),
            _native("exists", "probe", description="Tell whether a process is there.", read_only=True, risk=Risk.LOW),
        ),
        "tumult-core 0.1.0",
    )
    redis = Plugin(
        "tumult-db-redis",
        PluginKind.SCRIPT,
        "0.1.0",
        "Redis chaos.",
        (
            _script("flush-all", description="Flush all data from Redis.", risk=Risk.HIGH),
            _script("block-clients", description="Block client connections."),
            _script("redis-ping", "probe", description="Check that Redis answers.", read_only=True, risk=Risk.LOW),
        ),
        "plugins/tumult-db-redis",
    )
    return Catalog(plugins=(redis, process))


@pytest.fixture
def now_ns() -> int:
    """Day 1000, some hours in."""
    return 1000 * DAY_NS + 5 * 3600 * 10**9


@pytest.fixture
def history() -> History:
    """One action that works, one that never did; a failing, a stale, a flaky and a healthy experiment."""
    suspend = ("native", "tumult-process", "suspend")
    block = ("script", "tumult-db-redis", "block-clients")
    return History(
        runs=30,
        activity_rows=120,
        first_run_ns=900 * DAY_NS,
        last_run_ns=999 * DAY_NS,
        actions=(
            ActionHistory("native", "tumult-process", "suspend", 12, 10, 999 * DAY_NS, "no such process"),
            ActionHistory("process", "", "sh", 40, 40, 999 * DAY_NS, None),
            ActionHistory("python", "acme.chaos", "drain_node", 2, 0, 990 * DAY_NS, "403 from the API"),
            ActionHistory("script", "tumult-db-redis", "block-clients", 3, 0, 998 * DAY_NS, "connection refused"),
        ),
        experiments=(
            ExperimentHistory(
                "Cache outage", "a" * 64, ("cache",), 6, 4, 5, 4, 1, "deviated", 998 * DAY_NS, "boom", (block,)
            ),
            ExperimentHistory("Healthy", "b" * 64, (), 9, 0, 5, 0, 0, "completed", 999 * DAY_NS, None, (suspend,)),
            ExperimentHistory(
                "Now and then", "c" * 64, (), 6, 3, 5, 2, 5, "completed", 997 * DAY_NS, "odd", (suspend,)
            ),
            ExperimentHistory(
                "Old worker pause", "d" * 64, ("worker",), 3, 0, 3, 0, 0, "completed", 940 * DAY_NS, None, (suspend,)
            ),
        ),
    )
