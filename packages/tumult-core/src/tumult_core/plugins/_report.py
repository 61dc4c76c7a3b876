"""The catalog for people, as lines, and for programs, as JSON-like data."""

from __future__ import annotations

import json
import shutil
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import attrs

from tumult_core._text import one_line
from tumult_core.catalog import Catalog
from tumult_core.exceptions import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tumult_core.catalog import Argument, Function, Plugin


def only(catalog: Catalog, name: str) -> Catalog:
    """Give what the catalog has under a name. Raises PluginError where that is nothing."""
    plugins = tuple(plugin for plugin in catalog.plugins if plugin.name == name)
    problems = tuple(problem for problem in catalog.problems if problem.name == name)
    if plugins or problems:
        return Catalog(plugins, problems)
    known = [plugin.name for plugin in catalog.plugins]
    close = get_close_matches(name, known, n=1)
    raise PluginError(
        f"the plugin {name} is not installed",
        hint=f"did you mean {close[0]}?" if close else f"installed: {', '.join(known) or 'none'}",
    )


def as_data(catalog: Catalog) -> dict[str, Any]:
    """Give ``plugins``, each with its ``functions`` and their ``arguments`` (null: it takes any), and ``problems``."""
    return {
        "plugins": [
            {
                **attrs.asdict(plugin, recurse=False),
                "functions": [_data_of(function) for function in plugin.functions],
            }
            for plugin in catalog.plugins
        ],
        "problems": [attrs.asdict(problem) for problem in catalog.problems],
    }


def _data_of(function: Function) -> dict[str, Any]:
    shown = attrs.filters.exclude("implementation", "plugin", "kind")
    data = attrs.asdict(function, filter=shown)
    return data | {"script": function.script and str(function.script)}


def overview(catalog: Catalog) -> Iterator[str]:
    """Give a line for each function, then what cannot be used."""
    rows = [
        (plugin.name, plugin.kind, function.activity_type, function.name, _state(function), function.description)
        for plugin in catalog.plugins
        for function in plugin.functions
    ]
    yield _table(rows, ["plugin", "kind", "type", "function", "state", "description"])
    yield from _problems(catalog)
    yield ""
    counts = f"{_count(len(catalog.plugins), 'plugin')}, {_count(len(rows), 'function')}"
    yield f"{counts}. One in full, with arguments: tumult plugins --plugin NAME"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _state(function: Function) -> str:
    return "cannot run here" if function.missing else "ready"


def in_full(catalog: Catalog) -> Iterator[str]:
    """Give everything that is known of each plugin."""
    for plugin in catalog.plugins:
        yield _clean(f"{plugin.name} {plugin.version} ({plugin.kind}): {plugin.description}")
        yield _clean(f"from {plugin.origin}")
        for function in plugin.functions:
            yield ""
            yield from _function(plugin, function)
    yield from _problems(catalog)


def _function(plugin: Plugin, function: Function) -> Iterator[str]:
    yield _clean(f"{plugin.name} {function.name} ({function.activity_type}): {function.description}")
    facts = [f"risk {function.risk}"]
    facts += ["changes nothing"] if function.read_only else []
    facts += [f"undone by {function.undo}"] if function.undo else []
    facts += [f"also called {', '.join(function.aliases)}"] if function.aliases else []
    facts += [f"{function.timeout_s:g} s at most"] if function.timeout_s else []
    facts += [f"needs {', '.join(function.requires)}"] if function.requires else []
    yield _clean(f"  {'; '.join(facts)}", keep="  ")
    yield from (_clean(f"  Cannot run here: {sentence}", keep="  ") for sentence in function.missing)
    if function.arguments is None:
        yield "  takes any arguments"
    elif function.arguments:
        rows = [_argument(argument) for argument in function.arguments]
        yield "\n".join(
            f"  {line}" for line in _table(rows, ["argument", "type", "default", "description"]).splitlines()
        )


def _argument(argument: Argument) -> tuple[str, str, str, str]:
    default = (
        "(required)"
        if argument.required
        else ""
        if argument.default is None
        else json.dumps(argument.default, default=str)
    )
    secret = " (secret)" if argument.secret else ""
    return argument.name, argument.type, default, f"{argument.description}{secret}"


def _problems(catalog: Catalog) -> Iterator[str]:
    if catalog.problems:
        rows = [
            (one.name, one.kind, one.origin, f"{one.reason} ({one.hint})" if one.hint else one.reason)
            for one in catalog.problems
        ]
        yield ""
        yield _table(rows, ["not usable", "kind", "from", "why, and what to do"])


def _table(rows: Iterable[tuple[Any, ...]], headers: list[str]) -> str:
    from tabulate import tabulate

    cells = [[_clean(str(cell)) for cell in row] for row in rows]
    width = shutil.get_terminal_size((100, 24)).columns
    last = max(
        20, width - sum(max([len(headers[i]), *(len(row[i]) for row in cells)]) + 2 for i in range(len(headers) - 1))
    )
    widths = [None] * (len(headers) - 1) + [last]
    return tabulate(cells, headers, tablefmt="simple", disable_numparse=True, maxcolwidths=widths if cells else None)


def _clean(text: str, keep: str = "") -> str:
    return keep + one_line(text)
