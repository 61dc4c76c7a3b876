"""The adapters that are installed: known by name from metadata, each imported when it is asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tumult_agent_cli._plugin_host import Listing, PluginLoadError, Problem, list_candidates, load, normalise
from tumult_agent_cli.exceptions import AdapterBroken, UnknownAdapter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tumult_agent_cli._plugin_host import Candidate
    from tumult_agent_cli.adapter import AgentCliAdapter

GROUP = "tumult.agent_adapters"
DISABLE_ENV = "TUMULT_DISABLE_ADAPTERS"
ONLY_ENV = "TUMULT_ONLY_ADAPTERS"
RUN_TIME = "(this program)"
"""Stands for the distribution of an adapter that was registered at run time."""


class AdapterEntry(NamedTuple):
    """One line of what is installed: an adapter, or something wrong with what is there.

    Attributes:
        state: ``ready``, ``listed`` (not imported), ``broken``, ``collision``, ``disabled``; or, of a line that is no
            adapter, the kind of its problem: ``duplicate``, ``unmatched``, ``notice``.
        reason: why it is not ready, one line.
        hint: what to do.
        adapter: the adapter itself where it is ready.
    """

    name: str
    distribution: str
    version: str
    path: str
    state: str
    reason: str = ""
    hint: str = ""
    adapter: AgentCliAdapter | None = None


class AdapterRegistry:
    """Adapters by name. A broken one breaks nothing but itself: it is a problem with a reason.

    Iterating gives the adapters that work, in the order of their names; what does not work is in ``problems``.
    """

    def __init__(self, listing: Listing | None = None) -> None:
        self._listing = _with_usable_names(listing or Listing((), (), ()))
        self._loaded: dict[Candidate, AgentCliAdapter | AdapterBroken] = {}
        self._registered: dict[str, AgentCliAdapter] = {}
        self._found: list[Problem] = []

    @classmethod
    def builtin(cls, *, environ: Mapping[str, str] = os.environ, path: Sequence[str] | None = None) -> AdapterRegistry:
        """Give a registry of what is installed; imports none of it.

        Args:
            environ: holds TUMULT_DISABLE_ADAPTERS and TUMULT_ONLY_ADAPTERS, comma-separated names.
            path: where to look for metadata; None is ``sys.path`` without the working directory.
        """
        listing = list_candidates(
            GROUP, disable_env=DISABLE_ENV, only_env=ONLY_ENV, environ=environ, path=path, sectionless=True
        )
        return cls(listing)

    def names(self) -> tuple[str, ...]:
        """Give each name that ``get`` takes, sorted: ``DISTRIBUTION:NAME`` where two distributions bring it, and none
        where both bring the same module.
        """
        found = ((c, self._collision(c)) for c in self._listing.candidates)
        installed = (c.qualified if rival else c.name for c, rival in found if not (rival and rival.same_module))
        return tuple(sorted({*installed, *self._registered}))

    def get(self, name: str) -> AgentCliAdapter:
        """Give the adapter ``name``, or ``DISTRIBUTION:NAME``; imports its plugin and no other.

        Raises:
            UnknownAdapter: there is none; says what is closest.
            AdapterBroken: there is one and it cannot be used, or two distributions bring it.
        """
        if name in self._registered:
            return self._registered[name]
        found = [c for c in self._listing.candidates if _is_meant(name, c.distribution, c.name)]
        if not found:
            raise self._absent(name)
        problem = self._collision(found[0])
        if problem and (len(found) > 1 or problem.same_module):
            raise self._ambiguous(name, found)
        return self._load(found[0])

    def register(self, adapter: AgentCliAdapter) -> None:
        """Add an adapter for the life of this registry, without an entry point.

        Raises:
            AdapterBroken: it does not fit the contract, or its name is taken.
        """
        from tumult_agent_cli._adapter_check import check_adapter

        name = str(getattr(adapter, "name", type(adapter).__name__))
        try:
            check_adapter(adapter, name, RUN_TIME)
        except PluginLoadError as error:
            raise AdapterBroken(name, RUN_TIME, error.reason, hint=error.hint) from error
        if name in self._registered or any(c.name == name for c in self._listing.candidates):
            raise AdapterBroken(
                name, RUN_TIME, "its name is taken", hint=f"choose another, or set {DISABLE_ENV}={name}"
            )
        self._registered[name] = adapter

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Give what is wrong with what is installed, as far as it is known by now, in the order of names."""
        return tuple(sorted([*self._listing.problems, *self._found], key=lambda p: (p.name, p.distribution, p.kind)))

    def __iter__(self) -> Iterator[AgentCliAdapter]:
        """Import all and give those that work."""
        return (entry.adapter for entry in self.entries() if entry.adapter is not None)

    def entries(self, *, load: bool = True) -> tuple[AdapterEntry, ...]:
        """Give a line for each adapter and each problem, in the order of names.

        Args:
            load: import what is installed; without it an adapter is ``listed`` and nothing of it is known but its name.
        """
        entries = [self._entry(candidate, load=load) for candidate in self._listing.candidates]
        reason = f"switched off by {DISABLE_ENV} or {ONLY_ENV}"
        entries += [_of(candidate, "disabled", reason) for candidate in self._listing.disabled]
        entries += [AdapterEntry(n, RUN_TIME, "", "", "ready", adapter=a) for n, a in self._registered.items()]
        entries += [_of_problem(problem) for problem in self.problems if problem.kind not in {"collision", "broken"}]
        return tuple(sorted(entries, key=lambda e: (e.name, e.distribution, e.state, e.path, e.reason)))

    def _entry(self, candidate: Candidate, *, load: bool) -> AdapterEntry:
        problem = self._collision(candidate)
        if problem:
            return _of(candidate, "collision", problem.reason, problem.hint)
        if not load:
            return _of(candidate, "listed")
        try:
            return _of(candidate, "ready")._replace(adapter=self._load(candidate))
        except AdapterBroken as broken:
            return _of(candidate, "broken", broken.reason, broken.hint)

    def _collision(self, candidate: Candidate) -> Problem | None:
        mine = ("collision", candidate.name, candidate.distribution)
        return next((p for p in self._listing.problems if (p.kind, p.name, p.distribution) == mine), None)

    def _load(self, candidate: Candidate) -> AgentCliAdapter:
        """Import a plugin once; what it gave, or why it failed, stands for the life of the registry."""
        if candidate not in self._loaded:
            self._loaded[candidate] = self._import(candidate)
        known = self._loaded[candidate]
        if isinstance(known, AdapterBroken):
            raise known.with_traceback(None)
        return known

    def _import(self, candidate: Candidate) -> AgentCliAdapter | AdapterBroken:
        from tumult_agent_cli import hookspecs
        from tumult_agent_cli._adapter_check import check_results

        name, distribution = candidate.name, candidate.distribution
        try:
            loaded = load(
                candidate,
                hookspecs,
                "tumult_agent_adapters",
                hookspecs.PROJECT,
                check=lambda results: check_results(results, name, distribution),
            )
        except PluginLoadError as error:
            self._found.append(_problem("broken", candidate, error.reason, error.hint))
            broken = AdapterBroken(name, distribution, error.reason, hint=error.hint)
            broken.__cause__ = error
            return broken
        hint = f"tell the vendor of {distribution}"
        self._found += [_problem("notice", candidate, warning, hint) for warning in loaded.warnings]
        adapter: AgentCliAdapter = loaded.results[0]
        return adapter

    def _absent(self, name: str) -> AdapterBroken | UnknownAdapter:
        for bad in self._listing.problems:
            if bad.kind == "metadata" and bad.name and _is_meant(name, bad.distribution, bad.name):
                return AdapterBroken(name, bad.distribution, bad.reason, hint=bad.hint)
        from difflib import get_close_matches

        off = any(_is_meant(name, c.distribution, c.name) for c in self._listing.disabled)
        hint = (
            f"it is switched off: look at {DISABLE_ENV} and {ONLY_ENV}"
            if off
            else "tumult agents says what is installed"
        )
        close = get_close_matches(name.lower(), self.names(), n=1, cutoff=0.5)
        return UnknownAdapter(name, self.names(), close[0] if close else None, hint=hint)

    def _ambiguous(self, name: str, found: Sequence[Candidate]) -> AdapterBroken:
        brought = " and ".join(dict.fromkeys(f"{c.distribution} {c.version}".strip() for c in found))
        twins = [problem for c in found if (problem := self._collision(c)) and problem.same_module]
        choices = [c.qualified for c in found if c.distribution not in {twin.distribution for twin in twins}]
        if not choices:
            return AdapterBroken(name, brought, twins[0].reason, hint=twins[0].hint)
        choice = " or ".join(f"--agent {qualified}" for qualified in choices)
        rest = ",".join(c.qualified for c in found if c.qualified != choices[0])
        hint = f"choose with {choice}, or switch off the rest with {DISABLE_ENV}={rest}"
        return AdapterBroken(name, brought, "two distributions bring this name", hint=hint)


def _with_usable_names(listing: Listing) -> Listing:
    """Make a problem of each candidate whose name is outside the grammar of names."""
    from tumult_agent_cli._adapter_check import NAME

    unfit = [candidate for candidate in listing.candidates if not NAME.fullmatch(candidate.name)]
    if not unfit:
        return listing
    lost = {("collision", candidate.name) for candidate in unfit}
    kept = [problem for problem in listing.problems if (problem.kind, problem.name) not in lost]
    hint = "its vendor must call it by lower-case words joined by -"
    kept += [_problem("metadata", candidate, f"{candidate.name!a} is no adapter name", hint) for candidate in unfit]
    usable = tuple(candidate for candidate in listing.candidates if candidate not in unfit)
    return listing._replace(candidates=usable, problems=tuple(kept))


def _is_meant(asked: str, distribution: str, name: str) -> bool:
    whose, colon, short = asked.rpartition(":")
    return short == name and (not colon or normalise(whose) == distribution)


def _of(candidate: Candidate, state: str, reason: str = "", hint: str = "") -> AdapterEntry:
    return AdapterEntry(candidate.name, candidate.distribution, candidate.version, candidate.path, state, reason, hint)


def _of_problem(problem: Problem) -> AdapterEntry:
    state = "broken" if problem.kind == "metadata" else problem.kind
    return AdapterEntry(
        problem.name, problem.distribution, problem.version, problem.path, state, problem.reason, problem.hint
    )


def _problem(kind: str, candidate: Candidate, reason: str, hint: str) -> Problem:
    return Problem(kind, reason, hint, candidate.name, candidate.distribution, candidate.version, candidate.path)
