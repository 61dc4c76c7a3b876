"""The ``process`` provider: a program with arguments, without a shell."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tumult_core._subprocess import Command
from tumult_core.providers._child import run_child
from tumult_core.providers._values import Call, Identity, Outcome

if TYPE_CHECKING:
    from tumult_core.catalog import Catalog
    from tumult_core.experiment import ProcessProvider


def describe(provider: ProcessProvider, _catalog: Catalog) -> Identity:
    """Say what would run."""
    return Identity("process", None, provider.path, list(provider.arguments))


def execute(provider: ProcessProvider, call: Call) -> Outcome:
    """Run the program, found on the ``PATH`` that it would see itself."""
    env = {**call.environ, **provider.env}
    program = shutil.which(provider.path, path=env.get("PATH"))
    if program is None:
        return Outcome.failed(_missing(provider.path))
    return run_child(Command((program, *provider.arguments), env, call.timeout_s), call)


def _missing(path: str) -> str:
    if "/" in path:
        return f"the program {path} does not exist or is not executable"
    return f"the program {path} was not found on PATH; install it or give its full path"
