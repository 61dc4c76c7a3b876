"""The ``native`` provider: an action or probe of an installed Python plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core.catalog import PluginKind
from tumult_core.exceptions import PluginError
from tumult_core.providers._calls import call_function
from tumult_core.providers._functions import find_function, identity_of
from tumult_core.providers._values import Call, Identity, Outcome

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog
    from tumult_core.experiment import NativeProvider


def describe(provider: NativeProvider, catalog: Catalog) -> Identity:
    """Say what would run."""
    return identity_of(PluginKind.NATIVE, provider, catalog)


def execute(provider: NativeProvider, call: Call) -> Outcome:
    """Call the plugin's function in a process of its own."""
    try:
        find_function(PluginKind.NATIVE, provider, call.catalog)
    except PluginError as error:
        return Outcome.failed(str(error))
    target = {"plugin": provider.plugin, "function": provider.function, "arguments": dict(provider.arguments)}
    return call_function(target, call)
