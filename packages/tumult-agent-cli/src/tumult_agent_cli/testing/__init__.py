"""What the author of an adapter needs to test it: scripted fake executables and the checks of the whole contract.

``AdapterContract`` needs pytest, and is imported when it is asked for; nothing else here does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tumult_agent_cli.testing._case import Case
from tumult_agent_cli.testing._check import Check, CheckFailed
from tumult_agent_cli.testing._checks import CHECKS
from tumult_agent_cli.testing._fake import FOREVER, HANG, Call, FakeCli, Reply
from tumult_agent_cli.testing._run_checks import CheckResult, Outcome, run_checks

if TYPE_CHECKING:
    from tumult_agent_cli.testing._contract import AdapterContract

__all__ = [
    "CHECKS",
    "FOREVER",
    "HANG",
    "AdapterContract",
    "Call",
    "Case",
    "Check",
    "CheckFailed",
    "CheckResult",
    "FakeCli",
    "Outcome",
    "Reply",
    "run_checks",
]


def __getattr__(name: str) -> Any:
    if name != "AdapterContract":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tumult_agent_cli.testing._contract import AdapterContract

    return AdapterContract
