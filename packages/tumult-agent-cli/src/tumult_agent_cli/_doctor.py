"""Everything that is wrong with the agents of this environment, each with what mends it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tumult_agent_cli._overview import SCHEMA, Row, survey
from tumult_agent_cli._requirements import conflicts
from tumult_agent_cli.resolver import resolve_binary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tumult_agent_cli.registry import AdapterRegistry


class Finding(NamedTuple):
    """One thing that is wrong: what it is about, what is wrong with it, and what to do."""

    kind: str
    subject: str
    problem: str
    fix: str


def diagnose(registry: AdapterRegistry, *, environ: Mapping[str, str] = os.environ) -> tuple[Finding, ...]:
    """Give what is wrong, in the order of its subject: plugins, overrides, CLIs, and what the distributions require."""
    findings = [finding for row in survey(registry, probe=True) for finding in _of_row(row)]
    findings += _of_overrides(registry, environ)
    findings += [Finding("requirement", one.distribution, one.problem, one.fix) for one in conflicts()]
    return tuple(sorted(set(findings)))


def _of_row(row: Row) -> Iterator[Finding]:
    if row.warning:
        kind = "probe" if row.state == "ready" else row.state
        yield Finding(kind, row.subject, row.reason, row.hint)
    elif row.installed is False:
        yield Finding("not-installed", row.subject, row.detail.removesuffix(f": {row.hint}"), row.hint)
    elif row.logged_in is False:
        yield Finding("not-signed-in", row.subject, row.detail.removesuffix(f": {row.hint}"), row.hint)


def _of_overrides(registry: AdapterRegistry, environ: Mapping[str, str]) -> Iterator[Finding]:
    for adapter in registry:
        key = adapter.binary_env_key
        warning = resolve_binary(adapter.name, key, environ=environ).warning
        if warning:
            yield Finding("override", key, warning, f"unset {key}, or let it name the executable of {adapter.name}")


def as_json(findings: Sequence[Finding]) -> str:
    """Give the findings as ``{"schema": 1, "findings": [{kind, subject, problem, fix}]}``."""
    import json

    return json.dumps({"schema": SCHEMA, "findings": [finding._asdict() for finding in findings]}, indent=2)
