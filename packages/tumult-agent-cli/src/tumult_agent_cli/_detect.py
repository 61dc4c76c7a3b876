"""Ask every adapter at once what it finds; one that hangs, raises or prints costs the others nothing."""

from __future__ import annotations

import inspect
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tumult_agent_cli._plugin_host import captured
from tumult_agent_cli._signals import held_back
from tumult_agent_cli._text import mask, one_line
from tumult_agent_cli.values import CliProbe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_agent_cli.adapter import AgentCliAdapter

PROBE_LIMIT_S = 30.0
_TICK_S = 0.05


class Detection(NamedTuple):
    """What one adapter found, or why that is not known: one line, else empty."""

    probe: CliProbe | None
    fault: str = ""


def detect_all(adapters: Sequence[AgentCliAdapter], *, limit_s: float = PROBE_LIMIT_S) -> tuple[Detection, ...]:
    """Run ``detect`` of all adapters side by side and give what each found, in the order of ``adapters``.

    All have one deadline, ``limit_s`` from now. The thread of one that does not end is a daemon: it does not keep the
    interpreter from ending, and what it started through ``probing`` is ended with it. A signal that ends the program
    waits for the next tick, so that it, too, leaves nothing behind. What probes print is dropped: stdout is the result.
    """
    found: dict[int, Detection] = {}

    def ask(index: int, adapter: AgentCliAdapter) -> None:
        found[index] = _ask(adapter)

    threads = [threading.Thread(target=ask, args=pair, daemon=True) for pair in enumerate(adapters)]
    deadline = time.monotonic() + limit_s
    with captured([]), held_back() as pending:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive() and time.monotonic() < deadline:
                thread.join(_TICK_S)
                pending.check()
    late = Detection(None, f"the probe did not answer in {limit_s:g} s")
    return tuple(found.get(index, late) for index in range(len(threads)))


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
