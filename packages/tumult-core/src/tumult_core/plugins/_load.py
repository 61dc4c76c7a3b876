"""Load what is installed into the catalog; one that is broken is a row with a reason."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from tumult_core import hookspecs
from tumult_core._plugin_host import PluginLoadError, list_candidates, load
from tumult_core.catalog import Catalog, PluginKind, PluginProblem
from tumult_core.exceptions import PluginError
from tumult_core.plugins._define import Plugin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tumult_core._plugin_host import Candidate, Listing, Problem
    from tumult_core.catalog import Plugin as CatalogPlugin

DISABLE, ONLY = "TUMULT_DISABLE_PLUGINS", "TUMULT_ONLY_PLUGINS"
_log = logging.getLogger("tumult_core.plugins")


def load_catalog(*, cwd: Path | None = None) -> Catalog:
    """Give everything that can be done here: Python plugins are imported, manifests of script plugins read.

    Args:
        cwd: the project's folder, whose ``plugins`` folder is looked at; None for the current one.

    Script plugins are found there, in the user's data folder and in TUMULT_PLUGIN_PATH; the first one of a name wins.
    TUMULT_DISABLE_PLUGINS and TUMULT_ONLY_PLUGINS name plugins of both kinds, comma-separated.
    """
    from tumult_core.plugins._scripts import script_plugins

    listing = _list()
    found = [*_native(listing), *map(_unless_off, script_plugins(cwd))]
    plugins = [one for one in found if not isinstance(one, PluginProblem)]
    problems = [one for one in found if isinstance(one, PluginProblem)]
    return Catalog(
        tuple(sorted(plugins, key=lambda plugin: (plugin.name, plugin.kind))),
        tuple(sorted(problems, key=lambda problem: (problem.name, problem.kind, problem.origin, problem.reason))),
    )


def load_native(plugin_name: str) -> CatalogPlugin:
    """Import one Python plugin, by ``NAME`` or ``DISTRIBUTION:NAME``, and no other.

    Raises:
        PluginError: it is not installed, switched off, broken, or brought by two distributions.
    """
    listing = _list()
    found = [one for one in listing.candidates if plugin_name in {one.name, one.qualified}]
    problem = next((one for one in listing.problems if one.name == plugin_name and one.kind != "duplicate"), None)
    if len(found) == 1:
        return _load(found[0])
    if problem:
        raise PluginError(f"the plugin {plugin_name} cannot be used: {problem.reason}", hint=problem.hint)
    if any(plugin_name in {one.name, one.qualified} for one in listing.disabled):
        raise PluginError(f"the plugin {plugin_name} is switched off", hint=f"see {DISABLE} and {ONLY}")
    raise PluginError(f"the plugin {plugin_name} is not installed", hint="tumult plugins lists those that are")


def _list() -> Listing:
    return list_candidates(hookspecs.PLUGINS, disable_env=DISABLE, only_env=ONLY)


def _native(listing: Listing) -> Iterator[CatalogPlugin | PluginProblem]:
    rivals = {(problem.name, problem.distribution) for problem in listing.problems if problem.kind == "collision"}
    for candidate in listing.candidates:
        if (candidate.name, candidate.distribution) not in rivals:
            try:
                yield _load(candidate)
            except PluginError as error:
                yield _problem(candidate, error.message, error.hint)
    yield from (_listed(problem) for problem in listing.problems if problem.kind != "unmatched")
    yield from (_problem(candidate, *_switched_off()) for candidate in listing.disabled)


def _load(candidate: Candidate) -> CatalogPlugin:
    try:
        loaded = load(candidate, hookspecs, "tumult_plugins", hookspecs.PROJECT)
    except PluginLoadError as error:
        raise PluginError(error.reason, hint=error.hint) from error
    for warning in loaded.warnings:
        _log.warning("the plugin %s of %s: %s", candidate.name, _origin(candidate), warning)
    plugin = loaded.results[0] if len(loaded.results) == 1 else None
    if not isinstance(plugin, Plugin):
        raise PluginError("its hook does not give one tumult_core.plugins.Plugin", hint="tell its vendor")
    if plugin.name != candidate.name:
        raise PluginError(
            f"it calls itself {plugin.name}, and its entry point {candidate.name}", hint="the two must be equal"
        )
    return plugin.build(origin=_origin(candidate), version=candidate.version)


def _origin(candidate: Candidate | Problem) -> str:
    return f"{candidate.distribution} {candidate.version}".strip()


def _problem(candidate: Candidate, reason: str, hint: str) -> PluginProblem:
    return PluginProblem(candidate.name, PluginKind.NATIVE, _origin(candidate), reason, hint)


def _listed(problem: Problem) -> PluginProblem:
    return PluginProblem(problem.name, PluginKind.NATIVE, _origin(problem), problem.reason, problem.hint)


def _switched_off() -> tuple[str, str]:
    return "it is switched off", f"see {DISABLE} and {ONLY}"


def _unless_off(found: CatalogPlugin | PluginProblem) -> CatalogPlugin | PluginProblem:
    """Give a script plugin, or the row that says that a variable switches it off."""
    only, disabled = _names(ONLY), _names(DISABLE)
    if isinstance(found, PluginProblem) or (found.name not in disabled and (not only or found.name in only)):
        return found
    return PluginProblem(found.name, found.kind, found.origin, *_switched_off())


def _names(variable: str) -> set[str]:
    return {name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()}
