"""Functions of plugins, found in the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core.exceptions import PluginError
from tumult_core.providers._values import Identity

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog, Function, PluginKind
    from tumult_core.experiment import NativeProvider, ScriptProvider


def identity_of(kind: PluginKind, provider: NativeProvider | ScriptProvider, catalog: Catalog) -> Identity:
    """Say what would run; a plugin or function that is missing is no error yet."""
    plugin = catalog.plugin(kind, provider.plugin)
    function = plugin.function(provider.function) if plugin else None
    declared = (function.arguments if function else None) or ()
    secret = {argument.name for argument in declared if argument.secret}
    return Identity(
        kind=str(kind),
        plugin=provider.plugin,
        function=function.name if function else provider.function,
        arguments=dict(provider.arguments),
        secrets=tuple(value for name, value in provider.arguments.items() if name in secret),
        timeout_s=function.timeout_s if function else None,
    )


def find_function(kind: PluginKind, provider: NativeProvider | ScriptProvider, catalog: Catalog) -> Function:
    """Give the function that a step calls.

    Raises:
        PluginError: it is not installed, or it cannot run on this machine.
    """
    plugin = catalog.plugin(kind, provider.plugin)
    if plugin is None:
        raise _no_plugin(kind, provider.plugin, catalog)
    function = plugin.function(provider.function)
    if function is None:
        known = ", ".join(function.name for function in plugin.functions)
        raise PluginError(f"the plugin {plugin.name} has no {provider.function}", hint=f"it has {known or 'nothing'}")
    if function.missing:
        raise PluginError(f"{plugin.name} {function.name} cannot run here: {'; '.join(function.missing)}")
    return function


def _no_plugin(kind: PluginKind, name: str, catalog: Catalog) -> PluginError:
    broken = next((problem for problem in catalog.problems if problem.name == name and problem.kind == kind), None)
    if broken:
        return PluginError(f"the plugin {name} cannot be used: {broken.reason}", hint=broken.hint)
    return PluginError(f"the {kind} plugin {name} is not installed", hint="tumult plugins lists those that are")
