"""Ask every adapter at once what it finds; one that hangs, raises or prints costs the others nothing."""

from __future__ import annotations

import inspect
import threading
import time
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple

from tumult_agent_cli._plugin_host import captured
from tumult_agent_cli._signals import held_back
from tumult_agent_cli._text import mask, one_line
from tumult_agent_cli.probing import stopping
from tumult_agent_cli.values import CliProbe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_agent_cli._signals import Pending
    from tumult_agent_cli.adapter import AgentCliAdapter

PROBE_LIMIT_S = 45.0  # a version asked of a cold Node program takes up to 30 s, its sign-in 10 s more
_TICK_S = 0.05
_STOP_S = 2.0  # in which a question that was cut short ends its process


class Detection(NamedTuple):
    """What one adapter found, or why that is not known: one line, else empty."""

    probe: CliProbe | None
    fault: str = ""


def detect_all(adapters: Sequence[AgentCliAdapter], *, limit_s: float = PROBE_LIMIT_S) -> tuple[Detection, ...]:
    """Run ``detect`` of all adapters side by side and give what each found, in the order of ``adapters``.

    All have one deadline, ``limit_s`` from now. The thread of one that does not end is a daemon: it does not keep the
    interpreter from ending, and what it started through ``probing`` is ended before this returns. A signal that ends
    the program waits for the next tick, so that it, too, leaves nothing behind. What probes print is dropped: stdout is
    the result.
    """
    with captured([]):
        return _detections(adapters, limit_s, None)


def detect_one(adapter: AgentCliAdapter, cancel: threading.Event | None = None) -> Detection:
    """Do the same for the adapter of a run, within ``PROBE_LIMIT_S`` or until ``cancel`` is set; what it prints is left
    alone, as other runs may be on.
    """
    return _detections([adapter], PROBE_LIMIT_S, cancel)[0]


def _detections(
    adapters: Sequence[AgentCliAdapter], limit_s: float, cancel: threading.Event | None
) -> tuple[Detection, ...]:
    found: dict[int, Detection] = {}
    stop = threading.Event()

    def ask(index: int, adapter: AgentCliAdapter) -> None:
        stopping.set(stop)
        found[index] = _ask(adapter)

    threads = [
        threading.Thread(target=copy_context().run, args=(ask, *pair), daemon=True) for pair in enumerate(adapters)
    ]
    late = Detection(None, f"the probe did not answer in {limit_s:g} s")
    with held_back() as pending:
        try:
            for thread in threads:
                thread.start()
            _wait(threads, limit_s, pending, cancel)
            # Now: what a question that is cut short makes of it is no finding.
            return tuple(found.get(index, late) for index in range(len(threads)))
        finally:
            stop.set()
            _let_end(threads, pending)


def _wait(
    threads: Sequence[threading.Thread], limit_s: float, pending: Pending, cancel: threading.Event | None
) -> None:
    deadline = time.monotonic() + limit_s
    for thread in threads:
        while thread.is_alive() and time.monotonic() < deadline and not (cancel and cancel.is_set()):
            thread.join(_TICK_S)
            pending.check()


def _let_end(threads: Sequence[threading.Thread], pending: Pending) -> None:
    until = time.monotonic() + _STOP_S
    for thread in threads:
        while thread.ident and thread.is_alive() and time.monotonic() < until and not pending.is_hurried:
            thread.join(_TICK_S)


def _ask(adapter: AgentCliAdapter) -> Detection:
    try:
        return _checked(adapter.detect())
    except BaseException as error:  # noqa: BLE001 - an adapter's own code, which the contract forbids to raise
        return Detection(None, f"detect() raised {_description(error)}")


def _description(error: BaseException) -> str:
    try:
        return one_line(mask(f"{type(error).__name__}: {error}")).removesuffix(":")
    except BaseException:  # noqa: BLE001 - its message is its own code, too
        return type(error).__name__


def _checked(probe: Any) -> Detection:
    """Give the probe with its texts cleaned, or say why it is none: annotations bind no vendor."""
    if inspect.iscoroutine(probe):
        probe.close()  # else it warns that nobody awaited it
    if not isinstance(probe, CliProbe):
        return Detection(None, f"detect() gave {type(probe).__name__}, not a CliProbe")
    installed: Any = probe.installed
    texts = (probe.version, probe.bin_path, probe.detail)
    if not isinstance(installed, bool) or not all(isinstance(text, str | None) for text in texts):
        return Detection(None, "detect() gave a CliProbe with a field of the wrong type")
    version, path, detail = (None if text is None else one_line(mask(text)) for text in texts)
    signed_in = probe.logged_in if isinstance(probe.logged_in, bool) else None
    return Detection(CliProbe(installed, version=version, logged_in=signed_in, bin_path=path, detail=detail or ""))
