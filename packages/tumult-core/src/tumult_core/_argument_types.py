"""The type of an argument whose whole text was one placeholder: environment variables and secrets are always text."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from attrs import evolve

from tumult_core._activities import providers, replace_providers
from tumult_core._catalog_checks import TYPES, find_function
from tumult_core._placeholders import is_template
from tumult_core.experiment import NativeProvider, ScriptProvider

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog
    from tumult_core.experiment import Experiment, Provider


def type_arguments(document: Experiment, resolved: Experiment, catalog: Catalog) -> Experiment:
    """Read texts that placeholders gave as JSON where the catalog declares that an argument is no text.

    So ``pid: ${config.pid}`` works with an environment variable. What does not read as the type stays text, for the
    checks that follow.

    Args:
        document: as parsed: a text that stands there was meant as text.
        resolved: the same with values in place of placeholders.
        catalog: declares the types.
    """
    written = dict(providers(document))

    def change(path: str, provider: Provider) -> Provider:
        before = written[path]
        if not isinstance(provider, NativeProvider | ScriptProvider) or not isinstance(before, type(provider)):
            return provider
        function = find_function(catalog, provider)
        types = {argument.name: argument.type for argument in (function.arguments if function else None) or ()}
        arguments = {
            name: _typed(value, types.get(name, "any")) if is_template(before.arguments.get(name)) else value
            for name, value in provider.arguments.items()
        }
        return evolve(provider, arguments=arguments)

    return replace_providers(resolved, change)


def _typed(value: Any, declared: str) -> Any:
    """Give what a text says as JSON where that is of the declared type, else the value as it is."""
    wanted = TYPES.get(declared, (str,))
    if not isinstance(value, str) or str in wanted:
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    fits = isinstance(found, wanted) and (not isinstance(found, bool) or bool in wanted)
    return found if fits and (not isinstance(found, float) or math.isfinite(found)) else value
