"""The ``script`` provider: an action or probe of a script plugin."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from tumult_core._subprocess import Command
from tumult_core.catalog import PluginKind
from tumult_core.exceptions import PluginError
from tumult_core.providers._child import run_child
from tumult_core.providers._functions import find_function, identity_of
from tumult_core.providers._values import Call, Identity, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from tumult_core.catalog import Catalog, Function
    from tumult_core.experiment import ScriptProvider

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def describe(provider: ScriptProvider, catalog: Catalog) -> Identity:
    """Say what would run."""
    return identity_of(PluginKind.SCRIPT, provider, catalog)


def execute(provider: ScriptProvider, call: Call) -> Outcome:
    """Run the script with its arguments in its environment."""
    try:
        function = find_function(PluginKind.SCRIPT, provider, call.catalog)
        variables = environment({**_defaults(function), **provider.arguments})
        environ = _without(call.environ, {*provider.arguments, *(one.name for one in function.arguments or ())})
        argv = _argv(function)
    except PluginError as error:
        return Outcome.failed(str(error))
    return run_child(Command(argv, {**environ, **variables}, call.timeout_s), call)


def environment(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Give arguments as ``TUMULT_<NAME>`` variables: text as it is, everything else as JSON; null is left out.

    Raises:
        PluginError: a name is no identifier, or two differ only in case.
    """
    variables: dict[str, str] = {}
    for name, value in arguments.items():
        variable = f"TUMULT_{name.upper()}"
        if not _IDENTIFIER.fullmatch(name):
            raise PluginError(
                f"the argument {name} cannot become a variable", hint="use letters, digits and underscores"
            )
        if variable in variables:
            raise PluginError(f"the argument {name} collides with another one: both become {variable}")
        variables[variable] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {
        variable: text
        for (variable, text), value in zip(variables.items(), arguments.values(), strict=True)
        if value is not None
    }


def _without(environ: Mapping[str, str], arguments: Collection[str]) -> dict[str, str]:
    """Take out the variables of arguments: what a step leaves out must not come from the caller's shell.

    A manifest that declares no arguments keeps all others, which such scripts read as their settings.
    """
    variables = {f"TUMULT_{name.upper()}" for name in arguments}
    return {name: value for name, value in environ.items() if name not in variables}


def _defaults(function: Function) -> dict[str, Any]:
    return dict(_declared(function))


def _declared(function: Function) -> Iterator[tuple[str, Any]]:
    for argument in function.arguments or ():
        if not argument.required and argument.default is not None:
            yield argument.name, argument.default


def _argv(function: Function) -> tuple[str, ...]:
    """Run a script itself where it can be, else with the shell."""
    script = function.script
    if script is None or not script.is_file():
        raise PluginError(f"the script of {function.plugin} {function.name} is missing: {script}")
    direct = os.access(script, os.X_OK) and _has_shebang(script)
    return (str(script),) if direct else ("/bin/sh", str(script))


def _has_shebang(script: Path) -> bool:
    with script.open("rb") as stream:
        return stream.read(2) == b"#!"
