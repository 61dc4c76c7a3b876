"""How each type of provider is described and executed: one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from tumult_core import experiment as document
from tumult_core.providers import _process
from tumult_core.providers._values import Call, Identity, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from tumult_core.catalog import Catalog

__all__ = ["Call", "Identity", "Outcome", "describe", "execute"]


@frozen
class _Handler:
    describe: Callable[[Any, Catalog], Identity]
    execute: Callable[[Any, Call], Outcome]


_HANDLERS: dict[type, _Handler] = {
    document.ProcessProvider: _Handler(_process.describe, _process.execute),
}


def describe(provider: document.Provider, catalog: Catalog) -> Identity:
    """Say what ``provider`` executes; nothing runs."""
    return _HANDLERS[type(provider)].describe(provider, catalog)


def execute(provider: document.Provider, call: Call) -> Outcome:
    """Execute ``provider``. What goes wrong with the step is an outcome; an exception is a bug."""
    return _HANDLERS[type(provider)].execute(provider, call)
