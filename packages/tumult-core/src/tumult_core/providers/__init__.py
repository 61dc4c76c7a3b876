"""How each type of provider is described and executed: one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from tumult_core import experiment as document
from tumult_core._activities import providers as all_providers
from tumult_core.providers import _http, _native, _process, _python, _script
from tumult_core.providers._values import Call, Identity, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from tumult_core.catalog import Catalog

__all__ = ["Call", "Identity", "Outcome", "describe", "execute", "secret_arguments"]


@frozen
class _Handler:
    describe: Callable[[Any, Catalog], Identity]
    execute: Callable[[Any, Call], Outcome]


_HANDLERS: dict[type, _Handler] = {
    document.ProcessProvider: _Handler(_process.describe, _process.execute),
    document.NativeProvider: _Handler(_native.describe, _native.execute),
    document.ScriptProvider: _Handler(_script.describe, _script.execute),
    document.HttpProvider: _Handler(_http.describe, _http.execute),
    document.PythonProvider: _Handler(_python.describe, _python.execute),
}


def describe(provider: document.Provider, catalog: Catalog) -> Identity:
    """Say what ``provider`` executes; nothing runs."""
    return _HANDLERS[type(provider)].describe(provider, catalog)


def secret_arguments(experiment: document.Experiment, catalog: Catalog) -> tuple[Any, ...]:
    """Give what is secret by its nature in the arguments of all steps, literals of the document included."""
    return tuple(secret for _, provider in all_providers(experiment) for secret in describe(provider, catalog).secrets)


def execute(provider: document.Provider, call: Call) -> Outcome:
    """Execute ``provider``. What goes wrong with the step is an outcome; an exception is a bug."""
    return _HANDLERS[type(provider)].execute(provider, call)
