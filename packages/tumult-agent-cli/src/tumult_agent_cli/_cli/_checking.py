"""Run the checks of the contract on an installed adapter and print how each went."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.testing import CheckResult

LIVE_PROMPT = "Reply with the single word: ready"


def check_adapter(name: str, *, live: bool, long: bool) -> int:
    """Check the adapter ``name`` and give the exit code.

    Raises:
        UnknownAdapter, AdapterBroken: it cannot be had at all.
    """
    from tumult_agent_cli.registry import AdapterRegistry
    from tumult_agent_cli.testing import CHECKS, run_checks
    from tumult_agent_cli.testing._run_checks import DETECTION_ENDS

    adapter = AdapterRegistry.builtin().get(name)
    count: Counter[str] = Counter()
    for group, checks in groupby(CHECKS, key=lambda check: check.group):
        results = run_checks(adapter, checks=checks)
        tally = Counter(result.outcome.value for result in results)
        click.echo(f"{results[0].group if results else group}: {_told(tally)}")
        for result in results:
            if long or result.outcome.value == "failed":
                click.echo(f"  {_line(result)}")
        count += tally
        if any(result.id == DETECTION_ENDS for result in results):
            break
    click.echo(_told(count), err=True)
    answered = _ask(adapter) if live else True
    return 0 if answered and not count["failed"] else 1


def _told(tally: Counter[str]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in sorted(tally.items()))


def _line(result: CheckResult) -> str:
    because = f" - {result.message}" if result.message else ""
    return f"{result.outcome.value}: {result.id}: {result.claim}{because}"


def _ask(adapter: AgentCliAdapter) -> bool:
    """Send one tiny prompt to the real CLI and tell whether it answered."""
    from tumult_agent_cli import AgentCliError, PromptRequest, run_prompt
    from tumult_agent_cli._text import mask, one_line

    click.echo(f"Sending one tiny prompt to {adapter.name}; this may cost money.", err=True)
    try:
        answer = run_prompt(adapter, PromptRequest(LIVE_PROMPT))
    except AgentCliError as error:
        click.echo(f"live: failed: {one_line(mask(str(error)))}")
        return False
    cost = "unknown" if answer.usage.cost_usd is None else f"{answer.usage.cost_usd:.4f} USD"
    said = one_line(mask(answer.text), 60)
    click.echo(f"live: {answer.model or 'the model'} answered {said!r} in {answer.duration_s:.1f} s, cost {cost}")
    for warning in answer.warnings:
        click.echo(f"Warning: {one_line(mask(warning))}", err=True)
    return True
