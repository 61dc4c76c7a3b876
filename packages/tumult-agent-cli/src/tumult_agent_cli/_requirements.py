"""Whether what Tumult's distributions require is installed, in a version that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import importlib_metadata
from packaging.requirements import InvalidRequirement, Requirement

from tumult_agent_cli._plugin_host import list_candidates
from tumult_agent_cli._text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUPS = ("tumult.agent_adapters", "tumult.commands", "tumult.plugins", "tumult.stores")


class Conflict(NamedTuple):
    """A requirement that is not met."""

    distribution: str
    problem: str
    fix: str


def conflicts() -> tuple[Conflict, ...]:
    """Give each requirement that is not met, of each installed distribution that extends Tumult."""
    ours = sorted({(c.distribution, c.version) for group in GROUPS for c in list_candidates(group).candidates})
    return tuple(
        conflict
        for name, version in ours
        for line in importlib_metadata.requires(name) or ()
        for conflict in _check(f"{name} {version}", line)
    )


def _check(whose: str, line: str) -> Iterator[Conflict]:
    try:
        needs = Requirement(line)
    except InvalidRequirement:
        yield Conflict(whose, f"its requirement cannot be read: {one_line(line, 100)}", "tell its vendor")
        return
    if needs.marker and not needs.marker.evaluate({"extra": ""}):
        return
    there = _version(needs.name)
    if there is None or not needs.specifier.contains(there, prereleases=True):
        problem = f"requires {needs.name}{needs.specifier}, and {there or 'none'} is installed"
        yield Conflict(whose, problem, f'python -m pip install "{needs.name}{needs.specifier}"')


def _version(name: str) -> str | None:
    try:
        return importlib_metadata.version(name)
    except Exception:  # noqa: BLE001 - absent, or metadata that the library cannot read: as good as absent
        return None
