"""Run the checks of the contract without a test framework."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from tumult_agent_cli._text import one_line
from tumult_agent_cli.testing._bench import bench_for
from tumult_agent_cli.testing._case import Case, case_of
from tumult_agent_cli.testing._check import Check, CheckFailed
from tumult_agent_cli.testing._checks import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.testing._bench import Bench


DETECTION_ENDS = "detection/ends"
"""The one result of an adapter whose ``detect`` never ends: nothing else can be checked then."""


class Outcome(StrEnum):
    """How a check went."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@frozen
class CheckResult:
    """How one check went.

    Attributes:
        id: of the check, stable.
        group: the part of the contract.
        claim: what must hold, a sentence.
        outcome: whether it does.
        message: why it does not, or why the check does not apply; one line.
        duration_s: wall time.
    """

    id: str
    group: str
    claim: str
    outcome: Outcome
    message: str
    duration_s: float


def run_checks(
    adapter: AgentCliAdapter | Case,
    *,
    checks: Iterable[Check] = CHECKS,
    on_result: Callable[[CheckResult], None] | None = None,
) -> list[CheckResult]:
    """Check an adapter against the contract: with scripted executables, without the real CLI, network or model.

    Environment, working directory and places for temporary files are replaced while a check runs and put back after it:
    run nothing else in this process meanwhile. An adapter whose ``detect`` does not end has one result that says
    so. Needs POSIX.

    Args:
        adapter: an adapter, or a ``Case`` that also says how its CLI talks, so that more can be checked.
        checks: which; all by default.
        on_result: is told each result as it comes.
    """
    case = adapter if isinstance(adapter, Case) else case_of(adapter)
    stuck = _stuck(case)
    outcomes = (run_check(case, check) for check in checks) if stuck is None else (stuck,)
    results = []
    for result in outcomes:
        results.append(result)
        if on_result is not None:
            on_result(result)
    return results


def _stuck(case: Case) -> CheckResult | None:
    """Give the result for an adapter whose ``detect`` does not end; None for all others."""
    started = time.monotonic()
    ends = True
    with suppress(Exception), _bench(case) as bench:  # the checks tell what is wrong with it
        ends = bench.ends_detection()
    if ends:
        return None
    message = f"detect() did not end within {case.probe_limit_s:g} s, with a CLI that answers at once"
    duration_s = time.monotonic() - started
    return CheckResult(DETECTION_ENDS, "detection", "detect() ends", Outcome.FAILED, message, duration_s)


@contextmanager
def _bench(case: Case) -> Iterator[Bench]:
    with (
        tempfile.TemporaryDirectory(prefix="tumult-check-", ignore_cleanup_errors=True) as folder,
        bench_for(case, Path(folder)) as bench,
    ):
        yield bench


def run_check(case: Case, check: Check) -> CheckResult:
    """Run one check in a fresh folder that is removed afterwards."""
    started = time.monotonic()
    outcome, message = _judge(case, check)
    duration_s = time.monotonic() - started
    return CheckResult(check.id, check.group, check.claim, outcome, one_line(message), duration_s)


def _judge(case: Case, check: Check) -> tuple[Outcome, str]:
    try:
        if reason := check.not_applicable(case):
            return Outcome.NOT_APPLICABLE, reason
        with _bench(case) as bench:
            check.test(bench)
    except CheckFailed as failed:
        return Outcome.FAILED, str(failed)
    except Exception as error:  # noqa: BLE001  the adapter is another's code: what it raises is the result
        return Outcome.FAILED, f"{type(error).__name__}: {error}"
    return Outcome.PASSED, ""
