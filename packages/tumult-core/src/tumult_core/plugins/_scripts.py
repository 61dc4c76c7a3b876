"""Script plugins: folders with a ``plugin.toon`` and executables in any language. Nothing of them is run here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tumult_core._files import read_regular
from tumult_core.catalog import Argument, Function, Plugin, PluginKind, PluginProblem, Risk
from tumult_core.exceptions import DocumentError, PluginError
from tumult_core.plugins._define import check_names
from tumult_core.plugins._requirements import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFEST = "plugin.toon"
VARIABLE = "TUMULT_PLUGIN_PATH"
MAX_MANIFEST_BYTES = 1 << 20
_TYPES = ("string", "integer", "number", "boolean", "list", "object", "any")
_REQUIRED = object()


def script_plugins(cwd: Path | None = None) -> Iterator[Plugin | PluginProblem]:
    """Give each script plugin on the search path; a shadowed or malformed one is a problem with its reason."""
    winners: dict[str, str] = {}
    for folder in _folders(cwd):
        if isinstance(folder, PluginProblem):
            yield folder
            continue
        try:
            plugin = read_plugin(folder)
        except PluginError as error:
            yield PluginProblem(folder.name, PluginKind.SCRIPT, str(folder), error.message, error.hint)
            continue
        if plugin.name in winners:
            yield PluginProblem(
                plugin.name,
                PluginKind.SCRIPT,
                str(folder),
                f"it is shadowed by the one in {winners[plugin.name]}",
                "rename or remove one of them",
            )
            continue
        winners[plugin.name] = str(folder)
        yield plugin


def _folders(cwd: Path | None) -> Iterator[Path | PluginProblem]:
    """Give the plugin folders: those below each place in name order, or the place itself where it is one."""
    seen: set[Path] = set()
    for place in _places(cwd):
        try:
            found = {folder.resolve(): folder for folder in _below(place.expanduser().absolute())}
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a user or a home that does not exist
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            hint = f"mend it, or take it out of {VARIABLE}"
            yield PluginProblem(place.name, PluginKind.SCRIPT, str(place), f"it cannot be looked at: {reason}", hint)
            continue
        yield from (folder for real, folder in found.items() if real not in seen)
        seen.update(found)


def _below(place: Path) -> list[Path]:
    return [place] if _is_plugin(place) else sorted(filter(_is_plugin, place.iterdir()))


def _is_plugin(folder: Path) -> bool:
    """Tell whether there is a manifest, whatever it is: one that cannot be read is a row with its reason."""
    return os.path.lexists(folder / MANIFEST)


def _places(cwd: Path | None) -> Iterator[Path]:
    import platformdirs

    yield (cwd or Path()) / "plugins"
    yield platformdirs.user_data_path("tumult", appauthor=False) / "plugins"
    yield from (Path(part) for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part)


def read_plugin(folder: Path) -> Plugin:
    """Read a plugin folder; keys of the manifest that are not known are left alone.

    Raises:
        PluginError: the manifest cannot be read or says something that cannot be; with its place.
    """
    from tumult_core.toon import loads_document

    folder, path = folder.resolve(), folder / MANIFEST
    try:
        manifest = loads_document(read_regular(path, MAX_MANIFEST_BYTES), source=str(path))
    except OSError as error:
        raise PluginError(f"{MANIFEST} cannot be read: {error.strerror}") from error
    except DocumentError as error:
        raise PluginError(f"{MANIFEST}: {error.problems[0]}") from error
    name = _text(manifest, "name", "")
    functions = tuple(
        _function(folder, name, activity_type, item, f"{key}[{index}].")
        for key, activity_type in (("actions", "action"), ("probes", "probe"))
        for index, item in enumerate(_list(manifest, key, ""))
    )
    check_names(name, functions)
    version, description = _text(manifest, "version", "", default=""), _text(manifest, "description", "", default="")
    return Plugin(name, PluginKind.SCRIPT, version, description, functions, str(folder))


def _function(folder: Path, plugin: str, activity_type: str, item: Any, place: str) -> Function:
    table = _table(item, place)
    script = _script(folder, _text(table, "script", place), place)
    requires = tuple(str(requirement) for requirement in _list(table, "requires", place))
    lacks = missing(requires)
    if not os.path.isfile(script):  # noqa: PTH113 - unlike pathlib, it is False where it cannot be told
        lacks = (f"its script {script.relative_to(folder)} is not there: restore it in {folder}", *lacks)
    return Function(
        plugin=plugin,
        name=_text(table, "name", place),
        kind=PluginKind.SCRIPT,
        activity_type=activity_type,
        description=_text(table, "description", place, default=""),
        arguments=_arguments(table, place),
        undo=_text(table, "undo", place, default=None),
        read_only=_boolean(table, "read_only", place),
        risk=_risk(table, place, Risk.MEDIUM if activity_type == "action" else Risk.LOW),
        requires=requires,
        missing=lacks,
        timeout_s=_seconds(table, place),
        script=script,
    )


def _script(folder: Path, name: str, place: str) -> Path:
    """Give a script's path, which must stay inside its plugin, links followed."""
    try:
        script = (folder / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise PluginError(f"{place}script is no path: {error}") from error
    if not script.is_relative_to(folder):
        raise PluginError(f"{place}script leads out of the plugin: {name}", hint="keep scripts inside the folder")
    return script


def _arguments(table: Mapping[str, Any], place: str) -> tuple[Argument, ...] | None:
    if table.get("arguments") is None:
        return None
    arguments = tuple(
        _argument(_table(item, f"{place}arguments[{index}]."), f"{place}arguments[{index}].")
        for index, item in enumerate(_list(table, "arguments", place))
    )
    variables = [argument.name.upper() for argument in arguments]
    for argument in arguments:
        if (
            not argument.name.isidentifier()
            or not argument.name.isascii()
            or variables.count(argument.name.upper()) > 1
        ):
            raise PluginError(
                f"{place}arguments: {argument.name!r} cannot be a variable of its own",
                hint="use letters, digits and underscores; two names must differ in more than their case",
            )
    return arguments


def _argument(table: Mapping[str, Any], place: str) -> Argument:
    kind = _text(table, "type", place, default="any")
    if kind not in _TYPES:
        raise PluginError(f"{place}type is {kind}", hint=f"it is one of {', '.join(_TYPES)}")
    return Argument(
        name=_text(table, "name", place),
        type=kind,
        required=_boolean(table, "required", place),
        default=table.get("default"),
        description=_text(table, "description", place, default=""),
        secret=_boolean(table, "secret", place),
    )


def _table(item: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise PluginError(f"{place.rstrip('.')} is not made of `key: value` lines")
    return item


def _list(table: Mapping[str, Any], key: str, place: str) -> list[Any]:
    value = table.get(key)
    if value is not None and not isinstance(value, list):
        raise PluginError(f"{place}{key} is no list", hint=f"write `{key}[1]:` and begin each item with `- `")
    return value or []


def _text(table: Mapping[str, Any], key: str, place: str, default: Any = _REQUIRED) -> Any:
    value = table.get(key)
    if value is None and default is not _REQUIRED:
        return default
    if not isinstance(value, str) or not (value.strip() or default is not _REQUIRED):
        raise PluginError(f"{place}{key} must be text" if value is not None else f"{place}{key} is missing")
    return value


def _boolean(table: Mapping[str, Any], key: str, place: str) -> bool:
    value = table.get(key) or False
    if not isinstance(value, bool):
        raise PluginError(f"{place}{key} must be true or false")
    return value


def _risk(table: Mapping[str, Any], place: str, default: Risk) -> Risk:
    try:
        return Risk(table.get("risk") or default)
    except ValueError:
        raise PluginError(f"{place}risk must be {', '.join(Risk)}") from None


def _seconds(table: Mapping[str, Any], place: str) -> float | None:
    value = table.get("timeout_s")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise PluginError(f"{place}timeout_s must be a number of seconds above 0")
    return float(value)
