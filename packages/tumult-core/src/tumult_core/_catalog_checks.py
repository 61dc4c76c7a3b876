"""Checks against the catalog: a step of a plugin names a function that exists, with arguments that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tumult_core._activities import Step, providers, steps
from tumult_core._placeholders import is_template
from tumult_core._reader import closest, describe
from tumult_core._toon_scan import join
from tumult_core.catalog import PluginKind
from tumult_core.experiment import ActivityType, NativeProvider, ScriptProvider
from tumult_core.problems import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_core.catalog import Argument, Catalog, Function, Plugin
    from tumult_core.experiment import Experiment, Provider

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list, tuple),
    "object": (dict,),
}
_IN_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "list": "a list",
    "object": "an object",
}


def find_plugin(catalog: Catalog, provider: Provider) -> Plugin | None:
    """Give the plugin that a provider names, where it is installed."""
    kind = _kind(provider)
    return (
        catalog.plugin(kind, provider.plugin)
        if kind and isinstance(provider, NativeProvider | ScriptProvider)
        else None
    )


def find_function(catalog: Catalog, provider: Provider) -> Function | None:
    """Give the function that a provider names, where it exists."""
    plugin = find_plugin(catalog, provider)
    return (
        plugin.function(provider.function) if plugin and isinstance(provider, NativeProvider | ScriptProvider) else None
    )


def _kind(provider: Provider) -> PluginKind | None:
    match provider:
        case NativeProvider():
            return PluginKind.NATIVE
        case ScriptProvider():
            return PluginKind.SCRIPT
        case _:
            return None


def check_catalog(experiment: Experiment, catalog: Catalog, *, strict: bool) -> Iterator[Problem]:
    """Find what cannot be done here."""
    for path, provider in providers(experiment):
        if isinstance(provider, NativeProvider | ScriptProvider):
            yield from _call(path, provider, catalog, strict=strict)
    for step in steps(experiment):
        yield from _activity_type(step, find_function(catalog, step.activity.provider))


def _call(path: str, provider: NativeProvider | ScriptProvider, catalog: Catalog, *, strict: bool) -> Iterator[Problem]:
    plugin = find_plugin(catalog, provider)
    if plugin is None:
        yield _not_installed(f"{path}.plugin", provider, catalog, Severity.ERROR if strict else Severity.WARNING)
        return
    function = plugin.function(provider.function)
    if function is None:
        known = [found.name for found in plugin.functions]
        hint = closest(provider.function, known) or f"it has {', '.join(known) or 'none'}"
        message = f"{plugin.name} has no function {provider.function}"
        yield Problem(Severity.ERROR, f"{path}.function", message, hint, "unknown-function")
        return
    yield from _requirements(f"{path}.function", function)
    yield from _arguments(f"{path}.arguments", provider, function)


def _not_installed(
    path: str, provider: NativeProvider | ScriptProvider, catalog: Catalog, severity: Severity
) -> Problem:
    kind = _kind(provider)
    broken = [problem for problem in catalog.problems if problem.name == provider.plugin and problem.kind is kind]
    if broken:
        return Problem(
            severity, path, f"{provider.plugin} cannot be used: {broken[0].reason}", broken[0].hint, "broken-plugin"
        )
    same_kind = [plugin.name for plugin in catalog.plugins if plugin.kind is kind]
    other_kind = [plugin.kind for plugin in catalog.plugins if plugin.name == provider.plugin]
    hint = f"there is one of `type: {other_kind[0]}`" if other_kind else closest(provider.plugin, same_kind)
    message = f"the {kind} plugin {provider.plugin} is not installed"
    return Problem(severity, path, message, hint or "`tumult plugins` lists what is", "unknown-plugin")


def _requirements(path: str, function: Function) -> Iterator[Problem]:
    for missing in function.missing:
        yield Problem(Severity.WARNING, path, f"cannot run on this machine: {missing}", "", "requirement")


def _activity_type(step: Step, function: Function | None) -> Iterator[Problem]:
    written = step.activity.activity_type
    if function is None or function.activity_type == written:
        return
    severity = Severity.ERROR if written is ActivityType.PROBE else Severity.WARNING
    message = f"{function.name} of {function.plugin} is a {function.activity_type}".replace("a action", "an action")
    yield Problem(
        severity,
        f"{step.path}.activity_type",
        message,
        f"write `activity_type: {function.activity_type}`",
        "activity-type",
    )


def _arguments(path: str, provider: NativeProvider | ScriptProvider, function: Function) -> Iterator[Problem]:
    if function.arguments is None:
        return
    known = {argument.name: argument for argument in function.arguments}
    for name, value in provider.arguments.items():
        if name in known:
            yield from _argument(join(path, name), known[name], value)
        else:
            hint = closest(name, list(known)) or f"it takes {', '.join(known) or 'none'}"
            message = f"{function.name} has no argument {name}"
            yield Problem(Severity.ERROR, join(path, name), message, hint, "unknown-argument")
    for argument in function.arguments:
        if argument.required and argument.name not in provider.arguments:
            message = f"{function.name} needs the argument {argument.name}"
            yield Problem(
                Severity.ERROR, join(path, argument.name), message, f"add `{argument.name}: …`", "missing-argument"
            )


def _argument(path: str, argument: Argument, value: Any) -> Iterator[Problem]:
    wanted = TYPES.get(argument.type)
    absent = value is None and not argument.required
    if wanted is None or absent or (isinstance(value, str) and is_template(value)):
        return
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        hint = "quote it" if wanted == (str,) and isinstance(value, bool | int | float) else ""
        message = f"must be {_IN_WORDS[argument.type]}, not {describe(value)}"
        yield Problem(Severity.ERROR, path, message, hint, "argument-type")
