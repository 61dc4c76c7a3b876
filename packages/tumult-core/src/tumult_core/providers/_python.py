"""The ``python`` provider: any importable function, those of Chaos Toolkit extensions included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tumult_core.providers._calls import call_function
from tumult_core.providers._values import Call, Identity, Outcome

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog
    from tumult_core.experiment import PythonProvider


def describe(provider: PythonProvider, _catalog: Catalog) -> Identity:
    """Say what would run."""
    return Identity("python", provider.module, provider.function, dict(provider.arguments))


def execute(provider: PythonProvider, call: Call) -> Outcome:
    """Call the function in a process of its own."""
    target = {"module": provider.module, "function": provider.function, "arguments": dict(provider.arguments)}
    return call_function(target, call)
